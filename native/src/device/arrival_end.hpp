// SPDX-License-Identifier: Apache-2.0
// The end of an arrival, wherever its bytes lie. Any thread. [B14, SS-20, SS-21]
#pragma once

#include <cstdint>

#include "protocol/parts.hpp"

namespace lci {

/// False: the arrival came in a packet, and its bytes lie in none of this rank's peers.
bool could_be_lent(const DeviceParts& parts, const lci_status& status);
/// Frees what an arrival brought; false if it was freed already.
bool free_arrival(const DeviceParts& parts, lci_status& status);
/// The same of one that nobody took: it will not be answered, either.
void discard_arrival(const DeviceParts& parts, lci_status& status);
/// The same of one whose status is taken, and whose bytes nobody wants: its room goes back to its sender.
void drop_arrival(const DeviceParts& parts, lci_status& status);
/// A packet of @p rank that was lent goes home, and its credit; false if it is not lent.
bool return_lent(const DeviceParts& parts, uint32_t rank, uint32_t packet);

}  // namespace lci
