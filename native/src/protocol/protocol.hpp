// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/host.hpp"
#include "protocol/links.hpp"

namespace lci {

/// A part of a device, and what each of them has at hand. The owner of the device calls, unless a function says "any
/// thread". Each knows only those that were made before it.
class Protocol {
 public:
  Protocol(ProtocolHost& host, Links& links)
      : host_(host), parts_(host.parts), index_(host.index), counters_(host.counters), links_(links) {}
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

 protected:
  ~Protocol() = default;

  bool complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size,
                bool received = false) {
    return host_.complete(target, code, rank, tag, buffer, size, received);
  }
  void protocol_error(Link& link, const char* what, const MessageHeader& header) {
    host_.protocol_error(link, what, header);
  }
  void call_again() { host_.call_again(); }
  LaneView* lane() const { return host_.lane(); }

  ProtocolHost& host_;
  const DeviceParts& parts_;
  const uint32_t index_;
  Counters& counters_;
  Links& links_;
};

}  // namespace lci
