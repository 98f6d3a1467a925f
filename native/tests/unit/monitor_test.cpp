// SPDX-License-Identifier: Apache-2.0
// When a rank that is watched counts as gone, and when it does not. Time is what the test says. [NETWORK 3.6]
#include "transport/tcp/monitor.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "base/attributes.hpp"
#include "base/error.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"
#include "support/descriptors.hpp"
#include "support/no_events.hpp"
#include "transport/tcp/door.hpp"

namespace lci {
namespace {

using lci_test::NoEvents;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr Patience kPatience{10 * kSecond, 2 * kSecond};

/// Rank 0 watches rank 1, which answers when the test says so.
class MonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    Attributes attributes;
    attributes.log_outfile = "none";
    ASSERT_EQ(LCI_DONE, log_.open(attributes, 1, 1));
    self_.size = 2;
    self_.incarnation = 100;
    other_ = self_;
    other_.rank = 1;
    other_.incarnation = 101;
    ASSERT_EQ(LCI_DONE, door_.open("127.0.0.1", &address_)) << last_error();
    address_.incarnation = 101;
    door_.expect({100, 101});
  }

  /// Rank 1 answers who calls.
  void answer() {
    door_.visit();
    std::vector<Caller> callers;
    if (door_.has_callers(kMonitorDevice)) door_.take_callers(kMonitorDevice, &callers);
    for (Caller& caller : callers) {
      EXPECT_TRUE(send_verdict(caller.socket.get(), {CallVerdict::kAccepted}, caller.binding));
      connections_.push_back(std::move(caller.socket));
      binding_ = caller.binding;
    }
  }
  /// Looks until the rank is watched.
  void connect(Monitor& monitor) {
    for (int i = 0; i < 100'000 && !monitor.line(); ++i) {
      ASSERT_EQ(Monitor::Finding::kNothing, look(monitor)) << monitor.why();
      answer();
    }
    ASSERT_NE(nullptr, monitor.line());
  }
  /// Time goes on by a millisecond.
  Monitor::Finding look(Monitor& monitor) { return monitor.look(now_ += kSecond / 1000); }
  Monitor::Finding look_until_found(Monitor& monitor) {
    for (int i = 0; i < 100'000; ++i) {
      if (look(monitor) == Monitor::Finding::kGone) return Monitor::Finding::kGone;
      std::this_thread::yield();
    }
    return Monitor::Finding::kNothing;
  }
  void reset_connections() {
    for (FileDescriptor& socket : connections_) {
      const linger at_once{1, 0};
      setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    connections_.clear();
  }

  Log log_;
  NoEvents events_;
  CallIdentity self_{}, other_{};
  SharedCounters counters_;
  Door door_{other_, events_, log_, counters_};
  TcpAddress address_{};
  std::vector<FileDescriptor> connections_;
  Digest binding_;  // of the last one
  uint64_t now_ = kSecond;
};

/// Takes no connection: its queue is full, so that who calls hears nothing.
class Silent {
 public:
  Silent() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any));
    EXPECT_EQ(0, listen(listener_.get(), 0));
    for (int i = 0; i < 4; ++i) fillers_.push_back(connect_to(local_address(listener_.get())));
  }
  TcpAddress address() const {
    TcpAddress result{};
    result.family = 4;
    result.ip[0] = std::byte{127};
    result.ip[3] = std::byte{1};
    result.port = local_address(listener_.get()).port();
    return result;
  }

 private:
  FileDescriptor listener_;
  std::vector<FileDescriptor> fillers_;
};

TEST_F(MonitorTest, HearsAGoodbye) {
  for (const RankState state : {RankState::kLeft, RankState::kFailed}) {
    Monitor monitor(self_, address_, 1, kPatience);
    connect(monitor);
    MonitorLine line(std::move(connections_.back()), kPatience, binding_, CallSide::kAnswerer);
    line.say_goodbye(state, 77);
    ASSERT_EQ(Monitor::Finding::kGone, look_until_found(monitor));
    EXPECT_EQ(state, monitor.state());
    EXPECT_EQ(77u, monitor.barriers());
    EXPECT_EQ(Monitor::Finding::kNothing, look(monitor)) << "it is said once";
  }
}

