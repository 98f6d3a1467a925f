// SPDX-License-Identifier: Apache-2.0
#include "protocol/spending.hpp"

#include <algorithm>
#include <utility>

#include "base/no_memory.hpp"

namespace lci {

uint32_t engine_announcements(const DeviceParts& parts) {
  return std::max(1u, parts.attributes.announcements / parts.ranks);
}

OutKey& Spending::out_key(Link& link, uint16_t target) {
  if (OutKey* key = link.out_keys.find(target)) return *key;
  OutKey& key = link.out_keys.add(target);
  key.target = target;
  if (target == kEngineTarget) key.announce_limit = engine_announcements(parts_);  // the default engine is always open
  return key;
}

uint32_t Spending::sender_hash(uint16_t target) {
  if (target & kEngineTarget) return parts_.targets.target(target)->name_hash.load(std::memory_order_relaxed);
  const Port* port = parts_.targets.port(target);
  return port ? port->sender_hash.load(std::memory_order_relaxed) : 0;
}

void Spending::handle_grant(Link& link, const MessageHeader& header) {
  if (!parts_.targets.target(header.target)) return protocol_error(link, "credit for nothing", header);
  OutKey& key = out_key(link, header.target);
  const uint32_t mine = sender_hash(header.target);
  if (mine != 0 && header.aux != 0 && mine != header.aux) {
    const bool known = std::exchange(key.state, OutKey::State::kMismatch) == OutKey::State::kMismatch;
    if (LaneView* owner = lane(); owner && !known) {
      owner->port_changed(&host_.device, link.rank, header.target, LCI_ERR_PORT_MISMATCH);
    }
    return;
  }
  if (header.target & kEngineTarget) key.announce_limit = engine_announcements(parts_);
  const uint32_t generation = static_cast<uint32_t>(header.tag);
  const int32_t newer = static_cast<int32_t>(generation - key.generation);
  if (newer < 0 || (newer == 0 && key.state == OutKey::State::kClosed)) {
    return;  // the port was closed since: control may overtake control
  }
  if (newer != 0) {
    key.generation = generation;
    key.credit = key.give_back = {};  // what was recalled of its last opening went with that
  }
  const bool reopened = key.state == OutKey::State::kClosed;
  key.state = header.flags & kFlagUncredited ? OutKey::State::kUncredited : OutKey::State::kLeased;
  key.credit.messages += header.size;
  key.credit.bytes += header.arg;
  key.dry = false;
  if (key.recalled == generation) give_credit_back(link, key);
  if (LaneView* owner = lane(); reopened && owner)
    owner->port_changed(&host_.device, link.rank, header.target, LCI_DONE);
  if (key.refused) tell_writable(link, key);
}

void Spending::handle_recall(Link& link, const MessageHeader& header) {
  OutKey* key = link.out_keys.find(header.target);
  if (!key) return;
  const auto generation = static_cast<uint32_t>(header.tag);
  // A grant that this has overtaken cannot be spent either.
  if (key->held_back != 0 && static_cast<int32_t>(generation - key->generation) >= 0) key->recalled = generation;
  if (generation != key->generation || key->state != OutKey::State::kLeased) return;
  give_credit_back(link, *key);
}

void Spending::give_credit_back(Link& link, OutKey& key) {
  if (key.credit.messages == 0 && key.credit.bytes == 0) return;
  key.give_back.messages += key.credit.messages;
  key.give_back.bytes += key.credit.bytes;
  key.credit = {};
  queue_return(link, key);
}

bool Spending::take_refusal(Link& link, const MessageHeader& header, Refusal* out) {
  if (header.target == kEngineTarget || !parts_.targets.target(header.target)) {
    protocol_error(link, "refusal of nothing", header);
    return false;
  }
  OutKey& key = out_key(link, header.target);
  int code = LCI_ERR_PORT_CLOSED;
  if (header.aux == LCI_ERR_PORT_MISMATCH || header.aux == LCI_ERR_PEER_LEFT) code = header.aux;
  const uint32_t generation = static_cast<uint32_t>(header.tag);
  const bool current = static_cast<int32_t>(generation - key.generation) >= 0;
  bool news = current;
  if (current) {  // else it was opened again, and the grant overtook
    const auto state = code == LCI_ERR_PORT_MISMATCH ? OutKey::State::kMismatch : OutKey::State::kClosed;
    news = std::exchange(key.state, state) != state;
    key.closed_as = code;
    key.generation = generation;
    key.credit = key.give_back = {};
    key.refused = false;
  }
  *out = {header.target, generation, code, news};
  return true;
}

void Spending::tell_writable(Link& link, OutKey& key) {
  if (key.held_back != 0 || link.awaits_device) return;  // it is told when that has gone, or come
  uint64_t count = key.announce_limit > key.announced ? 1 : 0;
  if (key.state == OutKey::State::kUncredited) {
    count = UINT32_MAX;
  } else {
    count += key.credit.messages;
  }
  // No room yet (a grant of bytes alone, say): whoever was refused still waits for the next one.
  if (count == 0) return;
  LaneView* const owner = lane();
  if (owner && !unless_no_memory([&] { owner->writable(&host_.device, link.rank, key.target, count); })) {
    untold_ = true;
    call_again();
    return;
  }
  key.refused = false;
}

void Spending::tell_refused() {
  untold_ = false;
  links_.for_each([this](Link& link) { tell_refused(link); });
}

void Spending::tell_refused(Link& link) {
  if (link.failed || backlog_.holds(link.rank)) return;
  link.out_keys.for_each([&](OutKey& key) {
    if (key.refused) tell_writable(link, key);
  });
}

void Spending::queue_return(Link& link, OutKey& key) {
  if (key.queued) return;
  key.queued = true;
  key.next_queued = link.queued_returns;
  link.queued_returns = &key;
  links_.make_busy(link);
}

bool Spending::flush_returns(Link& link, bool* moved) {
  while (OutKey* key = link.queued_returns) {
    const MessageHeader header{MessageKind::kReturn, 0, key->target, key->give_back.messages, 0, key->generation,
                               key->give_back.bytes};
    if (!links_.emit_control(link, header)) return false;
    key->give_back = {};
    if (key->declined != 0) {
      if (!links_.emit_control(link, {MessageKind::kReturn, kFlagReply, key->target, key->declined, 0, 0, 0})) {
        return false;
      }
      key->declined = 0;
    }
    key->queued = false;
    link.queued_returns = key->next_queued;
    counters_.add(Metric::returns);
    *moved = true;
  }
  return true;
}

void Spending::peer_gone(Link& link) {
  link.out_keys.for_each([](OutKey& key) {
    key.queued = false;
    key.credit = key.give_back = {};
  });
}

}  // namespace lci
