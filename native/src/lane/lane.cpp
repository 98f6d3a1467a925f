// SPDX-License-Identifier: Apache-2.0
// Making, entering and giving up a lane.
#include "lane/lane.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "lane/lane_graphs.hpp"

namespace lci {
namespace {

/// How long a loop may have an enter wait for calls when nothing moves, and how many times that in all.
constexpr uint64_t kLongestSpin = 1'000'000, kSpinsInAll = 16;
/// Passes for one look at the clock.
constexpr int kPassesPerLook = 4;

/// The lane that this thread is inside of.
thread_local const Lane* entered = nullptr;

}  // namespace

Lane::Lane(const LaneParts& parts)
    : runtime_(parts.runtime),
      parts_(parts.devices),
      completions_(parts.completions),
      graphs_(std::make_unique<LaneGraphs>(*this)) {}

Lane::Entered::Entered(Lane& lane) : lane_(lane), of_thread_(entered), before_(std::exchange(of_thread_, &lane)) {}
Lane::Entered::~Entered() {
  of_thread_ = before_;
  lane_.leave();
}

bool Lane::is_entered() const {
  return entered == this;
}

int Lane::create(const LaneParts& parts, uint32_t first, uint32_t count, std::unique_ptr<Lane>* out) {
  const auto& all = parts.devices.devices;
  OwnMemory& memory = parts.devices.memory();
  if (count == 0 || count > kMaxDevices || first >= all.size() || count > all.size() - first) {
    return fail(LCI_ERR_DEVICE, "create lane: devices %u..%u, but the runtime has %u (attribute devices)", first,
                first + count - 1, all.size());
  }
  const std::lock_guard<std::mutex> one_at_a_time(parts.creating);
  for (uint32_t i = 0; i < count; ++i) {
    if (all[first + i].lane()) return fail(LCI_ERR_DEVICE, "create lane: device %u belongs to a lane", first + i);
  }
  std::unique_ptr<Lane> lane(new Lane(parts));
  lane->ring_size_ = parts.devices.attributes.lane_completions;
  lane->ring_mask_ = lane->ring_size_ - 1;
  lane->packet_cache_ = lane->packet_cache();
  lane->held_.resize(lane->ring_size_);
  lane->length_ = (LaneLayout::kCompletion + uint64_t{lane->ring_size_} * sizeof(lci_record) + 4095) / 4096 * 4096;
  lane->block_range_ = KeptRanges::shared().take_or_map(lane->length_);
  lane->block_ = lane->block_range_.base;
  if (!lane->block_) return fail(LCI_ERR_NO_MEMORY, "create lane: no memory for %lu bytes", lane->length_);
  lane->park_slot_ = first;
  memory.keep_range();  // Java looks at it [V15]
  // All of them first: once a device knows the lane, any thread may wake it.
  for (uint32_t i = 0; i < count; ++i) lane->devices_.push_back(&all[first + i]);
  for (uint32_t i = 0; i < count; ++i) {
    Device& device = all[first + i];
    std::lock_guard<TryLock> guard(device.lock);
    device.set_lane(lane.get());
    device.lane_index = i;
    memory.header().device[first + i].park_slot.store(first, std::memory_order_release);
  }
  lane->control().must_enter = all[first].comes_without_bell();
  lane->refill_packets();
  *out = std::move(lane);
  return LCI_DONE;
}

void Lane::number_records_from(uint32_t start) {
  head_ = tail_ = control().cq_head = control().cq_tail = start;
}

void Lane::retire() {
  {
    std::lock_guard<TryLock> guard(writing_);
    if (retired_.exchange(true) || !block_) return;
  }
  const Alone alone(*this);
  for (uint32_t i = 0; i < inboxes_.size(); ++i) {
    if (inboxes_[i] && !inboxes_[i]->closing) close_port(i);
  }
  for (; head_ != tail_; ++head_) {
    Held& held = held_[head_ & ring_mask_];
    if (held.inbox) give_back(held);
    held.inbox = nullptr;
  }
  kept_.take_all([this](const Held& held) { give_back(held); });
  give_up_packets();
  graphs_->cancel_all();
  for (Device* device : devices_) {
    std::lock_guard<TryLock> guard(device->lock);
    device->forget(*this);
    device->set_lane(nullptr);
  }
  graphs_->retire();
  queue_.clear();
  madvise(block_, length_, MADV_DONTNEED);  // Java has looked at it: the range stays mapped [V15]
}

Lane::~Lane() {
  retire();
  if (!taken_) taken_ = pushed_.take_all_in_order();
  while (const Pushed* node = taken_) {
    taken_ = node->next;
    delete node;
  }
  KeptRanges::shared().put_back(block_range_);
}

bool Lane::take() {
  Inside found = Inside::kNobody;
  if (inside_.compare_exchange_strong(found, Inside::kOwner, std::memory_order_acquire)) return true;
  if (is_entered()) return false;                       // a function that a helper's pass calls
  owner_waits_.store(true, std::memory_order_relaxed);  // no other helper comes in
  bool taken = false;
  for (SpinWait wait; !taken && found != Inside::kOwner; wait.step()) {
    found = Inside::kNobody;
    taken = inside_.compare_exchange_strong(found, Inside::kOwner, std::memory_order_acquire);
  }
  owner_waits_.store(false, std::memory_order_relaxed);
  return taken;
}

uint64_t Lane::generations() const {
  uint64_t sum = 0;
  for (const Device* device : devices_) sum += device->generation();
  return sum;
}

int Lane::enter() {
  if (!take()) return fail(LCI_ERR_BUSY, "enter: another thread is inside this lane");
  const Entered entered(*this);
  lci_lane_control& control = this->control();
  constexpr uint32_t kMost = kLaneSubmissions + kSubmissionSlack;
  if (control.submit_count > kMost) {
    return fail(LCI_ERR_ARGUMENT, "enter: submit_count is %u, the submission array has %u entries; nothing was posted",
                std::exchange(control.submit_count, 0), kMost);
  }
  posted_calls_alone_ = true;
  const Told before = control.spin_ns != 0 ? told() : Told{};
  bool moved = pass();
  const bool may_stay = control.spin_ns != 0 && (control.flags & LCI_ENTER_PROGRESS) && posted_calls_alone_;
  if (may_stay && has_calls()) moved |= stay(before);
  return moved ? LCI_DONE : LCI_RETRY;
}

bool Lane::has_calls() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](Device* device) { return device->collectives().has_calls(); });
}

