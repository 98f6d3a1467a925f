// SPDX-License-Identifier: Apache-2.0
#include "protocol/targets.hpp"

#include <string>

#include "base/error.hpp"
#include "wire/message.hpp"

namespace lci {

Targets::Targets(uint32_t rank, uint32_t ranks)
    : rank_(rank), ranks_(ranks), ports_(std::make_unique<std::atomic<Port*>[]>(LCI_MAX_PORT + 1)) {}

Port* Targets::port(uint32_t number) {
  if (number == 0 || number > LCI_MAX_PORT) return nullptr;
  Port* known = ports_[number].load(std::memory_order_acquire);
  if (known) return known;
  std::lock_guard<std::mutex> guard(ports_mutex_);
  known = ports_[number].load(std::memory_order_relaxed);
  if (known) return known;
  port_storage_.push_back(std::make_unique<Port>());
  known = port_storage_.back().get();
  known->number = number;
  ports_[number].store(known, std::memory_order_release);
  return known;
}

Engine& Targets::add_engine(uint32_t number) {
  std::lock_guard<std::mutex> guard(engines_mutex_);
  if (Engine* known = engines_[number].load(std::memory_order_relaxed)) return *known;
  engine_storage_.push_back(std::make_unique<Engine>(number));
  engines_[number].store(engine_storage_.back().get(), std::memory_order_release);
  return *engine_storage_.back();
}

Target* Targets::target(uint16_t number) {
  if (!(number & kEngineTarget)) return port(number);
  return engine(number & static_cast<uint16_t>(~kEngineTarget));
}

int Targets::open_port(uint32_t number, const char* name, Completion* completion, InboxView* inbox,
                       const LaneView* home, uint32_t messages, uint64_t bytes) {
  Port* opened = port(number);
  if (!opened) return fail(LCI_ERR_PORT, "open port: %u is outside 1..%u", number, LCI_MAX_PORT);
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (opened->is_open()) return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, rank_);
    if (opened->forming) return fail(LCI_ERR_PORT, "open port: %u is being opened in parts", number);
    opened->open(name ? name : "", completion, inbox, home, messages, bytes);
  }
  opened->wake_all();
  return LCI_DONE;
}

int Targets::close_port(uint32_t number, int told) {
  Port* closing = port(number);
  if (!closing || !closing->is_open()) return fail(LCI_ERR_PORT, "close port: %u is not open", number);
  closing->close(told);
  closing->wake_all();
  return LCI_DONE;
}

int Targets::name_port(uint32_t number, const char* name) {
  Port* named = port(number);
  if (!named) return fail(LCI_ERR_PORT, "name port: %u is outside 1..%u", number, LCI_MAX_PORT);
  const uint32_t hash = hash_name(name ? name : "");
  const uint32_t before = named->sender_hash.exchange(hash);
  if (before != 0 && hash != 0 && before != hash) {
    named->sender_hash.store(before);
    return fail(LCI_ERR_PORT_MISMATCH, "name port: %u has another name on this rank already, not '%s'", number, name);
  }
  return LCI_DONE;
}

int Targets::add_reply_room(uint32_t number, uint32_t count, uint32_t bytes, uint8_t* out_id) {
  Port* named = port(number);
  if (!named) return fail(LCI_ERR_PORT, "reply room: port %u is outside 1..%u", number, LCI_MAX_PORT);
  if (count == 0) return fail(LCI_ERR_ARGUMENT, "reply room: no replies at port %u", number);
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
  named->make_replies(ranks_).set_aside(count, bytes);
  reply_ports_[id].store(named, std::memory_order_release);
  *out_id = static_cast<uint8_t>(id);
  return LCI_DONE;
}

void Targets::forget_replies(uint32_t rank) {
  for (auto& known : reply_ports_) {
    const Port* port = known.load(std::memory_order_acquire);
    if (!port) continue;
    port->replies()->forget(rank);
    tell_reply_room(*port->replies());
  }
}

void Targets::tell_reply_room(ReplyRooms& rooms) {
  rooms.wanted().take_each([this](uint32_t device) { devices_[device].room_came_elsewhere(); });
}

}  // namespace lci
