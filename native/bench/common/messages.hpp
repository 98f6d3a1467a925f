/* SPDX-License-Identifier: Apache-2.0 */
/// @file messages.hpp
/// Streams of messages between two ranks.
#ifndef LCI_BENCH_COMMON_MESSAGES_HPP_
#define LCI_BENCH_COMMON_MESSAGES_HPP_

#include <algorithm>

#include "lane.hpp"

namespace lci::bench {

/// Where rank 1 gets messages, and where rank 0 learns that all have come.
inline constexpr uint32_t kPort = 1, kBackPort = 2;
inline constexpr uint32_t kBatch = 32;

struct Count {
  uint64_t messages = 0;
};
inline void count_message(const lci_status*, void* argument) {
  ++static_cast<Count*>(argument)->messages;
}

inline lci_descriptor short_message(uint8_t kind, uint32_t rank, uint32_t port, uint64_t tag) {
  lci_descriptor op{};
  op.op = kind;
  op.rank = rank;
  op.port = static_cast<uint16_t>(port);
  op.size = 8;
  op.tag = tag;
  std::memcpy(op.u.inline_payload, &tag, 8);
  return op;
}

/// An operation on memory of ours: what an active message, send or put reads, what a receive or get writes.
inline lci_descriptor with_buffer(uint8_t kind, uint32_t rank, uint64_t tag, void* place, uint64_t size) {
  lci_descriptor op{};
  op.op = kind;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.tag = tag;
  op.size = static_cast<uint32_t>(size);
  op.u.ref.address = reinterpret_cast<uint64_t>(place);
  return op;
}

/// Posts @p count operations in batches, as fast as they are taken, with at most @p window under way; waits for the end
/// of all. @p next(i) is the i-th. @p others counts the ends of what was posted before, that come meanwhile.
template <typename Next>
void stream(LaneDriver& lane, uint64_t count, uint64_t window, Next next, uint64_t* others = nullptr) {
  uint64_t sent = 0, posted = 0, ended = 0;
  for (Spin spin; sent < count;) {
    const auto batch = static_cast<uint32_t>(std::min({uint64_t{kBatch}, count - sent, window - (posted - ended)}));
    for (uint32_t i = 0; i < batch; ++i) lane.submission(i) = next(sent + i);
    lane.control().submit_count = batch;
    lane.enter();
    ended += lane.ended();
    const uint64_t before = sent;
    for (uint32_t i = 0; i < batch; ++i) {
      const int outcome = lane.submission(i).outcome;
      check(outcome, "post");
      if (outcome >= LCI_RETRY) break;  // what follows it in its order was not attempted
      ++sent;
      posted += outcome == LCI_POSTED;
    }
    if (sent == before) spin();
  }
  for (Spin spin; ended < posted; spin()) {
    lane.enter();
    ended += lane.ended();
  }
  if (others) *others += ended - posted;
}

inline void await(LaneDriver& lane, const Count& counter, uint64_t messages) {
  for (Spin spin; counter.messages < messages; spin()) {
    lane.enter();
    lane.ended();
  }
}

/// Tells rank 0 that everything has come.
inline void answer(LaneDriver& lane, uint64_t round) {
  uint64_t ended = 0;
  lane.post(short_message(LCI_OP_AM, 0, kBackPort, round), &ended);
}

}  // namespace lci::bench

#endif