TEST_F(MonitorTest, OpensAConnectionThatBreaksAnew) {
  Monitor monitor(self_, address_, 1, kPatience);
  for (int round = 0; round < 50; ++round) {
    connect(monitor);
    reset_connections();
    for (int i = 0; i < 100'000 && monitor.line(); ++i) ASSERT_EQ(Monitor::Finding::kNothing, look(monitor));
    ASSERT_EQ(nullptr, monitor.line());
  }
}

TEST_F(MonitorTest, ARankThatRefusesIsDead) {
  Monitor monitor(self_, address_, 1, kPatience);
  connect(monitor);
  door_.close();
  reset_connections();
  const uint64_t before = now_;
  ASSERT_EQ(Monitor::Finding::kGone, look_until_found(monitor));
  EXPECT_EQ(RankState::kFailed, monitor.state());
  EXPECT_EQ("Connection refused", monitor.why());
  EXPECT_LT(now_ - before, kPatience.reconnect_ns) << "three refusals are enough";
}

// It has left, perhaps, and others are about to say so.
TEST_F(MonitorTest, ARankThatWasNeverReachedIsGivenMoreTime) {
  Monitor monitor(self_, address_, 1, kPatience);
  door_.close();
  const uint64_t before = now_;
  ASSERT_EQ(Monitor::Finding::kGone, look_until_found(monitor));
  EXPECT_GE(now_ - before, kPatience.dead_ns + kPatience.reconnect_ns);
  EXPECT_EQ("Connection refused", monitor.why());
}

// A program that computes for long asks nobody meanwhile: its connection broke just before.
TEST_F(MonitorTest, TimeInWhichNobodyLooksIsNoSilence) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience, Known::kWasThere);
  door_.close();
  Monitor refused(self_, address_, 1, kPatience, Known::kWasThere);
  for (int i = 0; i < 100'000; ++i) {
    if (!refused.why().empty()) break;
    ASSERT_EQ(Monitor::Finding::kNothing, refused.look(now_));
  }
  ASSERT_FALSE(refused.why().empty());
  EXPECT_EQ(Monitor::Finding::kNothing, refused.look(now_ += 60 * kSecond)) << "it is called once more first";
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
  EXPECT_EQ(Monitor::Finding::kGone, monitor.look(now_ + 60 * kSecond)) << "the system has asked all the time";
}

// A program that computes between its looks, or that waits long for a processor.
TEST_F(MonitorTest, ADeathIsFoundByWhoeverLooksSeldom) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor unheard(self_, address, 1, kPatience, Known::kWasThere);
  door_.close();
  Monitor refused(self_, address_, 1, kPatience, Known::kWasThere);
  for (Monitor* const monitor : {&unheard, &refused}) {
    uint32_t looks = 0;
    while (looks < 200 && monitor->look(now_ += kSecond / 2) != Monitor::Finding::kGone) ++looks;
    EXPECT_LT(looks, 100u);
    EXPECT_EQ(RankState::kFailed, monitor->state());
    EXPECT_TRUE(monitor == &unheard || looks >= 15) << "of each time between two looks a part counts: " << looks;
  }
}

// The system gave a call up soon after the last look: from then on nobody was asked.
TEST_F(MonitorTest, ACallThatEndedWhileNobodyLookedIsNoSilenceSince) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience);
  const int call = lci_test::next_descriptor();
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
  const int soon = 100;  // ms
  ASSERT_EQ(0, setsockopt(call, IPPROTO_TCP, TCP_USER_TIMEOUT, &soon, sizeof soon));
  pollfd ended{call, 0, 0};
  ASSERT_EQ(1, poll(&ended, 1, 60'000)) << "the system has given it up";
  EXPECT_EQ(Monitor::Finding::kNothing, monitor.look(now_ += 60 * kSecond));
  EXPECT_EQ(Monitor::Finding::kNothing, monitor.look(now_ += kSecond / 50)) << "it is called again";
}

// Its goodbye may not have been read.
TEST_F(MonitorTest, ARankWhoseConnectionBrokeElsewhereIsGivenItsTimeAlsoIfItRefuses) {
  Monitor monitor(self_, address_, 1, kPatience, Known::kWasThere);
  door_.close();
  const uint64_t before = now_;
  ASSERT_EQ(Monitor::Finding::kGone, look_until_found(monitor));
  EXPECT_GE(now_ - before, kPatience.reconnect_ns);
  EXPECT_LT(now_ - before, kPatience.dead_ns);
}

TEST_F(MonitorTest, ARankOfAHostThatIsSilentIsGivenLess) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience, Known::kHostSilent);
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_ + 2 * kSecond - 1));
  EXPECT_EQ(Monitor::Finding::kGone, monitor.look(now_ + 2 * kSecond));
}

TEST_F(MonitorTest, ARankWhoseHostAnswersAgainIsGivenAllItsTime) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience, Known::kHostSilent);
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
  monitor.host_answers();
  EXPECT_EQ(Monitor::Finding::kNothing, monitor.look(now_ + 12 * kSecond - 1));
  EXPECT_EQ(Monitor::Finding::kGone, monitor.look(now_ + 12 * kSecond));
}

