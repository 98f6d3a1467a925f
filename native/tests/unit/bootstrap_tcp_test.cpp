// SPDX-License-Identifier: Apache-2.0
// Bootstrap tcp: how it is set up, who may join, and what ranks hear of those that do not come or go.
#include "bootstrap/tcp_bootstrap.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "support/environment.hpp"
#include "support/tcp_job.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::ScopedVariable;
using test::TcpJob;
using testing::IsSubstring;

constexpr uint64_t kFar = 3600;  // seconds: beyond what a test may take

std::unique_ptr<Bootstrap> open(const Attributes& attributes) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(LCI_DONE, open_bootstrap(attributes, nullptr, 0, &bootstrap)) << last_error();
  return bootstrap;
}

void expect_refused(const Attributes& attributes, const std::string& hint) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, open_bootstrap(attributes, nullptr, 0, &bootstrap)) << hint;
  EXPECT_PRED_FORMAT2(IsSubstring, hint, std::string(last_error()));
}

/// Expects what a barrier answers, whom it blames, and a part of what it says.
void expect_barrier(Bootstrap& bootstrap, uint64_t deadline_ns, int code, int rank, const std::string& hint) {
  EXPECT_EQ(code, bootstrap.barrier(deadline_ns)) << last_error();
  EXPECT_EQ(rank, last_error_rank()) << last_error();
  EXPECT_PRED_FORMAT2(IsSubstring, hint, std::string(last_error()));
}

TEST(TcpSettings, AreReadFromTheEnvironment) {
  const TcpJob job(3);
  const ScopedVariable root("LCI_ROOT", "localhost:4711");
  const ScopedVariable rank("LCI_RANK", "2");
  const ScopedVariable size("LCI_SIZE", "3");
  const ScopedVariable secret("LCI_SECRET_FILE", job.secret_file().c_str());
  const auto bootstrap = open(Attributes());
  EXPECT_STREQ("tcp", bootstrap->name());
  EXPECT_EQ(2u, bootstrap->rank());
  EXPECT_EQ(3u, bootstrap->size());
  EXPECT_EQ(open(job.attributes(1))->secret(), bootstrap->secret());
  EXPECT_NE(JobSecret(), bootstrap->secret());
}

// Proves: A14
// On: tcp
TEST(TcpSettings, AreReadFromWhatOtherLaunchersSet) {
  const ScopedVariable rank("RANK", "1");
  const ScopedVariable size("WORLD_SIZE", "2");
  EXPECT_STREQ("local", open(Attributes())->name()) << "the two alone do not make a job";
  const ScopedVariable address("MASTER_ADDR", "::1");
  EXPECT_STREQ("local", open(Attributes())->name());
  const ScopedVariable port("MASTER_PORT", "4711");
  const auto bootstrap = open(Attributes());
  EXPECT_STREQ("tcp", bootstrap->name());
  EXPECT_EQ(1u, bootstrap->rank());
  EXPECT_EQ(2u, bootstrap->size());
  const ScopedVariable no_port("MASTER_PORT", "0");
  expect_refused(Attributes(), "MASTER_PORT is \"0\"");
}

TEST(TcpSettings, AreChecked) {
  const TcpJob job(2);
  expect_refused(job.attributes(2), "rank 2 does not fit a job of size 2");
  Attributes attributes = job.attributes(0);
  for (const char* bad : {"host", "host:0", "::1:4711", "host:port"}) {
    attributes.job_root = bad;
    expect_refused(attributes, std::string("\"") + bad + "\" is not where rank 0 answers");
  }
  attributes = job.attributes(0);
  attributes.job_rank = -1;
  expect_refused(attributes, "LCI_RANK is not");
  const ScopedVariable rank("LCI_RANK", "one");
  expect_refused(attributes, "LCI_RANK is \"one\"");
}

