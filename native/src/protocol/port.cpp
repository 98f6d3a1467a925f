// SPDX-License-Identifier: Apache-2.0
#include "protocol/port.hpp"

namespace lci {

/// Under the lock of the ports.
void Port::open(const std::string& given_name, Completion* object, InboxView* first, const LaneView* home,
                uint32_t messages, uint64_t bytes) {
  name = given_name;
  name_hash.store(hash_name(name));
  completion.store(object);
  if (object) object->put_behind_port();
  home_lane.store(home);
  inbox.store(first);
  credited.store(first || object->stores(), std::memory_order_release);
  capacity.reset(messages, bytes, generation.load() + 1);
  holders.store(0);
  if (ReplyRooms* rooms = replies()) rooms->reopen();
  generation.fetch_add(1, std::memory_order_release);
  state.store(Target::State::kOpen, std::memory_order_seq_cst);
}

/// @p told: what senders get from now on.
void Port::close(int told) {
  closed_as.store(told, std::memory_order_relaxed);
  closed_generation.store(generation.load(std::memory_order_relaxed), std::memory_order_release);
  state.store(State::kClosed, std::memory_order_seq_cst);
}

ReplyRooms& Port::make_replies(uint32_t ranks) {
  ReplyRooms* known = replies();
  if (known) return *known;
  auto fresh = std::make_unique<ReplyRooms>(ranks, static_cast<uint16_t>(number));
  return replies_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel) ? *fresh.release() : *known;
}

}  // namespace lci
