// SPDX-License-Identifier: Apache-2.0
#include "lane/lane.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mutation.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

/// Records that inboxes leave free for operation completions and events.
constexpr uint32_t kOperationRoom = 16;
/// Messages of one inbox recorded before the next one's turn. [V5]
constexpr uint32_t kInboxQuantum = 32;
/// Packets that the loop may hold, and when they are topped up.
constexpr uint32_t kPacketCache = 16;

uint32_t records_for(uint32_t size) {
  return size <= 32 ? 1 : 1 + (size - 32 + 63) / 64;
}

}  // namespace

int Lane::create(Runtime& runtime, uint32_t first, uint32_t count, std::unique_ptr<Lane>* out) {
  if (count == 0 || count > kMaxDevices || first >= runtime.devices() || count > runtime.devices() - first) {
    return fail(LCI_ERR_DEVICE, "create lane: devices %u..%u, but the runtime has %u (attribute devices)", first,
                first + count - 1, runtime.devices());
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (runtime.device(first + i).lane())
      return fail(LCI_ERR_DEVICE, "create lane: device %u belongs to a lane", first + i);
  }
  std::unique_ptr<Lane> lane(new Lane(runtime));
  lane->ring_size_ = runtime.attributes().lane_completions;
  lane->ring_mask_ = lane->ring_size_ - 1;
  lane->held_.resize(lane->ring_size_);
  lane->length_ = (LaneLayout::kCompletion + uint64_t{lane->ring_size_} * sizeof(lci_record) + 4095) / 4096 * 4096;
  void* mapped = mmap(nullptr, lane->length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return fail(LCI_ERR_NO_MEMORY, "create lane: no memory for %lu bytes", lane->length_);
  lane->block_ = static_cast<std::byte*>(mapped);
  lane->park_slot_ = first;
  runtime.keep_ranges();
  for (uint32_t i = 0; i < count; ++i) {
    Device& device = runtime.device(first + i);
    std::lock_guard<TryLock> guard(device.lock);
    device.set_lane(lane.get());
    device.lane_index = i;
    lane->devices_.push_back(&device);
    runtime.arena().header().device[first + i].park_slot.store(first, std::memory_order_release);
  }
  lane->refill_packets();
  *out = std::move(lane);
  return LCI_DONE;
}

void Lane::retire() {
  {
    std::lock_guard<TryLock> guard(writing_);
    if (retired_.exchange(true) || !block_) return;
  }
  for (uint32_t i = 0; i < inboxes_.size(); ++i) {
    if (inboxes_[i] && !inboxes_[i]->closing) close_port(i);
  }
  for (; head_ != tail_; ++head_) {
    Held& held = held_[head_ & ring_mask_];
    if (held.inbox && held.owned) lci_buffer_free(held.owned);
    held.inbox = nullptr;
  }
  give_up_packets();
  for (Device* device : devices_) {
    std::lock_guard<TryLock> guard(device->lock);
    device->forget(*this);
    device->set_lane(nullptr);
  }
  queue_.clear();
  madvise(block_, length_, MADV_DONTNEED);  // Java has looked at it: the range stays mapped [V15]
}

Lane::~Lane() {
  retire();
  take_pushed();
}

int Lane::enter() {
  if (busy_.exchange(1, std::memory_order_acquire) != 0) {
    return fail(LCI_ERR_BUSY, "enter: another thread is inside this lane");
  }
  const Inside inside(busy_);
  lci_lane_control& control = this->control();
  bool moved = pass();
  if (!moved && control.spin_ns != 0 && (control.flags & LCI_ENTER_PROGRESS)) {
    const uint64_t end = now_ns() + control.spin_ns;
    do {
      for (int i = 0; i < 32 && !moved; ++i) moved = has_work() && pass();
    } while (!moved && now_ns() < end);
  }
  return moved ? LCI_DONE : LCI_RETRY;
}

bool Lane::pass() {
  lci_lane_control& control = this->control();
  const uint32_t freed = free_consumed();
  const uint32_t published = control.flags & LCI_ENTER_POST ? publish() : 0;
  bool progressed = false;
  if (control.flags & LCI_ENTER_PROGRESS) {
    if (published != 0) {
      for (Device* device : devices_) device->publish_rings();
    }
    runtime_.look_at_peers(false);
    progressed = progress();
  } else if (published != 0) {
    for (Device* device : devices_) device->ring_doorbells();
  }
  const uint32_t drained = control.flags & LCI_ENTER_DRAIN ? drain() : 0;
  refill_packets();
  bool more = !queue_.empty() || pushed_.load(std::memory_order_relaxed) != nullptr;
  for (uint32_t i = 0; i < devices_.size(); ++i) {
    more = more || devices_[i]->must_enter();
    control.generation[i] = devices_[i]->generation();
  }
  control.must_enter = more;
  control.in_flight = in_flight_;
  control.cq_tail = tail_;
  control.moved = freed + published + (progressed ? 1 : 0) + drained;
  return published != 0 || progressed || drained != 0;
}

/// Gives back what the loop has read. Frees before anything is written, so that room and credit are known.
uint32_t Lane::free_consumed() {
  const uint32_t upto = control().cq_head;
  const uint32_t count = upto - head_;
  if (count > tail_ - head_) return 0;  // nonsense from the loop
  for (; head_ != upto; ++head_) {
    Held& held = held_[head_ & ring_mask_];
    if (!held.inbox) continue;
    --held.inbox->records_out;
    if (held.taken != 0) held.inbox->freed(held.taken);
    if (held.owned) lci_buffer_free(held.owned);
    Device& device = *held.key->channel->device;
    device.release(*held.key, held.generation, held.charge_messages, held.charge_bytes, device.lane() == this);
    held.inbox = nullptr;
  }
  release_inboxes();
  return count;
}

uint32_t Lane::publish() {
  lci_lane_control& control = this->control();
  const uint32_t count = std::min(control.submit_count, kLaneSubmissions + kSubmissionSlack);
  control.submit_count = 0;
  if (count == 0) return 0;
  for (Device* device : devices_) device->begin_batch();
  lci_descriptor* entries = submissions();
  const uint32_t max_posted = runtime_.attributes().max_posted;
  uint32_t posted = 0;
  for (uint32_t i = 0; i < count; ++posted) {
    lci_descriptor& op = entries[i];
    const uint32_t inline_size =
        (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_INLINE && op.op <= LCI_OP_SEND ? op.size : 0;
    const uint32_t used = inline_size <= LCI_INLINE_MAX ? records_for(inline_size) : 1;
    if (op.device >= devices_.size() || used > count - i) {
      op.outcome = static_cast<uint16_t>(fail(op.device >= devices_.size() ? LCI_ERR_DEVICE : LCI_ERR_SIZE,
                                              "post: device %u of a lane with %zu, or a payload beyond the batch",
                                              op.device, devices_.size()));
      ++i;
      continue;
    }
    Device& device = *devices_[op.device];
    if (op.op == LCI_OP_AM && op.flags == LCI_FLAG_INLINE && !LCI_MUTATED("post_twice") && device.post_short_am(op)) {
      op.outcome = LCI_DONE;
      i += used;
      continue;
    }
    if (in_flight_ >= max_posted) {
      // What cannot be answered with posted may go on.
      const bool short_message =
          op.op <= LCI_OP_SEND && op.size <= runtime_.max_eager() && !(op.flags & LCI_FLAG_SIGNAL);
      if (!short_message && op.op != LCI_OP_CANCEL) {
        device.counters.add(Metric::retries_pending);
        op.outcome = LCI_RETRY_PENDING;
        i += used;
        continue;
      }
    }
    OpTarget target{nullptr, this, op.user_context};
    if (op.flags & LCI_FLAG_COMP) {
      target.completion = runtime_.completion(static_cast<uint32_t>(op.user_context));
      if (!target.completion) {
        op.outcome = static_cast<uint16_t>(
            fail(LCI_ERR_ARGUMENT, "post: no completion object %u", static_cast<uint32_t>(op.user_context)));
        i += used;
        continue;
      }
    }
    if (op.op == LCI_OP_RECV) op.flags |= LCI_FLAG_SIGNAL;  // its status comes as a record, always
    if (LCI_MUTATED("post_twice") && op.op == LCI_OP_AM) device.post(op, op.u.inline_payload, target, nullptr);
    lci_status done;
    // Counted before: the signal may come within the post.
    ++in_flight_;
    const int code = device.post(op, op.u.inline_payload, target, &done);
    const bool signals = is_posted(code) && !target.completion;
    if (!signals) --in_flight_;
    op.outcome = static_cast<uint16_t>(code);
    i += used;
  }
  return posted;
}

bool Lane::progress() {
  const lci_lane_control& control = this->control();
  Budget budget;
  if (control.arrival_budget != 0) budget.messages = control.arrival_budget;
  if (control.byte_budget != 0) budget.bytes = control.byte_budget;
  bool moved = false;
  const uint32_t count = device_count();
  for (uint32_t i = 0; i < count; ++i) moved |= devices_[(rotate_device_ + i) % count]->progress(budget);
  if (count > 1) rotate_device_ = (rotate_device_ + 1) % count;
  return moved;
}

uint32_t Lane::drain() {
  const uint32_t before = tail_;
  take_pushed();
  while (!queue_.empty() && room() != 0) {
    const lci_record& next = queue_.front();
    held_[tail_ & ring_mask_].inbox = nullptr;
    record(tail_++) = next;
    if (next.kind == LCI_RECORD_OP) --in_flight_;
    queue_.pop_front();
  }
  const auto count = static_cast<uint32_t>(inboxes_.size());
  for (uint32_t i = 0; i < count; ++i) {
    Inbox* inbox = inboxes_[(rotate_inbox_ + i) % count].get();
    if (!inbox || inbox->closing) continue;
    inbox->take_pushed();
    if (inbox->stored()) inbox->drain(kInboxQuantum);
    demand(inbox->index()).depth = static_cast<uint32_t>(inbox->depth());
  }
  if (count > 1) rotate_inbox_ = (rotate_inbox_ + 1) % count;
  return tail_ - before;
}

bool Lane::make_contiguous(uint32_t count) {
  const uint32_t place = tail_ & ring_mask_;
  const uint32_t left = ring_size_ - place;
  const uint32_t needed = count <= left ? count : left + count;
  if (room() < needed + kOperationRoom) return false;
  if (count <= left) return true;
  lci_record& pad = record(tail_);
  pad = {};
  pad.kind = LCI_RECORD_PAD;
  pad.size = left;
  for (uint32_t i = 0; i < left; ++i) held_[(tail_ + i) & ring_mask_].inbox = nullptr;
  tail_ += left;
  return true;
}

bool Lane::write_message(Inbox& inbox, const Arrival& arrival, uint32_t size, const Payload* payload,
                         std::byte* address, uint32_t taken, bool owned) {
  lci_demand& demand = this->demand(inbox.index());
  if (demand.delivered >= demand.requested && !LCI_MUTATED("ignore_demand")) return false;
  const uint32_t records = payload ? records_for(size) : 1;
  if (!make_contiguous(records)) return false;
  lci_record& out = record(tail_);
  out.kind = LCI_RECORD_MESSAGE;
  out.flags = payload ? 0 : LCI_RECORD_FLAG_ADDRESS;
  out.code = LCI_DONE;
  out.rank = arrival.rank;
  out.port = static_cast<uint16_t>(inbox.port().number);
  out.index = static_cast<uint16_t>(inbox.index());
  out.size = size;
  out.tag = arrival.tag;
  if (payload) {
    payload->copy(out.u.inline_payload);
  } else {
    out.u.address = reinterpret_cast<uint64_t>(address);
  }
  held_[tail_ & ring_mask_] = {
      &inbox, arrival.key, owned ? address : nullptr, arrival.charge_bytes, arrival.charge_messages, arrival.generation,
      taken};
  for (uint32_t i = 1; i < records; ++i) held_[(tail_ + i) & ring_mask_].inbox = nullptr;
  tail_ += records;
  ++demand.delivered;
  ++inbox.records_out;
  return true;
}

void Lane::refill_packets() {
  lci_lane_control& control = this->control();
  if (control.packet_count >= kPacketCache / 2) return;
  control.packet_count += runtime_.pool().get_many(devices_[0]->index(), control.packets + control.packet_count,
                                                   kPacketCache - control.packet_count);
  if (control.packet_count == 0) devices_[0]->wait_for_packets();
}

void Lane::give_up_packets() {
  lci_lane_control& control = this->control();
  for (uint32_t i = 0; i < std::min<uint32_t>(control.packet_count, std::size(control.packets)); ++i) {
    if (runtime_.pool().owns(control.packets[i])) runtime_.pool().put(devices_[0]->index(), control.packets[i]);
  }
  control.packet_count = 0;
  runtime_.wake_packet_waiters();
}

// --- events
// -------------------------------------------------------------------------------------------------------------

void Lane::operation_ended(Device* from, int code, uint32_t rank, uint64_t tag, uint64_t size, uint64_t context) {
  if (retired_.load(std::memory_order_acquire)) return;
  lci_record ended{};
  ended.kind = LCI_RECORD_OP;
  ended.code = static_cast<uint16_t>(code);
  ended.rank = rank;
  ended.size = static_cast<uint32_t>(size);
  ended.tag = tag;
  ended.context = context;
  if (from->lane() == this) {
    queue(ended);
  } else {
    push(ended, true);
  }
}

void Lane::writable(Device* from, uint32_t rank, uint16_t target, uint64_t count) {
  lci_record room{};
  room.kind = LCI_RECORD_WRITABLE;
  room.flags = target & kEngineTarget ? LCI_RECORD_FLAG_ENGINE : 0;
  room.rank = rank;
  room.port = target & static_cast<uint16_t>(~kEngineTarget);
  room.index = static_cast<uint16_t>(from->lane_index);
  room.context = count;
  queue(room);
}

void Lane::peer_changed(Device* from, uint32_t rank, int state, int code) {
  lci_record change{};
  change.kind = LCI_RECORD_PEER;
  change.code = static_cast<uint16_t>(code);
  change.rank = rank;
  change.index = static_cast<uint16_t>(from->lane_index);
  change.context = static_cast<uint64_t>(state);
  queue(change);
}

void Lane::port_changed(Device* from, uint32_t rank, uint16_t port, int code) {
  lci_record change{};
  change.kind = LCI_RECORD_PORT;
  change.code = static_cast<uint16_t>(code);
  change.rank = rank;
  change.port = port;
  change.index = static_cast<uint16_t>(from->lane_index);
  queue(change);
}

void Lane::synchronizer_fired(uint32_t id, std::vector<lci_status> statuses) {
  if (retired_.load(std::memory_order_acquire)) return;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const lci_status& status = statuses[i];
    lci_record fired{};
    fired.kind = LCI_RECORD_SYNC;
    fired.code = static_cast<uint16_t>(status.code);
    fired.rank = status.rank;
    fired.index = static_cast<uint16_t>(statuses.size() - 1 - i);
    fired.size = static_cast<uint32_t>(status.size);
    fired.tag = status.tag;
    fired.context = uint64_t{id} << 32 | (status.user_context >> 32);
    push(fired, false);
  }
}

void Lane::push(const lci_record& record, bool operation) {
  auto* node = new Pushed{nullptr, record, operation};
  Pushed* head = pushed_.load(std::memory_order_relaxed);
  do {
    node->next = head;
  } while (!pushed_.compare_exchange_weak(head, node, std::memory_order_seq_cst, std::memory_order_relaxed));
  wake();
}

bool Lane::take_pushed() {
  if (!pushed_.load(std::memory_order_relaxed)) return false;
  Pushed* node = pushed_.exchange(nullptr, std::memory_order_acquire);
  Pushed* in_order = nullptr;
  while (node) {
    Pushed* next = node->next;
    node->next = in_order;
    in_order = node;
    node = next;
  }
  while (in_order) {
    queue_.push_back(in_order->record);
    Pushed* next = in_order->next;
    delete in_order;
    in_order = next;
  }
  return true;
}

int LaneSynchronizer::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  std::vector<lci_status> fired;
  {
    std::lock_guard<TryLock> guard(lock_);
    statuses_.push_back(status);
    if (statuses_.size() < threshold_) return LCI_DONE;
    fired.swap(statuses_);
  }
  lane_.synchronizer_fired(id(), std::move(fired));
  return LCI_DONE;
}

