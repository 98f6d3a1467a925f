// SPDX-License-Identifier: Apache-2.0
// A launcher with PMIx. tests/pmix/fake_pmix.cpp is its library; each process, here a thread, has a copy of that file,
// for a library knows one process. The launcher can be told to refuse a call, not to answer it, or to give another
// value.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/pmi_settings.hpp"
#include "bootstrap/pmix_abi.hpp"
#include "support/temporary_directory.hpp"

namespace lci::test {

/// What the library of one process calls.
class FakePmixProcess {
 public:
  virtual ~FakePmixProcess() = default;
  virtual int init(pmix::Process* self) = 0;
  virtual int finalize() = 0;
  virtual int put(uint8_t scope, const char* key, const pmix::Value* value) = 0;
  virtual int commit() = 0;
  virtual int fence(const pmix::Info* infos, size_t count, pmix::Done done, void* context) = 0;
  virtual int get(const pmix::Process* whose, const char* key, const pmix::Info* infos, size_t count, pmix::Got got,
                  void* context) = 0;
};

class FakePmix {
 public:
  static constexpr int kRefused = -1;

  explicit FakePmix(uint32_t size);
  ~FakePmix();

  PmiSettings settings(uint32_t rank) const;
  /// The library of a process.
  std::string library(uint32_t rank) const { return directory_.path() / (std::to_string(rank) + ".so"); }
  /// The call answers with this status: at once, or on the library's thread.
  void refuse(const std::string& call, int status = kRefused);
  void refuse_later(const std::string& call, int status = kRefused);
  /// Calls are not answered until answer_late().
  void keep_silent();
  void answer_late();
  /// Names each call on standard error.
  void say_calls() { says_calls_ = true; }
  /// Every process is told this place, whatever it was started as.
  void place(uint32_t rank) { place_ = rank; }
  /// What is got under this key, whoever has put it.
  void answer(const std::string& key, const pmix::Value& value) { given_[key] = value; }
  uint32_t asked(const std::string& call);
  /// A process waits for the others at a fence.
  bool is_waiting();

 private:
  class Process final : public FakePmixProcess {
   public:
    Process(FakePmix* launcher, uint32_t rank) : launcher_(*launcher), rank_(rank) {}
    int init(pmix::Process* self) override;
    int finalize() override;
    int put(uint8_t scope, const char* key, const pmix::Value* value) override;
    int commit() override;
    int fence(const pmix::Info* infos, size_t count, pmix::Done done, void* context) override;
    int get(const pmix::Process* whose, const char* key, const pmix::Info* infos, size_t count, pmix::Got got,
            void* context) override;

   private:
    FakePmix& launcher_;
    const uint32_t rank_;
    std::map<std::string, std::string> put_;
  };
  using Texts = std::map<std::pair<uint32_t, std::string>, std::string>;

  int begin(const std::string& call);
  /// As on the library's own thread.
  void call_back(std::function<void()> call);
  void join_threads();
  pmix::Value find(uint32_t rank, const std::string& key, std::string* text);

