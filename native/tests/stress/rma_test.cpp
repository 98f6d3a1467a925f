// SPDX-License-Identifier: Apache-2.0
// Regions that end while others copy into them, and ids that are closed while others look them up.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "rma/remote_table.hpp"
#include "support/rma_job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;
using lci::test::run_threads;

/// Lets the other threads go, also when an expectation ended this one.
struct StopAtEnd {
  std::atomic<bool>& stop;
  ~StopAtEnd() { stop = true; }
};

// One rank allocates and frees; two others put whatever is named last. What is allocated but not yet named keeps its
// bytes: nobody's copy reaches a range that was given to somebody else. Mutation: reuse_under_copy.
TEST(RmaStress, NoCopyReachesMemoryThatWasGivenToAnother) {
  constexpr uint64_t kBytes = 1 << 18;
  Job job(3);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> version{0};
  std::mutex mutex;
  HandleBytes named;
  std::atomic<uint64_t> puts{0}, refused{0};
  const Deadline end(4);
  run_threads(3, [&](uint32_t rank) {
    if (rank != 2) {
      const std::vector<uint8_t> ones(kBytes / 2, 1);   // two puts to one place would be a race of the test's
      lci_comp* ended = make_queue(job.runtime(rank));  // stays empty: puts into allocated memory are done at once
      uint64_t seen = 0, remote = 0;
      while (!stop) {
        if (version.load() != seen) {
          std::lock_guard<std::mutex> guard(mutex);
          seen = version.load();
          if (remote != 0) {
            EXPECT_EQ(LCI_DONE, lci_remote_close(job.runtime(rank), remote));
          }
          remote = 0;
          const int code = lci_remote_open(job.runtime(rank), 2, named.data(), named.size(), &remote, nullptr);
          ASSERT_TRUE(code == LCI_DONE || code == LCI_ERR_MEMORY_CLOSED) << lci_last_error();
        }
        if (remote == 0) continue;
        const int code =
            lci_post_put(job.device(rank), 2, ones.data(), kBytes / 2, remote, rank * kBytes / 2, ended, 0);
        ASSERT_TRUE(code == LCI_DONE || code == LCI_ERR_MEMORY_CLOSED) << lci_last_error();
        ++(code == LCI_DONE ? puts : refused);
      }
      return;
    }
    const StopAtEnd stop_at_end{stop};
    while (!end.passed() && !HasFailure()) {
      const Allocated unnamed(job.runtime(2), kBytes), shared(job.runtime(2), kBytes);
      std::memset(unnamed.bytes_at, 7, kBytes);
      {
        std::lock_guard<std::mutex> guard(mutex);
        named = handle_of(shared.memory);
        ++version;
      }
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
      ASSERT_EQ(LCI_DONE, lci_memory_free(shared.memory));
      const Allocated next(job.runtime(2), kBytes);  // often in the same place
      std::memset(next.bytes_at, 7, kBytes);
      for (int i = 0; i < 5; ++i) std::this_thread::yield();
      for (uint64_t i = 0; i < kBytes; ++i) {
        ASSERT_EQ(7, unnamed.bytes_at[i]);
        ASSERT_EQ(7, next.bytes_at[i]) << "a copy under the old key came through";
      }
      ASSERT_EQ(LCI_DONE, lci_memory_free(unnamed.memory));
      ASSERT_EQ(LCI_DONE, lci_memory_free(next.memory));
    }
  });
  EXPECT_GT(puts.load(), 0u);
  EXPECT_GT(refused.load(), 0u);
}

/// Of a signal: which of the owner's regions it is about, and which place there.
struct SignalTag {
  static constexpr uint64_t kPlaces = 64, kVersions = 1024;
  uint64_t version, place;
  uint64_t value() const { return version % kVersions * kPlaces + place; }
};
static_assert(SignalTag::kPlaces * SignalTag::kVersions - 1 == LCI_MAX_SIGNAL_TAG);

