// SPDX-License-Identifier: Apache-2.0
// Ports with parts: several inboxes, of which a tag names one. [B25, 2B-42]
#pragma once

#include <cstdint>

#include "lane/inbox.hpp"
#include "protocol/parts.hpp"

namespace lci {

/// One of several inboxes of a port; the last one opens it. By the lane of @p inbox.
int open_part(const DeviceParts& devices, uint32_t number, const char* name, Part part, Inbox* inbox, uint32_t messages,
              uint64_t bytes);
/// Closes the port of which @p inbox is a part, unless it is closed already, or another opening has begun.
int close_part(const DeviceParts& devices, Inbox& inbox, int told);
/// Home lane: the port of a closed inbox leads to it no more. @return by what devices may still be in it.
const Inbox* take_from_port(const DeviceParts& devices, Inbox& inbox);
bool is_delivering_to(const DeviceParts& devices, const Inbox* reached_by);

}  // namespace lci
