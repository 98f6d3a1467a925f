// SPDX-License-Identifier: Apache-2.0
#include "protocol/grants.hpp"

#include <algorithm>
#include <utility>

#include "protocol/arrival_buffer.hpp"

namespace lci {

InKey* Grants::in_key(Link& link, uint16_t number) {
  InKey* key = link.in_keys.find(number);
  if (!key) {
    Target* target = parts_.targets.target(number);
    if (!target) return nullptr;
    key = &link.in_keys.add(number);
    key->link = &link;
    key->work = &work_;
    key->target = target;
    key->number = number;
    key->generation = target->generation.load(std::memory_order_acquire);
    target->add_key(key);
  }
  if (key->generation != key->target->generation.load(std::memory_order_acquire)) {
    renew(*key);
    if (key->reopened) work_.request(*key);
  }
  return key;
}

/// The port was reopened: what was leased under the old generation counts no more.
void Grants::renew(InKey& key) {
  key.reopened = key.generation != 0;
  key.generation = key.target->generation.load(std::memory_order_acquire);
  key.told_open = key.counted = false;
  key.void_credit += std::min(key.leased.messages, UINT32_MAX - key.void_credit);
  key.goal = key.leased = key.circulating = key.lent = key.grant = {};
  key.recall = false;
  key.to_come = key.short_to_come = 0;
  key.to_come_room = {};
  for (Announcement& announcement : key.waiting) announcement.credited = false;
  take_returned(key);
  if (key.is_waiting.exchange(false)) key.target->waiting_keys.fetch_sub(1);
  set_thresholds(key);
}

bool Grants::spend_lease(InKey& key, const MessageHeader& header, uint32_t bytes) {
  if (header.aux != key.generation || key.leased.messages == 0 || key.leased.bytes < bytes) return false;
  --key.leased.messages;
  key.leased.bytes -= bytes;
  return true;
}

void Grants::grow_lease(InKey& key) {
  Target& target = *key.target;
  if (!target.credited) {
    if (!key.told_open) {
      key.told_open = key.grant_open = true;
      queue_control(key);
    }
    return;
  }
  if (!key.counted) {
    key.counted = true;
    target.holders.fetch_add(1, std::memory_order_relaxed);
  }
  const Credit fair = target.fair_share();
  const uint32_t wanted = key.goal.messages == 0 ? parts_.attributes.initial_lease : key.goal.messages * 2;
  key.goal.messages = std::min(wanted, fair.messages);
  key.goal.bytes = std::min(uint64_t{key.goal.messages} * parts_.packets.max_eager(), fair.bytes);
  const Credit want = beyond(key.goal, key.lent);
  const Credit got = target.capacity.lease(want, key.generation);
  // What was admitted of it takes room only for now.
  const uint32_t admitted = key.circulating.messages - key.lent.messages;
  if (got.messages + admitted < want.messages) target.recall_from_others(&key);
  key.circulating = key.circulating + got;
  key.lent = key.lent + got;
  key.leased = key.leased + got;
  key.grant = key.grant + got;
  if (!key.told_open || !is_none(got)) {
    key.told_open = key.grant_open = true;
    queue_control(key);
  }
}

Credit Grants::take_returned(InKey& key) {
  InKey::Returned& own = key.returned_by_owner;
  const Credit back{
      own.messages.load(std::memory_order_relaxed) + key.returned.messages.exchange(0, std::memory_order_acquire),
      own.bytes.load(std::memory_order_relaxed) + key.returned.bytes.exchange(0, std::memory_order_acquire)};
  own.messages.store(0, std::memory_order_relaxed);
  own.bytes.store(0, std::memory_order_relaxed);
  return back;
}

/// What goes back to the target when it is returned: messages that were admitted and have come, and a lease above its
/// goal. The rest goes round.
Credit Grants::surplus(const InKey& key) {
  return beyond(beyond(key.circulating, key.to_come_room), least(key.goal, key.lent));
}

void Grants::process_returned(InKey& key) {
  Credit back = take_returned(key);
  if (is_none(back)) return;
  const Credit excess = least(back, surplus(key));
  key.circulating = beyond(key.circulating, excess);
  const Credit of_lease = beyond(key.lent, beyond(key.circulating, key.to_come_room));
  key.lent = beyond(key.lent, of_lease);
  back = beyond(back, excess);
  if (!is_none(back)) {
    key.leased = key.leased + back;
    key.grant = key.grant + back;
    queue_control(key);
  }
  if (!is_none(excess)) key.target->give(excess, of_lease, key.generation);
}

void Grants::set_thresholds(InKey& key) {
  const bool eager = !is_none(surplus(key)) || key.target->waiting_keys.load(std::memory_order_relaxed) != 0;
  key.return_threshold.store(eager ? 1 : std::max(1u, key.goal.messages / 4), std::memory_order_relaxed);
  key.byte_threshold.store(eager ? 1 : std::max<uint64_t>(1, key.goal.bytes / 4), std::memory_order_relaxed);
}

void Grants::recall_from(InKey& key) {
  key.goal = least(key.goal, key.target->fair_share());
  if (key.leased.messages == 0 || key.link->failed) return;
  key.recall = true;
  queue_control(key);
}

void Grants::handle_return(Link& link, InKey& key, const MessageHeader& header) {
  if (header.tag != key.generation) return;
  if (header.size > key.leased.messages || header.arg > key.leased.bytes) {
    return protocol_error(link, "more credit back than was granted", header);
  }
  const Credit back{header.size, header.arg};
  key.leased = beyond(key.leased, back);
  key.circulating = beyond(key.circulating, back);
  key.lent = beyond(key.lent, back);
  set_thresholds(key);
  key.target->give(back, back, key.generation);
}

void Grants::end_lease(InKey& key, Credit back) {
  key.queued = false;
  key.grant = {};
  if (key.target->credited) {
    key.leased = key.goal = {};
    key.circulating = beyond(key.circulating, back);
    if (key.counted) key.target->holders.fetch_sub(1, std::memory_order_relaxed);
    key.counted = false;
    key.target->give(back, std::exchange(key.lent, {}), key.generation);
  }
  set_thresholds(key);
}

void Grants::release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool by_owner) {
  if (messages == 0 && bytes == 0) return;
  if (key.target->generation.load(std::memory_order_relaxed) != generation) return;
  if (messages == kReplyRoom) return parts_.targets.give_reply_room(static_cast<Port&>(*key.target));
  // Two threads at a time may miss each other's part: then less than twice the threshold waits, half of a lease at
  // most.
  InKey::Returned& own = key.returned_by_owner;
  uint32_t returned_messages = own.messages.load(std::memory_order_relaxed);
  uint64_t returned_bytes = own.bytes.load(std::memory_order_relaxed);
  if (by_owner) {
    own.messages.store(returned_messages += messages, std::memory_order_relaxed);
    own.bytes.store(returned_bytes += bytes, std::memory_order_relaxed);
    returned_messages += key.returned.messages.load(std::memory_order_relaxed);
    returned_bytes += key.returned.bytes.load(std::memory_order_relaxed);
  } else {
    returned_bytes += key.returned.bytes.fetch_add(bytes, std::memory_order_release) + bytes;
    returned_messages += key.returned.messages.fetch_add(messages, std::memory_order_release) + messages;
  }
  if (returned_messages >= key.return_threshold.load(std::memory_order_relaxed) ||
      returned_bytes >= key.byte_threshold.load(std::memory_order_relaxed)) {
    key.work->request(key);  // of the device on which it came
  }
}

