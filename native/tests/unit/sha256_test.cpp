// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lci {
namespace {

std::string hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : digest.bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

std::string hash(const std::string& message) {
  Sha256 hash;
  hash.update(message.data(), message.size());
  return hex(hash.finish());
}

Digest code(const std::string& key, const std::string& message) {
  HmacSha256 hmac(key.data(), key.size());
  hmac.update(message.data(), message.size());
  return hmac.finish();
}

std::string counting(unsigned char from, unsigned char to) {
  std::string text;
  for (unsigned value = from; value <= to; ++value) text += static_cast<char>(value);
  return text;
}

// FIPS 180-4 and the examples of NIST.
TEST(Sha256, GivesThePublishedHashes) {
  EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hash(""));
  EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hash("abc"));
  EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ("cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
            hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                 "mnopqrstnopqrstu"));
  EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hash(std::string(1'000'000, 'a')));
}

// The lengths around which the padding takes another block.
TEST(Sha256, PadsMessagesOfEveryLength) {
  EXPECT_EQ("9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318", hash(std::string(55, 'a')));
  EXPECT_EQ("b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a", hash(std::string(56, 'a')));
  EXPECT_EQ("7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34", hash(std::string(63, 'a')));
  EXPECT_EQ("ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb", hash(std::string(64, 'a')));
}

TEST(Sha256, TakesAMessageInPieces) {
  const std::string message = counting(0, 255);
  for (const size_t piece : {1u, 3u, 55u, 63u, 64u, 65u, 129u}) {
    Sha256 hash_of_pieces;
    for (size_t at = 0; at < message.size(); at += piece) {
      const std::string part = message.substr(at, piece);
      hash_of_pieces.update(part.data(), part.size());
      hash_of_pieces.update(nullptr, 0);
    }
    EXPECT_EQ(hash(message), hex(hash_of_pieces.finish())) << piece;
  }
}

// RFC 4231, cases 1 to 7.
TEST(HmacSha256, GivesThePublishedCodes) {
  EXPECT_EQ("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            hex(code(std::string(20, '\x0b'), "Hi There")));
  EXPECT_EQ("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            hex(code("Jefe", "what do ya want for nothing?")));
  EXPECT_EQ("773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            hex(code(std::string(20, '\xaa'), std::string(50, '\xdd'))));
  EXPECT_EQ("82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            hex(code(counting(1, 25), std::string(50, '\xcd'))));
  EXPECT_EQ("a3b6167473100ee06e0c796c2955552b",
            hex(code(std::string(20, '\x0c'), "Test With Truncation")).substr(0, 32));
  EXPECT_EQ("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            hex(code(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")));
  EXPECT_EQ("9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            hex(code(std::string(131, '\xaa'),
                     "This is a test using a larger than block-size key and a larger than block-size data. The key "
                     "needs to be hashed before being used by the HMAC algorithm.")));
}

TEST(HmacSha256, DependsOnEveryByteOfItsKey) {
  std::set<std::string> codes{hex(code(std::string(64, 'k'), "message"))};
  for (size_t at = 0; at < 64; ++at) {
    std::string key(64, 'k');
    key[at] = 'K';
    EXPECT_TRUE(codes.insert(hex(code(key, "message"))).second) << at;
  }
}

TEST(HmacSha256, ACodeDiffersFromOneThatDiffersAnywhere) {
  const Digest right = code("key", "message");
  EXPECT_TRUE(equal_in_constant_time(right, code("key", "message")));
  for (size_t at = 0; at < right.bytes.size(); ++at) {
    Digest wrong = right;
    wrong.bytes[at] ^= std::byte{1};
    EXPECT_FALSE(equal_in_constant_time(right, wrong)) << at;
  }
  EXPECT_TRUE(equal_in_constant_time("", "", 0));
}

TEST(RandomBytes, FillWhatTheyAreAskedForAndDiffer) {
  std::array<std::byte, 1024> bytes{};  // more than the system gives in one piece for certain
  random_bytes(bytes.data(), bytes.size());
  std::set<std::string> pieces;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    pieces.emplace(reinterpret_cast<const char*>(bytes.data() + at), 16);
  }
  EXPECT_EQ(64u, pieces.size());
}

}  // namespace
}  // namespace lci
