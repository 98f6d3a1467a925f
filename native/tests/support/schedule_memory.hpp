// SPDX-License-Identifier: Apache-2.0
// The memory of the members of a group, in which their schedules are run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective/schedule.hpp"

namespace lci_test {

using Bytes = std::vector<std::byte>;
using Schedules = std::vector<std::shared_ptr<const lci::Schedule>>;

/// What an operator makes of two elements. @p to is one of them, or neither.
struct Reduction {
  uint64_t element;
  void (*one)(std::byte* to, const std::byte* left, const std::byte* right);

  void operator()(std::byte* to, const std::byte* left, const std::byte* right, uint64_t bytes) const {
    for (uint64_t at = 0; at < bytes; at += element) one(to + at, left + at, right + at);
  }
};

/// The areas of a member, in one piece of memory. `in` and `out` may overlap; nothing else does.
class MemberMemory {
 public:
  struct Place {
    uint64_t at, bytes;
  };

  /// @p in_at, @p out_at: where they lie in a piece that has both
  MemberMemory(uint64_t in_at, uint64_t in_bytes, uint64_t out_at, uint64_t out_bytes, uint64_t scratch_bytes)
      : in_{kGuard + in_at, in_bytes}, out_{kGuard + out_at, out_bytes} {
    const uint64_t end = std::max(in_.at + in_bytes, out_.at + out_bytes);
    scratch_ = {end + kGuard, scratch_bytes};
    bytes_.resize(scratch_.at + scratch_bytes + kGuard, kUnused);
  }
  static MemberMemory apart(uint64_t in_bytes, uint64_t out_bytes, uint64_t scratch_bytes) {
    return {0, in_bytes, in_bytes + kGuard, out_bytes, scratch_bytes};
  }

  const Place& place(lci::Area area) const {
    return area == lci::Area::kIn ? in_ : area == lci::Area::kOut ? out_ : scratch_;
  }
  std::byte* at(const lci::Range& range) { return bytes_.data() + place(range.area).at + range.offset; }
  std::span<std::byte> area(lci::Area area) { return {bytes_.data() + place(area).at, place(area).bytes}; }
  /// Whether what belongs to no area is as it was.
  bool guards_hold() const {
    const uint64_t end = std::max(in_.at + in_.bytes, out_.at + out_.bytes);
    const auto unused = [&](uint64_t from, uint64_t to) {
      return std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(from), bytes_.begin() + static_cast<ptrdiff_t>(to),
                         [](std::byte byte) { return byte == kUnused; });
    };
    return unused(0, std::min(in_.at, out_.at)) && unused(end, scratch_.at) &&
           unused(scratch_.at + scratch_.bytes, bytes_.size());
  }

 private:
  static constexpr uint64_t kGuard = 16;
  static constexpr std::byte kUnused{0xA5};

  Place in_, out_, scratch_;
  Bytes bytes_;
};

}  // namespace lci_test
