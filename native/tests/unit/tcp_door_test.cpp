// SPDX-License-Identifier: Apache-2.0
// Where rank 0 answers, and those who have no business there.
#include "bootstrap/tcp_door.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/descriptors.hpp"
#include "support/tcp_job.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::HeldPort;

constexpr uint32_t kSize = 4;
constexpr uint64_t kLong = 3'600'000'000'000;  // ns

/// A door, and connections to it that say what a test wants.
class TcpDoorTest : public testing::Test {
 protected:
  void open(const TcpDoor::Limits& limits = {.patience = kLong, .crowd_patience = kLong, .silent_patience = kLong}) {
    settings_.root = {"127.0.0.1", port_.address().port()};
    settings_.size = kSize;
    settings_.secret[0] = 1;
    settings_.has_secret = true;
    door_.emplace(settings_, kJob, limits);
    std::string why;
    ASSERT_EQ(LCI_DONE, door_->open(&why)) << last_error();
    Attributes attributes;
    attributes.log_keep = 100;
    attributes.log_outfile = "none";
    ASSERT_EQ(LCI_DONE, log_.open(attributes, 0, 1));
    door_->log_to(log_);
  }

  void serve() {
    door_->serve([&](uint32_t rank) { return rank == kTaken ? Verdict::kTaken : Verdict::kWelcome; },
                 [&](uint32_t rank, FileDescriptor socket) {
                   joined_.push_back(rank);
                   sockets_.push_back(std::move(socket));
                 });
  }
  template <typename Ready>
  ::testing::AssertionResult serve_until(Ready ready) {
    for (const Deadline deadline(30); !deadline.passed();) {
      serve();
      if (ready()) return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "in vain: " << door_->strangers() << " strangers";
  }

  FileDescriptor connect() const {
    FileDescriptor socket = connect_to(port_.address());
    EXPECT_TRUE(wait_for(socket.get(), true, Deadline(30).ns()));
    EXPECT_EQ(0, connect_outcome(socket.get()));
    return socket;
  }
  /// One that comes from another host, 127.0.0.2.
  FileDescriptor connect_from_elsewhere() const {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in elsewhere{};
    elsewhere.sin_family = AF_INET;
    elsewhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(0, ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&elsewhere), sizeof elsewhere));
    const SocketAddress to = port_.address();
    EXPECT_TRUE(::connect(socket.get(), to.get(), to.size()) == 0 || errno == EINPROGRESS);
    EXPECT_TRUE(wait_for(socket.get(), true, Deadline(30).ns()));
    EXPECT_EQ(0, connect_outcome(socket.get()));
    return socket;
  }
  template <typename Bytes>
  static void send(const FileDescriptor& socket, const Bytes& bytes) {
    EXPECT_EQ(bytes.size(), send_some(socket.get(), bytes.data(), bytes.size()).bytes);
  }
  /// What came, once it is so much or the connection has ended; serves the door meanwhile.
  template <size_t N>
  size_t receive(const FileDescriptor& socket, std::array<uint8_t, N>* out) {
    size_t size = 0;
    EXPECT_TRUE(serve_until([&] {
      const Moved moved = receive_some(socket.get(), out->data() + size, N - size);
      size += moved.bytes;
      return moved.ended || size == N;
    }));
    return size;
  }
  Verdict verdict(const FileDescriptor& socket, uint64_t* job = nullptr) {
    VerdictBytes bytes{};
    EXPECT_EQ(bytes.size(), receive(socket, &bytes));
    Verdict result{};
    uint64_t ignored = 0;
    EXPECT_TRUE(decode(bytes, &result, job ? job : &ignored));
    return result;
  }
  bool is_closed(const FileDescriptor& socket) {
    std::array<uint8_t, 1> byte{};
    return receive(socket, &byte) == 0;
  }
  /// As a rank does it, with a secret. What the door says in the end.
  Verdict join(const FileDescriptor& socket, uint32_t rank, uint32_t size, const JobSecret& secret,
               Prover prover = Prover::kRank, uint64_t* job = nullptr) {
    const GreetingBytes greeting = encode({.rank = rank, .size = size, .nonce = new_nonce()});
    send(socket, greeting);
    EXPECT_EQ(Verdict::kWelcome, verdict(socket));
    ChallengeBytes bytes{};
    EXPECT_EQ(bytes.size(), receive(socket, &bytes));
    const Challenge challenge = decode(bytes);
    EXPECT_TRUE(
        equal_in_constant_time(challenge.proof, prove(settings_.secret, Prover::kRoot, greeting, challenge.nonce)));
    send(socket, prove(secret, prover, greeting, challenge.nonce).bytes);
    return verdict(socket, job);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> result;
    LogLevel level{};
    std::string line;
    while (log_.take(&level, &line)) result.push_back(line);
    return result;
  }

  static constexpr TcpDoor::Limits kSilentGoAtOnce{
      .strangers = 4, .patience = kLong, .crowd_patience = kLong, .silent_patience = 1};
  static constexpr uint64_t kJob = 0x1234;
  static constexpr uint32_t kTaken = 3;
  const HeldPort port_;
  TcpSettings settings_;
  Log log_;
  std::optional<TcpDoor> door_;
  std::vector<uint32_t> joined_;
  std::vector<FileDescriptor> sockets_;
};

