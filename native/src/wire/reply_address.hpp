// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lci {

/// Travels with a request: where its reply may go.
struct ReplyAddress {
  uint16_t port;
  uint32_t bytes;
  uint64_t word() const { return uint64_t{bytes} << 16 | port; }
  static ReplyAddress of(uint64_t word) { return {static_cast<uint16_t>(word), static_cast<uint32_t>(word >> 16)}; }
};

}  // namespace lci
