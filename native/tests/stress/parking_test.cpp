// SPDX-License-Identifier: Apache-2.0
// No wake is lost, whatever ends a park: one test per source. [V11] Mutations that must make this file fail: skip_wake,
// miss_packets.
//
// A loop parks as loops do: it announces itself, looks at what it alone knows, and parks. Another thread provokes the
// source, at times at once, at times only when the loop has announced itself. A lost wake shows in the lane's counter:
// a park that ended by its time-out over published work. What the core cannot know of is judged here in the same way.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/fences.hpp"
#include "support/job.hpp"
#include "support/lane_driver.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;

constexpr uint32_t kPort = 5;
constexpr uint64_t kForEver = 1'000'000'000;
/// As in the core: how long a thread that was preempted between publishing and waking, or in its time-out, may take.
constexpr uint64_t kGrace = 20'000'000;

bool soak() {
  const char* tier = std::getenv("LCI_TIER");
  return tier && std::string(tier) == "soak";
}
uint64_t rounds() {
  return soak() ? 100'000 : 2'000;
}
uint64_t ends() {
  return soak() ? 1'000 : 50;
}
Deadline deadline() {
  return Deadline(soak() ? 600 : 60);
}

/// A loop on a thread of its own: enters, hands out records, and parks when it is idle.
class ParkingLoop {
 public:
  using Visit = std::function<void(const lci_record&)>;
  /// @param submit adds what the loop wants to post; true if it wants to post anything.
  /// @param settle looks at the outcomes, before the records of the same enter are read.
  ParkingLoop(
      LaneDriver& lane, Visit visit, std::function<bool()> submit = [] { return false; },
      std::function<void()> settle = [] {})
      : lane_(lane), visit_(std::move(visit)), submit_(std::move(submit)), settle_(std::move(settle)), thread_([this] {
          run();
        }) {}
  ~ParkingLoop() {
    stop_.store(true);
    lci_lane_wake(lane_.handle());
    thread_.join();
    EXPECT_EQ(0u, lane_.control().late_wakes) << "a park timed out over published work that nobody woke it for";
    EXPECT_GT(parks_.load(), 0u) << "the loop never parked: nothing was tested";
    ::testing::Test::RecordProperty("parks", static_cast<int>(parks_.load()));
  }
  /// Other thread: gives the loop the chance to announce itself; every other round does not care to.
  void lure(uint64_t round) {
    for (int i = 0; round % 2 == 0 && i < 200 && lane_.park_word().load() == 0; ++i) std::this_thread::yield();
  }
  /// Other thread: whether the test goes on. A lost wake ends it: each costs the length of a park.
  bool sound() const { return !lost_.load(); }
  uint64_t parks() const { return parks_.load(); }

 private:
  void run() {
    while (!stop_.load()) {
      const bool submitted = submit_();
      const int code = lane_.enter();
      if (submitted) settle_();
      const uint32_t count = lane_.read(visit_);
      if (submitted || code != LCI_RETRY || count != 0 || lane_.control().must_enter) continue;
      lane_.park_word().store(1, std::memory_order_seq_cst);
      if (stop_.load()) continue;
      EXPECT_LT(lci_lane_park(lane_.handle(), kForEver), LCI_ERR_ARGUMENT) << lci_last_error();
      parks_.fetch_add(1);
      if (lane_.control().late_wakes != 0) lost_.store(true);
    }
  }

  LaneDriver& lane_;
  const Visit visit_;
  const std::function<bool()> submit_;
  const std::function<void()> settle_;
  std::atomic<bool> stop_{false}, lost_{false};
  std::atomic<uint64_t> parks_{0};
  std::thread thread_;
};

/// Yields until @p ready; false when the deadline passed or the loop lost a wake.
template <typename Ready>
bool wait(const ParkingLoop& loop, const Deadline& end, Ready ready) {
  while (!ready()) {
    if (end.passed() || !loop.sound()) return false;
    std::this_thread::yield();
  }
  return true;
}

