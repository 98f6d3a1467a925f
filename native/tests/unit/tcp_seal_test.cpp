// SPDX-License-Identifier: Apache-2.0
// What goes over a sealed connection: it comes whole, nobody between the ranks can read it, or change it unnoticed. It
// needs libcrypto (Debian: libssl3). [NETWORK 3.8]
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "lci/lci.h"
#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/tcp_job.hpp"
#include "transport/tcp/call_proof.hpp"
#include "transport/tcp/connection.hpp"

namespace lci {
namespace {

using Bytes = std::vector<std::byte>;

/// Two ends, and the test between them.
class SealedConnection : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, CryptoLibrary::load("", &crypto_)) << last_error();
    int a[2], b[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a));
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b));
    SealKeys keys{}, reversed{};
    keys.of_sender.bytes.fill(std::byte{1});
    keys.of_receiver.bytes.fill(std::byte{2});
    reversed.of_sender = keys.of_receiver;
    reversed.of_receiver = keys.of_sender;
    sender_ = Connection(FileDescriptor(a[0]), &crypto_, keys, most_pieces_);
    from_sender_ = FileDescriptor(a[1]);
    receiver_ = Connection(FileDescriptor(b[0]), &crypto_, reversed);
    to_receiver_ = FileDescriptor(b[1]);
  }

  /// What is on the wire, with the rest of it.
  Bytes sealed(const void* bytes, size_t size) {
    Bytes wire;
    const auto* at = static_cast<const std::byte*>(bytes);
    for (size_t done = 0; done < size || !sender_.is_flushed();) {
      const iovec parts[2] = {{const_cast<std::byte*>(at + done), (size - done) / 3},
                              {const_cast<std::byte*>(at + done + (size - done) / 3), size - done - (size - done) / 3}};
      const ssize_t sent = sender_.send(parts, done < size ? 2 : 0);
      if (sent > 0) done += static_cast<size_t>(sent);
      std::array<std::byte, 4096> some;
      ssize_t came = 0;
      while ((came = recv(from_sender_.get(), some.data(), some.size(), MSG_DONTWAIT)) > 0) {
        wire.insert(wire.end(), some.begin(), some.begin() + came);
      }
    }
    return wire;
  }
  /// What the receiver makes of it; nothing, and errno, if it refuses.
  Bytes opened(const Bytes& wire, size_t at_once = 1000) {
    Bytes plain, some(Connection::kPiece);
    for (size_t at = 0; at < wire.size(); at += at_once) {
      const size_t size = std::min(at_once, wire.size() - at);
      EXPECT_EQ(static_cast<ssize_t>(size), send(to_receiver_.get(), wire.data() + at, size, MSG_NOSIGNAL));
      bool more = true;
      while (more) {
        const ssize_t came = receiver_.receive(some.data(), some.size(), &more);
        if (came < 0 && errno != EAGAIN) return {};
        if (came > 0) plain.insert(plain.end(), some.begin(), some.begin() + came);
      }
    }
    return plain;
  }

  CryptoLibrary crypto_;
  uint64_t most_pieces_ = Seal::kMostPieces;
  Connection sender_, receiver_;
  FileDescriptor from_sender_, to_receiver_;
};

Bytes numbered(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  return bytes;
}

