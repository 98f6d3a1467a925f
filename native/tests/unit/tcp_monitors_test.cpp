// SPDX-License-Identifier: Apache-2.0
// Which ranks a rank watches, and what links say for those that it misses. [NETWORK 3.6]
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "api/handles.hpp"
#include "base/clock.hpp"
#include "host/socket.hpp"
#include "runtime/runtime.hpp"
#include "support/descriptors.hpp"
#include "support/job.hpp"
#include "support/played_rank.hpp"
#include "support/posting.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci_test {
namespace {

lci::Monitors& monitors_of(lci_runtime* runtime) {
  return static_cast<lci::TcpTransport&>(runtime->runtime->transport()).monitors();
}

// Else each rank would watch all others in the end. Ranks 1 and 2 are neighbours of rank 0, and 4 and 5 of rank 3.
TEST(TcpMonitors, WhoeverIsWatchedOnSuspicionIsReleased) {
  Job job(6, {{"transport", "tcp"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "100"}});
  const auto monitors = [&job](uint32_t rank) -> lci::Monitors& { return monitors_of(job.runtime(rank)); };
  job.settle();
  ASSERT_TRUE(until(job, [&] { return monitors(0).reaches(1) && monitors(0).reaches(2); }));
  const size_t before = open_descriptors();
  monitors(0).suspect(3, lci::Known::kNothing);
  ASSERT_TRUE(until(job, [&] { return monitors(0).reaches(3); }));
  EXPECT_LT(before, open_descriptors());
  ASSERT_TRUE(until(job, [&] { return !monitors(0).reaches(3) && open_descriptors() <= before; }));
  for (int i = 0; i < 1000; ++i) job.progress();
  EXPECT_FALSE(monitors(0).misses(3));
  EXPECT_FALSE(monitors(3).reaches(0) || monitors(3).misses(0)) << "it does not take that for a break";
  EXPECT_TRUE(monitors(0).reaches(1) && monitors(0).reaches(2)) << "neighbours stay watched";
  for (uint32_t rank = 0; rank < 6; ++rank) EXPECT_EQ(0u, job.counter(rank, "peers_failed")) << rank;
}

/// From rank 0.
int send(Job& job, uint32_t rank, uint64_t number) {
  return lci_post_send(job.device(0), rank, number, &number, sizeof number, nullptr, 0);
}

/// At that rank, the message of that number: what it says.
uint64_t receive(Job& job, uint32_t rank, uint64_t number) {
  uint64_t came = UINT64_MAX;
  lci_status done;
  const int code =
      lci_post_recv(job.device(rank), 0, number, &came, sizeof came, make_queue(job.runtime(rank)), 0, &done);
  EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
  EXPECT_TRUE(until(job, [&] { return came != UINT64_MAX; }));
  return came;
}

/// The TCP connections of this process, each end of them.
std::set<int> connections() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int file = std::atoi(entry.path().filename().c_str());
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const bool has_peer = getpeername(file, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    if (has_peer && peer.ss_family == AF_INET) all.insert(file);
  }
  return all;
}

bool all_watch_their_neighbours(Job& job) {
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    const lci::Monitors& monitors = monitors_of(job.runtime(rank));
    if (!monitors.reaches((rank + 1) % job.size()) || !monitors.reaches((rank + 2) % job.size())) return false;
  }
  return true;
}

// Rank 3 is no neighbour of rank 0, and its system has acknowledged all before the network between the two is lost. So
// nothing is sent again: the system has to ask.
TEST(TcpMonitors, ARankWhoseSystemFallsSilentIsSuspected) {
  Job job(6, {{"transport", "tcp"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "100"}});
  job.settle();
  ASSERT_TRUE(until(job, [&] { return all_watch_their_neighbours(job); }));
  const std::set<int> before = connections();
  ASSERT_TRUE(until(job, [&] { return send(job, 3, 0) == LCI_DONE; }));
  job.settle();
  ASSERT_EQ(LCI_DONE, send(job, 3, 1));
  for (int i = 0; i < 1000; ++i) lci_progress(job.device(0));  // it reports what has come, too
  std::set<int> link = connections();
  for (const int socket : before) link.erase(socket);
  ASSERT_EQ(2u, link.size());
  const lci::test::Deadline deadline(60);
  for (const int socket : link) {
    for (int held = 1; held != 0 && !deadline.passed(); usleep(1000)) ASSERT_EQ(0, ioctl(socket, SIOCOUTQ, &held));
  }
  for (const int socket : link) ASSERT_TRUE(lci::stop_hearing(socket));
  const lci::Monitors& monitors = monitors_of(job.runtime(0));
  while (!deadline.passed() && !monitors.misses(3) && !monitors.reaches(3)) {
    for (const uint32_t rank : {0, 1, 2, 4, 5}) lci_progress(job.device(rank));
    usleep(1000);
  }
  EXPECT_TRUE(monitors.misses(3) || monitors.reaches(3));
}