  TemporaryDirectory directory_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::optional<uint32_t> place_;
  bool says_calls_ = false;
  std::map<std::string, pmix::Value> given_;
  std::mutex mutex_;
  bool is_silent_ = false;
  std::map<std::string, int> refused_, refused_later_;
  std::map<std::string, uint32_t> asked_;
  Texts committed_, seen_;
  std::vector<std::pair<pmix::Done, void*>> waiting_;
  std::vector<std::function<void()>> late_;
  std::vector<std::thread> threads_;
};

inline bool has_wish(const pmix::Info* infos, size_t count, const char* key) {
  return count == 1 && std::strcmp(infos->key, key) == 0 && infos->value.type == pmix::kBool && infos->value.flag;
}

inline FakePmix::FakePmix(uint32_t size) {
  const auto original = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_pmix.so";
  for (uint32_t rank = 0; rank < size; ++rank) {
    processes_.push_back(std::make_unique<Process>(this, rank));
    std::filesystem::copy_file(original, library(rank));
    void* library = ::dlopen(this->library(rank).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    const auto be = reinterpret_cast<void (*)(FakePmixProcess*)>(::dlsym(library, "fake_pmix_be"));
    be(processes_.back().get());
  }
}

inline FakePmix::~FakePmix() {
  join_threads();
}

inline void FakePmix::join_threads() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

inline PmiSettings FakePmix::settings(uint32_t rank) const {
  PmiSettings settings;
  settings.version = PmiVersion::kX;
  settings.rank = rank;
  settings.size = static_cast<uint32_t>(processes_.size());
  settings.library = library(rank);
  return settings;
}

inline void FakePmix::refuse(const std::string& call, int status) {
  const std::lock_guard lock(mutex_);
  refused_[call] = status;
}

inline void FakePmix::refuse_later(const std::string& call, int status) {
  const std::lock_guard lock(mutex_);
  refused_later_[call] = status;
}

inline void FakePmix::keep_silent() {
  const std::lock_guard lock(mutex_);
  is_silent_ = true;
}

inline void FakePmix::answer_late() {
  std::vector<std::function<void()>> late;
  {
    const std::lock_guard lock(mutex_);
    late.swap(late_);
  }
  for (const auto& call : late) call();
}

inline uint32_t FakePmix::asked(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return asked_[call];
}

inline bool FakePmix::is_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

inline int FakePmix::begin(const std::string& call) {
  const std::lock_guard lock(mutex_);
  ++asked_[call];
  if (says_calls_) std::fprintf(stderr, "%s,", call.c_str());
  const auto found = refused_.find(call);
  return found == refused_.end() ? pmix::kSuccess : found->second;
}

inline void FakePmix::call_back(std::function<void()> call) {
  if (is_silent_) {
    late_.push_back(std::move(call));
  } else {
    threads_.emplace_back(std::move(call));
  }
}

inline int FakePmix::Process::init(pmix::Process* self) {
  std::memset(self->job, 'j', sizeof self->job);  // without an end
  self->rank = launcher_.place_.value_or(rank_);
  return launcher_.begin("PMIx_Init");
}

/// As a library's, its threads end here.
inline int FakePmix::Process::finalize() {
  launcher_.join_threads();
  return launcher_.begin("PMIx_Finalize");
}

inline int FakePmix::Process::put(uint8_t scope, const char* key, const pmix::Value* value) {
  const bool right = scope == pmix::kForAll && std::strlen(key) < 512 && value->type == pmix::kString;
  put_[key] = value->string;
  return right ? launcher_.begin("PMIx_Put") : kRefused;
}

inline int FakePmix::Process::commit() {
  const int status = launcher_.begin("PMIx_Commit");
  const std::lock_guard lock(launcher_.mutex_);
  for (const auto& [key, text] : put_) launcher_.committed_[{rank_, key}] = text;
  return status;
}

inline int FakePmix::Process::fence(const pmix::Info* infos, size_t count, pmix::Done done, void* context) {
  const int status = launcher_.begin("PMIx_Fence_nb");
  if (status != pmix::kSuccess) return status;
  if (!has_wish(infos, count, "pmix.collect")) return kRefused;
  const std::lock_guard lock(launcher_.mutex_);
  auto& waiting = launcher_.waiting_;
  waiting.emplace_back(done, context);
  if (waiting.size() < launcher_.processes_.size()) return pmix::kSuccess;
  launcher_.seen_ = launcher_.committed_;
  const auto later = launcher_.refused_later_.find("PMIx_Fence_nb");
  const int told = later == launcher_.refused_later_.end() ? pmix::kSuccess : later->second;
  for (const auto& [whom, with] : waiting) launcher_.call_back([whom = whom, with = with, told] { whom(told, with); });
  waiting.clear();
  return pmix::kSuccess;
}

inline pmix::Value FakePmix::find(uint32_t rank, const std::string& key, std::string* text) {
  if (const auto given = given_.find(key); given != given_.end()) return given->second;
  pmix::Value value{};
  if (key == "pmix.job.size" && rank == UINT32_MAX - 1) {
    value.type = pmix::kUint32;
    value.number = static_cast<uint32_t>(processes_.size());
  } else if (const auto found = seen_.find({rank, key}); found != seen_.end()) {
    *text = found->second;
    value.type = pmix::kString;
    value.string = text->data();
  }
  return value;
}

inline int FakePmix::Process::get(const pmix::Process* whose, const char* key, const pmix::Info* infos, size_t count,
                                  pmix::Got got, void* context) {
  const int status = launcher_.begin(std::string("PMIx_Get_nb ") + key);
  if (status != pmix::kSuccess) return status;
  const bool is_reserved = std::strncmp(key, "pmix.", 5) == 0;
  if (!is_reserved && !has_wish(infos, count, "pmix.immediate")) return kRefused;
  const std::lock_guard lock(launcher_.mutex_);
  const auto later = launcher_.refused_later_.find(std::string("PMIx_Get_nb ") + key);
  const int told = later == launcher_.refused_later_.end() ? pmix::kSuccess : later->second;
  launcher_.call_back([this, rank = whose->rank, name = std::string(key), got, context, told] {
    std::string text;
    pmix::Value value{};
    {
      const std::lock_guard inner(launcher_.mutex_);
      value = launcher_.find(rank, name, &text);
    }
    const int code = told == pmix::kSuccess && value.type == 0 ? pmix::kNotFound : told;
    got(code, code == pmix::kSuccess ? &value : nullptr, context);
  });
  return pmix::kSuccess;
}

}  // namespace lci::test
