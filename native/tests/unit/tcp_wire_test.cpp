// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_wire.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"

namespace lci {
namespace {

JobSecret secret(uint8_t first) {
  JobSecret result{};
  result[0] = first;
  return result;
}

std::string text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

TEST(TcpWire, AGreetingComesAsItWent) {
  const Greeting sent{.version = 7, .rank = 0x01020304, .size = 0xfffefdfc, .nonce = new_nonce()};
  const GreetingBytes bytes = encode(sent);
  EXPECT_EQ(std::string("lci-join\7\0\0\0\4\3\2\1", 16), std::string(bytes.begin(), bytes.begin() + 16));
  Greeting got;
  ASSERT_TRUE(decode(bytes, &got));
  EXPECT_EQ(7u, got.version);
  EXPECT_EQ(sent.rank, got.rank);
  EXPECT_EQ(sent.size, got.size);
  EXPECT_EQ(sent.nonce, got.nonce);
  for (size_t at = 0; at < 32; ++at) {
    if (at >= 8 && at < 20) continue;  // numbers: any
    GreetingBytes other = bytes;
    other[at] ^= 1;
    EXPECT_FALSE(decode(other, &got)) << at;
  }
}

TEST(TcpWire, AVerdictComesAsItWent) {
  for (uint32_t value = 0; value <= static_cast<uint32_t>(Verdict::kTaken); ++value) {
    Verdict verdict{};
    uint64_t job = 0;
    ASSERT_TRUE(decode(encode(static_cast<Verdict>(value), 0x0123456789abcdef), &verdict, &job));
    EXPECT_EQ(value, static_cast<uint32_t>(verdict));
    EXPECT_EQ(0x0123456789abcdefu, job);
    EXPECT_STRNE("", describe(verdict));
  }
  Verdict verdict{};
  uint64_t job = 0;
  EXPECT_FALSE(decode(encode(static_cast<Verdict>(6), 1), &verdict, &job));
  VerdictBytes bytes = encode(Verdict::kWelcome, 1);
  bytes[4] = 1;
  EXPECT_FALSE(decode(bytes, &verdict, &job));
}

TEST(TcpWire, AProofDependsOnAllThatItProves) {
  const GreetingBytes greeting = encode({.rank = 1, .size = 2, .nonce = new_nonce()});
  const Nonce nonce = new_nonce();
  const auto proof = [&](uint8_t key, Prover prover) { return text_of(prove(secret(key), prover, greeting, nonce)); };
  std::set<std::string> proofs{proof(1, Prover::kRank), proof(1, Prover::kRoot), proof(2, Prover::kRank)};
  EXPECT_EQ(3u, proofs.size());
  EXPECT_EQ(proof(1, Prover::kRank), proof(1, Prover::kRank));
  for (size_t at = 0; at < greeting.size(); ++at) {
    GreetingBytes other = greeting;
    other[at] ^= 1;
    EXPECT_TRUE(proofs.insert(text_of(prove(secret(1), Prover::kRank, other, nonce))).second) << at;
  }
  for (size_t at = 0; at < nonce.size(); ++at) {
    Nonce other = nonce;
    other[at] ^= 1;
    EXPECT_TRUE(proofs.insert(text_of(prove(secret(1), Prover::kRank, greeting, other))).second) << at;
  }
}

TEST(TcpWire, ValuesComeAsTheyWent) {
  ValueList one(3), two(3);
  one.add(1, "key", "\0value", 6);
  one.add(1, "empty", nullptr, 0);
  two.add(2, "key", "other", 5);
  one.append(two.bytes());
  uint64_t fence = 0;
  std::vector<ValueView> values;
  ASSERT_TRUE(decode_values(one.bytes(), &fence, &values));
  EXPECT_EQ(3u, fence);
  ASSERT_EQ(3u, values.size());
  EXPECT_EQ("key", values[0].key);
  EXPECT_EQ(std::string("\0value", 6), std::string(values[0].bytes, values[0].bytes + values[0].size));
  EXPECT_EQ("empty", values[1].key);
  EXPECT_EQ(0u, values[1].size);
  EXPECT_EQ(2u, values[2].rank);
  EXPECT_EQ("other", std::string(values[2].bytes, values[2].bytes + values[2].size));
}

TEST(TcpWire, ADamagedListIsNone) {
  ValueList list(1);
  list.add(1, "key", "value", 5);
  uint64_t fence = 0;
  for (size_t size = 0; size < list.bytes().size(); ++size) {
    std::vector<ValueView> values;
    const std::vector<uint8_t> cut(list.bytes().begin(), list.bytes().begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(size == 8, decode_values(cut, &fence, &values)) << size;  // a list without values is one
  }
  for (size_t at = 8 + 4; at < 8 + 16; ++at) {  // lengths: of the key, of the value
    std::vector<ValueView> values;
    std::vector<uint8_t> longer = list.bytes();
    longer[at] = 0xff;
    EXPECT_FALSE(decode_values(longer, &fence, &values)) << at;
  }
  std::vector<ValueView> values;
  std::vector<uint8_t> without_key = list.bytes();
  without_key[8 + 4] = 0;
  without_key[8 + 8] += 3;
  EXPECT_FALSE(decode_values(without_key, &fence, &values));
}

TEST(TcpWire, AFailureComesAsItWent) {
  Failure got;
  ASSERT_TRUE(decode(encode(Failure{LCI_ERR_TIMEOUT, 5, "rank 5 is late"}), &got));
  EXPECT_EQ(LCI_ERR_TIMEOUT, got.code);
  EXPECT_EQ(5u, got.rank);
  EXPECT_EQ("rank 5 is late", got.text);
  EXPECT_FALSE(decode(encode(Failure{LCI_DONE, 5, ""}), &got)) << "that is no failure";
  EXPECT_FALSE(decode(encode(Failure{-1, 5, ""}), &got));
  EXPECT_FALSE(decode(std::vector<uint8_t>(7), &got));
}

TEST(TcpWire, AFrameHasOneOfItsKinds) {
  FrameKind kind{};
  uint64_t length = 0;
  const auto header = encode_frame_header(FrameKind::kLeave, 0x0102030405);
  ASSERT_TRUE(decode_frame_header(header.data(), &kind, &length));
  EXPECT_EQ(FrameKind::kLeave, kind);
  EXPECT_EQ(0x0102030405u, length);
  for (const uint8_t bad : {0, 6, 255}) {
    auto other = header;
    other[0] = bad;
    EXPECT_FALSE(decode_frame_header(other.data(), &kind, &length)) << int{bad};
  }
  auto other = header;
  other[4] = 1;
  EXPECT_FALSE(decode_frame_header(other.data(), &kind, &length));
}

}  // namespace
}  // namespace lci