// Proves: V11
TEST(LostWakes, Arrival) {
  Job job(2);
  const Deadline end = deadline();
  uint64_t round = 0;
  {
    LaneDriver lane(job, 0);
    lane.demand(lane.open(kPort)).requested = UINT64_MAX / 2;
    std::atomic<uint64_t> received{0};
    ParkingLoop loop(lane, [&](const lci_record& record) { received += record.kind == LCI_RECORD_MESSAGE; });
    for (bool going = true; going && round < rounds(); ++round) {
      loop.lure(round);
      going = wait(loop, end,
                   [&] {
                     return lci_post_am(job.device(1), 0, kPort, 0, &round, 8, nullptr, 0) == LCI_DONE ||
                            (lci_progress(job.device(1)), false);
                   }) &&
              wait(loop, end, [&] { return lci_progress(job.device(1)), received.load() == round + 1; });
    }
  }
  EXPECT_EQ(rounds(), round);
}

// The loop's sender was refused with nocredit, and waits to be told that there is room.
// Proves: V11
TEST(LostWakes, CreditGranted) {
  Job job(2);
  const Deadline end = deadline();
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 2, 1 << 20));
  uint64_t received = 0;
  std::atomic<uint64_t> refused{0};
  {
    LaneDriver lane(job, 0);
    bool blocked = false;
    lci_descriptor* posted = nullptr;
    ParkingLoop loop(
        lane,
        [&](const lci_record& record) {
          if (record.kind != LCI_RECORD_WRITABLE) return;
          EXPECT_GT(record.context, 0u) << "told of room when there is none";
          blocked = false;
        },
        [&] {
          if (!blocked) posted = &lane.add_am(1, kPort, 0, 1);
          return !blocked;
        },
        [&] {
          blocked = posted->outcome == LCI_RETRY_NOCREDIT;
          refused += blocked;
        });
    for (bool going = true; going && received < rounds(); ++received) {
      loop.lure(received);
      lci_status status{};
      going = wait(loop, end, [&] { return lci_progress(job.device(1)), lci_queue_pop(queue, &status) == LCI_DONE; });
      if (going) lci_buffer_free(status.buffer);
    }
  }
  EXPECT_EQ(rounds(), received);
  EXPECT_GT(refused.load(), rounds() / 10);
}

/// The loop posts packets until it is told nopacket, and waits for the generation to move; another device of its rank
/// takes packets of the same pool. [V4]
// Proves: V11
TEST(LostWakes, PacketsReturned) {
  uint64_t handled = 0;
  Job job(2, {{"devices", "2"}, {"packets", "20"}, {"packets_max", "20"}});
  const Deadline end = deadline();
  lci_comp* handler = nullptr;
  auto count = [](const lci_status*, void* argument) { ++*static_cast<uint64_t*>(argument); };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), count, &handled, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", handler, 0, 0));
  const std::vector<uint8_t> bytes(1000);
  std::atomic<uint64_t> refused{0}, accepted{0};
  {
    LaneDriver lane(job, 0);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_BUFFER;
    op.rank = 1;
    op.port = kPort;
    op.size = static_cast<uint32_t>(bytes.size());
    op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
    uint32_t generation = 0;
    bool nopacket = false, nocredit = false;
    lci_descriptor* posted = nullptr;
    ParkingLoop loop(
        lane, [&](const lci_record& record) { nocredit = nocredit && record.kind != LCI_RECORD_WRITABLE; },
        [&] {
          nopacket = nopacket && generation == lane.control().generation[0];
          if (nopacket || nocredit) return false;
          generation = lane.control().generation[0];
          posted = &lane.add(op);
          return true;
        },
        [&] {
          nocredit = posted->outcome == LCI_RETRY_NOCREDIT;  // until the port is known to need none
          nopacket = posted->outcome == LCI_RETRY_NOPACKET;
          refused += nopacket;
          accepted += posted->outcome == LCI_DONE;
        });
    auto serve = [&] {
      lci_progress(job.device(1, 0));
      lci_progress(job.device(1, 1));
      lci_progress(job.device(0, 1));
    };
    for (uint64_t round = 1; refused < rounds(); ++round) {
      loop.lure(round);
      lci_post_am(job.device(0, 1), 1, kPort, 0, bytes.data(), op.size, nullptr, 0);
      serve();
      const uint64_t before = accepted;
      if (!wait(loop, end, [&] { return serve(), accepted > before; })) break;
    }
  }
  EXPECT_GE(refused.load(), rounds());
}

