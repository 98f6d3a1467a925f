// SPDX-License-Identifier: Apache-2.0
// Deaths on a host: the notice board, and the ring of ranks that watch each other.
#include "transport/shm/liveness.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/error.hpp"
#include "host/process.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

/// Processes that do nothing, one for each rank.
class Sleepers {
 public:
  explicit Sleepers(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const pid_t process = fork();
      if (process == 0) {
        alarm(60);
        for (;;) pause();
      }
      names_.push_back({process, process_start(process)});
    }
  }
  ~Sleepers() {
    for (const ProcessName& name : names_) ::kill(name.process, SIGKILL);
    for (const ProcessName& name : names_) waitpid(name.process, nullptr, 0);
  }
  /// Killed, but not waited for: it keeps its number.
  void kill(uint32_t rank) const {
    ::kill(names_[rank].process, SIGKILL);
    siginfo_t info{};
    EXPECT_EQ(0, waitid(P_PID, static_cast<id_t>(names_[rank].process), &info, WEXITED | WNOWAIT));
  }
  const std::vector<ProcessName>& names() const { return names_; }

 private:
  std::vector<ProcessName> names_;
};

std::set<uint32_t> failed(const NoticeBoard& board, uint32_t ranks) {
  std::set<uint32_t> result;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (board.state(rank) == RankState::kFailed) result.insert(rank);
  }
  return result;
}

constexpr uint32_t kRanks = 12;

TEST(LivenessRing, FindsTheNextTwo) {
  const Sleepers ranks(kRanks);
  const auto board = NoticeBoard::in_process(kRanks);
  Liveness liveness(10, ranks.names(), *board);
  EXPECT_FALSE(liveness.look(false));
  EXPECT_EQ(2u, liveness.watched());
  ranks.kill(0);  // the ring goes on after the last rank
  EXPECT_TRUE(liveness.look(false));
  EXPECT_EQ(std::set<uint32_t>{0}, failed(*board, kRanks));
  EXPECT_EQ(2u, liveness.watched());
  ranks.kill(5);
  EXPECT_FALSE(liveness.look(false)) << "it is watched by others";
}

// A rank dies with both that watch it, and those with theirs: who is left closes the ring over them all.
TEST(LivenessRing, ClosesOverDeadWatchers) {
  const Sleepers ranks(kRanks);
  const auto board = NoticeBoard::in_process(kRanks);
  Liveness liveness(3, ranks.names(), *board);
  EXPECT_FALSE(liveness.look(false));
  for (uint32_t rank = 4; rank < 10; ++rank) ranks.kill(rank);
  EXPECT_TRUE(liveness.look(false));
  EXPECT_EQ((std::set<uint32_t>{4, 5, 6, 7, 8, 9}), failed(*board, kRanks));
  EXPECT_EQ(2u, liveness.watched());
}

// Those who watch are stopped, or do not progress: others find a death, too, a few ranks at each look.
TEST(LivenessRing, FindsTheRestInTurn) {
  const Sleepers ranks(kRanks);
  const auto board = NoticeBoard::in_process(kRanks);
  Liveness liveness(0, ranks.names(), *board);
  ranks.kill(8);
  for (uint32_t look = 0; look < kRanks && failed(*board, kRanks).empty(); ++look) liveness.look(true);
  EXPECT_EQ(std::set<uint32_t>{8}, failed(*board, kRanks));
}

TEST(LivenessRing, GoodbyeIsNoDeath) {
  const Sleepers ranks(4);
  const auto board = NoticeBoard::in_process(4);
  Liveness liveness(0, ranks.names(), *board);
  EXPECT_FALSE(liveness.look(true));
  EXPECT_TRUE(board->write(1, RankState::kLeft));
  ranks.kill(1);
  EXPECT_FALSE(liveness.look(true));
  EXPECT_EQ(RankState::kLeft, board->state(1));
  EXPECT_EQ(2u, liveness.watched());
}

// Another process has the number of one that is gone.
TEST(LivenessRing, ANumberThatIsUsedAgainIsNotTakenForTheRank) {
  const Sleepers ranks(3);
  std::vector<ProcessName> names = ranks.names();
  ++names[1].start;
  const auto board = NoticeBoard::in_process(3);
  Liveness liveness(0, names, *board);
  EXPECT_TRUE(liveness.look(false));
  EXPECT_EQ(std::set<uint32_t>{1}, failed(*board, 3));
}

TEST(NoticeBoard, AWordIsSaidOnce) {
  std::shared_ptr<NoticeBoard> board, other;
  ASSERT_EQ(LCI_DONE, NoticeBoard::create(3, &board)) << last_error();
  ASSERT_EQ(LCI_DONE, NoticeBoard::map(FileDescriptor(dup(board->fd())), 3, &other)) << last_error();
  const uint32_t before = other->changes();
  EXPECT_EQ(RankState::kActive, other->state(2));
  EXPECT_TRUE(board->write(2, RankState::kFailed));
  EXPECT_NE(before, other->changes());
  EXPECT_EQ(RankState::kFailed, other->state(2));
  EXPECT_FALSE(other->write(2, RankState::kLeft));
  EXPECT_EQ(RankState::kFailed, board->state(2));
  board->barriers_completed(2).store(7);
  EXPECT_EQ(7u, other->barriers_completed(2).load());
  EXPECT_EQ(0u, other->barriers_completed(1).load());
}

TEST(NoticeBoard, OthersAreRefused) {
  std::shared_ptr<NoticeBoard> board, none;
  ASSERT_EQ(LCI_DONE, NoticeBoard::create(3, &board)) << last_error();
  EXPECT_EQ(LCI_ERR_PROTOCOL, NoticeBoard::map(FileDescriptor(dup(board->fd())), 1000, &none)) << "it is too short";
  FileDescriptor unsealed(memfd_create("unsealed", MFD_ALLOW_SEALING));
  ASSERT_EQ(0, ftruncate(unsealed.get(), 1 << 20));
  EXPECT_EQ(LCI_ERR_PROTOCOL, NoticeBoard::map(std::move(unsealed), 3, &none)) << "it could shrink";
  EXPECT_EQ(LCI_ERR_PROTOCOL, NoticeBoard::map(FileDescriptor(dup(STDERR_FILENO)), 3, &none));
  EXPECT_FALSE(none);
}

}  // namespace
}  // namespace lci
