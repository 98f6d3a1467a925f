// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: queue_skip_tag, queue_overwrite, synchronizer_reset_first,
// synchronizer_many_winners, counter_lost_update, lcrq_lose_at_close.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "base/try_lock.hpp"
#include "completion/counter.hpp"
#include "completion/lcrq.hpp"
#include "completion/queue.hpp"
#include "completion/synchronizer.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::run_threads;

lci_status status_of(uint32_t producer, uint64_t sequence) {
  lci_status status{};
  status.code = LCI_DONE;
  status.rank = producer;
  status.tag = sequence;
  status.size = producer * 7 + sequence;
  status.user_context = ~(producer * 7 + sequence);
  return status;
}

bool torn(const lci_status& status) {
  const uint64_t sum = status.rank * 7 + status.tag;
  return status.size != sum || status.user_context != ~sum;
}

std::vector<QueueType> offered_types() {
  std::vector<QueueType> types;
  for (const QueueType type : {QueueType::kArray, QueueType::kLcrq}) {
    if (CompletionQueue::offers(type)) types.push_back(type);
  }
  return types;
}

class CompletionQueueStress : public testing::TestWithParam<QueueType> {
 protected:
  static std::unique_ptr<CompletionQueue> create(uint32_t capacity) {
    return CompletionQueue::create(GetParam(), capacity);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CompletionQueueStress, testing::ValuesIn(offered_types()), [](const auto& each) {
  return each.param == QueueType::kArray ? std::string("Array") : std::string("Lcrq");
});

/// [E6] Five producers, five consumers, arrays much smaller than the traffic: nothing lost, nothing twice, nothing
/// torn, and each consumer sees the statuses of one producer in order.
// Proves: E6
TEST_P(CompletionQueueStress, EveryStatusArrivesOnce) {
  constexpr uint32_t kProducers = 5;
  constexpr uint32_t kConsumers = 5;
  constexpr uint64_t kEach = 10'000;
  const Deadline deadline(60);
  for (const uint32_t capacity : {1u, 5u, 64u}) {
    const auto queue = create(capacity);
    std::atomic<uint64_t> popped{0};
    std::atomic<uint64_t> faults{0};
    std::vector<std::atomic<uint8_t>> seen(kProducers * kEach);
    run_threads(kProducers + kConsumers, [&](uint32_t self) {
      if (self < kProducers) {
        for (uint64_t i = 0; i < kEach; ++i) {
          for (SpinWait wait; queue->signal(status_of(self, i)) != LCI_DONE && !deadline.passed();) wait.step();
        }
        return;
      }
      std::vector<uint64_t> next(kProducers, 0);
      for (SpinWait wait; popped.load() < kProducers * kEach && !deadline.passed();) {
        lci_status batch[3];
        const uint32_t count = queue->pop_many(batch, 3);
        if (count == 0) wait.step();
        for (uint32_t i = 0; i < count; ++i) {
          const lci_status& status = batch[i];
          if (torn(status) || status.rank >= kProducers || status.tag >= kEach) {
            ++faults;
            continue;
          }
          faults += status.tag < next[status.rank];
          next[status.rank] = status.tag + 1;
          faults += seen[status.rank * kEach + status.tag].exchange(1) != 0;
        }
        popped += count;
      }
    });
    EXPECT_EQ(faults.load(), 0u) << "capacity " << capacity;
    EXPECT_EQ(popped.load(), kProducers * kEach) << "capacity " << capacity;
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& flag) { return flag.load() == 0; }), 0);
    EXPECT_EQ(queue->length(), 0u);
  }
}

/// [SS-45] Many short-lived threads need no identity.
// Proves: E7 SS-45
TEST_P(CompletionQueueStress, SixHundredShortThreads) {
  const auto queue = create(600);
  for (uint32_t group = 0; group < 75; ++group) {
    run_threads(8, [&](uint32_t self) { queue->signal(status_of(group * 8 + self, 1)); });
  }
  std::set<uint32_t> ranks;
  for (lci_status status{}; ranks.size() < 600 && queue->pop(&status) == LCI_DONE;) ranks.insert(status.rank);
  EXPECT_EQ(ranks.size(), 600u);
}

#if LCI_HAS_DOUBLE_WORD

