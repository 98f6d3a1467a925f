// SPDX-License-Identifier: Apache-2.0
// A launcher that speaks PMI, of both versions, with a thread for each of its processes. It can be told to answer
// something else, nothing, or to end the connection.
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/pmi_settings.hpp"
#include "host/file_descriptor.hpp"

namespace lci::test {

inline std::string frame_of_pmi2(const std::string& text) {
  const std::string length = std::to_string(text.size());
  return std::string(6 - length.size(), ' ') + length + text;
}

/// The value of KEY=VALUE in a request of either version.
inline std::string word_of(const std::string& request, const std::string& key) {
  for (size_t at = 0; (at = request.find(key + "=", at)) != std::string::npos; ++at) {
    if (at > 0 && request[at - 1] != ' ' && request[at - 1] != ';') continue;
    const size_t begin = at + key.size() + 1;
    return request.substr(begin, request.find_first_of(" ;", begin) - begin);
  }
  return "";
}

class FakePmiLauncher {
 public:
  static constexpr char kSilence[] = "<silence>";
  static constexpr char kEnd[] = "<end>";

  FakePmiLauncher(PmiVersion version, uint32_t size);
  ~FakePmiLauncher();

  PmiSettings settings(uint32_t rank) const;
  /// The answer to a command ("get", "kvs-fence") from now on, as it travels; or kSilence, or kEnd.
  void answer(const std::string& command, const std::string& bytes);
  /// All values that processes have put, visible or not.
  std::map<std::string, std::string> values();
  /// How many requests with this command have come.
  uint32_t asked(const std::string& command);

 private:
  struct Process {
    FileDescriptor ours, theirs;
    std::string received;
    PmiVersion version = PmiVersion::k1;  // of the frames
    std::thread thread;
  };

  void serve(Process& process);
  bool read_request(Process& process, std::string* out);
  bool receive(Process& process);
  /// Answers; false if it ends the connection.
  bool react(Process& process, const std::string& request);
  std::string respond(Process& process, const std::string& request);
  void reply(Process& process, const std::string& text, bool is_line);
  bool put(const std::string& key, const std::string& value);
  std::string find(const std::string& key);
  bool meet();

  const PmiVersion version_;
  std::vector<Process> processes_;
  std::mutex mutex_;
  std::condition_variable met_;
  bool ends_ = false;
  uint32_t waiting_ = 0;
  uint64_t fences_ = 0;
  std::map<std::string, std::string> put_, seen_, answers_;
  std::map<std::string, uint32_t> asked_;
};

inline FakePmiLauncher::FakePmiLauncher(PmiVersion version, uint32_t size) : version_(version), processes_(size) {
  for (Process& process : processes_) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
    process.ours = FileDescriptor(ends[0]);
    process.theirs = FileDescriptor(ends[1]);
    process.thread = std::thread([this, &process] { serve(process); });
  }
}

inline FakePmiLauncher::~FakePmiLauncher() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  met_.notify_all();
  for (Process& process : processes_) ::shutdown(process.ours.get(), SHUT_RDWR);
  for (Process& process : processes_) process.thread.join();
}

inline PmiSettings FakePmiLauncher::settings(uint32_t rank) const {
  PmiSettings settings;
  settings.version = version_;
  settings.fd = rank < processes_.size() ? processes_[rank].theirs.get() : -1;
  settings.rank = rank;
  settings.size = static_cast<uint32_t>(processes_.size());
  settings.job = version_ == PmiVersion::k2 ? "17.0" : "";
  return settings;
}

inline void FakePmiLauncher::answer(const std::string& command, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  answers_[command] = bytes;
}

inline std::map<std::string, std::string> FakePmiLauncher::values() {
  const std::lock_guard lock(mutex_);
  return put_;
}

inline uint32_t FakePmiLauncher::asked(const std::string& command) {
  const std::lock_guard lock(mutex_);
  return asked_[command];
}

inline void FakePmiLauncher::serve(Process& process) {
  std::string request;
  while (read_request(process, &request) && react(process, request)) continue;
  ::shutdown(process.ours.get(), SHUT_RDWR);
}