TEST_F(TcpDoorTest, LetsInARankThatKnowsTheSecret) {
  open();
  const FileDescriptor socket = connect();
  uint64_t job = 0;
  EXPECT_EQ(Verdict::kWelcome, join(socket, 2, kSize, settings_.secret, Prover::kRank, &job));
  EXPECT_EQ(kJob, job);
  EXPECT_EQ(std::vector{2u}, joined_);
  EXPECT_EQ(0u, door_->strangers());
  send(socket, std::string("after"));
  EXPECT_TRUE(wait_for(sockets_[0].get(), false, Deadline(30).ns()));
  char text[16];
  EXPECT_EQ(5u, receive_some(sockets_[0].get(), text, sizeof text).bytes);
  EXPECT_TRUE(lines().empty());
}

TEST_F(TcpDoorTest, RefusesARankThatDoesNotKnowTheSecret) {
  open();
  const FileDescriptor socket = connect();
  EXPECT_EQ(Verdict::kOtherSecret, join(socket, 2, kSize, {}));
  EXPECT_TRUE(is_closed(socket));
  EXPECT_TRUE(joined_.empty());
  EXPECT_EQ(0u, door_->strangers());
}

// A stranger that gives back what rank 0 has proven with, or what a rank said before, has proven nothing.
TEST_F(TcpDoorTest, RefusesAProofThatIsNotFreshOrNotOfARank) {
  open();
  EXPECT_EQ(Verdict::kOtherSecret, join(connect(), 2, kSize, settings_.secret, Prover::kRoot));
  const GreetingBytes greeting = encode({.rank = 2, .size = kSize, .nonce = new_nonce()});
  const Digest once = prove(settings_.secret, Prover::kRank, greeting, new_nonce());
  const FileDescriptor socket = connect();
  send(socket, greeting);
  send(socket, once.bytes);
  EXPECT_EQ(Verdict::kWelcome, verdict(socket));
  ChallengeBytes challenge{};
  receive(socket, &challenge);
  EXPECT_EQ(Verdict::kOtherSecret, verdict(socket));
  EXPECT_TRUE(joined_.empty());
}

TEST_F(TcpDoorTest, RefusesARankOfAnotherJob) {
  open();
  EXPECT_EQ(Verdict::kOtherSize, join(connect(), 2, kSize + 1, settings_.secret));
  EXPECT_EQ(Verdict::kTaken, join(connect(), kTaken, kSize, settings_.secret));
  EXPECT_TRUE(joined_.empty());
  EXPECT_EQ(0u, door_->strangers());
}

TEST_F(TcpDoorTest, TellsARankOfAnotherVersionAtOnce) {
  open();
  const FileDescriptor socket = connect();
  send(socket, encode({.version = kJoinVersion + 1, .rank = 2, .size = kSize}));
  EXPECT_EQ(Verdict::kOtherVersion, verdict(socket));
  EXPECT_TRUE(is_closed(socket));
}

TEST_F(TcpDoorTest, ClosesOnBytesThatAreNoGreeting) {
  open();
  const FileDescriptor socket = connect();
  send(socket, std::string("GET / HTTP/1.1\r\nHost: somewhere\r\nUser-Agent: something\r\n\r\n......"));
  EXPECT_TRUE(is_closed(socket));
  EXPECT_EQ(0u, door_->strangers());
}

TEST_F(TcpDoorTest, AGreetingMayComeByteByByte) {
  open();
  const FileDescriptor socket = connect();
  const GreetingBytes greeting = encode({.rank = 1, .size = kSize, .nonce = new_nonce()});
  for (const uint8_t byte : greeting) {
    send(socket, std::array{byte});
    serve();
  }
  EXPECT_EQ(Verdict::kWelcome, verdict(socket));
}

TEST_F(TcpDoorTest, KeepsSoManyStrangersAndNoMore) {
  open();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(connect());
  EXPECT_TRUE(serve_until([&] { return door_->strangers() == 64; }));
  for (int i = 0; i < 10; ++i) serve();
  EXPECT_EQ(64u, door_->strangers());
  std::vector<pollfd> entries;
  door_->add_to(&entries);
  EXPECT_EQ(64u, entries.size()) << "the door itself would wake its rank for nothing";
}

TEST_F(TcpDoorTest, ACrowdThatSaysNothingMakesRoom) {
  open({4, kLong, 1});
  std::deque<FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connect());
  const FileDescriptor rank = connect();
  EXPECT_EQ(Verdict::kWelcome, join(rank, 1, kSize, settings_.secret));
  EXPECT_LE(door_->strangers(), 4u);
  EXPECT_TRUE(is_closed(strangers.front()));
}