TEST_F(SealedConnection, BringsWhatWasGivenHoweverItIsCut) {
  for (const size_t size : {1u, 100u, 16384u, 16385u, 300'000u}) {
    for (const size_t at_once : {1u, 7u, 1000u, 60'000u}) {
      if (size / at_once > 20'000) continue;
      const Bytes plain = numbered(size);
      ASSERT_EQ(plain, opened(sealed(plain.data(), size), at_once)) << size << " by " << at_once;
    }
  }
}

// Each call of the system costs as much as the cipher for some pieces.
TEST_F(SealedConnection, SeveralPiecesGoAndComeAtOnce) {
  const Bytes plain = numbered(400'000);
  const iovec all{const_cast<std::byte*>(plain.data()), plain.size()};
  const ssize_t sent = sender_.send(&all, 1);
  ASSERT_EQ(static_cast<ssize_t>(8 * Connection::kPiece), sent);
  ASSERT_TRUE(sender_.is_flushed());
  Bytes wire(2 * static_cast<size_t>(sent)), some(wire.size());
  wire.resize(static_cast<size_t>(recv(from_sender_.get(), wire.data(), wire.size(), MSG_DONTWAIT)));
  EXPECT_EQ(8 * (Connection::kPiece + 4 + Seal::kTag), wire.size());
  ASSERT_EQ(static_cast<ssize_t>(wire.size()), send(to_receiver_.get(), wire.data(), wire.size(), MSG_NOSIGNAL));
  bool more = false;
  ASSERT_EQ(sent, receiver_.receive(some.data(), some.size(), &more));
  some.resize(static_cast<size_t>(sent));
  EXPECT_EQ(Bytes(plain.begin(), plain.begin() + sent), some);
}

// Such a one is neither with the system nor with the caller: a connection that is closed then loses it.
TEST_F(SealedConnection, SaysThatAPieceWaitsForRoom) {
  const Bytes plain = numbered(Connection::kPiece + 1), wire = sealed(plain.data(), plain.size());
  Bytes some(Connection::kPiece);
  bool more = false;
  EXPECT_FALSE(receiver_.has_piece());
  ASSERT_EQ(static_cast<ssize_t>(wire.size()), send(to_receiver_.get(), wire.data(), wire.size(), MSG_NOSIGNAL));
  ASSERT_LT(0, receiver_.receive(some.data(), some.size(), &more));
  EXPECT_TRUE(receiver_.has_piece());
  EXPECT_TRUE(more);
  ASSERT_LT(0, receiver_.receive(some.data(), some.size(), &more));
  EXPECT_FALSE(receiver_.has_piece());
  EXPECT_FALSE(Connection().has_piece()) << "nothing is sealed";
}

// What the system does not take goes later, and nothing between.
TEST_F(SealedConnection, WhatTheSystemDoesNotTakeIsKept) {
  const Bytes plain = numbered(2'000'000);
  size_t done = 0;
  Bytes wire;
  std::array<std::byte, 5000> some;
  while (done < plain.size() || !sender_.is_flushed()) {
    const iovec rest{const_cast<std::byte*>(plain.data() + done), plain.size() - done};
    const ssize_t sent = sender_.send(&rest, done < plain.size() ? 1 : 0);
    ASSERT_TRUE(sent >= 0 || errno == EAGAIN);
    if (sent > 0) done += static_cast<size_t>(sent);
    const ssize_t came = recv(from_sender_.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (came > 0) wire.insert(wire.end(), some.begin(), some.begin() + came);
  }
  for (ssize_t came = 0; (came = recv(from_sender_.get(), some.data(), some.size(), MSG_DONTWAIT)) > 0;) {
    wire.insert(wire.end(), some.begin(), some.begin() + came);
  }
  EXPECT_EQ(plain, opened(wire, 60'000));
}

bool fails_now = false;
int fail_when_told(void* context, unsigned char* out, int* size) {
  static CryptoLibrary real;
  static const int loaded = CryptoLibrary::load("", &real);
  return loaded == LCI_DONE && !fails_now ? real.EncryptFinal_ex(context, out, size) : 0;
}

// Else a later piece would have a number that the receiver does not expect, and the sender be blamed for it.
TEST_F(SealedConnection, EndsWithAPieceThatCannotBeSealed) {
  crypto_.EncryptFinal_ex = fail_when_told;
  const Bytes plain = numbered(100);
  const iovec all{const_cast<std::byte*>(plain.data()), plain.size()};
  ASSERT_EQ(100, sender_.send(&all, 1));
  EXPECT_FALSE(sender_.is_spent());
  for (const bool fails : {true, false}) {
    fails_now = fails;
    errno = 0;
    EXPECT_EQ(-1, sender_.send(&all, 1));
    EXPECT_EQ(ENOKEY, errno);
    EXPECT_TRUE(sender_.is_spent());
  }
  std::array<std::byte, Connection::kPiece> some;
  EXPECT_EQ(120, recv(from_sender_.get(), some.data(), some.size(), MSG_DONTWAIT)) << "and nothing more";
}

// So many pieces of one key that somebody could learn from their number.
TEST_F(SealedConnection, EndsWithItsKey) {
  most_pieces_ = 3;
  SetUp();
  const Bytes plain = numbered(2 * Connection::kPiece + 1);
  const Bytes wire = sealed(plain.data(), plain.size());
  EXPECT_EQ(plain, opened(wire)) << "the receiver counts nothing";
  EXPECT_TRUE(sender_.is_spent());
  const iovec part{const_cast<std::byte*>(plain.data()), 1};
  EXPECT_EQ(-1, sender_.send(&part, 1));
  EXPECT_EQ(ENOKEY, errno);
  EXPECT_FALSE(Connection().is_spent()) << "nothing is sealed";
}

TEST_F(SealedConnection, GivesWhatItsKeyIsGoodFor) {
  most_pieces_ = 2;
  SetUp();
  const Bytes plain = numbered(3 * Connection::kPiece);
  const iovec all{const_cast<std::byte*>(plain.data()), plain.size()};
  EXPECT_EQ(static_cast<ssize_t>(2 * Connection::kPiece), sender_.send(&all, 1));
}

TEST_F(SealedConnection, AKnownTextDoesNotShow) {
  std::string text;
  while (text.size() < 10'000'000) text += "the quick brown fox jumps over the lazy dog ";
  const Bytes wire = sealed(text.data(), text.size());
  EXPECT_GT(wire.size(), text.size());
  const std::string seen(reinterpret_cast<const char*>(wire.data()), wire.size());
  EXPECT_EQ(std::string::npos, seen.find("quick"));
  EXPECT_EQ(std::string::npos, seen.find("the lazy"));
}

TEST_F(SealedConnection, AnyFlippedBitIsNoticed) {
  for (const size_t at : {0u, 3u, 4u, 20u, 103u, 104u, 119u}) {
    SetUp();
    Bytes wire = sealed(numbered(100).data(), 100);
    ASSERT_EQ(120u, wire.size());
    wire[at] ^= std::byte{0x40};
    errno = 0;
    EXPECT_TRUE(opened(wire).empty()) << at;
    EXPECT_TRUE(errno == EBADMSG || errno == EAGAIN) << "longer than what came, or no such piece: " << at;
  }
}

TEST_F(SealedConnection, APieceThatIsLeftOutRepeatedOrMovedIsNoticed) {
  const Bytes first = sealed("one", 3), second = sealed("two", 3);
  const auto refuses = [&](const Bytes& a, const Bytes& b) {
    Bytes both = a;
    both.insert(both.end(), b.begin(), b.end());
    errno = 0;
    opened(both);
    return errno == EBADMSG;
  };
  EXPECT_TRUE(refuses(second, first));
  SetUp();
  const Bytes again = sealed("one", 3);
  EXPECT_TRUE(refuses(again, again));
}

// What is in front of such a piece is as good as ever; nothing behind it is taken, or the piece would be left out.
TEST_F(SealedConnection, APieceThatDoesNotOpenEndsNothingBeforeItAndAllBehind) {
  Bytes wire = sealed("one", 3), changed = sealed("two", 3);
  const Bytes third = sealed("three", 5);
  changed.back() ^= std::byte{1};
  wire.insert(wire.end(), changed.begin(), changed.end());
  ASSERT_EQ(static_cast<ssize_t>(wire.size()), send(to_receiver_.get(), wire.data(), wire.size(), MSG_NOSIGNAL));
  std::array<std::byte, Connection::kPiece> some;
  bool more = false;
  ASSERT_EQ(3, receiver_.receive(some.data(), some.size(), &more));
  EXPECT_EQ(0, std::memcmp("one", some.data(), 3));
  EXPECT_TRUE(more) << "there is something to find";
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(-1, receiver_.receive(some.data(), some.size(), &more));
    EXPECT_EQ(EBADMSG, errno);
    ASSERT_EQ(static_cast<ssize_t>(third.size()), send(to_receiver_.get(), third.data(), third.size(), MSG_NOSIGNAL));
  }
}

TEST(SealKey, IsAnotherForEachSideConnectionAndPlace) {
  Digest binding, other;
  binding.bytes.fill(std::byte{1});
  other.bytes.fill(std::byte{2});
  const CallVerdict verdict{CallVerdict::kAccepted, 0, 5}, elsewhere{CallVerdict::kAccepted, 0, 6};
  const Digest key = key_of(binding, CallSide::kCaller, verdict);
  EXPECT_EQ(key.bytes, key_of(binding, CallSide::kCaller, verdict).bytes);
  EXPECT_NE(key.bytes, key_of(binding, CallSide::kAnswerer, verdict).bytes);
  EXPECT_NE(key.bytes, key_of(other, CallSide::kCaller, verdict).bytes);
  EXPECT_NE(key.bytes, key_of(binding, CallSide::kCaller, elsewhere).bytes) << "who changes the verdict gains nothing";
}

int create_over_tcp(const lci_test::Attributes& attributes) {
  lci_attrs* attrs = nullptr;
  EXPECT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", "tcp"));
  for (const auto& [name, value] : attributes) EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, name.c_str(), value.c_str()));
  lci_runtime* runtime = nullptr;
  const int code = lci_runtime_create(attrs, nullptr, 0, &runtime);
  if (runtime) lci_runtime_close(runtime, 1000);
  lci_attrs_free(attrs);
  return code;
}

int create_sealed(const std::string& library, lci_test::Attributes more = {}) {
  more.insert(more.end(), {{"net_security", "sealed"}, {"crypto_library", library}});
  return create_over_tcp(more);
}

TEST(SealedJob, WithoutALibraryItIsRefusedNotWeakened) {
  EXPECT_EQ(LCI_ERR_UNSUPPORTED, create_sealed("/nowhere/libcrypto.so"));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("crypto_library")) << lci_last_error();
  EXPECT_EQ(LCI_ERR_UNSUPPORTED, create_sealed("libc.so.6"));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("no libcrypto")) << lci_last_error();
  EXPECT_EQ(LCI_DONE, create_sealed("")) << lci_last_error();
}

// On loopback ranks may meet without one.
TEST(SealedJob, WithoutASecretItIsRefused) {
  const test::HeldPort port;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP,
            create_sealed(
                "", {{"bootstrap", "tcp"}, {"job_root", port.address().text()}, {"job_rank", "0"}, {"job_size", "1"}}));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("LCI_SECRET_FILE")) << lci_last_error();
}

