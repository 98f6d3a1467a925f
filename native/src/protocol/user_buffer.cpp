// SPDX-License-Identifier: Apache-2.0
#include "protocol/user_buffer.hpp"

#include <cstring>

namespace lci {

void fill(const LaneView* lane, const OpTarget& target, std::byte* to, Parts* parts, uint64_t offset,
          const Payload& from, uint32_t size) {
  if (size == 0) return;
  const bool ours = !target.lane || target.lane == lane;
  if (ours && !parts && !from.ring) {  // most of all bytes come so
    std::memcpy(to + offset, from.memory, size);
    return;
  }
  const auto write = [&] {
    if (!parts) return from.copy(to + offset, size);
    if (!from.ring) return parts->write(offset, from.memory, size);
    std::byte whole[LCI_INLINE_MAX];  // a ring is read in one go
    from.copy(whole, size);
    parts->write(offset, whole, size);
  };
  if (ours) {
    write();
  } else {
    target.lane->write_unless_retired(write);
  }
}

}  // namespace lci
