// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_wire.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace lci {
namespace {

constexpr std::string_view kMagic = "lci-join";
constexpr size_t kVersionAt = 8, kRankAt = 12, kSizeAt = 16, kZerosAt = 20, kNonceAt = 32;
constexpr size_t kFenceBytes = 8, kFailureHeaderBytes = 8;

template <typename Number>
void store(Number value, uint8_t* to) {
  for (size_t i = 0; i < sizeof value; ++i) to[i] = static_cast<uint8_t>(value >> 8 * i);
}

template <typename Number>
Number load(const uint8_t* from) {
  Number value = 0;
  for (size_t i = sizeof value; i-- > 0;) value = static_cast<Number>(value << 8 | from[i]);
  return value;
}

template <typename Number>
void append_number(Number value, std::vector<uint8_t>* to) {
  to->resize(to->size() + sizeof value);
  store(value, to->data() + to->size() - sizeof value);
}

std::string_view text_at(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

Nonce new_nonce() {
  Nonce nonce;
  random_bytes(nonce.data(), nonce.size());
  return nonce;
}

GreetingBytes encode(const Greeting& greeting) {
  GreetingBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  store(greeting.version, &bytes[kVersionAt]);
  store(greeting.rank, &bytes[kRankAt]);
  store(greeting.size, &bytes[kSizeAt]);
  std::copy(greeting.nonce.begin(), greeting.nonce.end(), bytes.begin() + kNonceAt);
  return bytes;
}

bool decode(const GreetingBytes& bytes, Greeting* out) {
  const bool zeros = std::all_of(&bytes[kZerosAt], &bytes[kNonceAt], [](uint8_t byte) { return byte == 0; });
  if (text_at(bytes.data(), kMagic.size()) != kMagic || !zeros) return false;
  out->version = load<uint32_t>(&bytes[kVersionAt]);
  out->rank = load<uint32_t>(&bytes[kRankAt]);
  out->size = load<uint32_t>(&bytes[kSizeAt]);
  std::copy(bytes.begin() + kNonceAt, bytes.end(), out->nonce.begin());
  return true;
}

VerdictBytes encode(Verdict verdict, uint64_t job) {
  VerdictBytes bytes{};
  store(static_cast<uint32_t>(verdict), bytes.data());
  store(job, &bytes[8]);
  return bytes;
}

bool decode(const VerdictBytes& bytes, Verdict* verdict, uint64_t* job) {
  const auto value = load<uint32_t>(bytes.data());
  if (value > static_cast<uint32_t>(Verdict::kTaken) || load<uint32_t>(&bytes[4]) != 0) return false;
  *verdict = static_cast<Verdict>(value);
  *job = load<uint64_t>(&bytes[8]);
  return true;
}

const char* describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWelcome:
      break;
    case Verdict::kOtherVersion:
      return "runs another version of the library";
    case Verdict::kOtherSecret:
      return "does not know the secret of the job";
    case Verdict::kOtherSize:
      return "was started for another number of ranks";
    case Verdict::kNoSuchRank:
      return "names a rank that the job does not have, or that of rank 0";
    case Verdict::kTaken:
      return "names a rank that has joined already";
  }
  return "is welcome";
}

Digest prove(const JobSecret& secret, Prover prover, const GreetingBytes& greeting, const Nonce& root_nonce) {
  constexpr std::string_view kRoot = "lci join: rank 0", kRank = "lci join: a rank";
  const std::string_view whose = prover == Prover::kRoot ? kRoot : kRank;
  HmacSha256 hmac(secret.data(), secret.size());
  hmac.update(whose.data(), whose.size());
  hmac.update(greeting.data(), greeting.size());
  hmac.update(root_nonce.data(), root_nonce.size());
  return hmac.finish();
}

ChallengeBytes encode(const Challenge& challenge) {
  ChallengeBytes bytes{};
  std::copy(challenge.nonce.begin(), challenge.nonce.end(), bytes.begin());
  std::memcpy(&bytes[challenge.nonce.size()], challenge.proof.bytes.data(), challenge.proof.bytes.size());
  return bytes;
}

