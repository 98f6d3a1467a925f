// SPDX-License-Identifier: Apache-2.0
// Flow control: what receivers promise and senders spend. [area X]
//
// A message is charged from its arrival until its user takes or releases it; then the charge goes round again to the
// same sender, until the lease is to shrink. The sizes: a first announcement earns `initial_lease`, each further one
// (the sender was out of credit) doubles the lease up to the fair share of the lease holders.
#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/device.hpp"

namespace lci {

// --- receiver
// ---------------------------------------------------------------------------------------------------------

InKey* Device::in_key(Link& link, uint16_t number) {
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
void Device::renew(InKey& key) {
  key.reopened = key.generation != 0;
  key.generation = key.target->generation.load(std::memory_order_acquire);
  key.told_open = key.counted = false;
  key.void_credit += std::min(key.leased.messages, UINT32_MAX - key.void_credit);
  key.goal = key.leased = key.circulating = key.grant = {};
  key.recall = false;
  for (Announcement& announcement : key.waiting) announcement.credited = false;
  key.returned_messages.store(0, std::memory_order_relaxed);
  key.returned_bytes.store(0, std::memory_order_relaxed);
  if (key.is_waiting.exchange(false)) key.target->waiting_keys.fetch_sub(1);
  set_thresholds(key);
}

bool Device::spend_lease(InKey& key, const MessageHeader& header, uint32_t bytes) {
  if (header.aux != key.generation || key.leased.messages == 0 || key.leased.bytes < bytes) return false;
  --key.leased.messages;
  key.leased.bytes -= bytes;
  return true;
}

/// What an honest sender can have announced without credit and had no answer to. Twice its limit, because it takes a
/// refusal for the end of what is still on its way. Engine 0 need not be here, but its senders cannot know. [X3, X8]
uint32_t Device::most_unanswered(const InKey& key) const {
  const bool expected = key.number == kEngineTarget;
  if (!expected && key.target->state.load(std::memory_order_acquire) == Target::State::kNever) return 2;
  return 2 * (key.number & kEngineTarget ? engine_announcements() : kMaxUncreditedRendezvous);
}

/// @param claims_credit of an earlier generation: the announcement is admitted as one without.
bool Device::may_announce(InKey& key, bool claims_credit) const {
  if (!claims_credit) return key.unanswered.load(std::memory_order_relaxed) < most_unanswered(key);
  if (key.void_credit == 0) return false;
  --key.void_credit;
  return true;
}

void Device::end_waiting(InKey& key) {
  key.waiting.pop_front();
  count_left_behind(key);
}

/// One that waited has gone where it was to go: who sees that none is left behind sees it there.
void Device::count_left_behind(InKey& key) {
  if (!key.link->failed) return;
  const bool last = key.target->left_behind.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (last && (key.number & kEngineTarget)) fail_receives_at(static_cast<Engine&>(*key.target));
}

void Device::handle_announcement(Link& link, const MessageHeader& header) {
  InKey* key = in_key(link, header.target);
  const bool rendezvous = header.kind == MessageKind::kRendezvous;
  if (!key || (!rendezvous && !packet_of(link, header.arg, header.size))) {
    return protocol_error(link, "announcement of nothing", header);
  }
  const bool signal = header.flags & kFlagSignal;
  if (signal && (rendezvous || header.size != 0 || (header.target & kEngineTarget))) {
    return protocol_error(link, "signal with a payload", header);
  }
  if (has_key_for_default_engine(header)) return protocol_error(link, "key for an engine without keys", header);
  const bool claims_credit = header.flags & kFlagCredited;
  if (claims_credit && (!rendezvous || (header.target & kEngineTarget))) {
    return protocol_error(link, "announcement with credit", header);
  }
  // Credit of a port that was reopened since is void: the message is admitted like one without.
  const bool credited = claims_credit && header.aux == key->generation;
  uint64_t match = 0;
  if (header.target & kEngineTarget) {
    match = match_of(link, header);
  } else if ((header.flags & kFlagReply) || !read_request(link, header, &match)) {
    return protocol_error(link, "announced reply, or request for a reply nowhere", header);
  }
  // May find no memory, and come again: nothing has been counted yet.
  key->waiting.push_back({rendezvous, credited, !claims_credit, signal, header.flags, header.size,
                          claims_credit ? 0 : header.aux, header.tag, header.arg, match});
  if (credited ? !spend_lease(*key, header, 0) : !may_announce(*key, claims_credit)) {
    key->waiting.pop_back();
    const char* const what = credited ? "more rendezvous than were granted" : "more announcements than may wait";
    return protocol_error(link, what, header);
  }
  if (!claims_credit) key->unanswered.fetch_add(1, std::memory_order_relaxed);
  admit(*key);
}

/// What finds no memory waits on, for the next pass.
void Device::admit(InKey& key) {
  const bool looked_at_all = unless_no_memory([&] {
    if (key.number & kEngineTarget) {
      admit_sends(key);
    } else {
      admit_waiting(key);
    }
  });
  if (!looked_at_all) work_.request(key);
}

/// The sender gave the port another name, or the engine other keys: its first message is the last.
bool Device::refuse_mismatch(InKey& key) {
  const Announcement& announcement = key.waiting.front();
  const uint32_t expected = key.target->name_hash.load(std::memory_order_relaxed);
  if (announcement.name_hash == 0 || expected == 0 || announcement.name_hash == expected) return false;
  if (!announcement.rendezvous) {
    key.link->packets_back.push_back(static_cast<uint32_t>(announcement.argument));
    links_.make_ready(*key.link);
  }
  if (!(key.number & kEngineTarget)) decline_reply(*key.link, announcement.match);
  if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
  end_waiting(key);
  counters.add(Metric::discarded);
  refuse_sender(key, LCI_ERR_PORT_MISMATCH);
  return true;
}

/// Announced sends go to their engine at once, which remembers them.
void Device::admit_sends(InKey& key) {
  const auto state = key.target->state.load(std::memory_order_acquire);
  if (state == Target::State::kNever) return;
  if (state == Target::State::kClosed) return refuse_waiting(key);
  while (!key.waiting.empty()) {
    if (refuse_mismatch(key)) continue;
    const Announcement announcement = key.waiting.front();
    if (!key.link->failed) grow_lease(key);
    set_thresholds(key);
    MatchedAnnouncement matched;
    bool open = false;
    if (!unless_no_memory([&] { open = match_announcement(key, announcement, &matched); })) return work_.request(key);
    if (!open) return refuse_waiting(key);
    key.waiting.pop_front();
    counters.add(Metric::pulls);
    if (matched.receive) receive_announced(std::move(matched));
    count_left_behind(key);
  }
}

void Device::refuse_waiting(InKey& key) {
  if (!key.waiting.empty()) refuse_closed(key);
  for (; !key.waiting.empty(); end_waiting(key)) {
    const Announcement& announcement = key.waiting.front();
    if (!announcement.rendezvous) key.link->packets_back.push_back(static_cast<uint32_t>(announcement.argument));
    if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
    counters.add(Metric::discarded);
    if (!(key.number & kEngineTarget)) decline_reply(*key.link, announcement.match);
  }
  links_.make_ready(*key.link);
}

/// What was admitted has found no memory; there may be some at the next pass.
void Device::give_admission_back(InKey& key, const Credit& taken) {
  key.circulating.messages -= taken.messages;
  key.circulating.bytes -= taken.bytes;
  key.target->capacity.give(taken, key.generation);
  work_.request(key);
}

void Device::admit_waiting(InKey& key) {
  Target& target = *key.target;
  const auto state = target.state.load(std::memory_order_acquire);
  Link& link = *key.link;
  if (state == Target::State::kClosed) return refuse_waiting(key);
  if (state == Target::State::kNever) return;
  bool admitted = false;
  while (!key.waiting.empty()) {
    if (refuse_mismatch(key)) continue;
    const Announcement announcement = key.waiting.front();
    Credit taken;
    if (target.credited) {
      const uint32_t messages = announcement.credited ? 0 : 1;
      if (!target.capacity.admit(messages, announcement.size, key.generation, &taken)) {
        if (!key.is_waiting.exchange(true)) {
          target.waiting_keys.fetch_add(1);
          target.recall_from_others(&key);
          continue;  // once more, in case room came before it was known that we wait
        }
        break;
      }
      key.circulating.messages += taken.messages;
      key.circulating.bytes += taken.bytes;
    } else if (announcement.rendezvous && !has_uncredited_room(link, announcement.size)) {
      link.uncredited_wait = true;
      break;
    }
    const uint32_t charge = target.credited ? 1 : 0;
    if (announcement.rendezvous && !admit_rendezvous(key, announcement, charge, taken.bytes)) {
      give_admission_back(key, taken);
      break;
    }
    if (!announcement.rendezvous) {
      const std::byte* bytes = packet_of(link, announcement.argument, announcement.size);
      // Copied, also for who takes packets: the sender has one announcement slot, and it is free when this one is back.
      const Payload payload{nullptr, bytes, announcement.size, announcement.signal};
      if (!unless_no_memory([&] {
            make_room(&link.packets_back);
            deliver_request(static_cast<Port&>(target), key, announcement.tag, payload, charge, taken.bytes, nullptr,
                            announcement.match);
          })) {
        give_admission_back(key, taken);
        break;
      }
      counters.add(Metric::arrivals);
      counters.add(Metric::arrival_bytes, announcement.size);
    }
    if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
    end_waiting(key);
    admitted = true;
    counters.add(Metric::pulls);
    if (!announcement.rendezvous) {
      link.packets_back.push_back(static_cast<uint32_t>(announcement.argument));
      links_.make_ready(link);
    }
  }
  if (key.waiting.empty() && key.is_waiting.exchange(false)) target.waiting_keys.fetch_sub(1);
  if (admitted && !link.failed) grow_lease(key);  // the dead spend nothing
  set_thresholds(key);
}

void Device::grow_lease(InKey& key) {
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
  Credit want;
  if (key.goal.messages > key.circulating.messages) want.messages = key.goal.messages - key.circulating.messages;
  if (key.goal.bytes > key.circulating.bytes) want.bytes = key.goal.bytes - key.circulating.bytes;
  const Credit got = target.capacity.lease(want, key.generation);
  if (got.messages < want.messages) target.recall_from_others(&key);
  key.circulating.messages += got.messages;
  key.circulating.bytes += got.bytes;
  key.leased.messages += got.messages;
  key.leased.bytes += got.bytes;
  key.grant.messages += got.messages;
  key.grant.bytes += got.bytes;
  if (!key.told_open || got.messages != 0 || got.bytes != 0) {
    key.told_open = key.grant_open = true;
    queue_control(key);
  }
}

/// What the user took goes round to the sender again, but for what makes the lease too large.
void Device::process_returned(InKey& key) {
  Credit back{key.returned_messages.exchange(0, std::memory_order_acquire),
              key.returned_bytes.exchange(0, std::memory_order_acquire)};
  if (back.messages == 0 && back.bytes == 0) return;
  Credit excess;
  if (key.circulating.messages > key.goal.messages) {
    excess.messages = std::min(back.messages, key.circulating.messages - key.goal.messages);
  }
  if (key.circulating.bytes > key.goal.bytes)
    excess.bytes = std::min(back.bytes, key.circulating.bytes - key.goal.bytes);
  key.circulating.messages -= excess.messages;
  key.circulating.bytes -= excess.bytes;
  back.messages -= excess.messages;
  back.bytes -= excess.bytes;
  if (back.messages != 0 || back.bytes != 0) {
    key.leased.messages += back.messages;
    key.leased.bytes += back.bytes;
    key.grant.messages += back.messages;
    key.grant.bytes += back.bytes;
    queue_control(key);
  }
  if (excess.messages != 0 || excess.bytes != 0) key.target->give(excess, key.generation);
}

void Device::set_thresholds(InKey& key) {
  const bool eager = key.circulating.messages > key.goal.messages || key.circulating.bytes > key.goal.bytes ||
                     key.target->waiting_keys.load(std::memory_order_relaxed) != 0;
  key.return_threshold.store(eager ? 1 : std::max(1u, key.goal.messages / 4), std::memory_order_relaxed);
  key.byte_threshold.store(eager ? 1 : std::max<uint64_t>(1, key.goal.bytes / 4), std::memory_order_relaxed);
}

void Device::release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool exclusive) {
  if (messages == 0 && bytes == 0) return;
  if (key.target->generation.load(std::memory_order_relaxed) != generation) return;
  if (messages == kReplyRoom) return give_reply_room(static_cast<Port&>(*key.target));
  uint32_t returned_messages;
  uint64_t returned_bytes;
  if (exclusive) {  // nobody else returns to this key: no read-modify-write
    returned_messages = key.returned_messages.load(std::memory_order_relaxed) + messages;
    returned_bytes = key.returned_bytes.load(std::memory_order_relaxed) + bytes;
    key.returned_messages.store(returned_messages, std::memory_order_relaxed);
    key.returned_bytes.store(returned_bytes, std::memory_order_relaxed);
  } else {
    returned_bytes = key.returned_bytes.fetch_add(bytes, std::memory_order_release) + bytes;
    returned_messages = key.returned_messages.fetch_add(messages, std::memory_order_release) + messages;
  }
  if (returned_messages >= key.return_threshold.load(std::memory_order_relaxed) ||
      returned_bytes >= key.byte_threshold.load(std::memory_order_relaxed)) {
    work_.request(key);
  }
}

bool Device::process_work() {
  const bool moved = work_.drain([this](InKey& key) { look_at(key); });
  return take_handed() || moved;
}

/// Something of the key changed that other threads may have seen first.
void Device::look_at(InKey& key) {
  if (const uint32_t dropped = key.dropped_generation.exchange(0, std::memory_order_acq_rel); dropped != 0) {
    tell_refusal(key, LCI_ERR_PORT_CLOSED, dropped);
  }
  if (key.target->state.load(std::memory_order_acquire) == Target::State::kClosed) {
    const bool refused = key.refuse_generation == key.target->closed_generation.load(std::memory_order_acquire);
    if ((key.told_open || (key.reopened && !refused)) && !key.link->failed) refuse_closed(key);
    key.told_open = false;
    return refuse_waiting(key);
  }
  if (key.generation != key.target->generation.load(std::memory_order_acquire)) renew(key);
  // A sender that was refused learns that the port is open again.
  if (std::exchange(key.reopened, false) && !key.link->failed) grow_lease(key);
  if (key.recall_wanted.exchange(false, std::memory_order_acq_rel)) recall_from(key);
  if (key.link->failed) {
    const Credit rest{key.returned_messages.exchange(0), key.returned_bytes.exchange(0)};
    key.circulating.messages -= rest.messages;
    key.circulating.bytes -= rest.bytes;
    if (rest.messages != 0 || rest.bytes != 0) key.target->give(rest, key.generation);
  } else {
    process_returned(key);
  }
  admit(key);
}

/// Others need credit: the sender keeps its fair share.
void Device::recall_from(InKey& key) {
  const Credit share = key.target->fair_share();
  key.goal = {std::min(key.goal.messages, share.messages), std::min(key.goal.bytes, share.bytes)};
  if (key.leased.messages == 0 || key.link->failed) return;
  key.recall = true;
  queue_control(key);
}

void Device::refuse_sender(InKey& key, int code) {
  key.told_open = false;
  tell_refusal(key, code, key.generation);
}

/// Of the opening that ended, which may not be the last one that this key has seen.
void Device::refuse_closed(InKey& key) {
  key.told_open = false;
  const bool closed = !key.target->is_open();
  tell_refusal(key, closed ? key.target->closed_as.load(std::memory_order_relaxed) : int{LCI_ERR_PORT_CLOSED},
               closed ? key.target->closed_generation.load(std::memory_order_acquire) : key.generation);
}

void Device::tell_refusal(InKey& key, int code, uint32_t generation) {
  key.refuse = static_cast<uint16_t>(code);
  key.refuse_generation = generation;
  queue_control(key);
}

void Device::queue_control(InKey& key) {
  if (key.queued || key.link->failed) return;
  key.queued = true;
  Link& link = *key.link;
  key.next_queued = link.queued_control;
  link.queued_control = &key;
  links_.make_busy(link);
}

void Device::handle_return(Link& link, const MessageHeader& header) {
  InKey* key = in_key(link, header.target);
  if (!key) return protocol_error(link, "credit of nothing", header);
  if (header.flags & kFlagReply) return handle_declined(link, header);
  if (header.tag != key->generation) return;
  if (header.size > key->leased.messages || header.arg > key->leased.bytes) {
    return protocol_error(link, "more credit back than was granted", header);
  }
  key->leased.messages -= header.size;
  key->leased.bytes -= header.arg;
  key->circulating.messages -= header.size;
  key->circulating.bytes -= header.arg;
  set_thresholds(*key);
  key->target->give({header.size, header.arg}, key->generation);
}

// --- sender
// -----------------------------------------------------------------------------------------------------------

void Device::handle_grant(Link& link, const MessageHeader& header) {
  if (!parts_.targets.target(header.target)) return protocol_error(link, "credit for nothing", header);
  OutKey& key = out_key(link, header.target);
  const uint32_t mine = sender_hash(header.target);
  if (mine != 0 && header.aux != 0 && mine != header.aux) {
    const bool known = std::exchange(key.state, OutKey::State::kMismatch) == OutKey::State::kMismatch;
    if (LaneView* owner = lane(); owner && !known) {
      owner->port_changed(this, link.rank, header.target, LCI_ERR_PORT_MISMATCH);
    }
    return;
  }
  if (header.target & kEngineTarget) key.announce_limit = engine_announcements();
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
  if (LaneView* owner = lane(); reopened && owner) owner->port_changed(this, link.rank, header.target, LCI_DONE);
  if (key.refused) tell_writable(link, key);
}

void Device::tell_writable(Link& link, OutKey& key) {
  if (key.held_back != 0) return;  // it is told when that has gone
  uint64_t count = key.announce_limit > key.announced ? 1 : 0;
  if (key.state == OutKey::State::kUncredited) {
    count = UINT32_MAX;
  } else {
    count += key.credit.messages;
  }
  // No room yet (a grant of bytes alone, say): whoever was refused still waits for the next one.
  if (count == 0) return;
  LaneView* const owner = lane();
  if (owner && !unless_no_memory([&] { owner->writable(this, link.rank, key.target, count); })) {
    untold_ = unfinished_ = true;
    return;
  }
  key.refused = false;
}

/// Tells every flow that was refused that there is room, unless the backlog goes first.
void Device::tell_refused() {
  untold_ = false;
  links_.for_each([this](Link& link) {
    if (link.failed || backlog_.holds(link.rank)) return;
    link.out_keys.for_each([&](OutKey& key) {
      if (key.refused) tell_writable(link, key);
    });
  });
}

void Device::handle_recall(Link& link, const MessageHeader& header) {
  OutKey* key = link.out_keys.find(header.target);
  if (!key || header.tag != key->generation || key->state != OutKey::State::kLeased) return;
  if (key->credit.messages == 0 && key->credit.bytes == 0) return;
  key->give_back.messages += key->credit.messages;
  key->give_back.bytes += key->credit.bytes;
  key->credit = {};
  queue_return(link, *key);
}

void Device::queue_return(Link& link, OutKey& key) {
  if (key.queued) return;
  key.queued = true;
  key.next_queued = link.queued_returns;
  link.queued_returns = &key;
  links_.make_busy(link);
}

void Device::handle_refusal(Link& link, const MessageHeader& header) {
  if (header.target == kEngineTarget || !parts_.targets.target(header.target)) {
    return protocol_error(link, "refusal of nothing", header);
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
  sends_.for_each([&](uint64_t, SendContext& context) {
    if (context.link != &link || context.number != header.target || context.streaming) return;
    const bool later = static_cast<int32_t>(context.port_generation - generation) > 0;
    if (later) return;
    if (!context.credited && key.announced != 0) --key.announced;
    finish_send_context(context, code);
  });
  if (LaneView* owner = lane(); owner && news) owner->port_changed(this, link.rank, header.target, code);
}

}  // namespace lci