void Grants::refuse_sender(InKey& key, int code) {
  key.told_open = false;
  tell_refusal(key, code, key.generation);
}

void Grants::refuse_closed(InKey& key) {
  key.told_open = false;
  const bool closed = !key.target->is_open();
  tell_refusal(key, closed ? key.target->closed_as.load(std::memory_order_relaxed) : int{LCI_ERR_PORT_CLOSED},
               closed ? key.target->closed_generation.load(std::memory_order_acquire) : key.generation);
}

void Grants::tell_refusal(InKey& key, int code, uint32_t generation) {
  key.refuse = static_cast<uint16_t>(code);
  key.refuse_generation = generation;
  if (key.number & kEngineTarget) key.link->refuses_engine = true;
  queue_control(key);
}

void Grants::queue_control(InKey& key) {
  if (key.queued || key.link->failed) return;
  key.queued = true;
  Link& link = *key.link;
  key.next_queued = link.queued_control;
  link.queued_control = &key;
  links_.make_busy(link);
}

bool Grants::flush(Link& link, bool* moved) {
  while (InKey* key = link.queued_control) {
    bool all = true;
    if (key->refuse != 0) {
      const MessageHeader header{MessageKind::kRefuse, 0, key->number, 0, key->refuse, key->refuse_generation, 0};
      if ((all = links_.emit_control(link, header))) key->refuse = 0;
    }
    if (all && (key->grant_open || key->grant.messages != 0 || key->grant.bytes != 0)) {
      const uint8_t flags = key->target->credited ? 0 : kFlagUncredited;
      const MessageHeader header{MessageKind::kGrant,
                                 flags,
                                 key->number,
                                 key->grant.messages,
                                 key->target->name_hash.load(std::memory_order_relaxed),
                                 key->generation,
                                 key->grant.bytes};
      if ((all = links_.emit_control(link, header))) {
        key->grant = {};
        key->grant_open = false;
        counters_.add(Metric::grants);
      }
    }
    if (all && key->recall) {
      const MessageHeader header{MessageKind::kRecall, 0, key->number, 0, 0, key->generation, 0};
      if ((all = links_.emit_control(link, header))) {
        key->recall = false;
        counters_.add(Metric::recalls);
      }
    }
    if (!all) return false;
    link.queued_control = key->next_queued;
    key->queued = false;
    *moved = true;
  }
  return true;
}

}  // namespace lci