// --- ports
// --------------------------------------------------------------------------------------------------------------

int Lane::open_port(uint32_t number, const char* name, uint32_t messages, uint64_t bytes, uint32_t* index) {
  uint32_t free = 0;
  while (free < inboxes_.size() && inboxes_[free]) ++free;
  if (free == kLaneInboxes)
    return fail(LCI_ERR_EXHAUSTED, "open port %u: this lane has %u inboxes already", number, free);
  Port* port = runtime_.port(number);
  if (!port) return fail(LCI_ERR_PORT, "open port: %u is outside 1..%u", number, LCI_MAX_PORT);
  if (messages == 0) messages = runtime_.attributes().inbox_messages;
  if (bytes == 0) bytes = runtime_.attributes().inbox_bytes;
  auto inbox = std::make_unique<Inbox>(*this, *port, free);
  if (!inbox->open(messages, bytes, runtime_.max_eager())) {
    return fail(LCI_ERR_NO_MEMORY, "open port %u: no address space for %lu bytes", number, bytes);
  }
  if (free == inboxes_.size()) inboxes_.emplace_back();
  demand(free) = {};
  demand(free).port = number;
  Inbox* opened = inbox.get();
  inboxes_[free] = std::move(inbox);
  const int code = runtime_.open_port(number, name, nullptr, opened, messages, bytes);
  if (code != LCI_DONE) {
    demand(free) = {};
    inboxes_[free].reset();
    return code;
  }
  *index = free;
  return LCI_DONE;
}

int Lane::close_port(uint32_t index) {
  if (index >= inboxes_.size() || !inboxes_[index] || inboxes_[index]->closing) {
    return fail(LCI_ERR_PORT, "close port: no inbox %u on this lane", index);
  }
  Inbox& inbox = *inboxes_[index];
  inbox.closing = true;
  const int code = runtime_.close_port(inbox.port().number);
  runtime_.shared.add(Metric::discarded, inbox.discard());
  demand(index).depth = 0;
  release_inboxes();
  return code;
}

/// Closed inboxes go when the loop has consumed their last record.
void Lane::release_inboxes() {
  for (uint32_t i = 0; i < inboxes_.size(); ++i) {
    if (!inboxes_[i] || !inboxes_[i]->closing || inboxes_[i]->records_out != 0) continue;
    if (inboxes_[i]->has_pushed()) runtime_.shared.add(Metric::discarded, inboxes_[i]->discard());
    demand(i) = {};
    graveyard_.push_back(std::move(inboxes_[i]));
  }
}

}  // namespace lci
