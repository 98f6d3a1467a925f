// SPDX-License-Identifier: Apache-2.0
// Operations of graphs that found no room: each waits, in memory of its own, in a list of its flow, until it can be
// posted. Nothing is allocated or copied for them, nor for the cancel of a receive, so there may be any number.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/no_memory.hpp"
#include "flow/waiting_list.hpp"
#include "protocol/spending.hpp"

namespace lci {

/// An operation that may wait. It stays where it is until it has ended, and is posted by the owner of its device.
class WaitingOp {
 public:
  explicit WaitingOp(const OpTarget& given) : target(given) {}
  virtual const lci_descriptor& descriptor() const = 0;
  /// Any thread: it is not to be posted any more. Once true it stays so until the operation has ended.
  virtual bool is_given_up() const = 0;
  /// The device has carried out the cancel that was left to it. Afterwards the operation may be gone, or posted anew.
  virtual void cancel_ended() = 0;

  const OpTarget target;  ///< A completion object that is held until the operation has ended.
  WaitingOp* next_waiting = nullptr;
  WaitingOp* next_cancel = nullptr;
  uint64_t number = 0;  ///< In the order in which they came.

 protected:
  ~WaitingOp() = default;
};

/**
 * Those of a device. A list belongs to a flow: sends and active messages wait in that of their OutKey, puts, gets and
 * atomic operations in that of their link, others in one of the device. The first one of each list is tried in every
 * pass, and whatever follows it until one is refused. So no flow waits for another one, and what waits for a rank that
 * is gone ends as a post to it does.
 *
 * Memory order: the lists belong to the owner of the device. give_up_some() is for any thread: who gives an operation
 * up says so first (is_given_up()), then here, both sequentially consistent; the owner puts an operation into its list,
 * then asks whether it was given up. One of the two sees the other.
 */
class WaitingOps final : public Protocol {
 public:
  WaitingOps(ProtocolHost& host, Links& links) : Protocol(host, links) {}

  bool empty() const { return count_ == 0; }
  /// Whether others of its flow wait already: it must not overtake them, and need not be tried.
  bool holds_flow_of(const lci_descriptor& op) { return count_ != 0 && list_of(op).first != nullptr; }
  void join(WaitingOp& op);
  /// Tries what waits. @p post: posts one; what finds no memory comes again. True if anything left. @p starved becomes
  /// true if something found no memory.
  template <typename Post>
  bool retry(Post post, bool* starved);

  /// Any thread: some of them were given up.
  void give_up_some() {
    if (!some_given_up_.exchange(true, std::memory_order_seq_cst)) host_.wake_owner();
  }
  bool some_given_up() const { return some_given_up_.load(std::memory_order_acquire); }
  /// Ends those that were given up.
  void end_given_up();

  /// Notes what waits, and whether some of that is left.
  void mark() { marked_ = joined_; }
  bool holds_marked() const;

  void cancel_all(int code);
  /// A lane goes: its operations are forgotten without a signal.
  void lane_gone(const LaneView& lane);

 private:
  WaitingList& list_of(const lci_descriptor& op);
  void enlist(WaitingList& list);
  static WaitingOp& take_first(WaitingList& list);
  static void put_first(WaitingList& list, WaitingOp& op);
  static void put_last(WaitingList& list, WaitingOp& op);
  template <typename Which>
  WaitingOp* take_out(Which which);
  void end(WaitingOp* taken, int code);
  void posted(const WaitingOp& op, int code, lci_status& done);

  WaitingList of_device_;
  WaitingList* first_list_ = nullptr;  // of those that are not empty
  uint64_t count_ = 0;
  uint64_t joined_ = 0;  // so far
  uint64_t marked_ = 0;  // so many of them
  std::atomic<bool> some_given_up_{false};
};

template <typename Post>
bool WaitingOps::retry(Post post, bool* starved) {
  bool moved = false;
  WaitingList* rest = std::exchange(first_list_, nullptr);
  while (rest) {
    WaitingList& list = *rest;
    rest = list.next_list;
    bool refused = false;
    for (bool first = true; list.first && !refused; first = false) {
      // Taken out: what its end fires may wait in the same list.
      WaitingOp& op = take_first(list);
      --count_;
      int code = LCI_RETRY_NOMEM;
      lci_status done = done_status(op.descriptor(), op.target);
      if (op.is_given_up()) {
        code = LCI_ERR_CANCELLED;
      } else if (!unless_no_memory([&] { code = post(op, first, &done); })) {
        *starved = true;
      }
      refused = is_retry(code);
      if (refused) {
        put_first(list, op);
        ++count_;
      } else {
        moved = true;
        posted(op, code, done);
      }
    }
    list.listed = false;
    if (list.first) enlist(list);
  }
  return moved;
}

}  // namespace lci