/// The loop has something to act on when this changes.
Lane::Told Lane::told() const {
  uint64_t heard = 0;
  for (Device* device : devices_) {
    heard += device->counters().get(Metric::arrivals) + device->counters().get(Metric::signals);
  }
  return {tail_, told_generations_, heard};
}

/// Calls of groups go on by passes alone, and a turn of the loop costs more than a pass: takes more of them, until
/// there is something for the loop, or nothing moves. True if anything moved.
bool Lane::stay(const Told& before) {
  lci_lane_control& control = this->control();
  const uint64_t spin_ns = std::min(control.spin_ns, kLongestSpin);
  uint64_t now = now_ns(), quiet_by = now + spin_ns;
  const uint64_t end = now + kSpinsInAll * spin_ns;
  uint32_t moved = control.moved;
  bool any = false;
  while (now < quiet_by && now < end) {
    for (int i = 0; i < kPassesPerLook; ++i) {
      if (told() != before) return any;  // the loop has something to do
      if (!has_calls()) return any;
      const bool moves = pass();
      control.moved = moved += control.moved;
      if (!moves) continue;
      any = true;
      quiet_by = now_ns() + spin_ns;
      break;
    }
    now = now_ns();
  }
  return any;
}

bool Lane::pass() {
  lci_lane_control& control = this->control();
  const uint32_t freed = free_consumed(), before = tail_;
  const uint32_t published = control.flags & LCI_ENTER_POST ? publish() : 0;
  bool progressed = false;
  if (control.flags & LCI_ENTER_PROGRESS) {
    if (published != 0) {
      for (Device* device : devices_) device->publish_rings();
    }
    parts_.transport.look(false);
    progressed = progress(budget());
  } else if (published != 0) {
    for (Device* device : devices_) device->ring_doorbells();
  }
  if (control.flags & LCI_ENTER_DRAIN) drain();
  const uint32_t drained = tail_ - before;
  refill_packets();
  bool more = !queue_.empty() || has_pushed();
  told_generations_ = 0;
  for (uint32_t i = 0; i < devices_.size(); ++i) {
    const Device& device = *devices_[i];
    more = more || device.must_enter() || device.comes_without_bell();
    const uint64_t generation = device.generation();
    control.generation[i] = generation;
    told_generations_ += generation;
  }
  control.must_enter = more;
  control.in_flight = in_flight_;
  control.cq_tail = tail_;
  control.moved = freed + published + (progressed ? 1 : 0) + drained;
  return published != 0 || progressed || drained != 0;
}

/// What the loop wants one pass to take.
Budget Lane::budget() {
  const lci_lane_control& control = this->control();
  Budget budget;
  if (control.arrival_budget != 0) budget.messages = control.arrival_budget;
  if (control.byte_budget != 0) budget.bytes = control.byte_budget;
  return budget;
}

bool Lane::progress(Budget budget, Device::By by) {
  bool moved = false;
  const uint32_t count = device_count();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = rotate_device_ + i;
    Device& device = *devices_[place < count ? place : place - count];
    moved |= device.short_pass() || device.progress(budget, by);
  }
  if (count > 1) {
    // What came to a later one may have let a graph post on one that had rung already.
    for (Device* device : devices_) device->ring_doorbells();
    rotate_device_ = (rotate_device_ + 1) % count;
  }
  return moved;
}

}  // namespace lci
