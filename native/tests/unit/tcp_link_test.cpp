// SPDX-License-Identifier: Apache-2.0
// Two links and what is between them: connections that break at any byte, calls that are stale, and ends.
#include "transport/tcp/tcp_link.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"
#include "support/link_host.hpp"
#include "support/threads.hpp"
#include "transport/tcp/tcp_address.hpp"

namespace lci {
namespace {

using lci_test::LinkHost;

constexpr LinkSizes kSizes{64, 64, 4032, 256};
constexpr uint64_t kHour = 3600'000'000'000;

/// One rank of two, and what its device does.
class Side final : public LinkHost {
 public:
  explicit Side(uint32_t rank) : LinkHost(rank, kSizes) {
    EXPECT_TRUE(is_made());
    link = std::make_unique<TcpLink>(*this, 0, 1 - rank, mirror(), counters);
    EXPECT_TRUE(link->prepare());
  }

  bool post(uint64_t tag) {
    MessageHeader header{};
    header.kind = MessageKind::kAmInline;
    header.size = sizeof tag;
    header.tag = tag;
    if (!data.has_room(slots_for(sizeof tag))) return false;
    data.write(header, reinterpret_cast<const std::byte*>(&tag), sizeof tag);
    data.publish();
    return true;
  }
  /// What the device finds in its mirror.
  void take_all() {
    if (!hears()) return;
    if (!reads_) in_ = RingConsumer(rings_of_other().data(kSizes.control_slots, kSizes.data_slots));
    reads_ = true;
    for (; in_.has_message() || go_over(); in_.advance(slots_for(sizeof(uint64_t)))) taken.push_back(in_.header().tag);
    in_.publish_head();
  }
  uint64_t count(Metric counter) const { return counters.get(counter); }
  void barriers_came(uint32_t, uint32_t) override {
    if (on_record) on_record();
  }
  void pass() {
    link->wake(true, true, false);
    while (link->is_readable()) link->read();
    take_all();
    link->settle(true);
  }

  std::unique_ptr<TcpLink> link;
  std::vector<uint64_t> taken;
  std::function<void()> on_record;  ///< It has read the head of one.

 private:
  bool go_over() {
    RingMemory next{};
    if (!link->take_wider(&next)) return false;
    in_ = RingConsumer(next);
    return in_.has_message();
  }

  RingConsumer in_;
  bool reads_ = false;
};

/// Plain, and sealed.
class TcpLinkTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      ASSERT_EQ(LCI_DONE, CryptoLibrary::load("", &crypto_)) << last_error();
    }
  }
  Connection connection(FileDescriptor socket, uint8_t sender, uint8_t receiver) const {
    SealKeys keys{};
    keys.of_sender.bytes.fill(std::byte{sender});
    keys.of_receiver.bytes.fill(std::byte{receiver});
    return Connection(std::move(socket), GetParam() ? &crypto_ : nullptr, keys, most_pieces_);
  }
  /// A connection between the two, as after a call of rank 0 that was accepted.
  void connect(uint8_t heard = 1) {
    int pair[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
    open(FileDescriptor(pair[0]), FileDescriptor(pair[1]), heard);
  }
  /// The same over the network, where whoever sends to a side that has closed hears of it later.
  void connect_by_network() {
    TcpAddress address{};
    FileDescriptor listener;
    ASSERT_EQ(LCI_DONE, listen_for_ranks("127.0.0.1", &listener, &address)) << last_error();
    FileDescriptor of_caller = connect_to(socket_address(address));
    ASSERT_TRUE(wait_for(of_caller.get(), true, now_ns() + kHour));
    ASSERT_EQ(0, connect_outcome(of_caller.get()));
    SocketAddress from;
    ASSERT_TRUE(wait_for(listener.get(), false, now_ns() + kHour));
    FileDescriptor of_answerer = accept_from(listener.get(), &from);
    ASSERT_LE(0, of_answerer.get());
    socket_of_answerer_ = of_answerer.get();
    open(std::move(of_caller), std::move(of_answerer));
  }
  static bool comes_true(const std::function<bool()>& what) {
    for (const lci::test::Deadline deadline(60); !deadline.passed(); usleep(1000)) {
      if (what()) return true;
    }
    return false;
  }
  /// @param heard the key by which the answerer opens what the caller seals
  void open(FileDescriptor of_caller, FileDescriptor of_answerer, uint8_t heard = 1) {
    const LinkProgress caller = caller_.link->progress(), answerer = answerer_.link->progress();
    const uint32_t number = std::max(caller.connections, answerer.connections) + 1;
    caller_.link->open(connection(std::move(of_caller), 1, 2), {number, answerer.taken}, false);
    answerer_.link->open(connection(std::move(of_answerer), 2, heard), {number, caller.taken}, true);
  }
  void pass(int rounds = 4) {
    for (int i = 0; i < rounds; ++i) {
      caller_.pass();
      answerer_.pass();
    }
  }

  /// Each has what the other one has said, and knows that.
  void become_quiet() {
    for (int i = 0; i < 4; ++i) {
      pass(1);
      caller_.link->acknowledge();
      answerer_.link->acknowledge();
    }
  }

  CryptoLibrary crypto_;
  uint64_t most_pieces_ = Seal::kMostPieces;
  Side caller_{0}, answerer_{1};
  int socket_of_answerer_ = -1;  // by network
};
INSTANTIATE_TEST_SUITE_P(Security, TcpLinkTest, testing::Bool(),
                         [](const auto& sealed) { return sealed.param ? "sealed" : "plain"; });

