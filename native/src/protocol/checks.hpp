// SPDX-License-Identifier: Apache-2.0
// Checks of a descriptor before anything happens: cheap, always, and without a trace when it fails. [D17]
#pragma once

#include "protocol/operations.hpp"
#include "protocol/parts.hpp"

namespace lci {

/// A message or a receive. @param device for the words of an error
int check_message(const DeviceParts& parts, uint32_t device, const lci_descriptor& op);
/// A message that cannot be sent at once needs somebody who hears of its end, also where it would wait in the backlog.
int check_length(const DeviceParts& parts, const lci_descriptor& op, const OpTarget& target);
/// A put or get, as far as can be said without looking at the region.
int check_remote(const DeviceParts& parts, uint32_t device, const lci_descriptor& op);
/// An atomic operation, in the same way.
int check_atomic(const DeviceParts& parts, uint32_t device, const lci_descriptor& op);
/// One range of the open region @p id; @p out has its displacement and size.
int find_part(const DeviceParts& parts, const lci_descriptor& op, uint64_t id, RemotePart* out);
/// The error of an operation whose region is no longer there.
int region_ended(const lci_descriptor& op);
/// Checks the list of an operation; its size becomes that of the parts together. That of a put or get is noted where
/// others have a displacement.
int measure_list(lci_descriptor* op);

}  // namespace lci
