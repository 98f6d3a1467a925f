// SPDX-License-Identifier: Apache-2.0
// A sealed job of two ranks, of which rank 0 is played and does not do as ranks do: in the calls that open connections,
// and over those that are open. Each time the other one's operation ends with an error that says so, and nothing hangs.
// Mutations that must make this file fail: see transport.tsv. [NETWORK 3.8]
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "host/socket.hpp"
#include "support/played_rank.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

using lci::OutgoingCall;
using Answer = OutgoingCall::Answer;
using Bytes = std::vector<std::byte>;

const Attributes kSealed{{"net_security", "sealed"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "300"}};

template <typename T>
Bytes bytes_of(const T& value) {
  const auto* const at = reinterpret_cast<const std::byte*>(&value);
  return Bytes(at, at + sizeof value);
}

/// Rank 1 has joined, has a receive of rank 0 posted, and counts its messages.
class TcpHostile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job_));
    peer_ = std::make_unique<PlayedRank>(job_, 0, 2, kSealed);
    int code = LCI_RETRY;
    std::jthread joins([&] { code = create_over_tcp(job_, 1, &runtime_, kSealed); });
    peer_->meet();
    first_.emplace(peer_->call(1, 0));
    ASSERT_EQ(Answer::kAccepted, outcome(*first_, [] { std::this_thread::yield(); }));
    binding_ = first_->binding();
    link_ = peer_->connection_of(*first_);
    PlayedRank::say_so(link_, first_->verdict().taken);
    peer_->wait_for_all();
    joins.join();
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    ASSERT_EQ(LCI_DONE, lci_runtime_device(runtime_, 0, &device_));
    ended_ = make_queue(runtime_);
    ASSERT_EQ(LCI_DONE, lci_counter_create(runtime_, &heard_));
    ASSERT_EQ(LCI_DONE, lci_port_open(runtime_, kPort, "", heard_, 0, 0));
    lci_descriptor receive = operation(LCI_OP_RECV, 0, 0, 7, &word_, sizeof word_, 0);
    ASSERT_EQ(LCI_POSTED, lci_post(device_, &receive, ended_, nullptr)) << lci_last_error();
    pass();
    hear();
  }
  void TearDown() override {
    link_ = lci::Connection();
    peer_.reset();
    if (runtime_) {
      EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime_, 0));
    }
    lci_inproc_free(job_);
  }

  void pass(int times = 50) {
    for (int i = 0; i < times; ++i) lci_progress(device_);
  }
  /// What rank 1 has said so far is taken from the connection.
  void hear() {
    std::array<std::byte, lci::Connection::kPiece> some;
    bool more = true;
    while (more && link_.receive(some.data(), some.size(), &more) > 0) {
    }
  }
  uint64_t counter(const std::string& name) { return counter_of(runtime_, name); }
  /// The receive has ended; with what.
  int receive_ends() {
    lci_status status{};
    for (const lci::test::Deadline patience(20); !patience.passed();) {
      lci_progress(device_);
      if (lci_queue_pop(ended_, &status) == LCI_DONE) return status.code;
    }
    return LCI_RETRY;
  }
  /// Rank 1 has closed the connection.
  bool is_hung_up() {
    std::byte byte{};
    while (receive(link_.socket(), &byte, sizeof byte)) {
    }
    return !patience_.passed();
  }
  /// It is, each time that a piece does not open: the third time rank 0 counts as failed, and hears so when it calls.
  void is_blamed() {
    for (int times = 1; times < 3; ++times) {
      ASSERT_TRUE(is_hung_up());
      EXPECT_EQ(0u, counter("protocol_errors"));
      EXPECT_EQ(0u, counter("peers_failed"));
      OutgoingCall next = call_again();
      EXPECT_EQ(sizeof(lci::RecordHeader) + (lci_counter_get(heard_) != 0 ? message().size() : 0),
                next.verdict().taken);
      link_ = peer_->connection_of(next);
      send_raw(link_, Bytes(100));
    }
    EXPECT_EQ(LCI_ERR_PEER_FAILED, receive_ends());
    EXPECT_EQ(1u, counter("protocol_errors"));
    EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_am(device_, 0, 5, 0, nullptr, 0, nullptr, 0));
    OutgoingCall again = peer_->call(1, 0, {1, 0});
    EXPECT_EQ(Answer::kFailed, outcome(again, [this] { lci_progress(device_); }));
  }
  /// Nobody is blamed for who called; rank 0 is still heard.
  void is_heard() {
    EXPECT_EQ(0u, counter("protocol_errors"));
    EXPECT_EQ(0u, counter("peers_failed"));
    say(link_);
    EXPECT_TRUE(hears(1));
  }
  /// So many messages have come.
  bool hears(uint64_t messages) {
    for (const lci::test::Deadline patience(20); !patience.passed();) {
      lci_progress(device_);
      if (lci_counter_get(heard_) == messages) return true;
    }
    return false;
  }
  void send_raw(const lci::Connection& link, const Bytes& bytes) {
    EXPECT_EQ(bytes.size(), lci::send_some(link.socket(), bytes.data(), bytes.size()).bytes);
  }
  /// False: the other side has hung up.
  bool receive(int socket, void* to, size_t size) {
    size_t came = 0;
    while (came < size && !patience_.passed()) {
      lci_progress(device_);
      const lci::Moved moved = lci::receive_some(socket, static_cast<std::byte*>(to) + came, size - came);
      if (moved.ended) return false;
      came += moved.bytes;
    }
    return came == size;
  }
  /// One to the port of rank 1, which has been opened once.
  static Bytes message() {
    const lci::FrameHeader frame{static_cast<uint8_t>(lci::MessageKind::kAmInline), 0, kPort, sizeof kWord, 1, 7, 0};
    lci::RecordHeader header{};
    header.length = sizeof frame + sizeof kWord;
    header.position = sizeof header;  // behind the one without anything
    Bytes record = bytes_of(header);
    for (const Bytes& part : {bytes_of(frame), bytes_of(kWord)}) record.insert(record.end(), part.begin(), part.end());
    return record;
  }
  static void say(lci::Connection& link) {
    Bytes record = message();
    const iovec part{record.data(), record.size()};
    EXPECT_EQ(static_cast<ssize_t>(record.size()), link.send(&part, 1));
  }
  /// The message as it looks sealed for a connection with these keys.
  Bytes sealed(const lci::Digest& binding, lci::CallSide sender, const lci::CallVerdict& verdict, uint64_t number) {
    lci::CryptoLibrary crypto;
    EXPECT_EQ(LCI_DONE, lci::CryptoLibrary::load("", &crypto)) << lci::last_error();
    lci::Seal seal(crypto, key_of(binding, sender, verdict), lci::Seal::Use::kSeal);
    Bytes record = message();
    const iovec part{record.data(), record.size()};
    Bytes tagged(record.size() + lci::Seal::kTag);
    for (uint64_t i = 0; i <= number; ++i) EXPECT_TRUE(seal.seal(&part, 1, tagged.data()));
    Bytes piece = bytes_of(static_cast<uint32_t>(record.size()));
    piece.insert(piece.end(), tagged.begin(), tagged.end());
    return piece;
  }
  /// A new connection in the place of the one that breaks.
  OutgoingCall call_again() {
    PlayedRank::reset(std::move(link_));
    OutgoingCall again = peer_->call(1, 0, {static_cast<uint32_t>(counter("links_resumed")) + 1, 0});
    EXPECT_EQ(Answer::kAccepted, outcome(again, [this] { lci_progress(device_); }));
    return again;
  }

  static constexpr uint16_t kPort = 5;
  static constexpr uint64_t kWord = 0x1234'5678'9abc'def0;
  lci_inproc* job_ = nullptr;
  std::unique_ptr<PlayedRank> peer_;
  std::optional<OutgoingCall> first_;
  lci::Digest binding_{};
  lci::Connection link_;
  lci_runtime* runtime_ = nullptr;
  lci_device* device_ = nullptr;
  lci_comp *ended_ = nullptr, *heard_ = nullptr;
  uint64_t word_ = 0;
  const lci::test::Deadline patience_{60};
};