/// An owner whose regions come and go, and initiators that put to and get from the one that was named last, each place
/// once: first a put, then a get of the same place, both with signal.
class ComingAndGoing {
 public:
  static constexpr uint64_t kPlace = 3000;
  static constexpr uint32_t kOwner = 2, kPort = 5;

  explicit ComingAndGoing(Job& job, bool allocated) : job_(job), allocated_(allocated) {
    told_ = make_queue(job.runtime(kOwner), 256);
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(kOwner), kPort, "", told_, 256, 1 << 20));
    for (uint32_t rank = 0; rank < kOwner; ++rank) ended_[rank] = make_queue(job.runtime(rank));
  }

  void own(uint64_t seconds) {
    const StopAtEnd stop_at_end{stop_};
    const uint64_t bytes = kOwner * SignalTag::kPlaces * kPlace;
    for (const Deadline end(seconds); !end.passed() && !testing::Test::HasFailure();) {
      std::vector<uint8_t> heap(bytes);
      lci_memory* region = nullptr;
      uint8_t* memory = heap.data();
      if (allocated_) {
        const Allocated made(job_.runtime(kOwner), bytes);
        region = made.memory;
        memory = made.bytes_at;
      } else {
        ASSERT_EQ(LCI_DONE, lci_memory_register(job_.runtime(kOwner), memory, bytes, &region));
      }
      std::memset(memory, 0xEE, bytes);
      {
        std::lock_guard<std::mutex> guard(mutex_);
        named_ = handle_of(region);
        ++version_;
      }
      for (int look = 0; look < 200; ++look) {
        lci_progress(job_.device(kOwner));
        take(memory);
        if (look % 16 == 0) std::this_thread::yield();
      }
      ASSERT_EQ(LCI_DONE, allocated_ ? lci_memory_free(region) : lci_memory_deregister(region)) << lci_last_error();
    }
  }

  void use(uint32_t rank) {
    uint64_t seen = 0, remote = 0;
    while (!stop_) {
      {
        std::lock_guard<std::mutex> guard(mutex_);
        if (version_ == seen) continue;
        seen = version_;
        const int code = lci_remote_open(job_.runtime(rank), kOwner, named_.data(), named_.size(), &remote, nullptr);
        ASSERT_TRUE(code == LCI_DONE || code == LCI_ERR_MEMORY_CLOSED) << lci_last_error();
        if (code != LCI_DONE) continue;
      }
      for (uint64_t place = 0; place < SignalTag::kPlaces && !stop_; ++place) {
        const SignalTag tag{seen, place};
        const uint64_t at = (rank * SignalTag::kPlaces + place) * kPlace;
        const std::vector<uint8_t> out = pattern(kPlace, tag.value());
        if (finish(rank, LCI_OP_PUT, const_cast<uint8_t*>(out.data()), remote, at, tag) != LCI_DONE) break;
        std::vector<uint8_t> in(kPlace);
        if (finish(rank, LCI_OP_GET, in.data(), remote, at, tag) != LCI_DONE) break;
        ASSERT_EQ(out, in) << "of another region, or of no time";
        ++moved_;
      }
      ASSERT_EQ(LCI_DONE, lci_remote_close(job_.runtime(rank), remote));
    }
  }
  uint64_t moved() const { return moved_; }
  uint64_t told() const { return was_told_; }

 private:
  int finish(uint32_t rank, uint8_t kind, uint8_t* local, uint64_t remote, uint64_t at, const SignalTag& tag) {
    const lci_descriptor op = remote_op(kind, kOwner, local, kPlace, remote, at, kPort, tag.value());
    int code = LCI_RETRY;
    while (!stop_ && is_retry(code)) {
      lci_descriptor attempt = op;
      code = lci_post(job_.device(rank), &attempt, ended_[rank], nullptr);
      if (is_retry(code)) lci_progress(job_.device(rank));
    }
    if (code == LCI_POSTED) {  // it uses memory of the caller: it is waited for whatever else happens
      lci_status status{};
      while (lci_queue_pop(ended_[rank], &status) != LCI_DONE) {
        if (stop_) lci_progress(job_.device(kOwner));  // who may have left it
        lci_progress(job_.device(rank));
      }
      code = status.code;
    }
    EXPECT_TRUE(code == LCI_DONE || is_retry(code) || code == LCI_ERR_MEMORY_CLOSED) << lci_code_name(code);
    return code;
  }
  /// A signal about the region that is there now: the put is in place, and a get changed nothing.
  void take(const uint8_t* memory) {
    lci_status status{};
    while (lci_queue_pop(told_, &status) == LCI_DONE) {
      ++was_told_;
      ASSERT_GT(kOwner, status.rank);
      const uint64_t place = status.tag % SignalTag::kPlaces;
      const SignalTag current{version_, place};
      if (status.tag != current.value()) continue;
      const uint8_t* at = memory + (status.rank * SignalTag::kPlaces + place) * kPlace;
      ASSERT_EQ(0, compare(at, pattern(kPlace, status.tag).data(), kPlace)) << "told before the data was there";
    }
  }

  Job& job_;
  const bool allocated_;
  lci_comp* told_ = nullptr;
  lci_comp* ended_[kOwner] = {};
  std::mutex mutex_;
  HandleBytes named_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> moved_{0};
  uint64_t was_told_ = 0;
};

