// SPDX-License-Identifier: Apache-2.0
// Ranks that leave while connections are not as they should be: what they had sent comes all the same, and nobody takes
// them for dead. Rank 1 is a rank, with three devices; rank 0 is played, and leaves. Mutations that must make this file
// fail: see transport.tsv.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/handles.hpp"
#include "base/clock.hpp"
#include "runtime/runtime.hpp"
#include "support/played_rank.hpp"
#include "support/posting.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci_test {
namespace {

using lci::FrameHeader;
using lci::LinkWord;
using lci::RankState;
using Answer = lci::OutgoingCall::Answer;

/// With these attributes nothing that makes no progress is waited for longer.
constexpr uint64_t kLongestWaitNs = 2'500'000'000;
const Attributes kPatience{{"devices", "3"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "500"}};

constexpr uint16_t kPort = 5;

/// What a played rank says to one device.
class PlayedLink {
 public:
  void open(lci::Connection connection) { connection_ = std::move(connection); }
  lci::Connection& connection() { return connection_; }

  void say(const FrameHeader& frame, const void* payload = nullptr, uint32_t size = 0) {
    lci::RecordHeader header{};
    header.length = sizeof frame + size;
    header.position = said_;
    header.received = taken_;
    std::vector<std::byte> record(sizeof header + header.length);
    std::memcpy(record.data(), &header, sizeof header);
    std::memcpy(record.data() + sizeof header, &frame, sizeof frame);
    if (size != 0) std::memcpy(record.data() + sizeof header + sizeof frame, payload, size);
    const iovec part{record.data(), record.size()};
    EXPECT_EQ(static_cast<ssize_t>(record.size()), connection_.send(&part, 1));
    said_ += record.size();
  }
  void say_nothing() {
    PlayedRank::say_so(connection_, said_);
    said_ += sizeof(lci::RecordHeader);
  }
  /// A message to the port.
  void send() {
    const uint64_t word = 7;
    say({static_cast<uint8_t>(lci::MessageKind::kAmInline), 0, kPort, sizeof word, 1, 7, 0}, &word, sizeof word);
  }
  /// Behind all else. @param spoken devices that it has spoken to, a bit for each
  void leave(uint64_t spoken = 0) {
    if (spoken != 0) say({static_cast<uint8_t>(LinkWord::kSpoken), 0, 0, 0, 0, 0, spoken});
    say({static_cast<uint8_t>(LinkWord::kEnd), 0, 0, static_cast<uint32_t>(RankState::kLeft), 0, 0, 0});
  }
  void tell_left(uint32_t rank) {
    say({static_cast<uint8_t>(LinkWord::kNotice), 0, 0, static_cast<uint32_t>(RankState::kLeft), rank, 0, 0});
  }
  uint64_t said() const { return said_; }
  uint64_t taken() const { return taken_; }
  /// Whether what the other one has said so far ends with that word.
  bool hears(LinkWord word) {
    std::array<std::byte, 4096> some;
    bool more = false;
    for (ssize_t came = 0; (came = connection_.receive(some.data(), some.size(), &more)) > 0;) {
      heard_.insert(heard_.end(), some.begin(), some.begin() + came);
    }
    FrameHeader last{};
    if (heard_.size() >= sizeof last) std::memcpy(&last, &*heard_.end() - sizeof last, sizeof last);
    return static_cast<LinkWord>(last.kind) == word;
  }
  /// What was heard has come.
  void acknowledge() {
    lci::RecordHeader header{};
    header.position = said_;
    header.received = taken_ = heard_.size();
    const iovec record{&header, sizeof header};
    EXPECT_EQ(static_cast<ssize_t>(sizeof header), connection_.send(&record, 1));
    said_ += sizeof header;
  }

