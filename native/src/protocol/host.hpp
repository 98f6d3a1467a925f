// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/contexts.hpp"
#include "wire/message.hpp"

namespace lci {

struct Link;

/// A protocol asks this of the device that it is a part of. The owner of the device calls.
class ProtocolHost {
 public:
  /// An operation has ended: whoever is to hear of it does.
  virtual void complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size) = 0;
  /// A peer sent nonsense.
  virtual void protocol_error(Link& link, const char* what, const MessageHeader& header) = 0;
  /// Something is left that no doorbell will announce: there must be another pass.
  virtual void call_again() = 0;

 protected:
  ~ProtocolHost() = default;
};

}  // namespace lci
