// SPDX-License-Identifier: Apache-2.0
// One direction of a connection whose bytes nobody between the two ranks can read, or change unnoticed: AES-128-GCM
// with a key of its own, over pieces that are numbered, so that none can be left out, repeated or moved. [NETWORK 3.8]
//
// One thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/sha256.hpp"
#include "transport/tcp/crypto_library.hpp"

namespace lci {

class Seal {
 public:
  static constexpr size_t kTag = 16;
  /// For which a key is good: TLS 1.3 allows 2^24.5 to AES-GCM, so that nobody learns from their number.
  static constexpr uint64_t kMostPieces = 1 << 24;
  enum class Use { kSeal, kOpen };

  /// Of the key its first 128 bits are used, and for this connection only. std::bad_alloc.
  Seal(const CryptoLibrary& crypto, const Digest& key, Use use, uint64_t most_pieces = kMostPieces);

  /// Seals @p count parts as the next piece: @p out has room for their bytes and kTag more. False: it can seal no more,
  /// since its key is used up, or libcrypto failed, and the receiver would expect that piece.
  bool seal(const iovec* parts, int count, std::byte* out);
  /// Opens the next piece of @p size bytes, kTag included. False: it is not what was sealed, and @p out is worthless.
  bool open(const std::byte* piece, size_t size, std::byte* out);
  /// Nothing more is sealed with its key.
  bool is_spent() const { return left_ == 0; }

 private:
  struct Nonce {
    unsigned char bytes[12];
  };
  Nonce next();
  bool make(const iovec* parts, int count, std::byte* out);

  const CryptoLibrary& crypto_;
  const std::unique_ptr<void, void (*)(void*)> context_;
  uint64_t number_ = 0;
  uint64_t left_;  // pieces for which the key is good
};

}  // namespace lci