 private:
  lci::Connection connection_;
  uint64_t said_ = 0, taken_ = 0;
  std::vector<std::byte> heard_;
};

class TcpDeparture : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job_));
    peer_ = std::make_unique<PlayedRank>(job_, 0, 2, kPatience);
  }
  void join(const Attributes& more = {}) {
    Attributes attributes = kPatience;
    attributes.insert(attributes.end(), more.begin(), more.end());
    int code = LCI_RETRY;
    std::jthread joins([&] { code = create_over_tcp(job_, 1, &runtime_, attributes); });
    peer_->meet();
    call(0);
    links_[0].say_nothing();
    peer_->wait_for_all();
    joins.join();
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    ASSERT_EQ(LCI_DONE, lci_counter_create(runtime_, &heard_));
    ASSERT_EQ(LCI_DONE, lci_port_open(runtime_, kPort, "", heard_, 0, 0)) << lci_last_error();
    ended_ = make_queue(runtime_);
  }
  void TearDown() override {
    for (PlayedLink& link : links_) link.open(lci::Connection());
    peer_.reset();
    if (runtime_) {
      EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime_, 0));
    }
    lci_inproc_free(job_);
  }

  lci_device* device(uint32_t index) {
    lci_device* device = nullptr;
    EXPECT_EQ(LCI_DONE, lci_runtime_device(runtime_, index, &device));
    return device;
  }
  void pass(uint32_t index, int times = 50) {
    for (int i = 0; i < times && runtime_; ++i) lci_progress(device(index));
  }
  void pass() {
    for (const uint32_t index : {0u, 1u, 2u}) pass(index);
  }
  bool comes_true(const std::function<bool()>& what) {
    for (const lci::test::Deadline patience(20); !patience.passed(); pass()) {
      if (what()) return true;
    }
    return false;
  }
  /// What a call to a device comes to; its connection is the link's if it is accepted.
  Answer call(uint32_t index, uint32_t connections = 0) {
    lci::OutgoingCall call = peer_->call(1, index, {connections, links_[index].taken()});
    const Answer answer = outcome(call, [&] { joined() ? pass(index, 1) : std::this_thread::yield(); });
    if (answer != Answer::kAccepted) return answer;
    EXPECT_EQ(links_[index].said(), call.verdict().taken);
    links_[index].open(peer_->connection_of(call));
    return answer;
  }
  /// One for which nothing comes: it ends when nothing can.
  void post_receive() {
    lci_descriptor receive = operation(LCI_OP_RECV, 0, 0, 9, &word_, sizeof word_);
    ASSERT_EQ(LCI_POSTED, lci_post(device(0), &receive, ended_, nullptr)) << lci_last_error();
  }
  bool has_ended() {
    lci_status status{};
    if (lci_queue_pop(ended_, &status) != LCI_DONE) return false;
    EXPECT_EQ(LCI_ERR_PEER_LEFT, status.code);
    return true;
  }
  void expect_heard(uint64_t messages) {
    EXPECT_TRUE(comes_true([&] { return lci_counter_get(heard_) == messages; }))
        << lci_counter_get(heard_) << " of " << messages;
  }
  uint64_t counter(const std::string& name) { return counter_of(runtime_, name); }
  /// It is known to have left, and not taken for dead.
  void expect_left() {
    EXPECT_TRUE(comes_true([&] { return counter("peers_left") == 1; }));
    EXPECT_EQ(0u, counter("peers_failed"));
  }
  void leave_by_the_first_link() {
    links_[0].leave();
    expect_left();
  }
  /// A message and the goodbye come over a connection that rank 0 opens in place of one that is gone.
  void expect_the_rest(uint64_t messages) {
    ASSERT_EQ(Answer::kAccepted, call(1, 1));
    links_[1].send();
    links_[1].leave();
    expect_heard(messages);
  }

  /// Rank 1 closes long before its limit; @p meanwhile is called every 20 ms.
  void expect_closes(const std::function<void()>& meanwhile) {
    std::atomic<bool> has_closed{false};
    std::jthread closes([&has_closed, runtime = std::exchange(runtime_, nullptr)] {
      EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 60'000)) << lci_last_error();
      has_closed = true;
    });
    EXPECT_TRUE(comes_true([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      meanwhile();
      return has_closed.load();
    }));
  }
  /// Device 1 calls rank 0, which has not answered yet.
  void be_called() {
    ASSERT_EQ(LCI_DONE, lci_post_send(device(1), 0, 7, &word_, sizeof word_, nullptr, 0)) << lci_last_error();
    ASSERT_TRUE(comes_true([&] { return (caller_ = peer_->take_caller(1)).has_value(); }));
  }
  /// Meanwhile another rank says that rank 0 has left, to which no link stands.
  void hear_of_one_that_is_called() {
    be_called();
    lci::TcpHost& host = static_cast<lci::TcpTransport&>(runtime_->runtime->transport()).host();
    host.link_stands(0, false);  // as if that of device 0 rested
    host.told_gone(0, RankState::kLeft, 1);
  }
  /// That it leaves is heard elsewhere, while a message and the goodbye are unread.
  void expect_links_first(const std::function<void(lci::TcpTransport&)>& hear) {
    join();
    ASSERT_EQ(Answer::kAccepted, call(1));
    post_receive();
    links_[1].send();
    links_[1].leave(2);
    hear(static_cast<lci::TcpTransport&>(runtime_->runtime->transport()));
    pass(2, 200);
    EXPECT_FALSE(has_ended());
    links_[0].leave(2);
    EXPECT_TRUE(comes_true([&] { return has_ended(); }));
    EXPECT_EQ(1u, lci_counter_get(heard_));
  }

  lci_inproc* job_ = nullptr;
  std::unique_ptr<PlayedRank> peer_;
  std::array<PlayedLink, 2> links_;
  std::optional<lci::Caller> caller_;
  lci_runtime* runtime_ = nullptr;
  lci_comp *ended_ = nullptr, *heard_ = nullptr;
  uint64_t word_ = 0;

 private:
  bool joined() const { return ended_ != nullptr; }
};