// --- over a connection that is open

TEST_F(TcpHostile, AnHonestMessageComes) {
  is_heard();
}
TEST_F(TcpHostile, TheSameMessageSealedByTheTestComes) {
  send_raw(link_, sealed(binding_, lci::CallSide::kCaller, first_->verdict(), 1));
  EXPECT_TRUE(hears(1));
}
// Whoever is between the two changes it: it costs a connection, as a reset does.
TEST_F(TcpHostile, AMessageOfWhichABitWasChangedIsSaidAgain) {
  lci::CallVerdict verdict = first_->verdict();
  for (const uint64_t number : {1, 0}) {
    Bytes piece = sealed(binding_, lci::CallSide::kCaller, verdict, number);
    piece[10] ^= std::byte{8};
    send_raw(link_, piece);
    ASSERT_TRUE(is_hung_up());
    OutgoingCall again = call_again();
    verdict = again.verdict();
    EXPECT_EQ(sizeof(lci::RecordHeader), verdict.taken) << "nothing of it";
    binding_ = again.binding();
    link_ = peer_->connection_of(again);
  }
  is_heard();
}
TEST_F(TcpHostile, WhatIsNotSealedIsNotTaken) {
  send_raw(link_, message());
  is_blamed();
}
TEST_F(TcpHostile, AnEmptyPieceIsNotTaken) {
  send_raw(link_, Bytes(100));
  is_blamed();
}
TEST_F(TcpHostile, WhatIsSealedWithTheKeyOfTheOtherDirectionIsNotTaken) {
  send_raw(link_, sealed(binding_, lci::CallSide::kAnswerer, first_->verdict(), 1));
  is_blamed();
}
TEST_F(TcpHostile, WhatIsSealedWithAKeyOfNobodyIsNotTaken) {
  send_raw(link_, sealed({}, lci::CallSide::kCaller, first_->verdict(), 1));
  is_blamed();
}
TEST_F(TcpHostile, WhatIsRepeatedIsNotTaken) {
  const Bytes piece = sealed(binding_, lci::CallSide::kCaller, first_->verdict(), 1);
  send_raw(link_, piece);
  EXPECT_TRUE(hears(1));
  send_raw(link_, piece);
  is_blamed();
  EXPECT_TRUE(hears(1)) << "it is not taken twice";
}
TEST_F(TcpHostile, WhatWasSealedForTheConnectionBeforeIsNotTaken) {
  const Bytes piece = sealed(binding_, lci::CallSide::kCaller, first_->verdict(), 0);
  OutgoingCall again = call_again();
  link_ = peer_->connection_of(again);
  send_raw(link_, piece);
  is_blamed();
}
TEST_F(TcpHostile, KeysOfTheConnectionBeforeAreWorthNothing) {
  OutgoingCall again = call_again();
  link_ = peer_->connection_of(again, binding_);
  say(link_);
  is_blamed();
}

