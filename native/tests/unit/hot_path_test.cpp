// SPDX-License-Identifier: Apache-2.0
// Static core only: it replaces malloc.
// What short messages cost: locks and memory, counted. Mutations that must make this file fail: allocate_always,
// matching_locks_twice.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/lock_count.hpp"
#include "base/try_lock.hpp"
#include "support/allocations.hpp"
#include "support/job.hpp"
#include "support/lane_driver.hpp"

// ---- counting
// ---------------------------------------------------------------------------------------------------------

namespace {

thread_local uint64_t allocations = 0;
thread_local uint64_t mutexes_locked = 0;

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// A sanitizer has its own malloc and mutexes, and tells of the former.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
static const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { ++allocations; }, [](const volatile void*) {});

#else

// In place of those of the C library, for all of this program; operator new ends here as well. Not hidden, as clang has
// it else: the libraries would have their own.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  if (lci_test::refused_allocation != 0 && --lci_test::refused_allocation == 0) {
    lci_test::refused_allocations.fetch_add(1);
    return nullptr;
  }
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++mutexes_locked;
  return next(mutex);
}
}
#pragma GCC visibility pop

#endif

// Every 20 ms a pass looks whether the peers live, under a lock. That is no part of a message: these tests stop the
// clock by which it is due.
static thread_local const timespec* stopped_at = nullptr;
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto next = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  if (!stopped_at || clock != CLOCK_MONOTONIC_COARSE) return next(clock, now);
  *now = *stopped_at;
  return 0;
}

namespace lci_test {
namespace {

class StoppedClock {
 public:
  StoppedClock() {
    clock_gettime(CLOCK_MONOTONIC_COARSE, &at_);
    stopped_at = &at_;
  }
  ~StoppedClock() { stopped_at = nullptr; }
  StoppedClock(const StoppedClock&) = delete;
  StoppedClock& operator=(const StoppedClock&) = delete;

 private:
  timespec at_{};
};

/// What a thread has used.
struct Cost {
  uint64_t memory = 0;
  uint64_t locks = 0;
  static Cost now() { return {allocations, lci::locks_taken + mutexes_locked}; }
};

template <typename F>
Cost cost_of(F work) {
  const Cost before = Cost::now();
  work();
  const Cost after = Cost::now();
  return {after.memory - before.memory, after.locks - before.locks};
}

Cost& operator+=(Cost& sum, const Cost& more) {
  sum.memory += more.memory;
  sum.locks += more.locks;
  return sum;
}

TEST(CostCount, SeesMemoryAndLocks) {
  lci::TryLock lock;
  // The first look at a fault reads their names, and registers a destructor, for which the C library may take memory.
  lock.lock();
  lock.unlock();
  const Cost cost = cost_of([&] {
    void* volatile memory = std::malloc(8);
    std::free(memory);
    delete new std::vector<int>(8);
    const std::lock_guard<lci::TryLock> guard(lock);
  });
  EXPECT_EQ(3u, cost.memory);
  EXPECT_EQ(1u, cost.locks);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::mutex mutex;
  EXPECT_EQ(1u, cost_of([&] { const std::lock_guard<std::mutex> guard(mutex); }).locks);
#endif
}

constexpr uint32_t kPort = 5, kBatch = 32, kRounds = 300;
/// Until leases, tables and lists have the size that the traffic needs.
constexpr uint32_t kWarmUp = 200;

/// Two ranks, each with a lane that is the only owner of its device, driven by one thread.
class HotPath : public testing::TestWithParam<uint32_t> {
 protected:
  Job job_{2};
  LaneDriver sender_{job_, 0};
  LaneDriver receiver_{job_, 1};
  StoppedClock clock_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(LCI_INLINE_MAX, std::byte{7});