// It is about to prove itself, over a long path perhaps.
TEST_F(TcpDoorTest, WhoeverHasGreetedMakesNoRoomForACrowd) {
  open(kSilentGoAtOnce);
  const FileDescriptor rank = connect();
  const GreetingBytes greeting = encode({.rank = 2, .size = kSize, .nonce = new_nonce()});
  send(rank, greeting);
  EXPECT_EQ(Verdict::kWelcome, verdict(rank));
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connect());
  EXPECT_TRUE(is_closed(strangers.front()));
  ChallengeBytes challenge{};
  EXPECT_EQ(challenge.size(), receive(rank, &challenge));
  send(rank, prove(settings_.secret, Prover::kRank, greeting, decode(challenge).nonce).bytes);
  EXPECT_EQ(Verdict::kWelcome, verdict(rank));
  EXPECT_EQ(std::vector{2u}, joined_);
}

TEST_F(TcpDoorTest, ACrowdOfOneAddressMakesRoomItself) {
  open(kSilentGoAtOnce);
  const FileDescriptor rank = connect();
  EXPECT_TRUE(serve_until([&] { return door_->strangers() == 1; }));
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connect_from_elsewhere());
  EXPECT_TRUE(is_closed(strangers.front()));
  EXPECT_EQ(Verdict::kWelcome, join(rank, 1, kSize, settings_.secret));
}

TEST_F(TcpDoorTest, AStrangerThatSaysNothingGoes) {
  open({64, 20'000'000, kLong});
  const FileDescriptor socket = connect();
  EXPECT_TRUE(is_closed(socket));
  EXPECT_EQ(0u, door_->strangers());
  EXPECT_EQ(UINT64_MAX, door_->next_deadline());
}

// Somebody else of the process may close some, or the limit be raised.
TEST_F(TcpDoorTest, WithoutDescriptorsThoseWhoCallWait) {
  open({.descriptor_wait = 1});
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(connect());
  {
    const lci_test::NoMoreDescriptors shortage;
    for (int i = 0; i < 5; ++i) serve();
    EXPECT_EQ(0u, door_->strangers());
    EXPECT_TRUE(door_->lacks_descriptors());
  }
  const auto said = lines();
  ASSERT_EQ(1u, said.size()) << "once";
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "ulimit -n", said[0]);
  EXPECT_TRUE(serve_until([&] { return door_->strangers() == 3; }));
  EXPECT_FALSE(door_->lacks_descriptors());
}

TEST_F(TcpDoorTest, WithoutDescriptorsItWakesNobodyForThoseWhoCall) {
  open({.descriptor_wait = kLong});
  const FileDescriptor stranger = connect();
  EXPECT_EQ(UINT64_MAX, door_->next_deadline());
  {
    const lci_test::NoMoreDescriptors shortage;
    serve();
  }
  serve();
  EXPECT_EQ(0u, door_->strangers()) << "it is asked for later";
  EXPECT_NE(UINT64_MAX, door_->next_deadline());
  std::vector<pollfd> entries;
  door_->add_to(&entries);
  EXPECT_TRUE(entries.empty());
}

TEST_F(TcpDoorTest, WithoutDescriptorsAStrangerThatSaysNothingMakesRoom) {
  open(kSilentGoAtOnce);
  const FileDescriptor silent = connect();
  EXPECT_TRUE(serve_until([&] { return door_->strangers() == 1; }));
  const FileDescriptor rank = connect();
  const lci_test::NoMoreDescriptors shortage;
  EXPECT_EQ(Verdict::kWelcome, join(rank, 1, kSize, settings_.secret));
  EXPECT_TRUE(is_closed(silent));
}

TEST_F(TcpDoorTest, SaysOneLineForAnAddress) {
  open();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Verdict::kOtherSecret, join(connect(), 2, kSize, {}));
  const auto said = lines();
  ASSERT_EQ(1u, said.size());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "127.0.0.1 was refused: it does not know the secret", said[0]);
}

TEST_F(TcpDoorTest, APortThatIsTakenIsNamed) {
  open();
  TcpDoor second(settings_, kJob);
  std::string why;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, second.open(&why));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "another process of rank 0", last_error());
  EXPECT_EQ(0, last_error_rank());
  door_->close();
  EXPECT_EQ(LCI_DONE, second.open(&why)) << last_error();
}

TEST_F(TcpDoorTest, AnAddressOfAnotherHostIsNamed) {
  settings_.root = {"192.0.2.1", 4711};  // of documentation: nobody's
  settings_.has_secret = true;
  TcpDoor door(settings_, kJob);
  std::string why;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, door.open(&why));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "it is no address of this host", last_error());
  settings_.root = {"no such name", 4711};
  EXPECT_EQ(LCI_RETRY, TcpDoor(settings_, kJob).open(&why));
  EXPECT_NE("", why);
}

}  // namespace
}  // namespace lci