// Its ranks know each other by nothing: they must not be where others reach them.
TEST(JobWithoutASecret, ListensOnLoopbackAlone) {
  for (const auto& [address, code] : {std::pair{"127.0.0.1", LCI_DONE}, {"0.0.0.0", LCI_ERR_BOOTSTRAP}}) {
    const test::HeldPort port;
    EXPECT_EQ(code, create_over_tcp({{"bootstrap", "tcp"},
                                     {"job_root", port.address().text()},
                                     {"job_rank", "0"},
                                     {"job_size", "1"},
                                     {"net_address", address}}))
        << address << ": " << lci_last_error();
  }
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("LCI_SECRET_FILE")) << lci_last_error();
}

// Also while connections break, each with keys of its own.
TEST(SealedJob, MessagesComeOnce) {
  using namespace lci_test;
  for (const char* chaos : {"", "seed=3,cut=0.05"}) {
    Job job(3, {{"transport", "tcp"}, {"net_security", "sealed"}, {"chaos", chaos}});
    lci_comp* const inbox = make_queue(job.runtime(2));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(2), 5, "", inbox, 0, 0));
    for (uint64_t tag = 0; tag < 200; ++tag) {
      const auto bytes = pattern(tag * 40, tag);
      ASSERT_EQ(LCI_DONE, post_am(job, tag % 2, 2, 5, tag, bytes));
      lci_status status{};
      ASSERT_TRUE(pop(job, inbox, &status));
      EXPECT_EQ(tag, status.tag);
      ASSERT_EQ(bytes.size(), status.size);
      EXPECT_EQ(0, compare(status.buffer, bytes.data(), bytes.size()));
      lci_buffer_free(status.buffer);
    }
    job.check_ledgers();
  }
}

}  // namespace
}  // namespace lci