inline bool FakePmiLauncher::receive(Process& process) {
  char bytes[4096];
  const ssize_t got = ::recv(process.ours.get(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  process.received.append(bytes, static_cast<size_t>(got));
  return true;
}

inline bool FakePmiLauncher::read_request(Process& process, std::string* out) {
  const bool is_line = process.version == PmiVersion::k1;
  for (;;) {
    const std::string& received = process.received;
    const size_t line = received.find('\n');
    const size_t begin = is_line ? 0 : 6;
    size_t end = line;
    if (!is_line) end = received.size() < 6 ? std::string::npos : 6 + std::stoul(received.substr(0, 6));
    if (end != std::string::npos && received.size() >= end) {
      *out = received.substr(begin, end - begin);
      process.received.erase(0, end + (is_line ? 1 : 0));
      return true;
    }
    if (!receive(process)) return false;
  }
}

inline bool FakePmiLauncher::react(Process& process, const std::string& request) {
  const std::string command = word_of(request, "cmd");
  std::string instead;
  {
    const std::lock_guard lock(mutex_);
    ++asked_[command];
    if (const auto found = answers_.find(command); found != answers_.end()) instead = found->second;
  }
  if (instead == kEnd) return false;
  if (instead == kSilence) return true;
  if (!instead.empty()) {
    ::send(process.ours.get(), instead.data(), instead.size(), MSG_NOSIGNAL);
    return true;
  }
  const bool is_line = process.version == PmiVersion::k1;
  const std::string text = respond(process, request);
  if (text.empty()) return false;
  reply(process, text, is_line);
  return true;
}

inline void FakePmiLauncher::reply(Process& process, const std::string& text, bool is_line) {
  const std::string bytes = is_line ? text + "\n" : frame_of_pmi2(text);
  ::send(process.ours.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// As Hydra 4.0 answers.
inline std::string FakePmiLauncher::respond(Process& process, const std::string& request) {
  const std::string command = word_of(request, "cmd"), key = word_of(request, "key");
  if (command == "init") {
    const std::string version = word_of(request, "pmi_version");
    if (version == "2") process.version = PmiVersion::k2;
    return "cmd=response_to_init pmi_version=" + version + " pmi_subversion=0 rc=0";
  }
  if (command == "fullinit") return "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=0;rc=0;";
  if (command == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024";
  if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_1_0";
  if (command == "put") {
    return put(key, word_of(request, "value")) ? "cmd=put_result rc=0 msg=success"
                                               : "cmd=put_result rc=-1 msg=duplicate";
  }
  if (command == "kvs-put")
    return put(key, word_of(request, "value")) ? "cmd=kvs-put-response;rc=0;" : "cmd=kvs-put-response;rc=1;";
  if (command == "barrier_in") return meet() ? "cmd=barrier_out" : "";
  if (command == "kvs-fence") return meet() ? "cmd=kvs-fence-response;rc=0;" : "";
  const std::string value = find(key);
  if (command == "get") {
    return value.empty() ? "cmd=get_result rc=-1 msg=not_found value=unknown"
                         : "cmd=get_result rc=0 msg=success value=" + value;
  }
  if (command == "kvs-get") {
    return value.empty() ? "cmd=kvs-get-response;found=FALSE;rc=0;"
                         : "cmd=kvs-get-response;found=TRUE;value=" + value + ";rc=0;";
  }
  return process.version == PmiVersion::k1 ? "cmd=finalize_ack" : "cmd=finalize-response;rc=0;";
}

/// As strict as the standard allows: a key is put once, and its length has a bound.
inline bool FakePmiLauncher::put(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  return key.size() < 64 && value.size() < 1024 && put_.emplace(key, value).second;
}

inline std::string FakePmiLauncher::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(key);
  return found == seen_.end() ? "" : found->second;
}

inline bool FakePmiLauncher::meet() {
  std::unique_lock lock(mutex_);
  const uint64_t fence = fences_;
  if (++waiting_ == processes_.size()) {
    waiting_ = 0;
    ++fences_;
    seen_ = put_;
    met_.notify_all();
  }
  met_.wait(lock, [&] { return ends_ || fences_ != fence; });
  return fences_ != fence;
}

}  // namespace lci::test