/// [E7] Consumers that are always ahead make rings close early, and close upon close: nothing is lost, nothing torn,
/// and what was left behind is deleted.
TEST(LcrqStress, RingsComeAndGoUnderTraffic) {
  constexpr uint32_t kPairs = 3;
  constexpr uint64_t kEach = 20'000;
  const Deadline deadline(60);
  Lcrq queue;
  std::atomic<uint64_t> popped{0};
  std::atomic<uint64_t> sum{0};
  std::atomic<uint64_t> faults{0};
  run_threads(2 * kPairs, [&](uint32_t self) {
    if (self < kPairs) {
      for (uint64_t i = 0; i < kEach; ++i) faults += queue.signal(status_of(self, i)) != LCI_DONE;
      return;
    }
    lci_status status{};
    for (SpinWait wait; popped.load() < kPairs * kEach && !deadline.passed();) {
      if (queue.pop(&status) != LCI_DONE) {
        wait.step();
        continue;
      }
      faults += torn(status);
      sum += status.tag;
      ++popped;
    }
  });
  EXPECT_EQ(faults.load(), 0u);
  EXPECT_EQ(popped.load(), kPairs * kEach);
  EXPECT_EQ(sum.load(), kPairs * (kEach * (kEach - 1) / 2));
  EXPECT_EQ(queue.length(), 0u);
  // A ring that is full is left while nobody reads: all that waited is deleted.
  for (uint64_t i = 0; i <= Lcrq::kCells; ++i) ASSERT_EQ(queue.signal(status_of(0, i)), LCI_DONE);
  lci_status last{};
  for (uint64_t i = 0; i <= Lcrq::kCells; ++i) ASSERT_EQ(queue.pop(&last), LCI_DONE);
  EXPECT_LE(queue.rings(), 2u);
}

#endif

/// [E2, SS-42, SS-43] Producers signal again as soon as there is room, all testers race: each firing has one winner
/// with `threshold` whole statuses, and every accepted signal is handed out exactly once.
// Proves: E2 SS-42 SS-43
TEST(SynchronizerStress, OneWinnerPerFiringWithWholeStatuses) {
  constexpr uint32_t kProducers = 4;
  constexpr uint32_t kTesters = 4;
  constexpr uint64_t kEach = 3'000;
  const Deadline deadline(60);
  for (const uint32_t threshold : {1u, 3u, 10u}) {
    Synchronizer synchronizer(threshold);
    const uint64_t firings = kProducers * kEach / threshold;
    std::atomic<uint64_t> fired{0};
    std::atomic<uint64_t> faults{0};
    std::vector<std::atomic<uint8_t>> seen(kProducers * kEach);
    run_threads(kProducers + kTesters, [&](uint32_t self) {
      if (self < kProducers) {
        for (uint64_t i = 0; i < kEach; ++i) {
          for (SpinWait wait; synchronizer.signal(status_of(self, i)) != LCI_DONE && !deadline.passed();) wait.step();
        }
        return;
      }
      std::vector<lci_status> statuses(threshold);
      for (SpinWait wait; fired.load() < firings && !deadline.passed();) {
        if (synchronizer.test(statuses.data()) != LCI_DONE) {
          wait.step();
          continue;
        }
        ++fired;
        for (const lci_status& status : statuses) {
          if (torn(status) || status.rank >= kProducers || status.tag >= kEach) {
            ++faults;
          } else {
            faults += seen[status.rank * kEach + status.tag].exchange(1) != 0;
          }
        }
      }
    });
    EXPECT_EQ(faults.load(), 0u) << "threshold " << threshold;
    EXPECT_EQ(fired.load(), firings) << "threshold " << threshold;
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& flag) { return flag.load() == 0; }), 0);
    EXPECT_FALSE(deadline.passed());
  }
}

/// [E12]
// Proves: E12
TEST(CounterStress, LosesNothing) {
  constexpr uint64_t kEach = 100'000;
  Counter counter;
  run_threads(10, [&](uint32_t self) {
    for (uint64_t i = 0; i < kEach; ++i) counter.signal(status_of(self, i));
  });
  EXPECT_EQ(counter.get(), 10 * kEach);
}

}  // namespace
}  // namespace lci
