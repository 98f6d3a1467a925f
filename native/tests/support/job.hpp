// SPDX-License-Identifier: Apache-2.0
// n ranks of one process, over the real shared-memory code, driven through the C ABI.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lci/lci.h"
#include "support/sanitized.hpp"

namespace lci_test {

using Attributes = std::vector<std::pair<std::string, std::string>>;

/// This thread starts those in which the ranks of a job join, which the list of tests with threads leaves out.
inline thread_local bool opens_ranks = false;

inline uint64_t counter_of(lci_runtime* runtime, const std::string& name) {
  uint64_t values[256];
  const uint32_t count = lci_runtime_snapshot(runtime, values, 256);
  for (uint32_t i = 0; i < count; ++i) {
    if (name == lci_counter_name(i)) return values[i];
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

class Job {
 public:
  explicit Job(uint32_t size, const Attributes& attributes = {}) : Job(std::vector<Attributes>(size, attributes)) {}
  /// With attributes of its own for each rank.
  explicit Job(const std::vector<Attributes>& attributes) : runtimes_(attributes.size()) {
    const auto size = static_cast<uint32_t>(attributes.size());
    EXPECT_EQ(LCI_DONE, lci_inproc_create(size, &job_));
    std::vector<std::thread> threads;
    opens_ranks = true;
    for (uint32_t rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        lci_attrs* attrs = nullptr;
        ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
        if (kSanitized) {
          ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "arena_bytes", kSanitizedArena));
        }
        for (const auto& [name, value] : attributes[rank]) {
          ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, name.c_str(), value.c_str())) << lci_last_error();
        }
        EXPECT_EQ(LCI_DONE, lci_runtime_create(attrs, job_, rank, &runtimes_[rank])) << lci_last_error();
        lci_attrs_free(attrs);
      });
    }
    opens_ranks = false;
    for (auto& thread : threads) thread.join();
  }
  ~Job() {
    for (uint32_t rank = 0; rank < runtimes_.size(); ++rank) close(rank, 1000);
    lci_inproc_free(job_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  lci_runtime* runtime(uint32_t rank) { return runtimes_[rank]; }
  uint32_t size() const { return static_cast<uint32_t>(runtimes_.size()); }
  lci_device* device(uint32_t rank, uint32_t index = 0) {
    lci_device* device = nullptr;
    EXPECT_EQ(LCI_DONE, lci_runtime_device(runtimes_[rank], index, &device)) << lci_last_error();
    return device;
  }
  void close(uint32_t rank, uint32_t timeout_ms) {
    if (!runtimes_[rank]) return;
    EXPECT_EQ(LCI_DONE, lci_runtime_close(runtimes_[rank], timeout_ms)) << lci_last_error();
    runtimes_[rank] = nullptr;
  }
  /// One pass of every rank's device 0. True if anything moved. Whoever waits for long, for a deadline of the core or
  /// for what a fault holds back, leaves the processor to others.
  bool progress() {
    bool moved = false;
    for (uint32_t rank = 0; rank < runtimes_.size(); ++rank) {
      if (runtimes_[rank]) moved |= lci_progress(device(rank)) == LCI_DONE;
    }
    idle_.store(moved ? 0 : idle_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (idle_.load(std::memory_order_relaxed) > kSpins) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return moved;
  }
  /// Passes until nothing moves for a while.
  void settle() {
    for (int quiet = 0; quiet < 200;) quiet = progress() ? 0 : quiet + 1;
  }
  uint64_t counter(uint32_t rank, const std::string& name) { return counter_of(runtimes_[rank], name); }
  /// What must hold when nothing is under way: no packet out, each posted operation signalled. [M4]
  void check_ledgers() {
    settle();
    for (uint32_t rank = 0; rank < runtimes_.size(); ++rank) {
      if (!runtimes_[rank]) continue;
      EXPECT_EQ(0u, counter(rank, "packets_out")) << "rank " << rank;
      EXPECT_EQ(counter(rank, "packets_get"), counter(rank, "packets_put")) << "rank " << rank;
      EXPECT_EQ(counter(rank, "backlog_push"), counter(rank, "backlog_pop")) << "rank " << rank;
      EXPECT_EQ(0u, counter(rank, "protocol_errors")) << "rank " << rank;
      EXPECT_EQ(0u, counter(rank, "sends_pending")) << "rank " << rank;
      EXPECT_EQ(0u, counter(rank, "late_wakes")) << "rank " << rank;
      const uint64_t ended = counter(rank, "signals") + counter(rank, "signals_dropped");
      EXPECT_EQ(posted(rank), ended + counter(rank, "receives_pending")) << "rank " << rank;
    }
  }
  /// Operations that were answered with posted.
  uint64_t posted(uint32_t rank) {
    uint64_t sum = 0;
    for (const char* operation : {"am", "send", "recv", "barrier", "put", "get", "atomic"}) {
      sum += counter(rank, std::string("operations_") + operation + "_posted");
    }
    return sum;
  }

 private:
  static constexpr uint32_t kSpins = 20'000;  // passes, of a microsecond or so each

  lci_inproc* job_ = nullptr;
  std::vector<lci_runtime*> runtimes_;
  std::atomic<uint32_t> idle_{0};  // passes in which nothing moved, of whichever thread
};

/// The value of an attribute that a runtime has.
inline std::string attribute(lci_runtime* runtime, const char* name) {
  char text[64] = "";
  EXPECT_EQ(LCI_DONE, lci_runtime_attr(runtime, name, text, sizeof text)) << lci_last_error();
  return text;
}

/// memcmp that allows null for no bytes.
inline int compare(const void* a, const void* b, size_t size) {
  return size == 0 ? 0 : std::memcmp(a, b, size);
}

inline lci_comp* make_queue(lci_runtime* runtime, uint32_t capacity = 4096) {
  lci_comp* queue = nullptr;
  EXPECT_EQ(LCI_DONE, lci_queue_create(runtime, capacity, &queue)) << lci_last_error();
  return queue;
}

}  // namespace lci_test
