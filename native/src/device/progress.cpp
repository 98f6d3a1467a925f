// SPDX-License-Identifier: Apache-2.0
// One pass over a device: control traffic, what waits for room, arrivals. [area H]
#include "device/device.hpp"
#include "device/progressing.hpp"
#include "transport/network/network_device.hpp"

namespace lci {
namespace {

/// Up to this many incoming links are looked at directly; above, only those whose summary byte is set.
constexpr uint32_t kDirectLinks = 8;
/// Each so many passes, short ones not counted, calls of groups are looked at that may stand still. A loop that sleeps
/// makes 20 a second.
constexpr uint64_t kPassesToStall = 8;

/// A part of the pass, which is a part of every short round trip: compilers leave some of them calls. A rare part
/// is called only after a check that it has something to do.
#define LCI_OF_PASS [[gnu::always_inline]] inline

/// Passes in a row that may do nothing but end calls over boards.
constexpr uint32_t kMostShortPasses = 7;
/// Looks at boards at the end of a pass that has moved nothing.
constexpr int kLooksAtBoards = 32;

}  // namespace

bool Device::progress(Budget& budget, By by) {
  counters().add(Metric::progress_calls);
  short_passes_ = 0;
  protocols_.host.begin_pass();
  begin_batch();
  bool moved = parts().chaos && pass_delayed(budget);
  NetworkDevice* const network = protocols_.links.network();
  if (network) moved |= network->pump();
  protocols_.spending.progress();
  moved |= protocols_.packets.take_returned_packets(index());
  moved |= protocols_.announcements.progress();
  if (!protocols_.handed.empty()) moved |= take_handed();
  scan_summary(by);
  for (size_t i = 0; i < protocols_.links.ready().size(); ++i)
    moved |= protocols_.arrivals.drain_control(*protocols_.links.ready()[i]);
  moved |= look_for_failures();
  if (protocols_.links.any_awaits_device()) moved |= meet_devices();
  moved |= retry_backlog();
  if (protocols_.any_waiting()) moved |= retry_waiting();
  if (!protocols_.works.empty()) moved |= protocols_.works.progress();
  if (!protocols_.barriers.empty() && protocols_.barriers.progress()) {
    publish_rings();  // the next round is waited for: it need not wait for the rest of the pass
    moved = true;
  }
  if (!protocols_.collectives.idle() && protocols_.collectives.progress()) {
    publish_rings();
    moved = true;
  }
  if (protocols_.collectives.has_calls() && ++passes_with_calls_ % kPassesToStall == 0) {
    protocols_.collectives.look_for_stalls();
  }
  moved |= send_to_busy();
  moved |= drain_ready(budget);
  if (protocols_.collectives.take_through() && protocols_.collectives.progress()) publish_rings();
  // Answers to what just came go out in this pass: nothing would call for another one.
  for (Link* link : protocols_.links.busy()) moved |= protocols_.flush_control(*link);
  leave_ready();
  tell_room();
  protocols_.admission.progress();
  ring_doorbells();
  if (!moved && protocols_.collectives.watches_boards()) {
    for (int i = 0; i < kLooksAtBoards && !moved; ++i) moved = end_over_boards();
  }
  if (!moved) counters().add(Metric::progress_idle);
  return moved;
}

bool Device::end_over_boards() {
  if (short_passes_ == kMostShortPasses) return false;
  if (!protocols_.collectives.end_over_boards()) return false;
  counters().add(Metric::progress_calls);
  ++short_passes_;
  ring_doorbells();  // whoever has heard of it may have posted
  return true;
}

/// Lets go what chaos had held back or refused.
bool Device::pass_delayed(Budget& budget) {
  bool moved = false;
  protocols_.links.for_each([&](Link& link) {
    if (!link.chaos) return;
    if (link.chaos->tick(link.control_out, link.data_out)) {
      protocols_.links.touch(link);
      moved = true;
    }
    link.chaos->shorten(&budget.messages);
  });
  protocols_.admission.heal_chaos();
  return moved;
}

bool Device::retry_backlog() {
  if (protocols_.backlog.empty()) return false;
  bool starved = false;
  const auto post_again = [this](const Queued& queued, bool first) {
    if (first) begin_batch();  // one slow rank does not hold up another
    lci_status done;
    return post(queued.op, nullptr, queued.target, &done);
  };
  const bool moved = protocols_.backlog.retry(post_again, &starved);
  if (starved) protocols_.host.call_again();
  if (moved) protocols_.spending.tell_refused();
  return moved;
}

/// Operations of graphs that wait for room, and cancels of their receives.
bool Device::retry_waiting() {
  protocols_.waiting.end_given_up();
  const bool cancelled = protocols_.receives.carry_out_cancels();
  if (protocols_.waiting.empty()) return cancelled;
  bool starved = false;
  const auto post_again = [this](const WaitingOp& op, bool first, lci_status* done) {
    if (first) begin_batch();
    const lci_descriptor& descriptor = op.descriptor();
    return post(descriptor, descriptor.u.inline_payload, op.target, done);
  };
  const bool moved = protocols_.waiting.retry(post_again, &starved);
  if (starved) protocols_.host.call_again();
  return moved || cancelled;
}

/// Which peers have something for the device.
LCI_OF_PASS void Device::scan_summary(By by) {
  std::atomic<uint8_t>* summary = parts().memory().summary(index());
  const uint32_t size = parts().ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (size > 8 && rank % 8 == 0) {  // eight bytes at a look; a byte that appears meanwhile is seen next time
      while (rank + 8 <= size &&
             reinterpret_cast<std::atomic<uint64_t>*>(summary + rank)->load(std::memory_order_acquire) == 0) {
        rank += 8;
      }
      if (rank >= size) break;
    }
    if (summary[rank].load(std::memory_order_relaxed) == 0) continue;
    if (!protocols_.links.find(rank) && rank != parts().rank) {  // ours is rung by ring_own_bell(), too
      int ignored = LCI_DONE;
      protocols_.links.open(rank, &ignored);  // may throw: then the bell is left for the next pass
      if (!protocols_.links.find(rank) && parts().peers.state(rank) == RankState::kActive) {
        protocols_.host.call_again();
        continue;  // its memory cannot be mapped just now
      }
    }
    // Cleared before the rings are read: what is published later sets it again.
    if (by == By::kOwner || rank != parts().rank) summary[rank].exchange(0, std::memory_order_acq_rel);
    Link* link = protocols_.links.find(rank);
    if (link && (link->in_open || accept(*link))) protocols_.links.make_ready(*link);
  }
}

