// SPDX-License-Identifier: Apache-2.0
// Ranges of this rank's memory that come and go. What is free is remembered in private memory; its pages are the
// system's. A range that is given out brings the memory by which it is noted as free, so that nothing is needed to take
// it back. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "transport/memory/own_memory.hpp"

namespace lci {

class RangeAllocator {
  struct Free {
    uint64_t bytes;
    bool holes;  ///< Some of its pages were given back to the system.
  };
  using Ranges = std::map<uint64_t, Free>;

 public:
  /// One that was given out; its key() is its offset. It goes back by release(), else it is lost.
  using Range = Ranges::node_type;

  explicit RangeAllocator(OwnMemory& memory) : memory_(memory) {}

  /// A range, at a multiple of 64; an empty one when memory is refused. The smallest free range that fits, else a new
  /// one. What finds no memory of the process throws, and has changed nothing.
  Range allocate(uint64_t bytes);
  /// Takes a range back. Needs no memory.
  void release(Range range);
  /// Bytes in free ranges.
  uint64_t free_bytes() const;

 private:
  Ranges::iterator smallest_of(uint64_t bytes);
  Range part_of(Ranges::iterator found, uint64_t bytes);
  /// Joins it with its neighbours; returns what came out.
  Ranges::iterator insert(Range range);

  OwnMemory& memory_;
  Ranges free_;  // by offset
};

}  // namespace lci
