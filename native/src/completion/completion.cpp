// SPDX-License-Identifier: Apache-2.0
#include "completion/completion.hpp"

#include "base/error.hpp"
#include "base/try_lock.hpp"

namespace lci {
namespace {

/// One word says both, so that the end of a handler looks at nothing else.
constexpr uint32_t kInside = 2, kAtEnd = 1;
thread_local uint32_t signal_depth = 0;  // kInside for each scope; kAtEnd: there is something to do after the last one
thread_local void (*to_do_at_end)() = nullptr;

}  // namespace

bool Completion::wait_unused() const {
  for (SpinWait wait;; wait.step()) {
    if (bounded_ && reserved() != 0) return false;
    const uint64_t users = users_.load(std::memory_order_acquire);
    if (users == 0) return true;
    // A handler may be the very one that waits here.
    if (static_cast<uint32_t>(users) != 0 || in_signal_context()) return false;
  }
}

int check_signal(const lci_status& status) {
  if (is_done(status.code) || is_error(status.code)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "signal: status code %d (%s) is neither done nor an error", status.code,
              code_name(status.code));
}

void Completion::discard(lci_status status) const {
  if (owner_) {
    owner_->discard_arrival(status);
  } else if (status.port != 0) {
    lci_buffer_free(status.buffer);
  }
}

bool in_signal_context() {
  return signal_depth != 0;
}

int check_outside_handlers(const char* operation) {
  if (!in_signal_context()) return LCI_DONE;
  return fail(LCI_ERR_SIGNAL_CONTEXT, "%s: called from a handler, which must not wait; return from it first",
              operation);
}

SignalContext::SignalContext() : depth_(signal_depth) {
  depth_ += kInside;
}
SignalContext::~SignalContext() {
  depth_ -= kInside;
  if (depth_ != kAtEnd) return;
  depth_ = 0;
  to_do_at_end();
}
void SignalContext::at_end(void (*function)()) {
  to_do_at_end = function;
  signal_depth |= kAtEnd;
}

}  // namespace lci
