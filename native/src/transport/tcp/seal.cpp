// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/seal.hpp"

#include <cstring>
#include <new>

namespace lci {
namespace {

/// What EVP_CIPHER_CTX_ctrl is asked for; numbers of OpenSSL's ABI.
constexpr int kGetTag = 0x10, kSetTag = 0x11;

unsigned char* bytes_at(std::byte* at) {
  return reinterpret_cast<unsigned char*>(at);
}

}  // namespace

Seal::Seal(const CryptoLibrary& crypto, const Digest& key, Use use, uint64_t most_pieces)
    : crypto_(crypto), context_(crypto.CIPHER_CTX_new(), crypto.CIPHER_CTX_free), left_(most_pieces) {
  const auto init = use == Use::kSeal ? crypto.EncryptInit_ex : crypto.DecryptInit_ex;
  if (!context_ || init(context_.get(), crypto.aes_128_gcm(), nullptr,
                        reinterpret_cast<const unsigned char*>(key.bytes.data()), nullptr) != 1) {
    throw std::bad_alloc();
  }
}

Seal::Nonce Seal::next() {
  Nonce nonce{};
  std::memcpy(nonce.bytes, &number_, sizeof number_);
  ++number_;
  return nonce;
}

bool Seal::seal(const iovec* parts, int count, std::byte* out) {
  const bool sealed = left_ != 0 && make(parts, count, out);
  left_ = sealed ? left_ - 1 : 0;
  return sealed;
}

bool Seal::make(const iovec* parts, int count, std::byte* out) {
  int size = 0;
  if (crypto_.EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, next().bytes) != 1) return false;
  for (int i = 0; i < count; ++i) {
    const auto* in = static_cast<const unsigned char*>(parts[i].iov_base);
    if (crypto_.EncryptUpdate(context_.get(), bytes_at(out), &size, in, static_cast<int>(parts[i].iov_len)) != 1) {
      return false;
    }
    out += size;
  }
  return crypto_.EncryptFinal_ex(context_.get(), bytes_at(out), &size) == 1 &&
         crypto_.CIPHER_CTX_ctrl(context_.get(), kGetTag, kTag, out) == 1;
}

bool Seal::open(const std::byte* piece, size_t size, std::byte* out) {
  if (size < kTag) return false;
  if (left_ != 0) --left_;  // how many there are is the sender's affair
  int opened = 0;
  const auto* in = reinterpret_cast<const unsigned char*>(piece);
  const auto plain = static_cast<int>(size - kTag);
  unsigned char tag[kTag];
  std::memcpy(tag, in + plain, kTag);
  return crypto_.DecryptInit_ex(context_.get(), nullptr, nullptr, nullptr, next().bytes) == 1 &&
         crypto_.DecryptUpdate(context_.get(), bytes_at(out), &opened, in, plain) == 1 &&
         crypto_.CIPHER_CTX_ctrl(context_.get(), kSetTag, kTag, tag) == 1 &&
         crypto_.DecryptFinal_ex(context_.get(), bytes_at(out) + opened, &opened) == 1;
}

}  // namespace lci
