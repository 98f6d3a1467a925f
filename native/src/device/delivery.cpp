// SPDX-License-Identifier: Apache-2.0
// Telling users: an active message goes to its port, the end of an operation to who waits for it.

#include <new>

#include "base/fences.hpp"
#include "device/device.hpp"

namespace lci {

/// Says to which object or inbox an arrival is handed, so that it is not freed meanwhile.
///
/// Memory orders: the device writes the word, fences, and looks at the port again; who frees the object has closed the
/// port (and taken the inbox from it), pays the barrier, and reads the word. So one of the two sees the other. The end
/// is a release.
class Device::Delivering {
 public:
  Delivering(Device& device, const Port& port)
      : word_(device.delivering_), completion_(port.completion.load(std::memory_order_acquire)) {
    say(device, completion_);
    if (!port.is_open() || port.completion.load(std::memory_order_acquire) != completion_) completion_ = nullptr;
  }
  Delivering(Device& device, const Port& port, const InboxView* inbox) : word_(device.delivering_) {
    say(device, inbox);
    holds_inbox_ = port.inbox.load(std::memory_order_acquire) == inbox;
  }
  ~Delivering() { word_.store(nullptr, std::memory_order_release); }
  Delivering(const Delivering&) = delete;
  Delivering& operator=(const Delivering&) = delete;
  /// Null: the port has closed.
  Completion* completion() const { return completion_; }
  /// False: the port has closed.
  bool holds_inbox() const { return holds_inbox_; }

 private:
  void say(Device& device, const void* object) {
    word_.store(object, std::memory_order_relaxed);
    owner_fence(device.parts_.owner_barrier.owners_pay());
  }

  std::atomic<const void*>& word_;
  Completion* completion_ = nullptr;
  bool holds_inbox_ = false;
};

/// Hands an active message to its port. @p owned: the payload lies in an ArrivalBuffer that is passed on.
Device::Delivery Device::deliver(Port& port, InKey& key, uint32_t rank, uint64_t tag, const Payload& payload,
                                 uint32_t charge_messages, uint64_t charge_bytes, std::byte* owned) {
  const auto closed_meanwhile = [&] {
    counters.add(Metric::discarded);
    release(key, key.generation, charge_messages, charge_bytes, false);
    if (owned) lci_buffer_free(owned);
    return Delivery::kRefused;
  };
  if (InboxView* inbox = port.inbox.load(std::memory_order_acquire)) {
    const Arrival arrival{&key, key.generation, charge_messages, charge_bytes, rank, tag, payload.request};
    const auto arrive = [&] {
      return inbox->arrive(*this, arrival, payload, owned) ? Delivery::kLent : Delivery::kTaken;
    };
    const LaneView* const home = port.home_lane.load(std::memory_order_relaxed);
    if (home && home == lane()) return arrive();  // this thread alone frees it
    const Delivering delivering(*this, port, inbox);
    return delivering.holds_inbox() ? arrive() : closed_meanwhile();
  }
  const Delivering delivering(*this, port);
  if (!delivering.completion()) return closed_meanwhile();
  Completion& completion = *delivering.completion();
  lci_status status{LCI_DONE, rank, tag, nullptr, payload.size, 0, port.number, 0};
  bool stores = completion.stores();  // not the port's word, which may be that of its next opening by now
  if (!stores) {
    std::byte copy[LCI_INLINE_MAX];
    if (owned) {
      status.buffer = owned;
    } else if (payload.ring) {
      payload.copy(copy);
      status.buffer = copy;
    } else {
      status.buffer = const_cast<std::byte*>(payload.memory);
    }
    if (payload.signal) status.buffer = nullptr;
    completion.signal(status);
    if (owned) lci_buffer_free(owned);
    if (charge_messages != 0 || charge_bytes != 0) release(key, key.generation, charge_messages, charge_bytes, false);
    return Delivery::kTaken;
  }
  if (payload.packet != 0 && !payload.signal && completion.zero_copy() &&
      parts_.loans.lend(rank, payload.packet,
                        {&key, {charge_messages, charge_bytes}, key.generation, payload.request})) {
    status.buffer = const_cast<std::byte*>(payload.memory);
    status.packet = payload.packet;
    const int code = completion.signal(status);
    if (code == LCI_DONE) return Delivery::kLent;
    Charge charge;
    parts_.loans.take_back(rank, payload.packet, &charge);
    count_refused_arrival(port, rank, code);
    release(key, key.generation, charge_messages, charge_bytes, false);
    return Delivery::kRefused;
  }
  ArrivalBuffer* buffer = owned ? ArrivalBuffer::of(owned)
                                : ArrivalBuffer::create(payload.size, parts_.allocator.load(std::memory_order_acquire));
  if (!owned) payload.copy(buffer->bytes());
  buffer->key = &key;
  buffer->generation = key.generation;
  buffer->charge_messages = charge_messages;
  buffer->charge_bytes = charge_bytes;
  buffer->signal = payload.signal;
  buffer->request = payload.request;
  status.buffer = buffer->bytes();
  if (const int code = completion.signal(status); code != LCI_DONE) {
    count_refused_arrival(port, rank, code);
    release(key, key.generation, charge_messages, charge_bytes, false);
    lci_buffer_free(status.buffer);
    return Delivery::kRefused;
  }
  return Delivery::kTaken;
}

/// The object behind the port did not take what has arrived. If it had no room, the first time of an opening is told:
/// credit bounds what a port stores, but operations and other ports may have filled the object.
void Device::count_refused_arrival(Port& port, uint32_t rank, int code) {
  counters.add(Metric::discarded);
  if (code != LCI_ERR_OVERRUN) return;
  counters.add(Metric::arrivals_overrun);
  const uint32_t opening = port.generation.load(std::memory_order_relaxed);
  if (port.told_overrun.exchange(opening, std::memory_order_relaxed) == opening) return;
  LCI_LOG(parts_.log, LogLevel::kWarn, "port",
          "port %u: its completion object has no room for a message of rank %u, which is discarded, as others may be "
          "(counter arrivals_overrun); take statuses sooner, or create it with room for all its ports and operations",
          port.number, rank);
}

void Device::complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size) {
  if (target.forgotten) return;
  counters.add(Metric::signals);
  if (target.completion) {
    const lci_status status{code, rank, tag, buffer, size, target.context, 0, 0};
    const Backlog::Pause paused(backlog_);  // a handler's posts are new ones
    const int refused = target.completion->signal_held(status);
    if (refused == LCI_ERR_OVERRUN || refused == LCI_ERR_NO_MEMORY) {  // there was no room for it
      counters.add(Metric::signals, -1);
      counters.add(Metric::signals_dropped);
    } else if (refused != LCI_DONE) {
      parts_.shared.add(Metric::discarded);
    }
  } else if (target.lane) {
    target.lane->operation_ended(this, code, rank, tag, size, target.context);
  }
  target.ended_by(outstanding);
}

}  // namespace lci