// Its port may have no room for another connection; what a link acknowledges comes from a host that is there.
TEST_F(MonitorTest, WhatALinkAcknowledgesIsASignOfLife) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience);
  monitor.seen_alive(1);  // long ago
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_ += 60 * kSecond)) << "its silence begins now";
  for (int i = 0; i < 100; ++i) {
    monitor.seen_alive(now_ += 11 * kSecond);
    ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_)) << i;
  }
  const uint64_t last = now_;
  monitor.seen_alive(last - 20 * kSecond);
  ASSERT_EQ(Monitor::Finding::kGone, look_until_found(monitor));
  EXPECT_EQ(last + 12 * kSecond, now_) << "an older sign changes nothing";
}

TEST_F(MonitorTest, AnotherProcessAtItsAddressIsNotTheRank) {
  address_.incarnation = 102;
  Monitor monitor(self_, address_, 1, kPatience);
  Monitor::Finding found = Monitor::Finding::kNothing;
  for (int i = 0; i < 100'000 && found == Monitor::Finding::kNothing; ++i) {
    found = look(monitor);
    door_.visit();
  }
  EXPECT_EQ(Monitor::Finding::kGone, found);
  EXPECT_EQ("another process answers there", monitor.why());
}

/// Takes each connection, and hangs up before it has said anything.
class HangsUp {
 public:
  HangsUp() { EXPECT_EQ(LCI_DONE, listen_for_ranks("127.0.0.1", &listener_, &address)) << last_error(); }
  void answer() const {
    SocketAddress from;
    while (accept_from(listener_.get(), &from).get() >= 0) {
    }
  }
  TcpAddress address{};

 private:
  FileDescriptor listener_;
};

// Another process has got its port.
TEST_F(MonitorTest, WhoeverHangsUpForEverBeforeItHasProvedItselfIsNotTheRank) {
  const HangsUp other;
  Monitor monitor(self_, other.address, 1, kPatience);
  const uint64_t before = now_;
  Monitor::Finding found = Monitor::Finding::kNothing;
  for (int i = 0; i < 1'000'000 && found == Monitor::Finding::kNothing; ++i) {
    found = look(monitor);
    other.answer();
  }
  EXPECT_EQ(Monitor::Finding::kGone, found);
  EXPECT_EQ(RankState::kFailed, monitor.state());
  EXPECT_EQ("whoever answers there hangs up", monitor.why());
  EXPECT_FALSE(monitor.is_silent()) << "its host answers";
  EXPECT_GE(now_ - before, 60 * kSecond) << "a rank that lacks something for so long is given its time";
}

// It is told that it is not heard, by one that is fenced.
TEST_F(MonitorTest, ARankThatHasProvedItselfMayHangUpForEver) {
  Monitor monitor(self_, address_, 1, kPatience);
  for (int calls = 0; calls < 3100;) {
    ASSERT_EQ(Monitor::Finding::kNothing, look(monitor)) << monitor.why();
    door_.visit();
    std::vector<Caller> callers;
    if (door_.has_callers(kMonitorDevice)) door_.take_callers(kMonitorDevice, &callers);
    calls += static_cast<int>(callers.size());
  }
}

// Another program had its port for a while; a link shows that the rank is there.
TEST_F(MonitorTest, ARankWhoseLinkLivesMayHangUpForEver) {
  const HangsUp other;
  Monitor monitor(self_, other.address, 1, kPatience);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(Monitor::Finding::kNothing, look(monitor)) << monitor.why();
    if (i % 1000 == 0) monitor.seen_alive(now_);
    other.answer();
  }
}

// Its system takes the connection, and the process says nothing for a week: it may be stopped.
TEST_F(MonitorTest, AProcessThatIsStoppedLives) {
  Monitor monitor(self_, address_, 1, kPatience);
  for (int i = 0; i < 10'000; ++i) {
    now_ += 60 * kSecond;
    ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_)) << i << " " << monitor.why();
    if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // connecting is the system's work
  }
  connect(monitor);
  now_ += 3600 * kSecond;
  EXPECT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
}

TEST_F(MonitorTest, AHostThatIsSilentIsDeadInTheEnd) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience);
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_ + 12 * kSecond - 1));
  ASSERT_EQ(Monitor::Finding::kGone, monitor.look(now_ + 12 * kSecond));
  EXPECT_EQ(RankState::kFailed, monitor.state());
  EXPECT_EQ("no answer for 12000 ms", monitor.why());
}

