// SPDX-License-Identifier: Apache-2.0
// Ports at which there is room for replies. [X10, 2B-55]
#include "base/error.hpp"
#include "runtime/runtime.hpp"

namespace lci {

ReplyRooms& Port::make_replies(uint32_t ranks) {
  ReplyRooms* known = replies();
  if (known) return *known;
  auto fresh = std::make_unique<ReplyRooms>(ranks);
  return replies_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel) ? *fresh.release() : *known;
}

int Runtime::add_reply_room(uint32_t number, uint32_t count, uint32_t bytes, uint8_t* out_id) {
  Port* named = port(number);
  if (!named) return fail(LCI_ERR_PORT, "reply room: port %u is outside 1..%u", number, LCI_MAX_PORT);
  if (count == 0) return fail(LCI_ERR_ARGUMENT, "reply room: no replies at port %u", number);
  if (bytes > packets_->max_eager()) {
    return fail(LCI_ERR_SIZE, "reply room: a reply has at most %u bytes, not %u (port %u)", packets_->max_eager(),
                bytes, number);
  }
  std::lock_guard<std::mutex> guard(ports_mutex_);
  uint32_t id = 1;
  for (; id <= LCI_MAX_REPLY_ROOM; ++id) {
    const Port* taken = reply_ports_[id].load(std::memory_order_relaxed);
    if (taken == named) return fail(LCI_ERR_ARGUMENT, "reply room: port %u has it already", number);
    if (!taken) break;
  }
  if (id > LCI_MAX_REPLY_ROOM) {
    return fail(LCI_ERR_EXHAUSTED, "reply room: %u ports have it already", LCI_MAX_REPLY_ROOM);
  }
  named->make_replies(size()).set_aside(count, bytes);
  reply_ports_[id].store(named, std::memory_order_release);
  *out_id = static_cast<uint8_t>(id);
  return LCI_DONE;
}

void Runtime::forget_replies(uint32_t rank) {
  for (auto& known : reply_ports_) {
    const Port* port = known.load(std::memory_order_acquire);
    if (!port) continue;
    port->replies()->forget(rank);
    tell_reply_room(*port->replies());
  }
}

void Runtime::tell_reply_room(ReplyRooms& rooms) {
  const uint32_t wanted = rooms.take_wanted();
  for (uint32_t i = 0; i < devices(); ++i) {
    if (wanted >> i & 1) devices_[i]->room_came_elsewhere();
  }
}

}  // namespace lci
