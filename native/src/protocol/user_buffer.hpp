// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/contexts.hpp"
#include "protocol/payload.hpp"

namespace lci {

/// Writes into the buffer of a receive or get at @p offset, or into its list if @p parts is given. Whoever posted it
/// may be another lane than @p lane, which calls, and may go at any time.
void fill(const LaneView* lane, const OpTarget& target, std::byte* to, Parts* parts, uint64_t offset,
          const Payload& from, uint32_t size);

}  // namespace lci
