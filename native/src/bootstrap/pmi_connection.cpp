// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmi_connection.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/pmi_text.hpp"

namespace lci {
namespace {

constexpr uint64_t kFarewellPatience = 2'000'000'000;  // ns

std::unique_ptr<PmiWire> wire_of(const PmiSettings& settings) {
  if (settings.version == PmiVersion::kX) return new_pmix_wire(settings.library);
  if (settings.version == PmiVersion::k1) return new_pmi1_wire(settings.fd);
  return new_pmi2_wire(settings.fd, settings.rank, settings.job);
}

std::string key_of(uint64_t fence, const std::string& name) {
  return "lci." + std::to_string(fence) + "." + name;
}

/// By trying: a thread seldom waits here, and ThreadSanitizer does not know how std::timed_mutex waits.
std::unique_lock<std::mutex> lock_until(uint64_t deadline_ns, std::mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock && now_ns() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)lock.try_lock();
  }
  return lock;
}

/// Leaves with the process, also where a runtime was never closed: the launcher would take that for a failure and end
/// the other ranks.
struct OwnConnection {
  std::mutex mutex;
  std::shared_ptr<PmiConnection> connection;
  ~OwnConnection() {
    if (connection) connection->leave();
  }
};

}  // namespace

int PmiConnection::of_this_process(const PmiSettings& settings, std::shared_ptr<PmiConnection>* out) {
  static OwnConnection own;
  const std::lock_guard lock(own.mutex);
  if (!own.connection) {
    if (const int code = join(settings, &own.connection); code != LCI_DONE) return code;
    // A child process with another program must not speak in this one's name.
    if (settings.fd >= 0) ::fcntl(settings.fd, F_SETFD, FD_CLOEXEC);
  }
  if (own.connection->settings_.version != settings.version) {
    return fail(LCI_ERR_BOOTSTRAP, "%s: this process has joined by %s already", PmiSettings::title(settings.version),
                PmiSettings::title(own.connection->settings_.version));
  }
  *out = own.connection;
  return (*out)->check();
}

int PmiConnection::join(const PmiSettings& settings, std::shared_ptr<PmiConnection>* out) {
  std::shared_ptr<PmiConnection> self(new PmiConnection(settings));
  if (const int code = self->wire_->join(now_ns() + kPatience); code != LCI_DONE) return code;
  *out = std::move(self);
  return LCI_DONE;
}

PmiConnection::PmiConnection(const PmiSettings& settings)
    : settings_(settings), process_(::getpid()), wire_(wire_of(settings)) {}

int PmiConnection::broken() const {
  const char* title = PmiSettings::title(settings_.version);
  if (::getpid() != process_) {
    return fail(LCI_ERR_BOOTSTRAP, "%s: the launcher knows the parent of this process, not this one", title);
  }
  if (end_.empty()) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP, "%s: the launcher cannot be asked any more, since: %s", title, end_.c_str());
}

int PmiConnection::use(uint64_t deadline_ns, const std::function<int()>& ask) {
  const std::unique_lock lock = lock_until(deadline_ns, busy_);
  if (!lock) {
    return fail(LCI_ERR_TIMEOUT, "%s: another thread of this process waits for the other ranks",
                PmiSettings::title(settings_.version));
  }
  int code = broken();
  if (code != LCI_DONE) return code;
  code = ask();
  if (code != LCI_DONE) end_ = last_error();
  return code;
}

int PmiConnection::check() {
  return use(now_ns() + kPatience, [] { return LCI_DONE; });
}

int PmiConnection::meet(const Texts& texts, uint64_t deadline_ns, uint64_t* fence, const Meanwhile& meanwhile) {
  return use(deadline_ns, [&] {
    *fence = fences_ + 1;
    for (const auto& [name, text] : texts) {
      if (const int code = put_text(*wire_, key_of(*fence, name), text, deadline_ns); code != LCI_DONE) return code;
    }
    const int code = wire_->fence(deadline_ns, meanwhile);
    if (code == LCI_DONE) ++fences_;
    return code;
  });
}

int PmiConnection::read(uint64_t fence, uint32_t from, const std::string& name, size_t most, uint64_t deadline_ns,
                        std::string* out) {
  return use(deadline_ns, [&] { return get_text(*wire_, from, key_of(fence, name), most, deadline_ns, out); });
}

void PmiConnection::leave() {
  if (::getpid() != process_) return;
  const uint64_t deadline = now_ns() + kFarewellPatience;
  use(deadline, [&] {
    wire_->leave(deadline);
    return fail(LCI_ERR_BOOTSTRAP, "this process has told the launcher that it ends");
  });
}

}  // namespace lci
