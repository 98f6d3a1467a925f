// SPDX-License-Identifier: Apache-2.0
// Who is let in at a rank's TCP port, and what strangers can do there. [NETWORK 3.8]
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/attributes.hpp"
#include "base/error.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"
#include "support/descriptors.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/outgoing_call.hpp"

namespace lci {
namespace {

class NoEvents final : public PeerEvents {
 public:
  void gone(uint32_t, RankState) override {}
  void failed(uint32_t) override {}
  void fenced(uint32_t) override {}
  void wake_devices() override { ++woken; }
  int woken = 0;
};

/// Rank 1 of 2 answers, rank 0 calls.
class LinkDoor : public testing::Test {
 protected:
  void SetUp() override {
    Attributes attributes;
    attributes.log_outfile = "none";
    attributes.log_keep = 1000;
    ASSERT_EQ(LCI_DONE, log_.open(attributes, 1, 1));
    caller_.secret.fill(7);
    caller_.job = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    caller_.size = 2;
    answerer_ = caller_;
    caller_.incarnation = 100;
    answerer_.rank = 1;
    answerer_.incarnation = 101;
    ASSERT_EQ(LCI_DONE, door_.open("127.0.0.1", &address_)) << last_error();
    address_.incarnation = 101;
    door_.expect({100, 101});
  }