// It is lost with its connection, and comes over the next one.
TEST_F(TcpHostile, APieceThatIsCutOffIsSaidAgain) {
  const Bytes piece = sealed(binding_, lci::CallSide::kCaller, first_->verdict(), 1);
  for (const size_t size : {1u, 4u, 50u}) {
    send_raw(link_, Bytes(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size)));
    pass();
    OutgoingCall again = call_again();
    EXPECT_EQ(sizeof(lci::RecordHeader), again.verdict().taken) << "nothing of it, " << size;
    link_ = peer_->connection_of(again);
  }
  is_heard();
}
TEST_F(TcpHostile, WhoCutsAPieceOffAndGoesHasFailed) {
  const Bytes piece = sealed(binding_, lci::CallSide::kCaller, first_->verdict(), 1);
  send_raw(link_, Bytes(piece.begin(), piece.begin() + 50));
  pass();
  peer_->close_door();
  PlayedRank::reset(std::move(link_));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, receive_ends());
  EXPECT_EQ(0u, counter("protocol_errors"));
}

// --- who calls

TEST_F(TcpHostile, AStrangerWithoutTheSecretIsRefusedAndNobodyIsBlamed) {
  lci::CallIdentity stranger = peer_->identity();
  stranger.secret[0] ^= 1;
  OutgoingCall call(stranger, peer_->address_of(1), 1, 0);
  EXPECT_EQ(Answer::kRefused, outcome(call, [this] { lci_progress(device_); })) << "and sees that it is the wrong one";
  is_heard();
}
TEST_F(TcpHostile, ACallThatWasHeardElsewhereIsRefusedWhenItIsRepeated) {
  const lci::CallHello hello = hello_to(peer_->identity(), 1, 0, {1, 0});
  lci::Digest proof{};  // of the first of two calls, and said in the second
  for (const bool repeated : {false, true}) {
    const lci::FileDescriptor socket = lci::connect_to(socket_address(peer_->address_of(1)));
    ASSERT_TRUE(lci::wait_for(socket.get(), true, lci::test::Deadline(30).ns()));
    ASSERT_EQ(sizeof hello, lci::send_some(socket.get(), &hello, sizeof hello).bytes);
    lci::CallChallenge challenge{};
    ASSERT_TRUE(receive(socket.get(), &challenge, sizeof challenge));
    if (!repeated) {
      proof = proof_of_caller(hello, challenge, peer_->identity());
      continue;
    }
    EXPECT_EQ(sizeof proof, lci::send_some(socket.get(), &proof, sizeof proof).bytes);
    lci::ProvedVerdict verdict{};
    EXPECT_FALSE(receive(socket.get(), &verdict, sizeof verdict)) << "it hangs up";
  }
  EXPECT_EQ(1u, counter("strangers_refused"));
  is_heard();
}

// --- who answers

