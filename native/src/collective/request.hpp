// SPDX-License-Identifier: Apache-2.0
// A call as a program asks for it: checked, and in the words of schedules.
#pragma once

#include <cstdint>

#include "collective/group.hpp"
#include "collective/run.hpp"
#include "collective/shape.hpp"
#include "lci/lci.h"
#include "wire/collective.hpp"

namespace lci {

struct CollectiveRequest {
  Shape shape;
  CallMemory memory;
  CallHeader header;  ///< What all members say alike.
  /// `count` of the header is, in each message, the bytes between its two members: nobody knows all of them.
  bool pairwise = false;
  uint64_t out_bytes = 0;
};

/// The name of an ::lci_collective_kind for people; of another number it says so.
const char* collective_name(uint8_t kind);

/// The call without its memory, whose algorithm is chosen: LCI_DONE, or why there is no such call. Of a list of counts
/// @p out refers to that of the program.
/// @param near whether all members are on one host, and read each other's memory
int read_shape(const lci_descriptor& op, const Group& group, bool near, Shape* out);

/// LCI_DONE, or why there is no such call. Of a list of counts @p out refers to that of the program.
/// @param near as of read_shape()
int read_request(const lci_descriptor& op, const Group& group, bool near, CollectiveRequest* out);

}  // namespace lci