TEST(TcpSettings, ASecretIsReadOnlyFromAFileThatIsClosedToOthers) {
  TcpJob job(2);
  const std::string path = job.secret_file();
  chmod(path.c_str(), 0640);
  expect_refused(job.attributes(0), "has mode 640: others may read it; make it 0600");
  chmod(path.c_str(), 0600);
  open(job.attributes(0));
  job.write_secret(std::string(15, 's'));
  expect_refused(job.attributes(0), "a secret has 16 to 4096 bytes");
  job.write_secret(std::string(4097, 's'));
  expect_refused(job.attributes(0), "a secret has 16 to 4096 bytes");
  job.write_secret(std::string(4096, 's'));
  open(job.attributes(0));
  Attributes attributes = job.attributes(0);
  attributes.job_secret_file = std::filesystem::path(path).parent_path();
  expect_refused(attributes, "it is no plain file");
  attributes.job_secret_file = path + ".missing";
  expect_refused(attributes, "No such file");
  std::filesystem::create_symlink(path, path + ".link");  // as a secret is mounted
  attributes.job_secret_file = path + ".link";
  open(attributes);
  if (geteuid() == 0) {
    ASSERT_EQ(0, chown(path.c_str(), 12345, 12345));
    expect_refused(job.attributes(0), "belongs to user 12345");
  }
}

// An address of documentation, which is nobody's: no packet is sent there.
TEST(TcpSettings, WithoutASecretNobodyIsMetOffThisHost) {
  for (uint32_t rank : {0u, 1u}) {
    Attributes attributes = TcpJob(2, "").attributes(rank);
    attributes.job_root = "192.0.2.1:4711";
    expect_barrier(*open(attributes), Deadline(kFar).ns(), LCI_ERR_BOOTSTRAP, -1, "there is no secret");
  }
  const TcpJob job(2, "");
  test::run_threads(2, [&](uint32_t rank) {
    const auto bootstrap = open(job.attributes(rank));
    EXPECT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
  });
}

TEST(TcpBootstrap, ARankWithAnotherSecretIsRefusedAndDoesNotDisturb) {
  const TcpJob job(2);
  TcpJob other(2, "a secret of another job");
  std::thread root([&] {
    const auto bootstrap = open(job.attributes(0));
    EXPECT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
  });
  Attributes stranger = job.attributes(1);
  stranger.job_secret_file = other.secret_file();
  expect_barrier(*open(stranger), Deadline(30).ns(), LCI_ERR_BOOTSTRAP, 0, "it does not know the job's secret");
  EXPECT_EQ(LCI_DONE, open(job.attributes(1))->barrier(Deadline(30).ns())) << last_error();
  root.join();
}

// Proves: A14
// On: tcp
TEST(TcpBootstrap, ARankThatIsTakenAndOneOfAnotherSizeAreRefused) {
  const TcpJob job(3);
  std::thread root([&] {
    const auto bootstrap = open(job.attributes(0));
    EXPECT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
  });
  Attributes larger = job.attributes(1);
  larger.job_size = 4;
  expect_barrier(*open(larger), Deadline(30).ns(), LCI_ERR_BOOTSTRAP, 1, "started for another number of ranks");
  // Two processes that call themselves rank 1: the second is refused, whichever that is.
  int codes[2] = {};
  std::thread twins[2];
  for (int i = 0; i < 2; ++i) {
    twins[i] = std::thread([&, i] {
      const auto bootstrap = open(job.attributes(1));
      codes[i] = bootstrap->barrier(Deadline(30).ns());
      if (codes[i] != LCI_DONE) {
        EXPECT_PRED_FORMAT2(IsSubstring, "names a rank that has joined already", last_error());
        open(job.attributes(2))->barrier(Deadline(30).ns());  // now the job can begin
      }
    });
  }
  for (auto& twin : twins) twin.join();
  root.join();
  EXPECT_EQ(LCI_DONE + LCI_ERR_BOOTSTRAP, codes[0] + codes[1]);
}