/// At rank 0's port, in its place, somebody answers each call of rank 1 with some bytes, and hangs up.
class TcpImpostor : public testing::Test {
 protected:
  /// What rank 1's join comes to.
  int join(const std::function<Bytes(const PlayedRank&, const lci::CallHello&)>& answer,
           const char* within_ms = "30000") {
    EXPECT_EQ(LCI_DONE, lci_inproc_create(2, &job_));
    Attributes attributes = kSealed;
    attributes.emplace_back("bootstrap_timeout_ms", within_ms);
    int code = LCI_RETRY;
    {
      PlayedRank peer(job_, 0, 2, attributes);
      const lci::FileDescriptor listener = peer.open_other_door();
      std::atomic<bool> over{false};
      std::jthread joins([&] {
        code = create_over_tcp(job_, 1, &runtime_, attributes);
        why_ = lci_last_error();
        over = true;
      });
      peer.meet();
      while (!over) {
        lci::SocketAddress from;
        const lci::FileDescriptor caller = lci::accept_from(listener.get(), &from);
        if (caller.get() >= 0) answer_one(caller, [&](const lci::CallHello& hello) { return answer(peer, hello); });
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(nullptr, runtime_);
    lci_inproc_free(job_);
    return code;
  }
  std::string why_;

 private:
  template <typename Answers>
  static void answer_one(const lci::FileDescriptor& caller, Answers answers) {
    lci::CallHello hello{};
    size_t came = 0;
    for (const lci::test::Deadline patience(5); came < sizeof hello && !patience.passed();) {
      const lci::Moved moved =
          lci::receive_some(caller.get(), reinterpret_cast<std::byte*>(&hello) + came, sizeof hello - came);
      if (moved.ended) return;
      came += moved.bytes;
    }
    const Bytes bytes = answers(hello);
    lci::send_some(caller.get(), bytes.data(), bytes.size());
  }

  lci_inproc* job_ = nullptr;
  lci_runtime* runtime_ = nullptr;
};

TEST_F(TcpImpostor, WithoutTheSecretItIsNotTheRank) {
  EXPECT_EQ(LCI_ERR_PEER_FAILED, join([](const PlayedRank& peer, const lci::CallHello& hello) {
              lci::CallIdentity stranger = peer.identity();
              stranger.secret[0] ^= 1;
              return bytes_of(challenge_to(hello, stranger));
            }))
      << why_;
}
TEST_F(TcpImpostor, AChallengeOfAnotherCallIsNotTheRanks) {
  lci::CallChallenge first{};
  bool has_first = false;
  EXPECT_EQ(LCI_ERR_PEER_FAILED, join([&](const PlayedRank& peer, const lci::CallHello& hello) {
              if (!has_first) first = challenge_to(hello, peer.identity());
              if (std::exchange(has_first, true)) return bytes_of(first);
              return Bytes();
            }))
      << why_;
}
TEST_F(TcpImpostor, AChallengeThatIsCutOffEndsTheJoinInTime) {
  EXPECT_EQ(LCI_ERR_TIMEOUT, join(
                                 [](const PlayedRank& peer, const lci::CallHello& hello) {
                                   Bytes bytes = bytes_of(challenge_to(hello, peer.identity()));
                                   bytes.resize(bytes.size() / 2);
                                   return bytes;
                                 },
                                 "500"))
      << why_;
}
TEST_F(TcpImpostor, AVerdictThatIsMadeUpIsNotTheRanks) {
  EXPECT_EQ(LCI_ERR_PEER_FAILED, join([](const PlayedRank& peer, const lci::CallHello& hello) {
              Bytes bytes = bytes_of(challenge_to(hello, peer.identity()));
              const Bytes verdict = bytes_of(lci::ProvedVerdict{{lci::CallVerdict::kAccepted, 1, 0}, {}});
              bytes.insert(bytes.end(), verdict.begin(), verdict.end());
              return bytes;
            }))
      << why_;
}

// Before anybody calls: a rank that would not seal is of another job.
TEST(TcpDowngrade, ARankThatDoesNotSealIsRefusedByName) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job));
  {
    PlayedRank peer(job, 0, 2);
    lci_runtime* runtime = nullptr;
    int code = LCI_DONE;
    std::string why;
    std::jthread joins([&] {
      Attributes attributes = kSealed;
      attributes.emplace_back("bootstrap_timeout_ms", "5000");
      code = create_over_tcp(job, 1, &runtime, attributes);
      why = lci_last_error();
    });
    peer.publish();
    joins.join();
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, code);
    EXPECT_NE(std::string::npos, why.find("net_security (0: auth, 1: sealed) is 0, here 1")) << why;
    EXPECT_EQ(nullptr, runtime);
  }
  lci_inproc_free(job);
}

}  // namespace
}  // namespace lci_test