/// What a loop's other queues do: MPSC post, request(n), cancel. The core does not know of the work.
// Proves: V11
TEST(LostWakes, WakeFromAnotherThread) {
  Job job(1);
  const Deadline end = deadline();
  uint64_t round = 0;
  std::atomic<uint64_t> given{0}, taken{0}, woke_at{0}, lost{0};
  {
    LaneDriver lane(job, 0);
    std::atomic<bool> stop{false};
    uint64_t parks = 0;
    std::thread loop([&] {
      while (!stop) {
        lane.enter();  // hears the bell that the last wake rang: a loop whose bell has rung does not sleep
        taken.store(given.load());
        lane.park_word().store(1, std::memory_order_seq_cst);
        if (given.load() != taken.load() || stop) {
          lane.park_word().store(0, std::memory_order_seq_cst);
          continue;
        }
        ++parks;
        const uint64_t done_before = woke_at.load();
        const int code = lci_lane_park(lane.handle(), kForEver);
        const uint64_t now = lci::now_ns(), woken = woke_at.load();
        // Timed out although a wake for this very work ended long before, or had rung the bell: it was lost.
        if (code == LCI_RETRY && given != taken && woken != done_before && woken + kGrace < now) ++lost;
        if (lane.control().late_wakes != 0) ++lost;
      }
    });
    for (; round < rounds() && lost == 0 && !end.passed(); ++round) {
      for (int i = 0; round % 2 == 0 && i < 200 && lane.park_word().load() == 0; ++i) std::this_thread::yield();
      given.fetch_add(1);
      lci::fence_seq_cst();
      if (lane.park_word().load(std::memory_order_relaxed) != 0) lci_lane_wake(lane.handle());
      woke_at.store(lci::now_ns());
      while (taken != given && !end.passed()) std::this_thread::yield();
    }
    stop = true;
    lci_lane_wake(lane.handle());
    loop.join();
    EXPECT_GT(parks, 0u);
  }
  EXPECT_EQ(0u, lost.load());
  EXPECT_EQ(rounds(), round);
}

// Proves: V11
TEST(LostWakes, SynchronizerSignalledByAnotherThread) {
  Job job(1);
  const Deadline end = deadline();
  uint64_t round = 0;
  {
    LaneDriver lane(job, 0);
    lci_comp* synchronizer = nullptr;
    ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &synchronizer)) << lci_last_error();
    std::atomic<uint64_t> fired{0};
    {
      ParkingLoop loop(lane, [&](const lci_record& record) { fired += record.kind == LCI_RECORD_SYNC; });
      for (bool going = true; going && round < rounds(); ++round) {
        loop.lure(round);
        const lci_status status{};
        ASSERT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status)) << lci_last_error();
        going = wait(loop, end, [&] { return fired == round + 1; });
      }
    }
    EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer));
  }
  EXPECT_EQ(rounds(), round);
}

