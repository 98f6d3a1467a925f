// SPDX-License-Identifier: Apache-2.0
// A port that closes and opens again on an object of another kind while messages are delivered: each object gets what
// it can handle, and no sender is blamed. Mutations that must make this file fail: kind_of_next_opening,
// reopening_is_blamed. [X13]
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "support/background.hpp"
#include "support/job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
constexpr int kRounds = 1'000;

/// Memory of the arrivals that are given to users, until they free it.
struct Memory {
  std::mutex mutex;
  std::map<const char*, size_t> live;
  lci_allocator functions{&allocate, &deallocate, this};

  static void* allocate(size_t bytes, void* argument) {
    auto& self = *static_cast<Memory*>(argument);
    const std::lock_guard<std::mutex> guard(self.mutex);
    auto* const block = static_cast<char*>(std::malloc(bytes));
    self.live[block] = bytes;
    return block;
  }
  static void deallocate(void* block, void* argument) {
    auto& self = *static_cast<Memory*>(argument);
    const std::lock_guard<std::mutex> guard(self.mutex);
    self.live.erase(static_cast<char*>(block));
    std::free(block);
  }
  bool holds(const void* buffer) {
    const std::lock_guard<std::mutex> guard(mutex);
    const auto* const address = static_cast<const char*>(buffer);
    const auto after = live.upper_bound(address);
    return after != live.begin() && address < std::prev(after)->first + std::prev(after)->second;
  }
};

/// An object of the user that stores, or not, and takes what it stores at once.
struct Object {
  Memory& memory;
  const bool stores;
  lci_comp* handle = nullptr;
  std::atomic<uint64_t> signals{0}, strays{0};

  Object(lci_runtime* runtime, Memory& memory, bool stores) : memory(memory), stores(stores) {
    EXPECT_EQ(LCI_DONE, lci_custom_create(runtime, &take, this, stores, &handle)) << lci_last_error();
  }
  static int take(const lci_status* status, void* argument) {
    auto& self = *static_cast<Object*>(argument);
    self.signals.fetch_add(1);
    if (!self.stores) return LCI_DONE;
    if (!self.memory.holds(status->buffer)) {
      self.strays.fetch_add(1);
      return LCI_DONE;
    }
    lci_status arrival = *status;
    EXPECT_EQ(LCI_DONE, lci_custom_taken(self.handle, &arrival)) << lci_last_error();
    lci_buffer_free(arrival.buffer);
    return LCI_DONE;
  }
};

// Proves: X13
TEST(ReopenedKindStress, EachObjectGetsWhatItCanHandle) {
  Memory memory;
  {
    Job job(2);
    ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job.runtime(1), &memory.functions));
    Object storing(job.runtime(1), memory, true), passing(job.runtime(1), memory, false);
    {
      const Background traffic([&job] {
        for (uint64_t i = 0; i < 32; ++i) {
          const int code = lci_post_am(job.device(0), 1, kPort, i, &i, sizeof i, nullptr, 0);
          ASSERT_TRUE(code < LCI_ERR_ARGUMENT || code == LCI_ERR_PORT_CLOSED) << lci_last_error();
          if (code != LCI_DONE) break;
        }
        job.progress();
      });
      const lci::test::Deadline deadline(60);
      for (int round = 0; round < kRounds && !deadline.passed() && !testing::Test::HasFailure(); ++round) {
        Object& behind = round % 2 == 0 ? storing : passing;
        const uint64_t enough = behind.signals.load() + 8;  // those after the first come as the opening wants them
        ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", behind.handle, 0, 0)) << lci_last_error();
        while (behind.signals.load() < enough && !deadline.passed() && job.counter(1, "protocol_errors") == 0) {
          std::this_thread::yield();
        }
        ASSERT_LE(enough, behind.signals.load()) << "round " << round << " stands still";
        ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort)) << lci_last_error();
      }
    }
    EXPECT_EQ(0u, storing.strays) << "messages in memory that was not to be kept";
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.settle();
    EXPECT_EQ(0u, memory.live.size());
  }
}

}  // namespace
}  // namespace lci_test
