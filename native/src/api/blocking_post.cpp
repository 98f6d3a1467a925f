// SPDX-License-Identifier: Apache-2.0
// Blocking posts: an ordinary post, whose signal comes to an object on this stack, and then a loop of progress. Nothing
// progresses inside the post itself. [C8, C10, SS-7]
#include "api/blocking_post.hpp"

#include <sched.h>

#include <atomic>

#include "api/guard.hpp"
#include "api/handles.hpp"
#include "device/waiting.hpp"

namespace lci {
namespace {

/// Where the one signal of a blocking post goes. Release and acquire hand the status over.
class Outcome final : public Completion {
 public:
  Outcome() : Completion(Kind::kPost) {}
  int signal(const lci_status& status) override {
    status_ = status;
    came_.store(true, std::memory_order_release);
    return LCI_DONE;
  }
  bool stores() const override { return false; }
  bool came() const { return came_.load(std::memory_order_acquire); }
  const lci_status& status() const { return status_; }

 private:
  lci_status status_{};
  std::atomic<bool> came_{false};
};

/// Whoever signals may still be inside the object when the status is seen: this waits until it has left.
int wait_for_outcome(Outcome& outcome, Waiting& waiting, lci_status* out) {
  while (!outcome.came()) {
    // A lane took the device meanwhile: it progresses now. Or there is no memory for what arrives. The operation ends
    // in any case, and signals the object on this stack, so this goes on.
    const int code = guarded("blocking post", [&] { return waiting.turn(); });
    if (code != LCI_DONE) sched_yield();
  }
  outcome.wait_unused();
  const lci_status& status = outcome.status();
  if (out) *out = status;
  if (status.code == LCI_DONE) return LCI_DONE;
  return fail(status.code, "blocking post: ended with %s (rank %u, tag %llu)", code_name(status.code), status.rank,
              static_cast<unsigned long long>(status.tag));
}

}  // namespace

int post_blocking(lci_device* handle, lci_descriptor* op, lci_comp* comp, lci_status* out) {
  if (op->flags & (LCI_FLAG_SIGNAL | LCI_FLAG_COMP)) {
    return fail(LCI_ERR_ARGUMENT,
                "blocking post: nothing is signalled, so LCI_FLAG_SIGNAL (allow_done = false) and LCI_FLAG_COMP "
                "contradict it");
  }
  Device* const device = from_handle(handle);
  Waiting waiting("blocking post", {&device, 1}, LCI_FOREVER);
  if (const int code = waiting.allowed(); code != LCI_DONE) return code;
  const uint8_t given = op->flags;
  const bool may_retry = comp == LCI_COMP_NULL ? false : comp == LCI_COMP_NULL_RETRY || !(given & LCI_FLAG_NO_RETRY);
  op->flags =
      static_cast<uint8_t>((given & ~(LCI_FLAG_WAIT | LCI_FLAG_NO_RETRY)) | (may_retry ? 0 : LCI_FLAG_NO_RETRY));
  Outcome outcome;
  outcome.set_owner(&device->runtime(), &device->runtime());
  int code = lci_post(handle, op, to_handle(&outcome), out);
  while (code == LCI_ERR_EXHAUSTED) {  // only without retry: the backlog is full, and progress makes room
    if ((code = waiting.turn()) != LCI_DONE) break;
    code = lci_post(handle, op, to_handle(&outcome), out);
  }
  op->flags = given;
  if (is_posted(code)) code = wait_for_outcome(outcome, waiting, out);
  op->outcome = static_cast<uint16_t>(code);
  return code;
}

}  // namespace lci
