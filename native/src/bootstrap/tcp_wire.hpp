// SPDX-License-Identifier: Apache-2.0
// What ranks say to rank 0 and what it answers, as it travels. Numbers have their lowest byte first.
//
//   a rank        greeting    "lci-join", version, rank, size, 12 zero bytes, its nonce          64 bytes
//   rank 0        verdict     kWelcome or why not, 0                                              16 bytes
//                 challenge   its nonce, its proof                                                64 bytes
//   a rank        its proof                                                                       32 bytes
//   rank 0        verdict     kWelcome or why not, the job's id                                   16 bytes
//
// A proof is the HMAC, by the job's secret, of whose it is, the greeting and rank 0's nonce. Then frames go both ways:
// kind, 0, length of what follows (8 bytes).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"
#include "bootstrap/identity.hpp"

namespace lci {

inline constexpr uint32_t kJoinVersion = 1;

using Nonce = std::array<uint8_t, 32>;
Nonce new_nonce();

struct Greeting {
  uint32_t version = kJoinVersion;
  uint32_t rank = 0;
  uint32_t size = 0;
  Nonce nonce{};
};
using GreetingBytes = std::array<uint8_t, 64>;
GreetingBytes encode(const Greeting& greeting);
/// False if it is no greeting at all; one of another version is.
bool decode(const GreetingBytes& bytes, Greeting* out);

enum class Verdict : uint32_t { kWelcome, kOtherVersion, kOtherSecret, kOtherSize, kNoSuchRank, kTaken };
using VerdictBytes = std::array<uint8_t, 16>;
VerdictBytes encode(Verdict verdict, uint64_t job);
/// False if rank 0 never says that.
bool decode(const VerdictBytes& bytes, Verdict* verdict, uint64_t* job);
/// What is wrong with a rank: "does not know the secret of the job".
const char* describe(Verdict verdict);

/// Each side's differs, so that neither can give back what it was sent.
enum class Prover : uint8_t { kRoot, kRank };
Digest prove(const JobSecret& secret, Prover prover, const GreetingBytes& greeting, const Nonce& root_nonce);

struct Challenge {
  Nonce nonce;
  Digest proof;
};
using ChallengeBytes = std::array<uint8_t, 64>;
ChallengeBytes encode(const Challenge& challenge);
Challenge decode(const ChallengeBytes& bytes);

enum class FrameKind : uint32_t {
  kValues = 1,   ///< A fence's number, and values: a rank's own, or from rank 0 those of all ranks.
  kFailure = 2,  ///< From rank 0: a code, the rank to blame, a text. From another: for whom it waited in vain.
  kAsk = 3,      ///< To rank 0: which ranks are missing?
  kMissing = 4,  ///< From rank 0: as kFailure, and it goes on.
  kLeave = 5,    ///< The sender closes. Nothing follows it.
};
inline constexpr size_t kFrameHeaderBytes = 16;
std::array<uint8_t, kFrameHeaderBytes> encode_frame_header(FrameKind kind, uint64_t length);
/// False if there is no such kind.
bool decode_frame_header(const uint8_t* bytes, FrameKind* kind, uint64_t* length);

/// Bytes that the values of a rank may have at one fence.
inline constexpr uint64_t kMostValueBytes = 16u << 20;

/// Values of a fence, one after the other.
class ValueList {
 public:
  static constexpr size_t kHeaderBytes = 16;  ///< Of each value, beside its key and its bytes.
  explicit ValueList(uint64_t fence);
  /// LCI_ERR_SIZE if this value would make it more than a rank may have at one fence.
  int check_room(const std::string& key, size_t n) const;
  void add(uint32_t rank, std::string_view key, const void* bytes, size_t size);
  /// All of another list of the same fence.
  void append(const std::vector<uint8_t>& other);
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

struct ValueView {
  uint32_t rank;
  std::string_view key;
  const uint8_t* bytes;
  size_t size;
};
/// The views point into @p list. False if it is no list.
bool decode_values(const std::vector<uint8_t>& list, uint64_t* fence, std::vector<ValueView>* out);

struct Failure {
  int code = 0;
  int32_t rank = -1;  ///< To blame; -1: none.
  std::string text;
};
std::vector<uint8_t> encode(const Failure& failure);
/// False if it is none: its code has to be that of an error.
bool decode(const std::vector<uint8_t>& bytes, Failure* out);

}  // namespace lci
