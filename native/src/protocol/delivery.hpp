// SPDX-License-Identifier: Apache-2.0
// An active message goes to its port.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/grants.hpp"
#include "protocol/payload.hpp"
#include "protocol/replies.hpp"

namespace lci {

class Delivery final : public Protocol {
 public:
  enum class Result { kTaken, kLent, kRefused };  // kLent keeps its packet
  /// An active message on its way to a port.
  struct Message {
    Port& port;
    InKey& key;
    uint64_t tag;
    const Payload& payload;
    uint64_t request;  ///< Where its reply may go, see ReplyAddress; 0: it asks for none.
    uint32_t charge_messages;
    uint64_t charge_bytes;
    std::byte* owned = nullptr;  ///< The payload lies in an ArrivalBuffer, here, that is passed on.
    uint32_t rank() const { return key.link->rank; }
  };

  Delivery(ProtocolHost& host, Links& links, Grants& grants, Replies& replies)
      : Protocol(host, links), grants_(grants), replies_(replies) {}

  /// Hands a message to its port, whose opening the caller has checked.
  Result deliver(const Message& message);
  /// True: its packet stays with the user.
  bool handle_reply(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, uint64_t request);
  /// Any thread: whether an arrival is being handed to an object.
  bool is_delivering_to(const void* object) const { return delivering_.load(std::memory_order_seq_cst) == object; }

 private:
  class Delivering;
  Result hand_to_port(const Message& message);
  Result hand_to_inbox(const Message& message, InboxView& inbox);
  Result hand_to_function(const Message& message, Completion& completion);
  Result hand_over_packet(const Message& message, Completion& completion);
  Result hand_over_buffer(const Message& message, Completion& completion);
  Result closed_meanwhile(const Message& message);
  lci_status status_of(const Message& message) const;
  void count_refused(const Message& message, int code);
  void release(const Message& message) {
    grants_.release(message.key, message.key.generation, message.charge_messages, message.charge_bytes, false);
  }

  Grants& grants_;
  Replies& replies_;
  std::atomic<const void*> delivering_{nullptr};  // completion object or inbox to which an arrival is handed
};

}  // namespace lci
