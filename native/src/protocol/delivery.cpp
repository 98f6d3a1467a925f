// SPDX-License-Identifier: Apache-2.0
#include "protocol/delivery.hpp"

#include <new>

#include "base/fences.hpp"
#include "protocol/arrival_buffer.hpp"
#include "wire/reply_address.hpp"

namespace lci {

/// Says to which object or inbox an arrival is handed, so that it is not freed meanwhile.
///
/// Memory orders: the device writes the word, fences, and looks at the port again; who frees the object has closed the
/// port (and taken the inbox from it), pays the barrier, and reads the word. So one of the two sees the other. The end
/// is a release.
class Delivery::Delivering {
 public:
  Delivering(Delivery& delivery, const Port& port)
      : word_(delivery.delivering_), completion_(port.completion.load(std::memory_order_acquire)) {
    say(delivery, completion_);
    if (!port.is_open() || port.completion.load(std::memory_order_acquire) != completion_) completion_ = nullptr;
  }
  Delivering(Delivery& delivery, const Port& port, const InboxView* inbox) : word_(delivery.delivering_) {
    say(delivery, inbox);
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
  void say(Delivery& delivery, const void* object) {
    word_.store(object, std::memory_order_relaxed);
    owner_fence(delivery.parts_.owner_barrier.owners_pay());
  }

  std::atomic<const void*>& word_;
  Completion* completion_ = nullptr;
  bool holds_inbox_ = false;
};

Delivery::Result Delivery::deliver(const Message& message) {
  if (message.request == 0) return hand_to_port(message);
  const uint32_t rank = message.rank();
  const ReplyAddress address = ReplyAddress::of(message.request);
  ReplyRooms& rooms = parts_.targets.port(address.port)->make_replies(parts_.ranks);
  rooms.owe(rank, address.bytes);  // before its user sees it, who may answer at once
  Result result;
  try {
    result = hand_to_port(message);
  } catch (const std::bad_alloc&) {
    rooms.answer(rank);  // it comes again
    throw;
  }
  if (result == Result::kRefused && rooms.answer(rank)) replies_.decline(*message.key.link, message.request);
  return result;
}

bool Delivery::handle_reply(Link& link, InKey& key, const MessageHeader& header, const Payload& payload,
                            uint64_t request) {
  auto& port = static_cast<Port&>(*key.target);
  ReplyRooms* const rooms = port.replies();
  const bool used = rooms && rooms->use(link.rank);
  if (!used && parts_.peers.state(link.rank) == RankState::kActive) {
    protocol_error(link, "reply without a request", header);
    return false;
  }
  if (!port.is_open() || (used && header.size > rooms->bytes())) {
    if (used) parts_.targets.give_reply_room(port);
    counters_.add(Metric::discarded);
    replies_.decline(link, request);
    return false;
  }
  // The room of a peer that is gone was given back when it went.
  try {
    return deliver({port, key, header.tag, payload, request, used ? kReplyRoom : 0, 0}) == Result::kLent;
  } catch (const std::bad_alloc&) {
    if (used) rooms->take_use_back(link.rank);
    throw;
  }
}

Delivery::Result Delivery::hand_to_port(const Message& message) {
  const Port& port = message.port;
  if (InboxView* inbox = port.inbox.load(std::memory_order_acquire)) {
    const LaneView* const home = port.home_lane.load(std::memory_order_relaxed);
    if (home && home == lane()) return hand_to_inbox(message, *inbox);  // this thread alone frees it
    const Delivering delivering(*this, port, inbox);
    return delivering.holds_inbox() ? hand_to_inbox(message, *inbox) : closed_meanwhile(message);
  }
  const Delivering delivering(*this, port);
  if (!delivering.completion()) return closed_meanwhile(message);
  Completion& completion = *delivering.completion();
  const bool stores = completion.stores();  // not the port's word, which may be that of its next opening by now
  if (!stores) return hand_to_function(message, completion);
  const Payload& payload = message.payload;
  const Charge charge{
      &message.key, {message.charge_messages, message.charge_bytes}, message.key.generation, message.request};
  if (payload.packet != 0 && !payload.signal && completion.zero_copy() &&
      parts_.loans.lend(message.rank(), payload.packet, charge)) {
    return hand_over_packet(message, completion);
  }
  return hand_over_buffer(message, completion);
}

Delivery::Result Delivery::closed_meanwhile(const Message& message) {
  counters_.add(Metric::discarded);
  release(message);
  if (message.owned) lci_buffer_free(message.owned);
  return Result::kRefused;
}

Delivery::Result Delivery::hand_to_inbox(const Message& message, InboxView& inbox) {
  const Arrival arrival{&message.key,         message.key.generation, message.charge_messages,
                        message.charge_bytes, message.rank(),         message.tag,
                        message.request};
  return inbox.arrive(host_.device, arrival, message.payload, message.owned) ? Result::kLent : Result::kTaken;
}

/// One that keeps nothing: the bytes are its own until it returns.
Delivery::Result Delivery::hand_to_function(const Message& message, Completion& completion) {
  const Payload& payload = message.payload;
  lci_status status = status_of(message);
  std::byte copy[LCI_INLINE_MAX];
  if (message.owned) {
    status.buffer = message.owned;
  } else if (payload.ring) {
    payload.copy(copy);
    status.buffer = copy;
  } else {
    status.buffer = const_cast<std::byte*>(payload.memory);
  }
  if (payload.signal) status.buffer = nullptr;
  completion.signal(status);
  if (message.owned) lci_buffer_free(message.owned);
  release(message);
  return Result::kTaken;
}

/// The packet, which was lent.
Delivery::Result Delivery::hand_over_packet(const Message& message, Completion& completion) {
  lci_status status = status_of(message);
  status.buffer = const_cast<std::byte*>(message.payload.memory);
  status.packet = message.payload.packet;
  const int code = completion.signal(status);
  if (code == LCI_DONE) return Result::kLent;
  Charge charge;
  parts_.loans.take_back(message.rank(), message.payload.packet, &charge);
  count_refused(message, code);
  release(message);
  return Result::kRefused;
}

Delivery::Result Delivery::hand_over_buffer(const Message& message, Completion& completion) {
  const Payload& payload = message.payload;
  ArrivalBuffer* buffer = message.owned
                              ? ArrivalBuffer::of(message.owned)
                              : ArrivalBuffer::create(payload.size, parts_.allocator.load(std::memory_order_acquire));
  if (!message.owned) payload.copy(buffer->bytes());
  buffer->key = &message.key;
  buffer->generation = message.key.generation;
  buffer->charge_messages = message.charge_messages;
  buffer->charge_bytes = message.charge_bytes;
  buffer->signal = payload.signal;
  buffer->request = message.request;
  lci_status status = status_of(message);
  status.buffer = buffer->bytes();
  if (const int code = completion.signal(status); code != LCI_DONE) {
    count_refused(message, code);
    release(message);
    lci_buffer_free(status.buffer);
    return Result::kRefused;
  }
  return Result::kTaken;
}

lci_status Delivery::status_of(const Message& message) const {
  return {LCI_DONE, message.rank(), message.tag, nullptr, message.payload.size, 0, message.port.number, 0};
}

/// The object behind the port did not take what has arrived. If it had no room, the first time of an opening is told:
/// credit bounds what a port stores, but operations and other ports may have filled the object.
void Delivery::count_refused(const Message& message, int code) {
  Port& port = message.port;
  counters_.add(Metric::discarded);
  if (code != LCI_ERR_OVERRUN) return;
  counters_.add(Metric::arrivals_overrun);
  const uint32_t opening = port.generation.load(std::memory_order_relaxed);
  if (port.told_overrun.exchange(opening, std::memory_order_relaxed) == opening) return;
  LCI_LOG(parts_.log, LogLevel::kWarn, "port",
          "port %u: its completion object has no room for a message of rank %u, which is discarded, as others may be "
          "(counter arrivals_overrun); take statuses sooner, or create it with room for all its ports and operations",
          port.number, message.rank());
}

}  // namespace lci
