// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace lci {
namespace {

constexpr std::array<uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// Numbers travel with their highest byte first.
uint32_t load(const std::byte* from) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | std::to_integer<uint32_t>(from[i]);
  return value;
}

template <typename Number>
void store(Number value, std::byte* to) {
  for (size_t i = sizeof value; i-- > 0; value >>= 8) to[i] = static_cast<std::byte>(value & 0xff);
}

std::array<uint32_t, 64> schedule(const std::byte* block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < 16; ++i) words[i] = load(block + i * sizeof words[i]);
  for (size_t i = 16; i < words.size(); ++i) {
    const uint32_t early = words[i - 15], late = words[i - 2];
    const uint32_t s0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3;
    const uint32_t s1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10;
    words[i] = words[i - 16] + s0 + words[i - 7] + s1;
  }
  return words;
}

}  // namespace

void Sha256::compress(const std::byte* block) {
  const auto words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t first = h + s1 + choice + kRounds[i] + words[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + s0 + majority;
  }
  const std::array<uint32_t, 8> added{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += added[i];
}

void Sha256::update(const void* bytes, size_t size) {
  if (size == 0) return;  // there may be no bytes to point at
  const auto* from = static_cast<const std::byte*>(bytes);
  size_t filled = size_ % kBlockBytes;
  size_ += size;
  if (filled != 0) {
    const size_t part = std::min(size, kBlockBytes - filled);
    std::memcpy(block_.data() + filled, from, part);
    if (filled + part < kBlockBytes) return;
    compress(block_.data());
    from += part;
    size -= part;
  }
  for (; size >= kBlockBytes; from += kBlockBytes, size -= kBlockBytes) compress(from);
  std::memcpy(block_.data(), from, size);
}

Digest Sha256::finish() {
  constexpr std::array<std::byte, kBlockBytes> kPadding{std::byte{0x80}};
  std::array<std::byte, 8> bits{};
  store(size_ * 8, bits.data());
  // One byte at least, so that the number of bits ends a block.
  update(kPadding.data(), 1 + (2 * kBlockBytes - 1 - bits.size() - size_ % kBlockBytes) % kBlockBytes);
  update(bits.data(), bits.size());
  Digest digest;
  for (size_t i = 0; i < state_.size(); ++i) store(state_[i], digest.bytes.data() + i * sizeof state_[i]);
  return digest;
}

HmacSha256::HmacSha256(const void* key, size_t size) {
  std::array<std::byte, Sha256::kBlockBytes> block{};
  if (size > block.size()) {
    Sha256 hash;
    hash.update(key, size);
    const Digest shorter = hash.finish();
    std::memcpy(block.data(), shorter.bytes.data(), shorter.bytes.size());
  } else if (size > 0) {
    std::memcpy(block.data(), key, size);
  }
  for (auto& byte : block) byte ^= std::byte{0x36};
  inner_.update(block.data(), block.size());
  for (auto& byte : block) byte ^= std::byte{0x36 ^ 0x5c};
  outer_.update(block.data(), block.size());
}

Digest HmacSha256::finish() {
  const Digest inner = inner_.finish();
  outer_.update(inner.bytes.data(), inner.bytes.size());
  return outer_.finish();
}

bool equal_in_constant_time(const void* a, const void* b, size_t size) {
  const auto* left = static_cast<const volatile std::byte*>(a);  // volatile: each byte is read, whatever came before
  const auto* right = static_cast<const volatile std::byte*>(b);
  std::byte difference{};
  for (size_t i = 0; i < size; ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{};
}

void random_bytes(void* out, size_t size) {
  auto* to = static_cast<std::byte*>(out);
  while (size > 0) {
    const ssize_t got = ::getrandom(to, size, 0);
    if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    if (got < 0) continue;
    to += got;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace lci