// One that was there has been silent for long enough when its connection breaks.
TEST_F(MonitorTest, AHostThatFallsSilentIsCalledForAShorterTime) {
  const Silent silent;
  TcpAddress address = address_;
  Monitor monitor(self_, address, 1, kPatience);
  connect(monitor);
  address = silent.address();
  reset_connections();
  for (int i = 0; i < 100'000 && monitor.line(); ++i) ASSERT_EQ(Monitor::Finding::kNothing, look(monitor));
  const uint64_t broke = now_;
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(broke + 1));
  ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(broke + 2 * kSecond - 1));
  EXPECT_EQ(Monitor::Finding::kGone, monitor.look(broke + 2 * kSecond));
}

// The first packet may be lost, and the system waits for a second, and for longer each time, before it sends another
// one.
TEST_F(MonitorTest, WhoeverDoesNotAnswerIsCalledAnew) {
  const Silent silent;
  const TcpAddress address = silent.address();
  Monitor monitor(self_, address, 1, kPatience);
  const int call = lci_test::next_descriptor();
  const auto cookie = [call] {
    uint64_t number = 0;
    socklen_t size = sizeof number;
    EXPECT_EQ(0, getsockopt(call, SOL_SOCKET, SO_COOKIE, &number, &size));
    return number;
  };
  monitor.look(now_);
  for (int calls = 1; calls < 5; ++calls) {
    const uint64_t before = cookie();
    monitor.look(now_ += kPatience.reconnect_ns / 3 - 1);
    EXPECT_EQ(before, cookie());
    monitor.look(now_ += 1);
    ASSERT_EQ(Monitor::Finding::kNothing, monitor.look(now_));
    EXPECT_NE(before, cookie()) << "call " << calls;
  }
}

TEST_F(MonitorTest, NonsenseIsNoGoodbye) {
  Monitor monitor(self_, address_, 1, kPatience);
  const MonitorGoodbye nonsense{1, 2, static_cast<uint32_t>(RankState::kLeft), 0, {}};
  connect(monitor);
  ASSERT_EQ(sizeof nonsense, send_some(connections_.back().get(), &nonsense, sizeof nonsense).bytes);
  for (int i = 0; i < 100'000 && monitor.line(); ++i) ASSERT_EQ(Monitor::Finding::kNothing, look(monitor));
  EXPECT_EQ(nullptr, monitor.line()) << "the connection is worth nothing";
  connect(monitor);
}

// It goes without a goodbye, and is not to be called back.
TEST_F(MonitorTest, WhoeverIsWatchedNoLongerHearsSo) {
  Monitor monitor(self_, address_, 1, kPatience);
  connect(monitor);
  MonitorLine watched(std::move(connections_.back()), kPatience, binding_, CallSide::kAnswerer);
  EXPECT_EQ(MonitorLine::Heard::kNothing, watched.hear());
  monitor.release();
  MonitorLine::Heard heard = MonitorLine::Heard::kNothing;
  for (int i = 0; i < 100'000 && heard == MonitorLine::Heard::kNothing; ++i) heard = watched.hear();
  EXPECT_EQ(MonitorLine::Heard::kUnwatched, heard);
}

TEST_F(MonitorTest, OnlyWhoeverWatchesCanSayThatItWatchesNoLonger) {
  Monitor monitor(self_, address_, 1, kPatience);
  connect(monitor);
  MonitorLine watched(std::move(connections_.back()), kPatience, binding_, CallSide::kAnswerer);
  watched.say_goodbye(RankState::kActive, 0);
  for (int i = 0; i < 100'000 && monitor.line(); ++i) ASSERT_EQ(Monitor::Finding::kNothing, look(monitor));
  EXPECT_EQ(nullptr, monitor.line()) << "the connection is worth nothing";
  EXPECT_EQ(RankState::kActive, monitor.state());
}

// Somebody between the two writes it, with what was said on another connection, or to the other side.
TEST_F(MonitorTest, AGoodbyeThatIsNotTheRanksIsNone) {
  Monitor monitor(self_, address_, 1, kPatience);
  const auto is_heard = [&](const Digest& binding, CallSide side) {
    MonitorLine forged(std::move(connections_.back()), kPatience, binding, side);
    forged.say_goodbye(RankState::kLeft, 7);
    for (int i = 0; i < 100'000 && monitor.line(); ++i) {
      if (look(monitor) == Monitor::Finding::kGone) return true;
    }
    return false;
  };
  connect(monitor);
  const Digest earlier = binding_;
  EXPECT_FALSE(is_heard(earlier, CallSide::kCaller)) << "the watcher's own";
  connect(monitor);
  EXPECT_FALSE(is_heard(earlier, CallSide::kAnswerer)) << "of another connection";
  connect(monitor);
  EXPECT_TRUE(is_heard(binding_, CallSide::kAnswerer));
}

}  // namespace
}  // namespace lci
