// SPDX-License-Identifier: Apache-2.0
#include "transport/chaos/chaos.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace lci {

LinkChaos::LinkChaos(const ChaosPlan& plan, uint32_t rank, uint32_t device, uint32_t peer, Counters& counters)
    : plan_(plan),
      counters_(counters),
      rank_(rank),
      peer_(peer),
      data_(plan.seed, rank, device, peer, 1),
      control_(plan.seed, rank, device, peer, 2),
      posts_(plan.seed, rank, device, peer, 3),
      passes_(plan.seed, rank, device, peer, 4) {}

int LinkChaos::refuse() {
  if (!posts_.chance(plan_.refuse)) return LCI_DONE;
  static constexpr int kReasons[] = {LCI_RETRY_LOCK, LCI_RETRY_NOPACKET, LCI_RETRY_NOMEM, LCI_RETRY_NOCREDIT};
  return kReasons[posts_.next() % std::size(kReasons)];
}

bool LinkChaos::delay(bool control, const MessageHeader& header, const void* payload, uint32_t size) {
  ++messages_;
  if (plan_.kill_rank == rank_ && messages_ >= plan_.kill_at) {
    counters_.add(Metric::chaos_killed);
    kill(getpid(), SIGKILL);
  }
  if (plan_.stall_rank == peer_ && messages_ == plan_.stall_at) {
    stalled_until_ = now_ + plan_.stall_ticks;
    counters_.add(Metric::chaos_stalled);
  }
  ChaosStream& random = control ? control_ : data_;
  uint64_t due = 0;
  if (random.chance(plan_.delay)) due = now_ + 1 + random.next() % plan_.ticks;
  due = std::max(due, stalled_until_ > now_ ? stalled_until_ : 0);
  if (due == 0) {
    for (const Held& held : held_) {
      if (held.control == control) {
        counters_.add(Metric::chaos_reordered);
        break;
      }
    }
    return false;
  }
  counters_.add(Metric::chaos_delayed);
  Held held{control, due, header, size, messages_, {}};
  if (size != 0) std::memcpy(held.payload, payload, size);
  held_.push_back(held);
  return true;
}

bool LinkChaos::tick(RingProducer& control, RingProducer& data) {
  ++now_;
  bool moved = false;
  for (size_t i = 0; i < held_.size();) {
    Held& held = held_[i];
    RingProducer& ring = held.control ? control : data;
    if (held.due > now_ || !ring.has_room(slots_for(held.size))) {
      ++i;
      continue;
    }
    ring.write(held.header, held.payload, held.size);
    held_[i] = held_.back();
    held_.pop_back();
    moved = true;
  }
  return moved;
}

void LinkChaos::shorten(uint32_t* messages) {
  if (passes_.chance(plan_.shorten)) *messages = std::min(*messages, 1u);
}

}  // namespace lci
