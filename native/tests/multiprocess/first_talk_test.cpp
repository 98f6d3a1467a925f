// SPDX-License-Identifier: Apache-2.0
// Ranks see each other's memory when they talk for the first time. That needs nothing of the other one: it may be
// stopped, have left, or be dead, and what it had sent is there.
#include <signal.h>
#include <sys/resource.h>

#include <fstream>

#include "support/processes.hpp"

namespace lci_test {
namespace {

/// A number to rank 0, from a rank with which it has never talked.
void send_number(Rank& self, uint64_t number) {
  self.until([&] { return lci_post_am(self.device, 0, kPort, 1, &number, sizeof number, nullptr, 0) == LCI_DONE; });
}

/// The number that rank @p from has sent.
uint64_t receive_number(Rank& self, uint32_t from) {
  lci_status status{};
  self.until([&] { return lci_queue_pop(self.inbox, &status) == LCI_DONE; });
  CHILD_EXPECT(status.rank == from && status.size == sizeof(uint64_t));
  uint64_t number = 0;
  std::memcpy(&number, status.buffer, sizeof number);
  lci_buffer_free(status.buffer);
  return number;
}

void await_state(Rank& self, uint32_t rank, int32_t wanted) {
  self.until([&] {
    int32_t state = LCI_PEER_ALIVE;
    CHILD_EXPECT(lci_runtime_peer(self.runtime, rank, &state) == LCI_DONE);
    return state == wanted;
  });
}

// Rank 1 leaves or is killed after it has sent; only then rank 0 looks.
TEST(FirstTalk, WhatTheGoneHaveSentIsThere) {
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed ? "killed" : "left");
    const JobDirectory job(2);
    const Signal sent, ended, joined;
    Child receiver([&] {
      Rank self(job, 0, 2);
      joined.give();
      CHILD_EXPECT(ended.take());
      CHILD_EXPECT(receive_number(self, 1) == 77);
      await_state(self, 1, killed ? LCI_PEER_FAILED : LCI_PEER_LEFT);
      CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
      return 0;
    });
    Child sender([&]() -> int {
      Rank self(job, 1, 2);
      CHILD_EXPECT(joined.take());  // its port is open
      // Credit is for those who are asked: without any it goes as an announcement, whose payload stays here.
      send_number(self, 77);
      lci_progress(self.device);
      if (!killed) {
        CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
        return 0;
      }
      sent.give();
      for (;;) pause();
    });
    if (killed) {
      ASSERT_TRUE(sent.take());
      sender.kill();
    }
    sender.wait();
    ended.give();
    EXPECT_EQ(0, receiver.wait());
  }
}

// Rank 1 is stopped from when it has joined: rank 0 talks to it and goes on, and is answered when rank 1 does, too.
TEST(FirstTalk, AStoppedRankHoldsNobodyUp) {
  const JobDirectory job(2);
  const Signal joined, stopped, posted;
  pid_t process = 0;
  int name[2];
  ASSERT_EQ(0, pipe(name));
  Child stopping([&] {
    Rank self(job, 1, 2);
    const pid_t own = getpid();
    CHILD_EXPECT(write(name[1], &own, sizeof own) == sizeof own);
    joined.give();
    CHILD_EXPECT(posted.take());  // it is stopped in here
    CHILD_EXPECT(receive_number(self, 0) == 78);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
    return 0;
  });
  Child talking([&] {
    Rank self(job, 0, 2);
    CHILD_EXPECT(stopped.take());
    const uint64_t number = 78;
    self.until([&] { return lci_post_am(self.device, 1, kPort, 1, &number, 8, nullptr, 0) == LCI_DONE; });
    int32_t state = LCI_PEER_FAILED;
    for (int i = 0; i < 100; ++i) lci_progress(self.device);
    CHILD_EXPECT(lci_runtime_peer(self.runtime, 1, &state) == LCI_DONE && state == LCI_PEER_ALIVE);
    posted.give();
    await_state(self, 1, LCI_PEER_LEFT);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
    return 0;
  });
  ASSERT_TRUE(joined.take());
  ASSERT_EQ(static_cast<ssize_t>(sizeof process), read(name[0], &process, sizeof process));
  ASSERT_EQ(0, ::kill(process, SIGSTOP));
  stopped.give();
  usleep(50'000);  // some of what follows is to happen while it is stopped; nothing depends on how much
  ASSERT_EQ(0, ::kill(process, SIGCONT));
  EXPECT_EQ(0, talking.wait());
  EXPECT_EQ(0, stopping.wait());
  for (const int end : name) close(end);
}

// There is no room in the address space for the memory of another rank: the caller is told, and told again, and can
// talk to it when there is room.
TEST(FirstTalk, WithoutRoomTheCallerIsTold) {
  const JobDirectory job(2);
  Child cramped([&] {
    Rank self(job, 0, 2);
    rlimit before{};
    CHILD_EXPECT(getrlimit(RLIMIT_AS, &before) == 0);
    uint64_t pages = 0;
    CHILD_EXPECT(std::ifstream("/proc/self/statm") >> pages);
    const rlim_t room = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (uint64_t{1} << 29);
    const rlimit limit{room, before.rlim_max};
    CHILD_EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    const uint64_t number = 79;
    for (int i = 0; i < 3; ++i) {
      CHILD_EXPECT(lci_post_am(self.device, 1, kPort, 1, &number, 8, nullptr, 0) == LCI_ERR_NO_MEMORY);
      CHILD_EXPECT(std::string(lci_last_error()).find("map arena of rank 1") != std::string::npos);
      CHILD_EXPECT(lci_last_error_rank() == 1);
    }
    CHILD_EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
    self.until([&] { return lci_post_am(self.device, 1, kPort, 1, &number, 8, nullptr, 0) == LCI_DONE; });
    CHILD_EXPECT(receive_number(self, 1) == 80);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
    return 0;
  });
  Child roomy([&] {
    Rank self(job, 1, 2);
    CHILD_EXPECT(receive_number(self, 0) == 79);
    send_number(self, 80);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
    return 0;
  });
  EXPECT_EQ(0, cramped.wait());
  EXPECT_EQ(0, roomy.wait());
}

}  // namespace
}  // namespace lci_test