// Of ranks 1 and 3, whose programs look at nothing for longer than a rank may be silent, the first is a neighbour of
// rank 0. Their systems answer.
TEST(TcpMonitors, ARankThatOnlyDoesNotLookIsNotSuspected) {
  Job job(6, {{"transport", "tcp"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "100"}});
  const std::vector<uint32_t> slow = {1, 3};
  for (const uint32_t rank : slow) ASSERT_TRUE(until(job, [&] { return send(job, rank, 0) == LCI_DONE; }));
  job.settle();
  ASSERT_TRUE(until(job, [&] { return monitors_of(job.runtime(0)).reaches(1); }));
  for (const uint32_t rank : slow) ASSERT_EQ(LCI_DONE, send(job, rank, 1));
  for (const uint64_t end = lci::now_ns() + 3'500'000'000; lci::now_ns() < end;) {
    for (const uint32_t rank : {0, 2, 4, 5}) lci_progress(job.device(rank));
    ASSERT_FALSE(monitors_of(job.runtime(0)).misses(3) || monitors_of(job.runtime(0)).reaches(3));
    usleep(1000);
  }
  for (const uint32_t rank : slow) {
    for (const uint64_t number : {0, 1}) EXPECT_EQ(number, receive(job, rank, number)) << rank;
  }
  EXPECT_EQ(0u, job.counter(0, "links_resumed")) << "a connection was cut that stands";
  job.settle();
}

/// Breaks what waits at a listener, and leaves no room at it: whoever calls hears nothing.
std::vector<lci::FileDescriptor> silence(int listener) {
  lci::SocketAddress from;
  for (;;) {
    lci::FileDescriptor caller = lci::accept_from(listener, &from);
    if (caller.get() < 0) break;
    const linger at_once{1, 0};
    setsockopt(caller.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  EXPECT_EQ(0, listen(listener, 0));
  std::vector<lci::FileDescriptor> fillers;
  for (int i = 0; i < 4; ++i) fillers.push_back(lci::connect_to(lci::local_address(listener)));
  return fillers;
}

/// In such a record, ahead of all others, a rank says that it has room for so many messages.
void give_room(lci::Connection& connection, uint64_t position, uint32_t messages) {
  lci::RecordHeader header{};
  header.position = position;
  header.control_room = header.data_room = messages;
  const iovec record{&header, sizeof header};
  ASSERT_EQ(static_cast<ssize_t>(sizeof header), connection.send(&record, 1));
}

// Rank 0 is played. Its port takes no connection any more, but its system acknowledges what comes over the link.
TEST(TcpMonitors, ARankWhoseLinkIsAcknowledgedIsNotSilent) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job));
  lci_runtime* runtime = nullptr;
  {
    PlayedRank other(job, 0, 2);
    const lci::FileDescriptor listener = other.open_other_door();
    lci::Connection link;
    lci::test::run_threads(2, [&](uint32_t rank) {
      if (rank == 1) {
        EXPECT_EQ(LCI_DONE, create_over_tcp(job, rank, &runtime, {{"net_reconnect_ms", "1000"}})) << lci_last_error();
        return;
      }
      other.meet();
      link = other.join(1);
      other.wait_for_all();
    });
    ASSERT_NE(nullptr, runtime);
    constexpr uint32_t kMessages = 60;
    give_room(link, sizeof(lci::RecordHeader), kMessages);
    lci_device* device = nullptr;
    ASSERT_EQ(LCI_DONE, lci_runtime_device(runtime, 0, &device));
    const std::vector<lci::FileDescriptor> fillers = silence(listener.get());
    monitors_of(runtime).suspect(0, lci::Known::kWasThere);
    const auto peer = [runtime] {
      int32_t state = 0;
      EXPECT_EQ(LCI_DONE, lci_runtime_peer(runtime, 0, &state));
      return state;
    };
    for (uint32_t i = 0; i < kMessages; ++i) {  // for twice as long as a rank may be silent
      const uint64_t word = i;
      ASSERT_EQ(LCI_DONE, lci_post_send(device, 0, i, &word, sizeof word, nullptr, 0)) << i;
      for (const uint64_t next = lci::now_ns() + 30'000'000; lci::now_ns() < next;) lci_progress(device);
      ASSERT_EQ(LCI_PEER_ALIVE, peer()) << i;
    }
    EXPECT_TRUE(monitors_of(runtime).misses(0)) << "it was called all the time";
    for (const lci::test::Deadline deadline(60); !deadline.passed() && peer() == LCI_PEER_ALIVE;) lci_progress(device);
    EXPECT_EQ(LCI_PEER_FAILED, peer()) << "now it is silent";
  }
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 0));
  lci_inproc_free(job);
}

}  // namespace
}  // namespace lci_test