Challenge decode(const ChallengeBytes& bytes) {
  Challenge challenge;
  std::copy_n(bytes.begin(), challenge.nonce.size(), challenge.nonce.begin());
  std::memcpy(challenge.proof.bytes.data(), &bytes[challenge.nonce.size()], challenge.proof.bytes.size());
  return challenge;
}

std::array<uint8_t, kFrameHeaderBytes> encode_frame_header(FrameKind kind, uint64_t length) {
  std::array<uint8_t, kFrameHeaderBytes> bytes{};
  store(static_cast<uint32_t>(kind), bytes.data());
  store(length, &bytes[8]);
  return bytes;
}

bool decode_frame_header(const uint8_t* bytes, FrameKind* kind, uint64_t* length) {
  const auto value = load<uint32_t>(bytes);
  if (value < static_cast<uint32_t>(FrameKind::kValues) || value > static_cast<uint32_t>(FrameKind::kLeave))
    return false;
  *kind = static_cast<FrameKind>(value);
  *length = load<uint64_t>(bytes + 8);
  return load<uint32_t>(bytes + 4) == 0;
}

ValueList::ValueList(uint64_t fence) {
  append_number(fence, &bytes_);
}

int ValueList::check_room(const std::string& key, size_t n) const {
  const uint64_t room = kMostValueBytes - bytes_.size();
  if (key.size() <= room && n <= room - key.size() && room - key.size() - n >= kHeaderBytes) return LCI_DONE;
  return fail(LCI_ERR_SIZE,
              "publish \"%.64s\": %zu bytes, and what was published before, are more than the %zu MiB "
              "that a rank may have at one fence",
              key.c_str(), n, static_cast<size_t>(kMostValueBytes >> 20));
}

void ValueList::add(uint32_t rank, std::string_view key, const void* bytes, size_t size) {
  append_number(rank, &bytes_);
  append_number(static_cast<uint32_t>(key.size()), &bytes_);
  append_number(static_cast<uint64_t>(size), &bytes_);
  bytes_.insert(bytes_.end(), key.begin(), key.end());
  const auto* from = static_cast<const uint8_t*>(bytes);
  bytes_.insert(bytes_.end(), from, from + size);
}

void ValueList::append(const std::vector<uint8_t>& other) {
  bytes_.insert(bytes_.end(), other.begin() + kFenceBytes, other.end());
}

bool decode_values(const std::vector<uint8_t>& list, uint64_t* fence, std::vector<ValueView>* out) {
  if (list.size() < kFenceBytes) return false;
  *fence = load<uint64_t>(list.data());
  for (size_t at = kFenceBytes; at < list.size();) {
    if (list.size() - at < ValueList::kHeaderBytes) return false;
    const uint8_t* header = &list[at];
    at += ValueList::kHeaderBytes;
    const auto key_size = load<uint32_t>(header + 4);
    const auto size = load<uint64_t>(header + 8);
    if (key_size == 0 || key_size > list.size() - at || size > list.size() - at - key_size) return false;
    out->push_back({load<uint32_t>(header), text_at(list.data() + at, key_size), list.data() + at + key_size, size});
    at += key_size + size;
  }
  return true;
}

std::vector<uint8_t> encode(const Failure& failure) {
  std::vector<uint8_t> bytes;
  append_number(static_cast<uint32_t>(failure.code), &bytes);
  append_number(static_cast<uint32_t>(failure.rank), &bytes);
  bytes.insert(bytes.end(), failure.text.begin(), failure.text.end());
  return bytes;
}

bool decode(const std::vector<uint8_t>& bytes, Failure* out) {
  if (bytes.size() < kFailureHeaderBytes) return false;
  const auto code = load<uint32_t>(bytes.data());
  out->code = code > INT32_MAX ? 0 : static_cast<int>(code);
  out->rank = static_cast<int32_t>(load<uint32_t>(bytes.data() + 4));
  out->text = text_at(bytes.data() + kFailureHeaderBytes, bytes.size() - kFailureHeaderBytes);
  return is_error(out->code);
}

}  // namespace lci
