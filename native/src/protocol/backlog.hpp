// SPDX-License-Identifier: Apache-2.0
// The backlog: operations that may not be answered with retry wait here, in order per rank. [B15, B16]
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "protocol/protocol.hpp"

namespace lci {

/// An operation in the backlog.
struct Queued {
  lci_descriptor op;
  std::vector<std::byte> payload;
  OpTarget target;
  std::vector<lci_buffer> parts = {};  ///< Of a list too long to be copied.
  std::vector<lci_place> places = {};  ///< Of a list of a put or get.
  void* buffer = nullptr;              ///< As posted.
  uint64_t number = 0;                 ///< In the order in which they came.
};

/// Whether a signal may follow the answer to an operation. @param max_eager the longest message of one packet
inline bool may_be_posted(const lci_descriptor& op, uint32_t max_eager) {
  return op.op == LCI_OP_RECV || op.op == LCI_OP_BARRIER || op.op == LCI_OP_COLLECTIVE || is_remote(op) ||
         op.op == LCI_OP_ATOMIC || (op.flags & LCI_FLAG_SIGNAL) ||
         (op.op <= LCI_OP_SEND && (op.flags & LCI_FLAG_NETWORK)) || op.size > max_eager;
}

/// That of a device. Its owner calls everything but keep() and answer(), which any thread may.
class Backlog final : public Protocol {
 public:
  using Protocol::Protocol;

  bool empty() const { return queues_.empty(); }
  /// Whether something to @p rank waits.
  bool holds(uint32_t rank) const { return queues_.count(rank) != 0; }
  /// Whether something waits that this operation may not overtake.
  bool holds_flow_of(const lci_descriptor& op) const;
  /// LCI_POSTED_BACKLOG or LCI_DONE_BACKLOG; LCI_ERR_EXHAUSTED: it is full.
  int add(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// The operation with a payload of its own, unless that is so long that the user's has to stay. A packet is taken.
  Queued keep(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  using Queue = std::list<Queued>;
  /// Takes the first one of a list. Throws if there is no memory, and has changed nothing.
  void enter(Queue& from);
  /// The answer to an operation that waits.
  int answer(const lci_descriptor& op) const;

  /// Tries everything, as far as each rank lets it. @p post: posts one; what finds no memory comes again. True if
  /// anything left. @p starved becomes true if something found no memory.
  template <typename Post>
  bool retry(Post post, bool* starved);
  /// Notes what waits to be sent to a rank.
  void mark() { marked_ = entered_; }
  /// Whether some of it waits still.
  bool holds_marked() const;
  /// The operation that is being posted out of the backlog; null: a new one is.
  const Queued* retrying() const { return host_.retrying; }

  void peer_gone(uint32_t rank, int code);
  void cancel_all(int code);
  /// Ends operations that have not entered.
  void end_before(const Queue& queue, int code);
  /// A lane goes, and if it has posted the operation, the target by @p forget. True: the operation goes, too.
  template <typename Forget>
  bool goes_with(const LaneView& lane, Queued& queued, Forget forget) const;
  /// A lane goes. @p forget ends a target without a signal.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget);

 private:
  uint32_t bytes_to_keep(const lci_descriptor& op) const;
  bool may_be_posted(const lci_descriptor& op) const;
  void put_back(Queue& queue, Queue& taken);
  void leave(const Queued& queued, int code);
  void end(const Queue& queue, int code);
  void count_out(uint64_t operations, uint64_t bytes);

  std::map<uint32_t, Queue> queues_;  // by rank, and what is of none
  uint64_t bytes_ = 0;
  uint64_t entered_ = 0;  // so far
  uint64_t marked_ = 0;   // so many of them
};

template <typename Post>
bool Backlog::retry(Post post, bool* starved) {
  bool moved = false;
  for (auto entry = queues_.begin(); entry != queues_.end();) {
    Queue& queue = entry->second;
    bool refused = false;
    for (bool first = true; !queue.empty() && !refused; first = false) {
      // Taken out: a handler may put a reply in front meanwhile. To put it back needs no memory.
      Queue taken;
      taken.splice(taken.begin(), queue, queue.begin());
      Queued& queued = taken.front();
      if (!queued.parts.empty()) queued.op.u.ref.address = reinterpret_cast<uint64_t>(queued.parts.data());
      if (!queued.places.empty()) queued.op.u.ref.remote = reinterpret_cast<uint64_t>(queued.places.data());
      if (!queued.payload.empty()) queued.op.u.ref.address = reinterpret_cast<uint64_t>(queued.payload.data());
      host_.retrying = &queued;
      int code = LCI_RETRY_NOMEM;
      if (!unless_no_memory([&] { code = post(queued, first); })) *starved = true;
      host_.retrying = nullptr;
      if (code == LCI_ERR_NOT_PENDING) code = LCI_DONE;  // a cancel that came too late is over
      refused = is_retry(code);
      if (refused) {
        put_back(queue, taken);
      } else {
        leave(queued, code);
        moved = true;
      }
    }
    entry = queue.empty() ? queues_.erase(entry) : std::next(entry);
  }
  return moved;
}

/// Memory that is not ours may be gone: nothing is sent from there, nor received.
template <typename Forget>
bool Backlog::goes_with(const LaneView& lane, Queued& queued, Forget forget) const {
  if (queued.target.lane != &lane) return false;
  if (may_be_posted(queued.op)) {
    forget(queued.target);
  } else {
    queued.target.lane = nullptr;
  }
  return queued.op.op == LCI_OP_RECV || (queued.payload.empty() && bytes_of(queued.op) != 0);
}

template <typename Forget>
void Backlog::lane_gone(const LaneView& lane, Forget forget) {
  for (auto entry = queues_.begin(); entry != queues_.end();) {
    const auto dropped = std::erase_if(entry->second, [&](Queued& queued) { return goes_with(lane, queued, forget); });
    count_out(dropped, 0);  // they had no payload of their own
    entry = entry->second.empty() ? queues_.erase(entry) : std::next(entry);
  }
}

}  // namespace lci