// Rank 0 knows that its connection is gone, and rank 1 does not, as where what would have told it was lost.
TEST_F(TcpDeparture, ACallForALinkThatIsOpenOnThisSideIsAnswered) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  links_[1].send();
  expect_heard(1);
  leave_by_the_first_link();
  const lci::Connection half = std::move(links_[1].connection());
  expect_the_rest(2);
}

// Rank 1 has called, and rank 0, which has accepted and sent what it had, is known to have left before the verdict is
// read.
TEST_F(TcpDeparture, WhatCameBehindAVerdictThatWasOnItsWayIsRead) {
  join();
  be_called();
  leave_by_the_first_link();
  pass();
  links_[1].open(peer_->accept(std::move(*caller_)));
  links_[1].send();
  links_[1].leave();
  expect_heard(1);
}

// The same where another rank says first that it has left.
TEST_F(TcpDeparture, WhatAnotherRankSaysOfItWaitsForACall) {
  join();
  hear_of_one_that_is_called();
  pass(0, 200);
  EXPECT_EQ(0u, counter("peers_left"));
  links_[1].open(peer_->accept(std::move(*caller_)));
  links_[1].send();
  links_[1].leave(2);
  expect_heard(1);
  expect_left();
}
TEST_F(TcpDeparture, ACallThatIsHungUpOnHoldsUpNothing) {
  join({{"net_dead_ms", "3600000"}, {"net_reconnect_ms", "3600000"}});
  hear_of_one_that_is_called();
  pass();
  EXPECT_EQ(0u, counter("peers_left"));
  caller_.reset();
  expect_left();
}

// However slowly: it comes.
TEST_F(TcpDeparture, WhatComesSlowlyIsWaitedFor) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  leave_by_the_first_link();
  constexpr uint64_t kMessages = 8;
  for (uint64_t i = 0; i < kMessages; ++i) {
    for (const uint64_t next = lci::now_ns() + 2 * kLongestWaitNs / kMessages; lci::now_ns() < next;) pass();
    links_[1].send();
    ASSERT_FALSE(HasFailure());
  }
  links_[1].leave();
  expect_heard(kMessages);
}

TEST_F(TcpDeparture, WhatDoesNotComeIsNotWaitedForEver) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  links_[1].send();
  expect_heard(1);
  post_receive();
  links_[0].leave();
  for (const uint64_t end = lci::now_ns() + kLongestWaitNs / 2; lci::now_ns() < end;) pass();
  EXPECT_FALSE(has_ended());
  EXPECT_TRUE(comes_true([&] { return has_ended(); }));
}

// It is there, and has nothing more for this link; or it is over, and another process has its port.
TEST_F(TcpDeparture, WhoeverTurnsCallsAwayIsOver) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  links_[1].send();
  expect_heard(1);
  post_receive();
  leave_by_the_first_link();
  PlayedRank::reset(std::move(links_[1].connection()));
  int calls = 0;
  EXPECT_TRUE(comes_true([&] {
    while (peer_->take_caller(1)) ++calls;
    return has_ended();
  }));
  EXPECT_LT(0, calls);
  EXPECT_GE(10, calls);
}

// Whoever hangs up may lack something, or be neither of the two: that says nothing of the rank.
TEST_F(TcpDeparture, WhoeverIsHungUpOnCallsOn) {
  const lci::FileDescriptor listener = peer_->open_other_door();
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  leave_by_the_first_link();
  PlayedRank::reset(std::move(links_[1].connection()));
  int hung_up = 0;
  ASSERT_TRUE(comes_true([&] {
    lci::SocketAddress from;
    while (lci::accept_from(listener.get(), &from).get() >= 0) ++hung_up;
    return hung_up > 20;
  }));
  expect_the_rest(1);
}

// Rank 1 has proposed to close a connection over which nothing goes. That it ends may mean that rank 0 agrees, or that
// what rank 0 has said is lost.
TEST_F(TcpDeparture, WhatWasSaidWhileALinkCameToRestIsRead) {
  join({{"net_idle_ms", "1"}});
  ASSERT_EQ(Answer::kAccepted, call(1));
  pass();
  EXPECT_TRUE(links_[1].hears(LinkWord::kDevices));
  links_[1].acknowledge();
  ASSERT_TRUE(comes_true([&] { return links_[1].hears(LinkWord::kRest); }));
  PlayedRank::reset(std::move(links_[1].connection()));
  pass();
  leave_by_the_first_link();
  expect_the_rest(1);
}

