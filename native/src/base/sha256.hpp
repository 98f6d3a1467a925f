// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104), and what a proof of a secret needs beside them. Ranks on different
// hosts prove the secret of their job with it, whichever libraries a host has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lci {

/// A hash, or a code of authentication.
struct Digest {
  std::array<std::byte, 32> bytes{};
};

/// Hashes bytes that come in any number of pieces. An object hashes one message.
class Sha256 {
 public:
  static constexpr size_t kBlockBytes = 64;

  void update(const void* bytes, size_t size);
  /// No other call may follow.
  Digest finish();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> block_{};  // its first size_ % kBlockBytes bytes wait for the rest
  uint64_t size_ = 0;                           // of all bytes so far
};

/// A code that cannot be made without the key. An object makes the code of one message.
class HmacSha256 {
 public:
  HmacSha256(const void* key, size_t size);

  void update(const void* bytes, size_t size) { inner_.update(bytes, size); }
  /// No other call may follow.
  Digest finish();

 private:
  Sha256 inner_, outer_;
};

/// Compares codes in a time that does not depend on where they differ: else a stranger finds a code byte by byte.
bool equal_in_constant_time(const void* a, const void* b, size_t size);
inline bool equal_in_constant_time(const Digest& a, const Digest& b) {
  return equal_in_constant_time(a.bytes.data(), b.bytes.data(), a.bytes.size());
}

/// Bytes of the system's random source, which cannot fail once the system is up.
void random_bytes(void* out, size_t size);

}  // namespace lci
