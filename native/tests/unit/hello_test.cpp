// SPDX-License-Identifier: Apache-2.0
// What a stranger can say at the socket where ranks meet: it is turned away, and leaves no descriptor behind.
#include "transport/shm/hello.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.hpp"
#include "lci/lci.h"
#include "support/descriptors.hpp"
#include "transport/shm/arena.hpp"

namespace lci {
namespace {

using lci_test::next_descriptor;

constexpr uint32_t kRanks = 3;

JobSecret secret() {
  JobSecret result;
  result.fill('s');
  return result;
}

class HelloTest : public testing::Test {
 protected:
  HelloTest() {
    int ends[2];
    EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    mine_ = FileDescriptor(ends[0]);
    theirs_ = FileDescriptor(ends[1]);
  }
  /// Sends @p bytes with so many copies of a descriptor.
  void say(const void* bytes, size_t size, size_t descriptors) {
    ASSERT_TRUE(lci_test::say(theirs_.get(), bytes, size, theirs_.get(), descriptors));
  }
  bool heard(Greeter* out) { return receive_hello(mine_.get(), secret(), kRanks, now_ns() + 1'000'000'000, out); }
  void expect_refused() {
    const int before = next_descriptor();
    {
      Greeter peer;
      EXPECT_FALSE(heard(&peer));
      EXPECT_EQ(-1, peer.arena.get());
    }
    EXPECT_EQ(before, next_descriptor()) << "a stranger's descriptor stayed open";
  }
  static Hello right() {
    Hello hello{kMemoryMagic, LCI_ABI_VERSION, 2, {}};
    std::memset(hello.secret, 's', sizeof hello.secret);
    return hello;
  }

  FileDescriptor mine_, theirs_;
};

TEST_F(HelloTest, OfTheJobIsTaken) {
  ASSERT_TRUE(send_hello(theirs_.get(), 1, secret(), theirs_.get()));
  Greeter peer;
  ASSERT_TRUE(heard(&peer));
  EXPECT_EQ(1u, peer.rank);
  EXPECT_EQ(getpid(), peer.process);
  EXPECT_GE(peer.arena.get(), 0);
}

// Nothing is said: who waited for it would wait an hour.
TEST_F(HelloTest, AnotherUserIsNotWaitedFor) {
  constexpr uid_t kNobody = 65534;
  constexpr uint64_t kHour = 3'600'000'000'000;
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as another user";
  ASSERT_EQ(0, seteuid(kNobody));
  int ends[2];
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
  ASSERT_EQ(0, seteuid(0));
  ASSERT_EQ(0, made);
  const FileDescriptor mine(ends[0]), theirs(ends[1]);
  Greeter peer;
  EXPECT_FALSE(receive_hello(mine.get(), secret(), kRanks, now_ns() + kHour, &peer));
}

TEST_F(HelloTest, WrongWordsAreRefused) {
  Hello hello = right();
  hello.magic ^= 1;
  say(&hello, sizeof hello, 1);
  expect_refused();
  hello = right();
  ++hello.abi;
  say(&hello, sizeof hello, 1);
  expect_refused();
  hello = right();
  hello.rank = kRanks;
  say(&hello, sizeof hello, 1);
  expect_refused();
  for (const size_t at : {size_t{0}, sizeof hello.secret - 1}) {
    hello = right();
    hello.secret[at] ^= 0x80;
    say(&hello, sizeof hello, 1);
    expect_refused();
  }
}

TEST_F(HelloTest, WrongSizesAreRefused) {
  char longer[sizeof(Hello) + 1] = {};
  const Hello hello = right();
  std::memcpy(longer, &hello, sizeof hello);
  for (const size_t size : {size_t{1}, sizeof hello - 1, sizeof hello + 1}) {
    say(longer, size, 1);
    expect_refused();
  }
}

// Mutation: hello_forgets_descriptors.
TEST_F(HelloTest, ExactlyOneDescriptorIsTaken) {
  const Hello hello = right();
  for (const size_t count : {0u, 2u, 3u, 8u}) {
    SCOPED_TRACE(count);
    say(&hello, sizeof hello, count);
    expect_refused();
  }
}

class HandoutTest : public HelloTest {
 protected:
  Heard heard(uint32_t first, uint32_t most, std::vector<FileDescriptor>* out) {
    return receive_handout(mine_.get(), secret(), first, most, out);
  }
  void expect_refused(uint32_t most = 4) {
    const int before = next_descriptor();
    std::vector<FileDescriptor> none;
    EXPECT_EQ(Heard::kNothing, heard(1, most, &none));
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(before, next_descriptor()) << "a descriptor stayed open";
  }
  static Handout right(uint32_t count) {
    Handout handout{kMemoryMagic, LCI_ABI_VERSION, 1, count, 0, {}};
    std::memset(handout.secret, 's', sizeof handout.secret);
    return handout;
  }
};

TEST_F(HandoutTest, AsManyAsThereAre) {
  const std::vector<int> copies(kMostDescriptors, theirs_.get());
  std::vector<FileDescriptor> got;
  for (const uint32_t count : {0u, 1u, kMostDescriptors}) {
    const auto first = static_cast<uint32_t>(got.size());
    ASSERT_TRUE(send_handout(theirs_.get(), first, copies.data(), count, secret()));
    ASSERT_EQ(Heard::kAll, heard(first, kMostDescriptors + 1, &got));
    ASSERT_EQ(first + count, got.size());
  }
  for (const FileDescriptor& each : got) EXPECT_GE(each.get(), 0);
}

TEST_F(HandoutTest, WrongWordsAreRefused) {
  std::vector<Handout> wrong(6, right(2));
  wrong[0].magic ^= 1;
  ++wrong[1].abi;
  wrong[2].first = 0;
  wrong[3].secret[31] ^= 1;
  wrong[4].count = 3;
  wrong[5].count = 1;
  for (const Handout& handout : wrong) {
    say(&handout, sizeof handout, 2);
    expect_refused();
  }
  const Handout more = right(2);
  say(&more, sizeof more, 2);
  expect_refused(1);
  say(&more, sizeof more - 1, 2);
  expect_refused();
  theirs_ = FileDescriptor();
  expect_refused();
}

// Nothing of it stays open where there is no room for all.
TEST_F(HandoutTest, TooManyForThisProcess) {
  const std::vector<int> copies(8, theirs_.get());
  ASSERT_TRUE(send_handout(theirs_.get(), 1, copies.data(), 8, secret()));
  const int next = next_descriptor();
  rlimit before{};
  ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
  const rlimit tight{static_cast<rlim_t>(next) + 3, before.rlim_max};
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &tight));
  std::vector<FileDescriptor> none;
  const Heard heard_then = heard(1, 8, &none);
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
  EXPECT_EQ(Heard::kNoRoom, heard_then);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(next, next_descriptor());
}

}  // namespace
}  // namespace lci