// Proves: A14
// On: tcp
TEST(TcpBootstrap, ARankThatDoesNotComeIsNamedByAll) {
  const TcpJob job(4);
  test::run_threads(3, [&](uint32_t index) {
    const uint32_t rank = index == 2 ? 3 : index;
    expect_barrier(*open(job.attributes(rank)), now_ns() + 2'000'000'000, LCI_ERR_TIMEOUT, 2, "missing rank 2:");
  });
}

/// Rank 0 waits for longer; another rank asks it before its own deadline.
TEST(TcpBootstrap, ARankNamesTheMissingOneAlsoIfRankZeroWaitsOn) {
  const TcpJob job(3);
  std::thread root([&] {
    expect_barrier(*open(job.attributes(0)), Deadline(kFar).ns(), LCI_ERR_TIMEOUT, 2, "rank 2 never joined");
  });
  {
    const auto bootstrap = open(job.attributes(1));
    expect_barrier(*bootstrap, now_ns() + 1'000'000'000, LCI_ERR_TIMEOUT, 2, "rank 2 never joined");
  }
  root.join();
}

TEST(TcpBootstrap, ARankWithoutRankZeroSaysWhereItLooked) {
  const TcpJob job(2);
  expect_barrier(*open(job.attributes(1)), now_ns() + 30'000'000, LCI_ERR_TIMEOUT, 0, "rank 0 at " + job.root());
  EXPECT_PRED_FORMAT2(IsSubstring, "Connection refused", last_error());
  Attributes unknown = job.attributes(1);
  unknown.job_root = "no such name:4711";
  expect_barrier(*open(unknown), now_ns() + 30'000'000, LCI_ERR_TIMEOUT, 0, "no such name:4711");
  unknown.job_rank = 0;
  expect_barrier(*open(unknown), now_ns() + 30'000'000, LCI_ERR_TIMEOUT, 0, "rank 0 cannot listen at");
}

/// A rank of its own process, which ends without closing after its first barrier.
class DyingRank {
 public:
  explicit DyingRank(const Attributes& attributes) : pid_(fork()) {
    if (pid_ != 0) return;
    std::unique_ptr<Bootstrap> bootstrap;
    alarm(60);
    const bool joined = open_bootstrap(attributes, nullptr, 0, &bootstrap) == LCI_DONE &&
                        bootstrap->barrier(Deadline(30).ns()) == LCI_DONE;
    _exit(joined ? 0 : 1);
  }
  ~DyingRank() {
    int status = -1;
    EXPECT_EQ(pid_, waitpid(pid_, &status, 0));
    EXPECT_EQ(0, status);
  }

 private:
  const pid_t pid_;
};

TEST(TcpBootstrap, ARankThatDiesIsNamedByAll) {
  const TcpJob job(4);
  const DyingRank dying(job.attributes(2));
  test::run_threads(3, [&](uint32_t index) {
    const auto bootstrap = open(job.attributes(index == 2 ? 3 : index));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    expect_barrier(*bootstrap, Deadline(kFar).ns(), LCI_ERR_PEER_FAILED, 2, "its connection");
    EXPECT_EQ(2u, bootstrap->look_for_loss().dead);
  });
}

TEST(TcpBootstrap, RankZeroThatDiesIsNamed) {
  const TcpJob job(2);
  const DyingRank dying(job.attributes(0));
  const auto bootstrap = open(job.attributes(1));
  ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
  expect_barrier(*bootstrap, Deadline(kFar).ns(), LCI_ERR_PEER_FAILED, 0, "its connection");
}

/// Ranks that meet over a transport look, without a barrier, whether others are lost. Rank 0 tells what it finds.
TEST(TcpBootstrap, ALookFindsARankThatDiesAndTellsTheOthers) {
  const TcpJob job(3);
  const DyingRank dying(job.attributes(2));
  test::run_threads(2, [&](uint32_t rank) {
    const auto bootstrap = open(job.attributes(rank));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    const Deadline deadline(30);
    while (!bootstrap->look_for_loss().dead && !deadline.passed()) usleep(1000);
    EXPECT_EQ(2u, bootstrap->dead_among({0, 1, 2}));
    expect_barrier(*bootstrap, Deadline(kFar).ns(), LCI_ERR_PEER_FAILED, 2, "its connection");
  });
}

TEST(TcpBootstrap, ALookTellsARankThatClosedFromOneThatDied) {
  const TcpJob job(2);
  test::run_threads(2, [&](uint32_t rank) {
    const auto bootstrap = open(job.attributes(rank));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    if (rank == 1) return;
    const Deadline deadline(30);
    while (!bootstrap->look_for_loss().left && !deadline.passed()) usleep(1000);
    EXPECT_EQ(1u, bootstrap->look_for_loss().left);
    EXPECT_EQ(std::nullopt, bootstrap->dead_among({1}));
  });
}

// Proves: A14
// On: tcp
TEST(TcpBootstrap, ManyRanksJoinAndMuchIsExchanged) {
  constexpr uint32_t kRanks = 100;  // more than strangers that are let wait
  const TcpJob job(kRanks);
  test::run_threads(kRanks, [&](uint32_t rank) {
    const auto bootstrap = open(job.attributes(rank));
    const std::vector<uint8_t> much(10'000, static_cast<uint8_t>(rank));
    ASSERT_EQ(LCI_DONE, bootstrap->publish("much", much.data(), much.size())) << last_error();
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(50).ns())) << last_error();
    std::vector<uint8_t> got;
    const uint32_t next = (rank + 1) % kRanks;
    ASSERT_EQ(LCI_DONE, bootstrap->get(next, "much", &got)) << last_error();
    EXPECT_EQ(std::vector<uint8_t>(10'000, static_cast<uint8_t>(next)), got);
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(50).ns())) << last_error();
  });
}

TEST(TcpBootstrap, WhatARankPublishesIsBounded) {
  const auto bootstrap = open(TcpJob(1).attributes(0));
  std::vector<uint8_t> value(kMostValueBytes - 8 - 16 - 4);
  EXPECT_EQ(LCI_ERR_SIZE, bootstrap->publish("long2", value.data(), value.size()));
  EXPECT_EQ(LCI_DONE, bootstrap->publish("long", value.data(), value.size())) << last_error();
  EXPECT_EQ(LCI_ERR_SIZE, bootstrap->publish("x", nullptr, 0));
  EXPECT_EQ(LCI_DONE, bootstrap->barrier(0));
  EXPECT_EQ(LCI_DONE, bootstrap->publish("x", nullptr, 0)) << "each fence has room of its own";
}

/// Sends and receives all of it before a deadline.
void move_all(int socket, bool sends, void* bytes, size_t size) {
  auto* at = static_cast<char*>(bytes);
  for (const Deadline deadline(30); size > 0 && !deadline.passed();) {
    wait_for(socket, sends, deadline.ns());
    const Moved moved = sends ? send_some(socket, at, size) : receive_some(socket, at, size);
    ASSERT_FALSE(moved.ended);
    at += moved.bytes;
    size -= moved.bytes;
  }
}

FileDescriptor connect_within_deadline(const SocketAddress& address) {
  for (const Deadline deadline(30); !deadline.passed(); usleep(1000)) {
    FileDescriptor socket = connect_to(address);
    if (socket.get() >= 0 && wait_for(socket.get(), true, deadline.ns()) && connect_outcome(socket.get()) == 0) {
      return socket;
    }
  }
  ADD_FAILURE() << "nobody listens at " << address.text();
  return FileDescriptor();
}

/// Joins as rank 1 of 3, as a rank does it, and returns the connection.
FileDescriptor join_by_hand(const TcpJob& job) {
  FileDescriptor socket = connect_within_deadline(job.address());
  const JobSecret secret = open(job.attributes(1))->secret();
  GreetingBytes greeting = encode({.rank = 1, .size = 3, .nonce = new_nonce()});
  VerdictBytes verdict{};
  ChallengeBytes challenge{};
  move_all(socket.get(), true, greeting.data(), greeting.size());
  move_all(socket.get(), false, verdict.data(), verdict.size());
  move_all(socket.get(), false, challenge.data(), challenge.size());
  Digest proof = prove(secret, Prover::kRank, greeting, decode(challenge).nonce);
  move_all(socket.get(), true, proof.bytes.data(), proof.bytes.size());
  move_all(socket.get(), false, verdict.data(), verdict.size());
  return socket;
}

/// What a rank sends that knows the secret, and still makes no sense.
class Nonsense : public testing::TestWithParam<const char*> {};

std::vector<uint8_t> frame(FrameKind kind, uint64_t length, const std::vector<uint8_t>& content = {}) {
  const auto header = encode_frame_header(kind, length);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

std::vector<uint8_t> values_of(uint32_t rank, uint64_t fence) {
  ValueList list(fence);
  list.add(rank, "key", "value", 5);
  return frame(FrameKind::kValues, list.bytes().size(), list.bytes());
}

std::vector<uint8_t> nonsense(const std::string& which) {
  if (which == "UnknownFrames") return std::vector<uint8_t>(64, 0x77);
  if (which == "FramesTooLong") return frame(FrameKind::kValues, UINT64_MAX);
  if (which == "DamagedValues") return frame(FrameKind::kValues, 9, std::vector<uint8_t>(9));
  if (which == "ValuesOfOthers") return values_of(2, 1);
  if (which == "ValuesOfAnotherFence") return values_of(1, 2);
  std::vector<uint8_t> twice = values_of(1, 1);
  if (which == "ValuesTwice") twice.insert(twice.end(), twice.begin(), twice.end());
  return which == "ValuesTwice" ? twice : frame(FrameKind::kFailure, 0);
}

TEST_P(Nonsense, OfARankThatKnowsTheSecretEndsTheJobAndIsNamed) {
  const TcpJob job(3);
  std::thread root([&] {
    expect_barrier(*open(job.attributes(0)), Deadline(kFar).ns(), LCI_ERR_PROTOCOL, 1, "it sent what makes no sense");
  });
  const FileDescriptor socket = join_by_hand(job);
  std::vector<uint8_t> bytes = nonsense(GetParam());
  move_all(socket.get(), true, bytes.data(), bytes.size());
  root.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Nonsense,
                         testing::Values("UnknownFrames", "FramesTooLong", "DamagedValues", "ValuesOfOthers",
                                         "ValuesOfAnotherFence", "ValuesTwice", "FramesOfRankZero"),
                         [](const auto& info) { return std::string(info.param); });

/// What listens where rank 0 should, and what it answers.
void expect_of_a_false_root(const std::string& answer, uint64_t deadline_ns, int code, const std::string& hint) {
  const TcpJob job(2);
  const FileDescriptor listener = listen_at(job.address());
  std::thread rank([&] { expect_barrier(*open(job.attributes(1)), deadline_ns, code, 0, hint); });
  ASSERT_TRUE(wait_for(listener.get(), false, Deadline(30).ns()));
  SocketAddress from;
  const FileDescriptor socket = accept_from(listener.get(), &from);
  GreetingBytes greeting{};
  move_all(socket.get(), false, greeting.data(), greeting.size());
  std::string bytes = answer;
  move_all(socket.get(), true, bytes.data(), bytes.size());
  rank.join();
}

TEST(TcpBootstrap, WhatListensInThePlaceOfRankZeroIsNotBelieved) {
  expect_of_a_false_root("HTTP/1.1 400 Bad Request\r\n\r\n", Deadline(kFar).ns(), LCI_ERR_BOOTSTRAP,
                         "is not rank 0 of this job");
  expect_of_a_false_root(std::string(16 + 64, '\0'), Deadline(kFar).ns(), LCI_ERR_BOOTSTRAP,
                         "it does not know the job's secret");
  expect_of_a_false_root("", now_ns() + 200'000'000, LCI_ERR_TIMEOUT, "it was reached, and says nothing");
}

}  // namespace
}  // namespace lci