// Puts and gets with signal against regions that end, by copies and by messages: what is done is whole, each is
// signalled once, and an end is an error and nothing else.
TEST(RmaStress, SignalsWhileRegionsEnd) {
  for (const char* mode : {"auto", "messages"}) {
    for (const bool allocated : {true, false}) {
      SCOPED_TRACE(std::string(mode) + (allocated ? ", allocated" : ", registered"));
      Job job(3, {{"rma", mode}});
      ComingAndGoing test(job, allocated);
      run_threads(3, [&](uint32_t rank) {
        if (rank == ComingAndGoing::kOwner) {
          test.own(2);
        } else {
          test.use(rank);
        }
      });
      EXPECT_GT(test.moved(), 0u);
      EXPECT_GT(test.told(), 0u);
      job.check_ledgers();
      EXPECT_EQ(0u, job.counter(ComingAndGoing::kOwner, "memory_regions"));
    }
  }
}

// An id answers with its own region or not at all.
TEST(RmaStress, AnIdNeverShowsAnothersRegion) {
  auto table = std::make_unique<lci::RemoteTable>();
  std::atomic<uint64_t> current{0};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> found{0};
  const Deadline end(2);
  run_threads(3, [&](uint32_t thread) {
    if (thread != 0) {
      while (!stop) {
        lci::Remote remote;
        const uint64_t id = current.load();
        if (!table->find(id, &remote)) continue;
        ++found;
        // All members tell the same number, and it belongs to the id.
        ASSERT_EQ(remote.key, remote.size);
        ASSERT_EQ(static_cast<uint32_t>(remote.key), remote.index);
        ASSERT_EQ(remote.key, reinterpret_cast<uint64_t>(remote.memory));
        ASSERT_EQ(remote.key, id >> 32);
      }
      return;
    }
    const StopAtEnd stop_at_end{stop};
    for (uint64_t number = 1; !end.passed(); ++number) {
      lci::Remote remote;
      remote.rank = 1;
      remote.index = static_cast<uint32_t>(number);
      remote.key = remote.size = number;
      remote.memory = reinterpret_cast<std::byte*>(number);
      uint64_t id = 0;
      ASSERT_TRUE(table->add(remote, &id));  // one slot: its generation is the number
      current.store(id);
      if (number % 64 == 0) std::this_thread::yield();
      ASSERT_TRUE(table->remove(id));
      ASSERT_FALSE(table->remove(id));
    }
  });
  EXPECT_GT(found.load(), 0u);
}

}  // namespace
}  // namespace lci_test