  /// Adds a message of @p size inline bytes, which go on in the entries that follow.
  lci_descriptor* add_inline(lci_op_kind kind, uint32_t port, uint32_t size) {
    lci_descriptor op{};
    op.op = static_cast<uint8_t>(kind);
    op.rank = 1;
    op.port = static_cast<uint16_t>(port);
    op.size = size;
    op.tag = 3;
    lci_descriptor* first = &sender_.add(op);
    for (uint32_t done = sizeof op.u.inline_payload; done < size; done += sizeof op) sender_.add({});
    std::memcpy(first->u.inline_payload, payload_.data(), size);
    return first;
  }
  /// One batch from the sender. @return how many of it were taken: in the first rounds there may be no credit yet.
  uint32_t send(lci_op_kind kind, uint32_t port, uint32_t size, Cost* cost) {
    std::vector<const lci_descriptor*> posted;
    for (uint32_t i = 0; i < kBatch; ++i) posted.push_back(add_inline(kind, port, size));
    *cost += cost_of([&] { sender_.enter(); });
    uint32_t taken = 0;
    for (const lci_descriptor* op : posted) taken += op->outcome == LCI_DONE;
    return taken;
  }
};

struct Arrived {
  uint64_t messages = 0;
};
void count_arrival(const lci_status* status, void* argument) {
  ++static_cast<Arrived*>(argument)->messages;
  EXPECT_NE(nullptr, status->buffer);
}

/// From the lane's submission array to a native handler: neither side takes a lock or memory.
TEST_P(HotPath, AnActiveMessageToAHandlerTakesNoLockAndNoMemory) {
  Arrived arrived;
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job_.runtime(1), count_arrival, &arrived, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", handler, 0, 0));
  Cost cost;
  uint64_t before = 0;
  for (uint32_t round = 0; round < kWarmUp + kRounds; ++round) {
    if (round == kWarmUp) {
      cost = {};
      before = arrived.messages;
    }
    send(LCI_OP_AM, kPort, GetParam(), &cost);
    cost += cost_of([&] { receiver_.enter(); });
  }
  EXPECT_EQ(kRounds * kBatch, arrived.messages - before);
  EXPECT_EQ(0u, cost.memory);
  EXPECT_EQ(0u, cost.locks);
}

/// The same to an inbox, where the message becomes a record, at once or when it is demanded, and its credit goes back
/// when the record is read.
TEST_P(HotPath, AnActiveMessageToAnInboxTakesNoLockAndNoMemory) {
  lci_demand& demand = receiver_.demand(receiver_.open(kPort));
  for (const bool waits : {false, true}) {
    Cost cost;
    uint64_t arrived = 0;
    for (uint32_t round = 0; round < kWarmUp + kRounds; ++round) {
      if (round == kWarmUp) {
        cost = {};
        arrived = 0;
      }
      demand.requested = demand.delivered + (waits ? 0 : kBatch);
      send(LCI_OP_AM, kPort, GetParam(), &cost);
      cost += cost_of([&] { receiver_.enter(); });
      demand.requested = demand.delivered + (waits ? kBatch : 0);
      cost += cost_of([&] {
        receiver_.enter();
        arrived += receiver_.read([](const lci_record&) {});
      });
    }
    EXPECT_EQ(kRounds * kBatch, arrived) << waits;
    EXPECT_EQ(0u, cost.memory) << waits;
    EXPECT_EQ(0u, cost.locks) << waits;
  }
}

/// Sends and receives of one key, driven so that either the receives or the messages are there first.
class SendReceivePath : public HotPath {
 protected:
  static constexpr uint64_t kTag = 3;
  Cost sent_, received_;
  uint64_t ended_ = 0;
  std::vector<std::byte> places_ = std::vector<std::byte>(kBatch * LCI_INLINE_MAX);

  void add_receives(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      lci_descriptor op{};
      op.op = LCI_OP_RECV;
      op.flags = LCI_FLAG_BUFFER;
      op.tag = kTag;
      op.size = LCI_INLINE_MAX;
      op.u.ref.address = reinterpret_cast<uint64_t>(&places_[i * LCI_INLINE_MAX]);
      receiver_.add(op);
    }
  }
  void pass() {
    received_ += cost_of([&] {
      receiver_.enter();
      ended_ += receiver_.read([](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code); });
    });
  }
  void expected_round() {
    add_receives(kBatch - waiting_);
    pass();
    waiting_ = kBatch - send(LCI_OP_SEND, 0, GetParam(), &sent_);
    pass();
  }
  void unexpected_round() {
    const uint32_t taken = send(LCI_OP_SEND, 0, GetParam(), &sent_);
    pass();
    add_receives(taken);
    pass();
  }
  /// What the rounds after the first ones cost.
  template <typename Round>
  void measure(Round round) {
    for (uint32_t i = 0; i < kWarmUp; ++i) round();
    sent_ = received_ = {};
    ended_ = 0;
    for (uint32_t i = 0; i < kRounds; ++i) round();
    EXPECT_EQ(kRounds * kBatch, ended_);
    EXPECT_EQ(0u, sent_.memory);
    EXPECT_EQ(0u, sent_.locks);
    EXPECT_EQ(0u, received_.memory);
    // One for each receive, one for each message that comes.
    EXPECT_EQ(2u * kRounds * kBatch, received_.locks);
    EXPECT_EQ(0, compare(payload_.data(), places_.data(), GetParam()));
  }

 private:
  uint32_t waiting_ = 0;
};

TEST_P(SendReceivePath, ExpectedMessagesTakeOneBucketLockEachSideAndNoMemory) {
  measure([&] { expected_round(); });
  EXPECT_EQ(0u, job_.counter(1, "unexpected"));
}

TEST_P(SendReceivePath, UnexpectedMessagesTakeOneBucketLockEachSideAndNoMemory) {
  measure([&] { unexpected_round(); });
  EXPECT_LE(kRounds * kBatch, job_.counter(1, "unexpected"));
}

INSTANTIATE_TEST_SUITE_P(Sizes, SendReceivePath, testing::Values(0u, 8u, 32u, 33u, LCI_INLINE_MAX));
INSTANTIATE_TEST_SUITE_P(Sizes, HotPath, testing::Values(0u, 8u, 32u, 33u, LCI_INLINE_MAX));

}  // namespace
}  // namespace lci_test