LCI_OF_PASS bool Device::send_to_busy() {
  bool moved = false;
  for (size_t i = 0; i < protocols_.links.busy().size();) {
    Link& link = *protocols_.links.busy()[i];
    moved |= protocols_.flush_control(link);
    moved |= protocols_.stream(link);
    if (link.streams.empty() && !link.out_queued()) {
      protocols_.links.busy()[i] = protocols_.links.busy().back();
      protocols_.links.busy().pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

LCI_OF_PASS bool Device::drain_ready(Budget& budget) {
  bool moved = false;
  const size_t count = protocols_.links.ready().size();
  if (rotate_ >= count) rotate_ = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t place = rotate_ + i;
    moved |= protocols_.arrivals.drain_data(*protocols_.links.ready()[place < count ? place : place - count], budget);
  }
  ++rotate_;
  return moved;
}

/// Packets go back to those who were read, and links that hold no more leave the list.
LCI_OF_PASS void Device::leave_ready() {
  for (size_t i = 0; i < protocols_.links.ready().size();) {
    Link& link = *protocols_.links.ready()[i];
    if (!link.packets_back.empty()) protocols_.packets.give_packets_back(link);
    if (!link.put_acks.empty()) protocols_.put_get_server.flush_acks(link);
    const bool more = protocols_.links.has_message(link);
    if (more) protocols_.host.call_again();
    if (!more && protocols_.links.readable() > kDirectLinks) {
      link.ready = false;
      protocols_.links.ready()[i] = protocols_.links.ready().back();
      protocols_.links.ready().pop_back();
    } else {
      ++i;
    }
  }
}

/// Whoever was refused for want of room in a ring, of a packet, or of room elsewhere may try again.
LCI_OF_PASS void Device::tell_room() {
  protocols_.links.for_each([this](Link& link) {
    if (link.wants_room && link.data_out.has_room(slots_for(LCI_INLINE_MAX))) {
      link.wants_room = false;
      ++generation_;
    }
    if (link.wants_remote && link.may_put_and_get()) {
      link.wants_remote = false;  // their ends may leave no record in a lane
      room_came();
    }
  });
  if (protocols_.collectives.take_room()) room_came();
  if (parts().packets.waits(index())) collect_packets();
  WantedPackets& wanted = protocols_.wanted;
  if (wanted.may_be_there() || (wanted.wanted() && parts().chaos)) {
    wanted.end();
    room_came();
  }
  if (room_came_elsewhere_.load(std::memory_order_relaxed) &&
      room_came_elsewhere_.exchange(false, std::memory_order_acquire)) {
    room_came();
  }
}

/// Callers that were refused hear of it. What waits here had its turn in this pass, and need another.
void Device::room_came() {
  ++generation_;
  const bool waits = !protocols_.backlog.empty() || !protocols_.waiting.empty();
  if (waits || !protocols_.links.busy().empty()) protocols_.host.call_again();
}

/// Packets that came back to devices which nobody progresses just now. Only tries their locks: nobody waits.
void Device::collect_packets() {
  const PacketPools& pool = parts().packets.pool();
  if (pool.free_for(index()) != 0) return;
  for (uint32_t i = 0; i < parts().devices.size(); ++i) {
    Device& other = parts().devices[i];
    if (i == index() || other.lane() || !pool.share(index(), i)) continue;
    if (!other.protocols_.packets.any_returned()) continue;
    const TryLockGuard guard(other.lock);
    if (!guard || other.lane()) continue;
    const Progressing mark(other);  // of those who are told that their packets have left
    other.protocols_.packets.take_returned_packets(index());
    other.ring_doorbells();
  }
}

}  // namespace lci
