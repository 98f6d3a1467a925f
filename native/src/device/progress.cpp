// SPDX-License-Identifier: Apache-2.0
// One pass over a device: control traffic, what waits for room, arrivals. [area H]
#include "device/device.hpp"
#include "device/progressing.hpp"

namespace lci {
namespace {

/// Up to this many incoming links are looked at directly; above, only those whose summary byte is set.
constexpr uint32_t kDirectLinks = 8;

}  // namespace

bool Device::progress(Budget& budget, By by) {
  counters().add(Metric::progress_calls);
  host_.begin_pass();
  begin_batch();
  bool moved = parts().chaos && pass_delayed(budget);
  protocols_.spending.progress();
  moved |= protocols_.packets.take_returned_packets(index());
  moved |= protocols_.announcements.progress();
  moved |= take_handed();
  scan_summary(by);
  for (size_t i = 0; i < links_.ready().size(); ++i) moved |= protocols_.arrivals.drain_control(*links_.ready()[i]);
  moved |= look_for_failures();
  moved |= meet_devices();
  moved |= retry_backlog();
  if (!protocols_.barriers.empty() && protocols_.barriers.progress()) {
    publish_rings();  // the next round is waited for: it need not wait for the rest of the pass
    moved = true;
  }
  moved |= send_to_busy();
  moved |= drain_ready(budget);
  // Answers to what just came go out in this pass: nothing would call for another one.
  for (Link* link : links_.busy()) moved |= protocols_.flush_control(*link);
  leave_ready();
  tell_room();
  protocols_.admission.progress();
  ring_doorbells();
  if (!moved) counters().add(Metric::progress_idle);
  return moved;
}

/// Lets go what chaos had held back or refused.
bool Device::pass_delayed(Budget& budget) {
  bool moved = false;
  links_.for_each([&](Link& link) {
    if (!link.chaos) return;
    if (link.chaos->tick(link.control_out, link.data_out)) {
      links_.touch(link);
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
  if (starved) host_.call_again();
  if (moved) protocols_.spending.tell_refused();
  return moved;
}

bool Device::send_to_busy() {
  bool moved = false;
  for (size_t i = 0; i < links_.busy().size();) {
    Link& link = *links_.busy()[i];
    moved |= protocols_.flush_control(link);
    moved |= protocols_.stream(link);
    if (link.streams.empty() && !link.out_queued()) {
      links_.busy()[i] = links_.busy().back();
      links_.busy().pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

bool Device::drain_ready(Budget& budget) {
  bool moved = false;
  const size_t count = links_.ready().size();
  for (size_t i = 0; i < count; ++i) {
    moved |= protocols_.arrivals.drain_data(*links_.ready()[(rotate_ + i) % count], budget);
  }
  if (count != 0) rotate_ = (rotate_ + 1) % static_cast<uint32_t>(count);
  return moved;
}

/// Packets go back to those who were read, and links that hold no more leave the list.
void Device::leave_ready() {
  for (size_t i = 0; i < links_.ready().size();) {
    Link& link = *links_.ready()[i];
    protocols_.packets.give_packets_back(link);
    if (!link.put_acks.empty()) protocols_.put_get_server.flush_acks(link);
    const bool more = link.data_in.has_message() || link.control_in.has_message();
    if (more) host_.call_again();
    if (!more && links_.readable() > kDirectLinks) {
      link.ready = false;
      links_.ready()[i] = links_.ready().back();
      links_.ready().pop_back();
    } else {
      ++i;
    }
  }
}

/// Whoever was refused for want of room in a ring, of a packet, or of room elsewhere may try again.
void Device::tell_room() {
  links_.for_each([this](Link& link) {
    if (link.wants_room && link.data_out.has_room(slots_for(LCI_INLINE_MAX))) {
      link.wants_room = false;
      ++generation_;
    }
    if (link.wants_remote && link.may_put_and_get()) {
      link.wants_remote = false;  // their ends may leave no record in a lane
      room_came();
    }
  });
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

/// Callers that were refused hear of it. The backlog and the streams had their turn in this pass, and need another.
void Device::room_came() {
  ++generation_;
  if (!protocols_.backlog.empty() || !links_.busy().empty()) host_.call_again();
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