TEST_F(TcpDeparture, TimeInWhichNobodyLookedDoesNotCount) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  leave_by_the_first_link();
  PlayedRank::reset(std::move(links_[1].connection()));
  pass();
  std::this_thread::sleep_for(std::chrono::nanoseconds(kLongestWaitNs));
  expect_the_rest(1);
}

// Rank 0 waits until its last words have come over a link that is broken, while rank 1 leaves as well.
TEST_F(TcpDeparture, WhoeverLeavesSaysSoToOneThatHasLeftAndWaits) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  leave_by_the_first_link();
  PlayedRank::reset(std::move(links_[1].connection()));
  pass();
  std::jthread leaves([runtime = std::exchange(runtime_, nullptr)] {
    EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 20'000)) << lci_last_error();
  });
  Answer answer = Answer::kLater;
  for (const lci::test::Deadline patience(15); !patience.passed() && answer != Answer::kAccepted;) answer = call(1, 1);
  ASSERT_EQ(Answer::kAccepted, answer);
  EXPECT_TRUE(comes_true([&] { return links_[1].hears(LinkWord::kEnd); }));
}

// Its system takes nothing any more.
TEST_F(TcpDeparture, WhoeverLeavesDoesNotWaitForEverForOneThatHasLeft) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  leave_by_the_first_link();
  ASSERT_TRUE(lci::stop_hearing(links_[1].connection().socket()));
  int said = 0;
  expect_closes([&] {
    if (++said < 50) links_[1].say_nothing();
  });
}

TEST_F(TcpDeparture, WhoeverLeavesBelievesAtOnceThatAnotherOneHasLeft) {
  join({{"net_dead_ms", "3600000"}, {"net_reconnect_ms", "3600000"}});
  ASSERT_EQ(Answer::kAccepted, call(1));
  ASSERT_TRUE(comes_true([&] { return links_[1].hears(LinkWord::kDevices); }));
  links_[1].acknowledge();
  pass();
  PlayedRank::reset(std::move(links_[1].connection()));
  peer_->close_door();
  auto& transport = static_cast<lci::TcpTransport&>(runtime_->runtime->transport());
  transport.hear(0, RankState::kLeft, 0);
  pass();
  EXPECT_EQ(0u, counter("peers_left")) << "its links stand";
  expect_closes([] {});
}

// What was heard of it waits, and meanwhile nobody answers where it was.
TEST_F(TcpDeparture, OneThatIsKnownToLeaveIsNotTakenForDead) {
  join();
  auto& transport = static_cast<lci::TcpTransport&>(runtime_->runtime->transport());
  transport.host().told_gone(0, RankState::kLeft, 1);
  pass();
  EXPECT_EQ(0u, counter("peers_left"));
  transport.call_failed(0, "nobody answers");
  expect_left();
}

// The device that hears of it first has read all that came to it.
TEST_F(TcpDeparture, AReceiveWaitsForWhatIsUnreadAtADeviceThatWasSpokenTo) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  post_receive();
  links_[1].send();
  links_[1].leave(2);
  links_[0].leave(2);
  for (const lci::test::Deadline patience(20); !patience.passed() && counter("peers_left") == 0;) pass(0, 1);
  pass(0, 1000);
  EXPECT_FALSE(has_ended());
  EXPECT_TRUE(comes_true([&] { return has_ended(); }));
  EXPECT_EQ(1u, lci_counter_get(heard_));
}

// It is heard first, by a device that has no link to it.
TEST_F(TcpDeparture, WhatAnotherRankSaysOfItWaitsForItsLinks) {
  expect_links_first([](lci::TcpTransport& transport) { transport.host().told_gone(0, RankState::kLeft, 1); });
}
TEST_F(TcpDeparture, WhatItSaysToMonitorsWaitsForItsLinks) {
  expect_links_first([](lci::TcpTransport& transport) { transport.hear(0, RankState::kLeft, 0); });
}

TEST_F(TcpDeparture, AReceiveDoesNotWaitForADeviceThatNobodySpokeTo) {
  join();
  ASSERT_EQ(Answer::kAccepted, call(1));
  post_receive();
  links_[0].leave(1);
  bool ended = false;
  for (const lci::test::Deadline patience(20); !patience.passed() && !ended; ended = has_ended()) pass(0, 1);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace lci_test