std::vector<uint64_t> first(uint64_t count) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

// Whatever part of the bytes has gone through, also in the middle of a header.
TEST_P(TcpLinkTest, GoesOnAtTheByteAtWhichAConnectionBroke) {
  connect();
  uint64_t posted = 0;
  for (int round = 0; round < 300; ++round) {
    while (posted < (round + 1) * 7u && caller_.post(posted)) ++posted;
    caller_.link->flush();
    // The rest of what was sent is lost with the connection.
    answerer_.link->wake(true, true, false);
    if (round % 3 == 0) answerer_.link->read();
    answerer_.take_all();
    (round % 2 == 0 ? caller_ : answerer_).link->cut();
    caller_.link->wake(true, true, true);
    answerer_.link->wake(true, true, true);
    if (caller_.link->is_open()) caller_.link->cut();
    if (answerer_.link->is_open()) answerer_.link->cut();
    connect();
    if (round % 5 == 0) pass(1);
  }
  pass();
  EXPECT_EQ(first(posted), answerer_.taken);
  EXPECT_EQ(299u + 1, caller_.shared().get(Metric::links_resumed));
  EXPECT_TRUE(caller_.ends.empty() && answerer_.ends.empty());
}

// The ring of the caller's device has 64 slots, and so has that of the answerer's mirror at first.
TEST_P(TcpLinkTest, LetsThePeerSendMoreWhenItHasUsedUpTheWindow) {
  connect();
  pass();
  uint64_t posted = 0;
  const auto post_until_full = [&] {
    const uint64_t before = posted;
    for (; caller_.post(posted); ++posted) caller_.link->flush();
    return posted - before;
  };
  EXPECT_EQ(64u + 64, post_until_full());
  pass();
  EXPECT_EQ(256u + 64, post_until_full());
  pass();
  EXPECT_EQ(256u + 64, post_until_full()) << "the bound";
  pass();
  EXPECT_EQ(first(posted), answerer_.taken);
}

// While more may come at once it waits with that, as every record that goes for another reason says it too.
TEST_P(TcpLinkTest, ThePeerIsToldWhatHasComeWhenNothingMoreComes) {
  const auto knows = [this] { return caller_.link->quiet_ns(1) == 0 && caller_.link->quiet_ns(kHour) != 0; };
  for (const bool sleeps : {true, false}) {
    connect();
    become_quiet();
    ASSERT_TRUE(knows());
    ASSERT_TRUE(caller_.post(0));
    caller_.link->flush();
    answerer_.link->wake(true, true, false);
    ASSERT_TRUE(answerer_.link->read());
    answerer_.take_all();
    answerer_.link->settle(false);
    caller_.pass();
    EXPECT_FALSE(knows());
    for (int i = 0; i < (sleeps ? 1 : 100); ++i) answerer_.link->settle(sleeps);
    caller_.pass();
    EXPECT_TRUE(knows()) << (sleeps ? "as it sleeps" : "as it finds nothing");
  }
}