/// The message arrives at a device of another lane; the inbox is this one's.
TEST(LostWakes, ArrivalAtTheDeviceOfAnotherLane) {
  Job job(2, {{"devices", "2"}});
  const Deadline end = deadline();
  uint64_t round = 0;
  {
    LaneDriver home(job, 0, 0), foreign(job, 0, 1);
    home.demand(home.open(kPort)).requested = UINT64_MAX / 2;
    std::atomic<uint64_t> received{0};
    ParkingLoop loop(home, [&](const lci_record& record) { received += record.kind == LCI_RECORD_MESSAGE; });
    auto serve = [&] {
      foreign.enter();
      foreign.read([](const lci_record&) {});
      lci_progress(job.device(1, 1));
    };
    for (bool going = true; going && round < rounds(); ++round) {
      loop.lure(round);
      going = wait(loop, end,
                   [&] {
                     return lci_post_am(job.device(1, 1), 0, kPort, 0, &round, 8, nullptr, 0) == LCI_DONE ||
                            (serve(), false);
                   }) &&
              wait(loop, end, [&] { return serve(), received == round + 1; });
    }
  }
  EXPECT_EQ(rounds(), round);
}

/// Rank 1 closes within @p timeout_ms; the parked loop of rank 0 is told the state.
void peers_end(uint32_t timeout_ms, uint64_t state) {
  const Deadline end = deadline();
  for (uint64_t round = 0; round < ends(); ++round) {
    Job job(2);
    LaneDriver lane(job, 0);
    std::atomic<uint64_t> told{0};
    ParkingLoop loop(lane, [&](const lci_record& record) {
      if (record.kind == LCI_RECORD_PEER && record.rank == 1) told = record.context;
    });
    while (loop.parks() == 0 && lane.park_word().load() == 0 && !end.passed()) std::this_thread::yield();
    job.close(1, timeout_ms);
    ASSERT_TRUE(wait(loop, end, [&] { return told == state; })) << "round " << round;
  }
}

// Proves: V11
TEST(LostWakes, PeerClosesAbortively) {
  peers_end(0, LCI_PEER_FAILED);
}

TEST(LostWakes, PeerLeaves) {
  peers_end(1000, LCI_PEER_LEFT);
}

// The parked runtime itself is to close: another thread says so, and waits for the loop to leave its lane.
// Proves: V11
TEST(LostWakes, OwnClose) {
  const Deadline end = deadline();
  for (uint64_t round = 0; round < ends(); ++round) {
    ASSERT_FALSE(end.passed()) << "round " << round;
    Job job(1);
    std::atomic<bool> closing{false}, parking{false};
    std::atomic<uint64_t> woke_at{0}, lost{0};
    LaneDriver lane(job, 0);
    std::thread loop([&] {
      while (!closing) {
        if (lane.enter() == LCI_DONE || lane.control().must_enter) continue;
        lane.park_word().store(1, std::memory_order_seq_cst);
        parking = true;
        if (closing) break;
        const int code = lci_lane_park(lane.handle(), kForEver);
        const uint64_t now = lci::now_ns(), woken = woke_at;
        if (code == LCI_RETRY && closing && woken != 0 && woken + kGrace < now) ++lost;
        if (lane.control().late_wakes != 0) ++lost;
      }
    });
    while (!parking && !end.passed()) std::this_thread::yield();
    for (uint64_t i = 0; i < round % 4; ++i) std::this_thread::yield();
    closing = true;
    lci::fence_seq_cst();
    if (lane.park_word().load(std::memory_order_relaxed) != 0) lci_lane_wake(lane.handle());
    woke_at = lci::now_ns();
    loop.join();
    ASSERT_EQ(0u, lost) << "round " << round;
  }
}

TEST(Parking, EndsAtItsDeadlineWithoutWork) {
  Job job(2);
  LaneDriver lane(job, 0);
  for (int i = 0; i < 100; ++i) lane.enter();
  for (int i = 0; i < 20; ++i) {
    lane.park_word().store(1, std::memory_order_seq_cst);
    EXPECT_EQ(LCI_RETRY, lci_lane_park(lane.handle(), 1'000'000));
    EXPECT_EQ(0u, lane.park_word().load());
  }
  EXPECT_EQ(0u, lane.control().late_wakes);
}

}  // namespace
}  // namespace lci_test
