// SPDX-License-Identifier: Apache-2.0
// A message whose bytes lie in several places, read from front to back. [C13]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lci/lci.h"

namespace lci {

/// Copies the bytes of @p count parts one behind the other.
inline void gather(const lci_buffer* parts, uint64_t count, std::byte* to) {
  for (uint64_t i = 0; i < count; ++i) {
    if (parts[i].size != 0) std::memcpy(to, parts[i].address, parts[i].size);
    to += parts[i].size;
  }
}

/// The parts of a message, which leaves or comes piece by piece.
class Parts {
 public:
  Parts() = default;
  Parts(const lci_buffer* parts, uint64_t count) : parts_(parts, parts + count) {}
  bool empty() const { return parts_.empty(); }
  const std::vector<lci_buffer>& list() const { return parts_; }

  /// The next @p size bytes; there must be so many.
  void read(std::byte* to, uint64_t size) {
    while (size != 0) {
      const lci_buffer& part = parts_[part_];
      const uint64_t now = std::min(size, part.size - offset_);
      if (now != 0) std::memcpy(to, static_cast<const std::byte*>(part.address) + offset_, now);
      to += now;
      size -= now;
      offset_ += now;
      if (offset_ == part.size) {
        ++part_;
        offset_ = 0;
      }
    }
  }

  /// Bytes that come, from @p offset on; there must be room for them.
  void write(uint64_t offset, const std::byte* from, uint64_t size) {
    if (ends_.empty()) {
      uint64_t end = 0;
      ends_.reserve(parts_.size());  // all or none
      for (const lci_buffer& part : parts_) ends_.push_back(end += part.size);
    }
    auto at = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
    for (; size != 0; ++at) {
      const lci_buffer& part = parts_[at];
      const uint64_t skip = offset - (ends_[at] - part.size);
      const uint64_t now = std::min(size, part.size - skip);
      if (now != 0) std::memcpy(static_cast<std::byte*>(part.address) + skip, from, now);
      from += now;
      offset += now;
      size -= now;
    }
  }

 private:
  std::vector<lci_buffer> parts_;
  std::vector<uint64_t> ends_;  // of the parts, once something was written
  size_t part_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace lci
