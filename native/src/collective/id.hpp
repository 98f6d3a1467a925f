// SPDX-License-Identifier: Apache-2.0
// Ids of groups and contexts: members compute them apart, and get the same.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/sha256.hpp"

namespace lci {

/// Of words that come in any number. An object makes one id.
class IdHash {
 public:
  /// @param what ids of another sort differ
  explicit IdHash(const char* what) { hash_.update(what, std::strlen(what) + 1); }
  void add(uint64_t word) {
    std::byte bytes[sizeof word];
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(word);
      word >>= 8;
    }
    hash_.update(bytes, sizeof bytes);
  }
  /// Never 0.
  uint64_t id() {
    const Digest digest = hash_.finish();
    uint64_t id = 0;
    for (size_t i = 0; i < sizeof id; ++i) id |= uint64_t{static_cast<uint8_t>(digest.bytes[i])} << 8 * i;
    return id | (id == 0);
  }

 private:
  Sha256 hash_;
};

}  // namespace lci