TEST_P(TcpLinkTest, BreaksWhenTheOtherSideIsGoneAndIsNoDeath) {
  connect();
  pass();
  caller_.link->cut();
  EXPECT_TRUE(caller_.link->is_broken());
  pass(1);
  EXPECT_TRUE(answerer_.link->is_broken());
  EXPECT_TRUE(answerer_.ends.empty());
  EXPECT_FALSE(answerer_.link->has_ended());
}

TEST_P(TcpLinkTest, WhatIsNotAcknowledgedIsNotDrainedWhenTheConnectionBreaks) {
  connect();
  pass();
  EXPECT_TRUE(caller_.link->drained());
  ASSERT_TRUE(caller_.post(0));
  EXPECT_FALSE(caller_.link->drained());
  caller_.link->flush();
  EXPECT_TRUE(caller_.link->drained()) << "the system has it";
  caller_.link->cut();
  EXPECT_FALSE(caller_.link->drained()) << "and may have lost it";
  pass(1);
  connect();
  pass();
  EXPECT_TRUE(caller_.link->drained());
  EXPECT_EQ(first(1), answerer_.taken);
}

// The answerer counts a connection of which the caller never hears; the next one has a number that both know.
TEST_P(TcpLinkTest, CountsConnectionsAsThePeerDoes) {
  connect();
  pass();
  caller_.link->cut();
  answerer_.link->cut();
  int pair[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  close(pair[0]);  // the caller's end, lost with the verdict
  answerer_.link->open(connection(FileDescriptor(pair[1]), 2, 1), {2, caller_.link->progress().taken}, true);
  EXPECT_TRUE(answerer_.link->needs(caller_.link->progress()));
  answerer_.pass();
  answerer_.pass();
  connect();
  pass();
  EXPECT_EQ(3u, caller_.link->progress().connections);
  EXPECT_EQ(3u, answerer_.link->progress().connections);
  caller_.link->cut();
  EXPECT_TRUE(answerer_.link->needs(caller_.link->progress())) << "the answerer knows of no break";
}

TEST_P(TcpLinkTest, AConnectionWithANumberThatWasThereIsRefused) {
  connect();
  pass();
  caller_.link->cut();
  int pair[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  const FileDescriptor other(pair[1]);
  caller_.link->open(connection(FileDescriptor(pair[0]), 1, 2), {1, answerer_.link->progress().taken}, false);
  EXPECT_TRUE(caller_.link->has_ended());
}

TEST_P(TcpLinkTest, CountsWhatGoesAndWhatComes) {
  const auto expect_equal = [&](const char* when) {
    EXPECT_EQ(caller_.count(Metric::net_records_sent), answerer_.count(Metric::net_records_received)) << when;
    EXPECT_EQ(answerer_.count(Metric::net_records_sent), caller_.count(Metric::net_records_received)) << when;
    EXPECT_EQ(caller_.count(Metric::net_bytes_sent), answerer_.count(Metric::net_bytes_received)) << when;
    EXPECT_EQ(answerer_.count(Metric::net_bytes_sent), caller_.count(Metric::net_bytes_received)) << when;
  };
  connect();
  pass();
  EXPECT_EQ(1u, caller_.count(Metric::net_records_sent)) << "it reports what it has room for";
  EXPECT_EQ(sizeof(RecordHeader), caller_.count(Metric::net_bytes_sent));
  expect_equal("as they are opened");
  for (uint64_t tag = 0; tag < 5; ++tag) ASSERT_TRUE(caller_.post(tag));
  pass();
  EXPECT_EQ(5u, caller_.count(Metric::net_messages_sent));
  EXPECT_EQ(0u, answerer_.count(Metric::net_messages_sent));
  constexpr uint64_t kFrames = 5 * (sizeof(FrameHeader) + sizeof(uint64_t));
  const uint64_t records = caller_.count(Metric::net_records_sent);
  EXPECT_GE(records, 2u);
  EXPECT_EQ(records * sizeof(RecordHeader) + kFrames, caller_.count(Metric::net_bytes_sent));
  expect_equal("with messages");
}

TEST_P(TcpLinkTest, CountsConnectionsWhileTheyAreOpen) {
  EXPECT_EQ(0u, caller_.count(Metric::links_open));
  connect();
  EXPECT_EQ(1u, caller_.count(Metric::links_open));
  pass();
  caller_.link->cut();
  EXPECT_EQ(0u, caller_.count(Metric::links_open));
  pass(1);
  EXPECT_EQ(0u, answerer_.count(Metric::links_open));
  connect();
  EXPECT_EQ(1u, caller_.count(Metric::links_open));
  caller_.link->close(false);
  caller_.link->close(true);
  EXPECT_EQ(0u, caller_.count(Metric::links_open)) << "once, however often it is closed";
}

// A peer may know that a connection is broken before this side does, or not know that there is one.
TEST_P(TcpLinkTest, TellsWhichCallsItNeeds) {
  EXPECT_TRUE(answerer_.link->needs({0, 0})) << "the first";
  connect();
  EXPECT_TRUE(answerer_.link->needs({0, 0})) << "the caller may not have heard that it was accepted";
  EXPECT_FALSE(caller_.link->needs({0, 0})) << "who has called itself was accepted: that one is stale";
  EXPECT_TRUE(caller_.link->needs({1, 0})) << "the connection broke for the other one";
  pass();
  EXPECT_FALSE(answerer_.link->needs({0, 0})) << "the caller has sent something, so it knows";
  EXPECT_TRUE(answerer_.link->needs({1, 0}));
  answerer_.link->cut();
  EXPECT_TRUE(answerer_.link->needs({1, 0}));
  EXPECT_FALSE(answerer_.link->needs({0, 0}))
      << "stale, also while there is none: what it has taken is not true any more";
  caller_.link->leave(RankState::kFailed, 0, true);
  EXPECT_FALSE(caller_.link->needs({5, 0})) << "none any more";
}

TEST_P(TcpLinkTest, WhoSaysThatItHasWhatWasNotSentIsCutOff) {
  connect();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  caller_.link->cut();
  int pair[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  const FileDescriptor other(pair[1]);
  caller_.link->open(connection(FileDescriptor(pair[0]), 1, 2), {2, 1'000'000}, true);
  EXPECT_TRUE(caller_.link->has_ended());
  EXPECT_EQ(std::vector<RankState>{RankState::kFailed}, caller_.ends);
  EXPECT_EQ(1u, caller_.shared().get(Metric::protocol_errors));
}

TEST_P(TcpLinkTest, WhoSaysThatItLacksWhatItHasAcknowledgedIsCutOff) {
  connect();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  pass();
  caller_.link->cut();
  int pair[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  const FileDescriptor other(pair[1]);
  caller_.link->open(connection(FileDescriptor(pair[0]), 1, 2), {2, 0}, true);
  EXPECT_TRUE(caller_.link->has_ended());
  EXPECT_EQ(1u, caller_.shared().get(Metric::protocol_errors));
}

TEST_P(TcpLinkTest, AGoodbyeGoesOverTheNextConnectionIfOneBreaks) {
  connect();
  pass();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->leave(RankState::kLeft, 3, true);
  caller_.link->cut();
  EXPECT_TRUE(caller_.link->is_leaving());
  EXPECT_FALSE(caller_.link->has_left());
  answerer_.pass();
  answerer_.pass();
  ASSERT_TRUE(answerer_.link->is_broken());
  connect();
  bool left = false;
  for (int i = 0; i < 100 && !left; ++i) {
    left = caller_.link->has_left();
    answerer_.pass();
  }
  EXPECT_TRUE(left);
  EXPECT_EQ(first(1), answerer_.taken);
  EXPECT_EQ(std::vector<RankState>{RankState::kLeft}, answerer_.ends);
  EXPECT_EQ(std::vector<uint32_t>{0}, answerer_.spoken) << "devices that it was said to";
}

// The goodbye is all that a peer which has left waits for.
TEST_P(TcpLinkTest, OneThatHasLeftHearsTheGoodbyeAlone) {
  connect();
  pass();
  caller_.link->cut();
  caller_.link->provide_words(1);
  caller_.link->say(LinkWord::kDevices, 0, 0, 1);
  caller_.link->leave(RankState::kLeft, 0, false);
  ASSERT_TRUE(caller_.link->is_leaving());
  connect();
  EXPECT_TRUE(comes_true([&] {
    answerer_.pass();
    return caller_.link->has_left() && !answerer_.ends.empty();
  }));
  EXPECT_EQ(std::vector<RankState>{RankState::kLeft}, answerer_.ends);
  EXPECT_TRUE(answerer_.spoken.empty()) << "it has rings, and has said nothing";
}

// Neither reads any more, and what they have still to say is not waited for.
TEST_P(TcpLinkTest, TwoThatLeaveAtOnceDoNotWaitForEachOther) {
  connect();
  pass();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->leave(RankState::kLeft, 0, true);
  answerer_.link->leave(RankState::kLeft, 0, true);
  bool caller = false, answerer = false;
  for (int i = 0; i < 100 && !(caller && answerer); ++i) {
    if (caller || (caller = caller_.link->has_left())) caller_.link->close(false);
    if (answerer || (answerer = answerer_.link->has_left())) answerer_.link->close(false);
  }
  EXPECT_TRUE(caller && answerer);
}

// One that has left falls silent before its last words have come.
TEST_P(TcpLinkTest, ARankThatHasLeftIsNotReadForEver) {
  connect();
  pass();
  EXPECT_FALSE(answerer_.link->finish(false, true));
  EXPECT_TRUE(answerer_.link->finish(false, false));
  EXPECT_TRUE(answerer_.link->has_ended());
}

// Known from elsewhere, and the last read finds that the connection is gone.
TEST_P(TcpLinkTest, AConnectionThatBreaksAtTheEndIsMended) {
  connect();
  pass();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->leave(RankState::kLeft, 3, true);
  caller_.link->cut();
  for (int i = 0; i < 4 && answerer_.link->is_open(); ++i) EXPECT_FALSE(answerer_.link->finish(false, true));
  ASSERT_TRUE(answerer_.link->is_broken());
  connect();
  bool left = false, read = false;
  for (int i = 0; i < 100 && !(left && read); ++i) {
    left = left || caller_.link->has_left();
    answerer_.pass();
    read = answerer_.link->finish(false, true);
  }
  EXPECT_TRUE(left && read);
  EXPECT_EQ(first(1), answerer_.taken);
  EXPECT_EQ(std::vector<RankState>{RankState::kLeft}, answerer_.ends);
}

TEST_P(TcpLinkTest, OfARankThatHasFailedOnlyWhatHasComeIsRead) {
  connect();
  pass();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  EXPECT_TRUE(answerer_.link->finish(true, true));
  answerer_.take_all();
  EXPECT_EQ(first(1), answerer_.taken);
}

// It says something more whenever it is read, so that there is always something to read.
TEST_P(TcpLinkTest, ARankThatHasFailedAndSpeaksForEverIsNotReadForEver) {
  connect();
  pass();
  constexpr int kMany = 100, kWords = 2000;
  int said = 0;
  const auto speak = [&] {
    if (said == kMany) return;
    ++said;
    caller_.link->provide_words(kWords);
    for (int i = 0; i < kWords; ++i) caller_.link->say(LinkWord::kDevices, 0, 0, 1);
    caller_.link->wake(false, true, false);
    caller_.link->flush();
  };
  answerer_.on_record = speak;
  for (int i = 0; i < 6; ++i) speak();  // more than is read at once
  EXPECT_FALSE(answerer_.link->finish(true, true)) << "not now";
  EXPECT_LT(said, kMany);
  EXPECT_TRUE(answerer_.link->finish(true, false));
  EXPECT_LT(said, kMany);
  EXPECT_TRUE(answerer_.link->has_ended());
}

TEST_P(TcpLinkTest, WhoeverLeavesReadsNoMoreThanSoMuchAtOnce) {
  int pair[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
  const int room = 1 << 20;
  setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  caller_.link->open(connection(FileDescriptor(pair[0]), 1, 2), {1, 0}, false);
  const FileDescriptor other(pair[1]);
  std::vector<std::byte> some(32 << 10);
  while (send(other.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
  }
  int before = 0, after = 0;
  ASSERT_EQ(0, ioctl(pair[0], FIONREAD, &before));
  ASSERT_LT(150'000, before);
  caller_.link->leave(RankState::kLeft, 0, true);
  EXPECT_FALSE(caller_.link->has_left());
  ASSERT_EQ(0, ioctl(pair[0], FIONREAD, &after));
  EXPECT_LT(0, after);
  EXPECT_LT(after, before);
  bool left = false;
  for (int i = 0; i < 100 && !left; ++i) {
    while (recv(other.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
    }
    left = caller_.link->has_left();
  }
  EXPECT_TRUE(left);
}

TEST_P(TcpLinkTest, HearsWhoIsGoneUnlessTheTellerIsDeadItself) {
  connect();
  pass();
  const auto tell = [&] {
    caller_.link->provide_words(1);
    caller_.link->say(LinkWord::kNotice, static_cast<uint32_t>(RankState::kFailed), 1, 0);
    pass();
  };
  answerer_.other_has_failed = true;
  tell();
  EXPECT_TRUE(answerer_.fenced_by.empty());
  answerer_.other_has_failed = false;
  tell();
  EXPECT_EQ(std::vector<uint32_t>{0}, answerer_.fenced_by) << "this rank is the one that is said to be gone";
}

// --- connections over which nothing goes

TEST_P(TcpLinkTest, TwoThatHaveNothingToSayDoWithoutAConnectionUntilOneHas) {
  connect();
  uint64_t posted = 0, answered = 100;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(caller_.post(posted++));
    caller_.link->flush();
    become_quiet();
    EXPECT_EQ(0u, caller_.link->quiet_ns(1));
    EXPECT_EQ(kHour - 1, caller_.link->quiet_ns(kHour));
    Side& first = round % 2 ? caller_ : answerer_;
    first.link->provide_words(1);
    first.link->propose_rest();
    pass();
    ASSERT_TRUE(caller_.link->is_resting() && answerer_.link->is_resting()) << "round " << round;
    EXPECT_EQ(0u, caller_.count(Metric::links_open) + answerer_.count(Metric::links_open));
    EXPECT_TRUE(caller_.link->drained() && !caller_.link->wakes() && !answerer_.link->wakes());
    ASSERT_TRUE(answerer_.post(answered++));
    answerer_.link->flush();
    EXPECT_TRUE(answerer_.link->wakes() && !answerer_.link->drained());
    connect();
    pass();
    EXPECT_FALSE(answerer_.link->wakes());
  }
  EXPECT_EQ(first(posted), answerer_.taken);
  EXPECT_EQ((std::vector<uint64_t>{100, 101, 102, 103, 104}), caller_.taken);
  EXPECT_EQ(0u, caller_.shared().get(Metric::links_resumed)) << "which counts those that broke";
  EXPECT_TRUE(caller_.ends.empty() && answerer_.ends.empty());
}

// What it said is on its way, and would wait for a connection that nobody opens.
TEST_P(TcpLinkTest, WhoeverIsNotAcknowledgedKeepsTheConnection) {
  connect();
  become_quiet();
  ASSERT_TRUE(answerer_.post(0));
  answerer_.link->flush();
  EXPECT_EQ(0u, answerer_.link->quiet_ns(kHour));
  caller_.link->provide_words(1);
  caller_.link->propose_rest();
  answerer_.pass();
  EXPECT_FALSE(answerer_.link->is_resting());
  answerer_.link->provide_words(1);
  answerer_.link->propose_rest();
  caller_.link->cut();
  answerer_.pass();
  EXPECT_TRUE(answerer_.link->is_broken()) << "it has not proposed that";
  connect();
  pass();
  EXPECT_EQ(first(1), caller_.taken);
}

TEST_P(TcpLinkTest, WhoeverSpeaksAfterItsProposalOpensAnotherConnection) {
  connect_by_network();
  become_quiet();
  caller_.link->provide_words(1);
  caller_.link->propose_rest();
  ASSERT_TRUE(caller_.post(0));
  ASSERT_TRUE(comes_true([&] {
    answerer_.pass();
    return answerer_.link->is_resting();
  }));
  caller_.link->flush();
  ASSERT_TRUE(comes_true([&] {
    caller_.pass();
    return !caller_.link->is_open();
  }));
  EXPECT_TRUE(caller_.link->is_broken());
  connect();
  pass();
  EXPECT_EQ(first(1), answerer_.taken);
  EXPECT_EQ(0u, caller_.shared().get(Metric::links_resumed)) << "which counts those that broke";
  caller_.link->cut();
  connect();
  EXPECT_EQ(1u, caller_.shared().get(Metric::links_resumed));
}

// The peer's agreement looks like the end of one that leaves: what was said since must not go with it.
TEST_P(TcpLinkTest, WhoeverLeavesAfterItsProposalOpensAnotherConnection) {
  connect_by_network();
  become_quiet();
  caller_.link->provide_words(1);
  caller_.link->propose_rest();
  for (const uint64_t end = now_ns() + kHour; !answerer_.link->is_resting() && now_ns() < end;) answerer_.pass();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->leave(RankState::kLeft, 0, true);
  bool left = false;
  for (const uint64_t end = now_ns() + kHour; !left && !caller_.link->is_broken() && now_ns() < end;) {
    left = caller_.link->has_left();
  }
  ASSERT_FALSE(left) << "the peer has not heard of the message, nor of the goodbye";
  connect_by_network();
  for (const uint64_t end = now_ns() + kHour; !left && now_ns() < end;) {
    answerer_.pass();
    left = caller_.link->has_left();
  }
  answerer_.pass();
  EXPECT_EQ(first(1), answerer_.taken);
  EXPECT_EQ(std::vector<RankState>{RankState::kLeft}, answerer_.ends);
  EXPECT_EQ(0u, caller_.shared().get(Metric::links_resumed));
}

TEST_P(TcpLinkTest, APeerThatWentOnAfterAProposalDidNotAgree) {
  connect();
  become_quiet();
  caller_.link->provide_words(1);
  caller_.link->propose_rest();
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  become_quiet();
  answerer_.link->cut();
  caller_.pass();
  ASSERT_TRUE(caller_.link->is_broken());
  connect();
  EXPECT_EQ(1u, caller_.shared().get(Metric::links_resumed));
}

TEST_P(TcpLinkTest, IsStuckAsLongAsNothingIsAcknowledged) {
  connect();
  pass();
  uint64_t now = 1'000'000'000'000;
  EXPECT_EQ(0u, caller_.link->stuck_ns(now));
  EXPECT_EQ(0u, caller_.link->stuck_ns(now += 5)) << "there is nothing to acknowledge";
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  EXPECT_EQ(0u, caller_.link->stuck_ns(now += 5) - 5);
  EXPECT_EQ(12u, caller_.link->stuck_ns(now += 7));
  pass();
  EXPECT_EQ(0u, caller_.link->stuck_ns(now += 9));
}

TEST_P(TcpLinkTest, IsAcknowledgedByThePeersSystem) {
  connect();
  pass();
  EXPECT_FALSE(caller_.link->was_acknowledged()) << "asked for the first time";
  EXPECT_FALSE(caller_.link->was_acknowledged()) << "nothing was sent";
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  EXPECT_FALSE(caller_.link->was_acknowledged()) << "it has not come";
  answerer_.pass();
  EXPECT_TRUE(caller_.link->was_acknowledged());
  EXPECT_FALSE(caller_.link->was_acknowledged()) << "once";
}

// Bytes that are dropped at a socket are not acknowledged, as if the network had lost them.
TEST_P(TcpLinkTest, WhoDoesNotReadAnswersByItsSystem) {
  connect_by_network();
  become_quiet();
  const auto is_unanswered = [this] { return caller_.link->is_unanswered(); };
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  const int unread = socket_of_answerer_;
  ASSERT_TRUE(wait_for(unread, false, now_ns() + kHour));
  EXPECT_FALSE(is_unanswered()) << "its system has it";
  ASSERT_TRUE(stop_hearing(unread));
  caller_.link->ask(true);
  ASSERT_TRUE(comes_true(is_unanswered)) << "nothing is on its way, so only a question can tell";
  hear_again(unread);
  EXPECT_TRUE(comes_true([&] { return !is_unanswered(); }));
  caller_.link->ask(false);
  pass();
  EXPECT_EQ(std::vector<uint64_t>{0}, answerer_.taken) << "questions are no end of a connection";
}

TEST_P(TcpLinkTest, WhoLosesWhatComesIsUnanswered) {
  connect_by_network();
  become_quiet();
  ASSERT_TRUE(stop_hearing(socket_of_answerer_));
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  EXPECT_TRUE(comes_true([this] { return caller_.link->is_unanswered(); })) << "its system sends it again and again";
}

// --- pieces that do not open

class SealedLinkTest : public TcpLinkTest {
 protected:
  /// As if all that the caller says were changed on the way.
  void connect_spoiled() { connect(9); }
};
INSTANTIATE_TEST_SUITE_P(Security, SealedLinkTest, testing::Values(true), [](const auto&) { return "sealed"; });

// One bit is as easily changed as a connection is reset, and costs no more.
TEST_P(SealedLinkTest, WhatWasChangedOnTheWayIsSaidAgain) {
  uint64_t posted = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 2; ++i) {
      connect_spoiled();
      ASSERT_TRUE(caller_.post(posted++));
      pass();
      ASSERT_TRUE(answerer_.link->is_broken() && caller_.link->is_broken()) << "round " << round;
    }
    connect();
    pass();
    EXPECT_EQ(first(posted), answerer_.taken);
    caller_.link->cut();
    answerer_.link->cut();
  }
  EXPECT_TRUE(caller_.ends.empty() && answerer_.ends.empty());
  EXPECT_EQ(0u, answerer_.shared().get(Metric::protocol_errors));
}

TEST_P(SealedLinkTest, APeerOfWhichNothingComesWholeThreeTimesIsCutOff) {
  connect();
  pass();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(answerer_.ends.empty()) << i;
    caller_.link->cut();
    if (answerer_.link->is_open()) answerer_.link->cut();
    connect_spoiled();
    pass();
  }
  EXPECT_TRUE(answerer_.link->has_ended());
  EXPECT_EQ(std::vector<RankState>{RankState::kFailed}, answerer_.ends);
  EXPECT_EQ(1u, answerer_.shared().get(Metric::protocol_errors));
}

// --- keys that are used up

TEST_P(SealedLinkTest, GoesOnWithOtherKeysWhenOnesAreUsedUp) {
  most_pieces_ = 5;
  connect();
  uint64_t posted = 0, answered = 0;
  for (int renewed = 0, passes = 0; renewed < 20; ++passes) {
    if (caller_.post(posted)) ++posted;
    if (posted % 3 == 0 && answerer_.post(answered)) ++answered;
    pass(1);
    if (caller_.link->is_broken() && answerer_.link->is_broken()) {
      ++renewed;
      connect();
    }
    ASSERT_LT(passes, 1000) << "nobody has other keys";
  }
  EXPECT_EQ(0u, caller_.shared().get(Metric::links_resumed)) << "which counts those that broke";
  EXPECT_EQ(0u, answerer_.shared().get(Metric::links_resumed));
  most_pieces_ = Seal::kMostPieces;
  if (caller_.link->is_open()) caller_.link->cut();
  if (answerer_.link->is_open()) answerer_.link->cut();
  connect();
  pass();
  EXPECT_EQ(first(posted), answerer_.taken);
  EXPECT_EQ(first(answered), caller_.taken);
  EXPECT_TRUE(caller_.ends.empty() && answerer_.ends.empty());
}

TEST_P(SealedLinkTest, AGoodbyeGoesWithOtherKeysWhenOnesAreUsedUp) {
  most_pieces_ = 2;
  connect();
  caller_.link->read();  // what there is room for
  ASSERT_TRUE(caller_.post(0));
  caller_.link->flush();
  caller_.link->leave(RankState::kLeft, 3, true);
  EXPECT_FALSE(caller_.link->has_left());
  EXPECT_FALSE(caller_.link->has_left());
  ASSERT_TRUE(caller_.link->is_broken());
  answerer_.pass();
  answerer_.pass();
  connect();
  bool left = false;
  for (int i = 0; i < 100 && !left; ++i) {
    left = caller_.link->has_left();
    answerer_.pass();
  }
  EXPECT_TRUE(left);
  EXPECT_EQ(first(1), answerer_.taken);
  EXPECT_EQ(std::vector<RankState>{RankState::kLeft}, answerer_.ends);
}

}  // namespace
}  // namespace lci
