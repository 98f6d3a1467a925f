// SPDX-License-Identifier: Apache-2.0
#include "protocol/announcements.hpp"

#include <utility>

#include "base/no_memory.hpp"
#include "protocol/peer_bytes.hpp"

namespace lci {

void Announcements::handle(Link& link, const MessageHeader& header) {
  InKey* key = grants_.in_key(link, header.target);
  const bool rendezvous = header.kind == MessageKind::kRendezvous;
  if (!key || (!rendezvous && !packet_of(parts_.packets, link, header.arg, header.size))) {
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
    match = receives_.match_of(link, header);
  } else if ((header.flags & kFlagReply) || !replies_.read_request(link, header, &match)) {
    return protocol_error(link, "announced reply, or request for a reply nowhere", header);
  }
  // May find no memory, and come again: nothing has been counted yet.
  key->waiting.push_back({rendezvous, credited, !claims_credit, signal, header.flags, header.size,
                          claims_credit ? 0 : header.aux, header.tag, header.arg, match});
  if (credited ? !grants_.spend_lease(*key, header, 0) : !may_announce(*key, claims_credit)) {
    key->waiting.pop_back();
    const char* const what = credited ? "more rendezvous than were granted" : "more announcements than may wait";
    return protocol_error(link, what, header);
  }
  if (!claims_credit) key->unanswered.fetch_add(1, std::memory_order_relaxed);
  admit(*key);
}

/// What an honest sender can have announced without credit and had no answer to. Twice its limit, because it takes a
/// refusal for the end of what is still on its way. Engine 0 need not be here, but its senders cannot know. [X3, X8]
uint32_t Announcements::most_unanswered(const InKey& key) const {
  const bool expected = key.number == kEngineTarget;
  if (!expected && key.target->state.load(std::memory_order_acquire) == Target::State::kNever) return 2;
  return 2 * (key.number & kEngineTarget ? engine_announcements(parts_) : kMaxUncreditedRendezvous);
}

/// @param claims_credit of an earlier generation: the announcement is admitted as one without.
bool Announcements::may_announce(InKey& key, bool claims_credit) const {
  if (!claims_credit) return key.unanswered.load(std::memory_order_relaxed) < most_unanswered(key);
  if (key.void_credit == 0) return false;
  --key.void_credit;
  return true;
}

bool Announcements::look_at_work() {
  return grants_.work().drain([this](InKey& key) { look_at(key); });
}

/// Something of the key changed that other threads may have seen first.
void Announcements::look_at(InKey& key) {
  if (const uint32_t dropped = key.dropped_generation.exchange(0, std::memory_order_acq_rel); dropped != 0) {
    grants_.tell_refusal(key, LCI_ERR_PORT_CLOSED, dropped);
  }
  if (key.target->state.load(std::memory_order_acquire) == Target::State::kClosed) {
    const bool refused = key.refuse_generation == key.target->closed_generation.load(std::memory_order_acquire);
    if ((key.told_open || (key.reopened && !refused)) && !key.link->failed) grants_.refuse_closed(key);
    key.told_open = false;
    return refuse_all(key);
  }
  if (key.generation != key.target->generation.load(std::memory_order_acquire)) grants_.renew(key);
  // A sender that was refused learns that the port is open again.
  if (std::exchange(key.reopened, false) && !key.link->failed) grants_.grow_lease(key);
  if (key.recall_wanted.exchange(false, std::memory_order_acq_rel)) grants_.recall_from(key);
  if (key.link->failed) {
    const Credit rest = Grants::take_returned(key);
    key.circulating = beyond(key.circulating, rest);
    if (!is_none(rest)) key.target->give(rest, {}, key.generation);
  } else {
    grants_.process_returned(key);
  }
  admit(key);
}

/// An announcement that finds no memory waits on, for the next pass.
void Announcements::admit(InKey& key) {
  const bool looked_at_all = unless_no_memory([&] {
    if (key.number & kEngineTarget) {
      admit_to_engine(key);
    } else {
      admit_to_port(key);
    }
  });
  if (!looked_at_all) grants_.work().request(key);
}

void Announcements::admit_to_port(InKey& key) {
  Target& target = *key.target;
  const auto state = target.state.load(std::memory_order_acquire);
  if (state == Target::State::kClosed) return refuse_all(key);
  if (state == Target::State::kNever) return;
  bool admitted = false;
  while (!key.waiting.empty()) {
    if (refuse_mismatch(key)) continue;
    Credit taken;
    if (!take_room(key, key.waiting.front(), &taken)) break;
    if (!admit_first(key, taken)) {
      give_room_back(key, taken);
      break;
    }
    admitted = true;
  }
  if (key.waiting.empty() && key.is_waiting.exchange(false)) target.waiting_keys.fetch_sub(1);
  if (admitted && !key.link->failed) grants_.grow_lease(key);  // the dead spend nothing
  grants_.set_thresholds(key);
}

Capacity::Coming Announcements::coming(const InKey& key, const Announcement& announcement) const {
  if (!announcement.rendezvous) return Capacity::Coming::kHere;
  const bool is_short = announcement.size <= parts_.packets.max_eager();
  // It has a packet that a long one of its sender may need in order to come.
  if (is_short && !key.link->shares_memory && key.short_to_come == 0) return Capacity::Coming::kShort;
  return key.to_come != 0 ? Capacity::Coming::kFurther : Capacity::Coming::kLong;
}

/// False: there is none, and the key is looked at again when there is.
bool Announcements::take_room(InKey& key, const Announcement& announcement, Credit* taken) {
  Target& target = *key.target;
  if (!target.credited) {
    if (!announcement.rendezvous || IncomingStreams::has_uncredited_room(*key.link, announcement.size)) return true;
    key.link->uncredited_wait = true;
    return false;
  }
  const Credit wanted{announcement.credited ? 0u : 1u, announcement.size};
  const uint32_t packet = parts_.packets.max_eager();
  while (!target.capacity.admit(coming(key, announcement), wanted, packet, key.generation, taken)) {
    // Its sender cannot spend what it has, if that must not overtake this one.
    if (!key.link->shares_memory && announcement.size <= packet) grants_.recall_from(key);
    if (key.is_waiting.exchange(true)) return false;
    target.waiting_keys.fetch_add(1);
    target.recall_from_others(&key);
    // Once more, in case room came before it was known that we wait.
  }
  key.circulating = key.circulating + *taken;
  return true;
}

/// False: there is no memory for it now.
bool Announcements::admit_first(InKey& key, const Credit& taken) {
  const Announcement announcement = key.waiting.front();
  const uint32_t charge = key.target->credited ? 1 : 0;
  const bool admitted = announcement.rendezvous ? streams_.admit(key, announcement, charge, taken)
                                                : deliver(key, announcement, charge, taken.bytes);
  if (!admitted) return false;
  if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
  end_first(key);
  counters_.add(Metric::pulls);
  return true;
}

bool Announcements::deliver(InKey& key, const Announcement& announcement, uint32_t charge, uint64_t charge_bytes) {
  Link& link = *key.link;
  const std::byte* bytes = packet_of(parts_.packets, link, announcement.argument, announcement.size);
  // Copied, also for who takes packets: the sender has one announcement slot, and it is free when this one is back.
  const Payload payload{nullptr, bytes, announcement.size, announcement.signal};
  const bool delivered = unless_no_memory([&] {
    make_room(&link.packets_back);
    delivery_.deliver(
        {static_cast<Port&>(*key.target), key, announcement.tag, payload, announcement.match, charge, charge_bytes});
  });
  if (!delivered) return false;
  counters_.add(Metric::arrivals);
  counters_.add(Metric::arrival_bytes, announcement.size);
  link.packets_back.push_back(static_cast<uint32_t>(announcement.argument));
  links_.make_ready(link);
  return true;
}

/// The announcement has found no memory; there may be some at the next pass.
void Announcements::give_room_back(InKey& key, const Credit& taken) {
  const Announcement& announcement = key.waiting.front();
  key.circulating = beyond(key.circulating, taken);
  if (announcement.rendezvous) key.target->came(taken, announcement.size, key.generation);
  key.target->give(taken, {}, key.generation);
  grants_.work().request(key);
}

/// Announced sends go to their engine at once, which remembers them.
void Announcements::admit_to_engine(InKey& key) {
  const auto state = key.target->state.load(std::memory_order_acquire);
  if (state == Target::State::kNever) return;
  if (state == Target::State::kClosed) return refuse_all(key);
  while (!key.waiting.empty()) {
    if (refuse_mismatch(key)) continue;
    const Announcement announcement = key.waiting.front();
    if (!key.link->failed) grants_.grow_lease(key);
    grants_.set_thresholds(key);
    MatchedAnnouncement matched;
    bool open = false;
    if (!unless_no_memory([&] { open = receives_.match_announcement(key, announcement, &matched); })) {
      return grants_.work().request(key);
    }
    if (!open) return refuse_all(key);
    key.waiting.pop_front();
    counters_.add(Metric::pulls);
    if (matched.receive) receives_.receive_announced(std::move(matched));
    count_left_behind(key);
  }
}

/// The sender gave the port another name, or the engine other keys: its first message is the last.
bool Announcements::refuse_mismatch(InKey& key) {
  const Announcement& announcement = key.waiting.front();
  const uint32_t expected = key.target->name_hash.load(std::memory_order_relaxed);
  if (announcement.name_hash == 0 || expected == 0 || announcement.name_hash == expected) return false;
  if (!announcement.rendezvous) {
    key.link->packets_back.push_back(static_cast<uint32_t>(announcement.argument));
    links_.make_ready(*key.link);
  }
  if (!(key.number & kEngineTarget)) replies_.decline(*key.link, announcement.match);
  if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
  end_first(key);
  counters_.add(Metric::discarded);
  grants_.refuse_sender(key, LCI_ERR_PORT_MISMATCH);
  return true;
}

void Announcements::refuse_all(InKey& key) {
  if (!key.waiting.empty()) grants_.refuse_closed(key);
  for (; !key.waiting.empty(); end_first(key)) {
    const Announcement& announcement = key.waiting.front();
    if (!announcement.rendezvous) key.link->packets_back.push_back(static_cast<uint32_t>(announcement.argument));
    if (announcement.counted) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
    counters_.add(Metric::discarded);
    if (!(key.number & kEngineTarget)) replies_.decline(*key.link, announcement.match);
  }
  links_.make_ready(*key.link);
}

void Announcements::end_first(InKey& key) {
  key.waiting.pop_front();
  count_left_behind(key);
}

/// One that waited has gone where it was to go: who sees that none is left behind sees it there.
void Announcements::count_left_behind(InKey& key) {
  if (!key.link->failed) return;
  const bool last = key.target->left_behind.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (last && (key.number & kEngineTarget)) receives_.fail_receives_at(static_cast<Engine&>(*key.target));
}

void Announcements::peer_gone(Link& link) {
  link.in_keys.for_each([&](InKey& key) {
    Credit back = key.leased;
    for (auto announcement = key.waiting.begin(); announcement != key.waiting.end();) {
      if (!announcement->rendezvous) {
        ++announcement;
        continue;
      }
      if (announcement->credited) ++back.messages;
      announcement = key.waiting.erase(announcement);
      counters_.add(Metric::discarded);
    }
    const auto left_behind = static_cast<uint32_t>(key.waiting.size());
    key.target->left_behind.fetch_add(left_behind, std::memory_order_relaxed);
    grants_.end_lease(key, back);
    grants_.work().request(key);
  });
}

}  // namespace lci