  FileDescriptor connected() const {
    FileDescriptor socket = connect_to(socket_address(address_));
    EXPECT_GE(socket.get(), 0);
    return socket;
  }
  /// One that comes from another host, 127.0.0.2.
  FileDescriptor connected_from_elsewhere() const {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in elsewhere{};
    elsewhere.sin_family = AF_INET;
    elsewhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(0, bind(socket.get(), reinterpret_cast<const sockaddr*>(&elsewhere), sizeof elsewhere));
    const SocketAddress to = socket_address(address_);
    EXPECT_TRUE(connect(socket.get(), to.get(), to.size()) == 0 || errno == EINPROGRESS);
    return socket;
  }
  /// It calls as rank 0; whether it is challenged.
  bool is_challenged(const FileDescriptor& socket) {
    const CallHello hello = hello_to(caller_, 1, 0);
    send_bytes(socket, &hello, sizeof hello);
    CallChallenge challenge;
    return read_all(socket, &challenge, sizeof challenge);
  }
  static void send_bytes(const FileDescriptor& socket, const void* bytes, size_t size) {
    for (int i = 0; i < 1000; ++i) {
      if (send(socket.get(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
      if (errno != EAGAIN && errno != ENOTCONN) return;
      std::this_thread::yield();
    }
  }
  /// Visits until the other side has closed @p socket.
  bool is_closed(const FileDescriptor& socket) {
    for (int i = 0; i < 100'000; ++i) {
      door_.visit();
      std::byte byte;
      const ssize_t came = recv(socket.get(), &byte, 1, MSG_DONTWAIT);
      if (came == 0 || (came < 0 && errno != EAGAIN && errno != ENOTCONN)) return true;
    }
    return false;
  }
  bool read_all(const FileDescriptor& socket, void* to, size_t size) {
    size_t done = 0;
    for (int i = 0; i < 100'000 && done < size; ++i) {
      door_.visit();
      const ssize_t came = recv(socket.get(), static_cast<std::byte*>(to) + done, size - done, MSG_DONTWAIT);
      if (came > 0) done += static_cast<size_t>(came);
      if (came == 0) return false;
    }
    return done == size;
  }
  uint64_t refused() const { return counters_.get(Metric::strangers_refused); }
  size_t lines() {
    LogLevel level;
    std::string line;
    size_t count = 0;
    for (; log_.take(&level, &line); last_line_ = line) ++count;
    return count;
  }

  Log log_;
  NoEvents events_;
  CallIdentity caller_{}, answerer_{};
  SharedCounters counters_;
  Door door_{answerer_, events_, log_, counters_};
  TcpAddress address_{};
  std::string last_line_;
};

TEST_F(LinkDoor, LetsInARankOfTheJobForItsDevice) {
  OutgoingCall outgoing(caller_, address_, 1, 3);
  for (int i = 0; i < 100'000 && !door_.has_callers(3); ++i) {
    ASSERT_EQ(OutgoingCall::Answer::kWaiting, outgoing.go_on()) << outgoing.why();
    door_.visit();
  }
  ASSERT_TRUE(door_.has_callers(3));
  EXPECT_GT(events_.woken, 0);
  std::vector<Caller> callers;
  door_.take_callers(3, &callers);
  ASSERT_EQ(1u, callers.size());
  EXPECT_EQ(0u, callers[0].rank);
  EXPECT_FALSE(door_.has_callers(3));
  EXPECT_TRUE(send_verdict(callers[0].socket.get(), {CallVerdict::kAccepted, 3, 4}, callers[0].binding));
  OutgoingCall::Answer answer = OutgoingCall::Answer::kWaiting;
  for (int i = 0; i < 100'000 && answer == OutgoingCall::Answer::kWaiting; ++i) answer = outgoing.go_on();
  EXPECT_EQ(OutgoingCall::Answer::kAccepted, answer) << outgoing.why();
  EXPECT_EQ(3u, outgoing.verdict().connections);
  EXPECT_EQ(4u, outgoing.verdict().taken);
  EXPECT_EQ(0u, lines());
  EXPECT_EQ(0u, refused());
}

// Somebody between the two says that the caller is dead.
TEST_F(LinkDoor, ACallerHeedsNoVerdictOfAnotherConnection) {
  OutgoingCall outgoing(caller_, address_, 1, 3);
  for (int i = 0; i < 100'000 && !door_.has_callers(3); ++i) {
    ASSERT_EQ(OutgoingCall::Answer::kWaiting, outgoing.go_on()) << outgoing.why();
    door_.visit();
  }
  std::vector<Caller> callers;
  door_.take_callers(3, &callers);
  ASSERT_EQ(1u, callers.size());
  Digest other = callers[0].binding;
  other.bytes[0] ^= std::byte{1};
  EXPECT_TRUE(send_verdict(callers[0].socket.get(), {CallVerdict::kFailed}, other));
  OutgoingCall::Answer answer = OutgoingCall::Answer::kWaiting;
  for (int i = 0; i < 100'000 && answer == OutgoingCall::Answer::kWaiting; ++i) answer = outgoing.go_on();
  EXPECT_EQ(OutgoingCall::Answer::kRefused, answer);
}

TEST_F(LinkDoor, WhoCallsAnewTakesThePlaceOfItsEarlierCall) {
  for (int calls = 0; calls < 20; ++calls) {
    OutgoingCall outgoing(caller_, address_, 1, 3);
    for (int i = 0; i < 1000; ++i) {
      outgoing.go_on();
      door_.visit();
    }
  }
  std::vector<Caller> callers;
  door_.take_callers(3, &callers);
  EXPECT_EQ(1u, callers.size());
}

TEST_F(LinkDoor, RefusesAHelloThatIsNotOfTheJob) {
  const CallHello honest = hello_to(caller_, 1, 0);
  std::vector<std::pair<const char*, CallHello>> cases;
  const auto add = [&](const char* what, auto change) {
    CallHello hello = honest;
    change(hello);
    cases.emplace_back(what, hello);
  };
  add("magic", [](CallHello& hello) { hello.magic ^= 1; });
  add("version", [](CallHello& hello) { hello.abi += 1; });
  add("job", [](CallHello& hello) { hello.job[0] = 'f'; });
  add("size", [](CallHello& hello) { hello.size = 3; });
  add("to another", [](CallHello& hello) { hello.to = 0; });
  add("from itself", [](CallHello& hello) { hello.from = 1; });
  add("from nobody", [](CallHello& hello) { hello.from = 2; });
  add("device", [](CallHello& hello) { hello.device = LCI_MAX_DEVICES + 1; });
  add("incarnation", [](CallHello& hello) { hello.incarnation += 1; });
  for (const auto& [what, hello] : cases) {
    const FileDescriptor socket = connected();
    send_bytes(socket, &hello, sizeof hello);
    EXPECT_TRUE(is_closed(socket)) << what;
  }
  EXPECT_EQ(1u, lines()) << "one line for an address";
  EXPECT_EQ(cases.size(), refused()) << "and each is counted";
}

TEST_F(LinkDoor, RefusesAProofMadeWithAnotherSecret) {
  CallIdentity stranger = caller_;
  stranger.secret[31] ^= 1;
  const FileDescriptor socket = connected();
  const CallHello hello = hello_to(stranger, 1, 0);
  send_bytes(socket, &hello, sizeof hello);
  CallChallenge challenge;
  ASSERT_TRUE(read_all(socket, &challenge, sizeof challenge));
  EXPECT_FALSE(is_proved(hello, challenge, stranger)) << "and the caller sees that the answerer has another one";
  const Digest proof = proof_of_caller(hello, challenge, stranger);
  send_bytes(socket, &proof, sizeof proof);
  EXPECT_TRUE(is_closed(socket));
  EXPECT_FALSE(door_.has_callers(0));
  EXPECT_EQ(1u, lines());
  EXPECT_NE(std::string::npos, last_line_.find("secret")) << last_line_;
  EXPECT_EQ(1u, refused());
}

TEST_F(LinkDoor, RefusesWhatProvedItselfOnAnotherConnection) {
  const CallHello hello = hello_to(caller_, 1, 0);
  const FileDescriptor first = connected();
  send_bytes(first, &hello, sizeof hello);
  CallChallenge challenge;
  ASSERT_TRUE(read_all(first, &challenge, sizeof challenge));
  const Digest proof = proof_of_caller(hello, challenge, caller_);
  const FileDescriptor second = connected();
  send_bytes(second, &hello, sizeof hello);
  CallChallenge other;
  ASSERT_TRUE(read_all(second, &other, sizeof other));
  send_bytes(second, &proof, sizeof proof);
  EXPECT_TRUE(is_closed(second));
  EXPECT_FALSE(door_.has_callers(0));
}

TEST_F(LinkDoor, GivesTheAnswerersProofBackToNobody) {
  const CallHello hello = hello_to(caller_, 1, 0);
  const FileDescriptor socket = connected();
  send_bytes(socket, &hello, sizeof hello);
  CallChallenge challenge;
  ASSERT_TRUE(read_all(socket, &challenge, sizeof challenge));
  send_bytes(socket, &challenge.proof, sizeof challenge.proof);
  EXPECT_TRUE(is_closed(socket));
  EXPECT_FALSE(door_.has_callers(0));
}

TEST_F(LinkDoor, EndsWithGarbageAfterTheFirstBytesOfIt) {
  const FileDescriptor socket = connected();
  const std::vector<std::byte> garbage(1 << 20, std::byte{0x5a});
  send_bytes(socket, garbage.data(), garbage.size());
  EXPECT_TRUE(is_closed(socket));
  EXPECT_EQ(1u, lines());
}

TEST_F(LinkDoor, AThousandWhoSayNothingKeepNobodyOut) {
  std::vector<FileDescriptor> silent;
  const size_t before = lci_test::open_descriptors();
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(connected());
    door_.visit();
    ASSERT_LE(lci_test::open_descriptors() - before - silent.size(), 64u);
  }
  OutgoingCall outgoing(caller_, address_, 1, 0);
  for (int i = 0; i < 100'000 && !door_.has_callers(0); ++i) {
    ASSERT_EQ(OutgoingCall::Answer::kWaiting, outgoing.go_on()) << outgoing.why();
    door_.visit();
  }
  EXPECT_TRUE(door_.has_callers(0));
  EXPECT_LE(lines(), 1u);
}

TEST_F(LinkDoor, ACrowdOfOneAddressMakesRoomItself) {
  const FileDescriptor rank = connected();  // and its system has answered, but it has not looked yet
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 300; ++i) {
    door_.visit();
    silent.push_back(connected_from_elsewhere());
  }
  EXPECT_TRUE(is_closed(silent.front()));
  EXPECT_TRUE(is_challenged(rank));
}

// Many ranks of a host call at once, and are about to prove themselves.
TEST_F(LinkDoor, WhoeverSaysNothingMakesRoomForThoseWhoDo) {
  std::vector<FileDescriptor> ranks, silent;
  for (int i = 0; i < 50; ++i) {
    ranks.push_back(connected());
    ASSERT_TRUE(is_challenged(ranks.back())) << i;
  }
  for (int i = 0; i < 50; ++i) {
    silent.push_back(connected_from_elsewhere());
    door_.visit();
  }
  EXPECT_TRUE(is_closed(silent.front()));
  for (const FileDescriptor& rank : ranks) {
    std::byte byte;
    EXPECT_TRUE(recv(rank.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) << "it is still there";
  }
}

TEST_F(LinkDoor, ACallerHearsThatNobodyListens) {
  door_.close();
  OutgoingCall outgoing(caller_, address_, 1, 0);
  OutgoingCall::Answer answer = OutgoingCall::Answer::kWaiting;
  for (int i = 0; i < 100'000 && answer == OutgoingCall::Answer::kWaiting; ++i) answer = outgoing.go_on();
  EXPECT_EQ(OutgoingCall::Answer::kRefused, answer);
  EXPECT_STRNE("", outgoing.why());
}

TEST_F(LinkDoor, ACallerDoesNotTrustWhoeverHasAnotherSecret) {
  CallIdentity other = caller_;
  other.secret[0] ^= 1;
  OutgoingCall outgoing(other, address_, 1, 0);
  OutgoingCall::Answer answer = OutgoingCall::Answer::kWaiting;
  for (int i = 0; i < 100'000 && answer == OutgoingCall::Answer::kWaiting; ++i) {
    answer = outgoing.go_on();
    door_.visit();
  }
  EXPECT_EQ(OutgoingCall::Answer::kRefused, answer);
  EXPECT_NE(std::string::npos, std::string(outgoing.why()).find("secret")) << outgoing.why();
}

TEST_F(LinkDoor, ACallerDoesNotTrustAnotherProcessAtTheAddress) {
  TcpAddress elsewhere = address_;
  elsewhere.incarnation = 5;
  OutgoingCall outgoing(caller_, elsewhere, 1, 0);
  OutgoingCall::Answer answer = OutgoingCall::Answer::kWaiting;
  for (int i = 0; i < 100'000 && answer == OutgoingCall::Answer::kWaiting; ++i) {
    answer = outgoing.go_on();
    door_.visit();
  }
  EXPECT_EQ(OutgoingCall::Answer::kRefused, answer);
  EXPECT_FALSE(door_.has_callers(0));
}

}  // namespace
}  // namespace lci
