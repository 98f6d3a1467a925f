// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: synchronizer_silent_overrun, signal_any_status, signal_context_off.
#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "completion/array_queue.hpp"
#include "completion/counter.hpp"
#include "completion/handler.hpp"
#include "completion/synchronizer.hpp"
#include "support/statuses.hpp"

namespace lci {
namespace {

using test::expect_same;
using test::status_of;

extern "C" void ignore_signal(const lci_status*, void*) {}

/// [SS-44] Every kind takes done and errors, and nothing else.
// Proves: SS-44
TEST(Completion, SignalsMustBeFinal) {
  ArrayQueue queue(100);
  Synchronizer one(1);
  Synchronizer many(100);
  Counter counter;
  Handler handler(ignore_signal, nullptr);
  for (Completion* each : {static_cast<Completion*>(&queue), static_cast<Completion*>(&many),
                           static_cast<Completion*>(&counter), static_cast<Completion*>(&handler)}) {
    for (const int code : {LCI_DONE, LCI_DONE_BACKLOG, LCI_ERR_PEER_FAILED, LCI_ERR_CANCELLED}) {
      EXPECT_EQ(each->signal(status_of(0, code)), LCI_DONE) << code;
    }
    for (const int code :
         std::initializer_list<int>{LCI_POSTED, LCI_POSTED_BACKLOG, LCI_RETRY, LCI_RETRY_NOCREDIT, -1}) {
      EXPECT_EQ(each->signal(status_of(1, code)), LCI_ERR_ARGUMENT) << code;
    }
  }
  EXPECT_EQ(one.signal(status_of(1, LCI_POSTED)), LCI_ERR_ARGUMENT);
  EXPECT_EQ(one.test(nullptr), LCI_RETRY);
  EXPECT_EQ(queue.length(), 4u);
  EXPECT_EQ(counter.get(), 4u);
}

TEST(Completion, KindsTellWhetherTheyStore) {
  ArrayQueue queue(1);
  Synchronizer synchronizer(1);
  Counter counter;
  Handler handler(ignore_signal, nullptr);
  EXPECT_TRUE(queue.stores());
  EXPECT_TRUE(synchronizer.stores());
  EXPECT_FALSE(counter.stores());
  EXPECT_FALSE(handler.stores());
  EXPECT_EQ(queue.kind(), Completion::Kind::kQueue);
  EXPECT_EQ(synchronizer.kind(), Completion::Kind::kSynchronizer);
  EXPECT_EQ(counter.kind(), Completion::Kind::kCounter);
  EXPECT_EQ(handler.kind(), Completion::Kind::kHandler);
  queue.set_id(17);
  EXPECT_EQ(queue.id(), 17u);
}

/// [E1] A user-derived object.
// Proves: E1
TEST(Completion, CustomObjectsCount) {
  class Custom final : public Completion {
   public:
    Custom() : Completion(Kind::kCustom) {}
    int signal(const lci_status& status) override {
      sum += status.tag;
      return LCI_DONE;
    }
    bool stores() const override { return false; }
    uint64_t sum = 0;
  };
  Custom custom;
  Completion& object = custom;
  object.signal(status_of(4));
  object.signal(status_of(5));
  EXPECT_EQ(custom.sum, 9u);
}

/// [E2, E4] The table: signals before a test count up, the test fires once and resets.
// Proves: E2
TEST(Synchronizer, FiresOncePerThresholdInOrderOfArrival) {
  for (const uint32_t threshold : {1u, 2u, 3u, 10u}) {
    Synchronizer synchronizer(threshold);
    for (uint64_t round = 0; round < 5; ++round) {
      for (uint32_t i = 0; i < threshold; ++i) {
        EXPECT_EQ(synchronizer.test(nullptr), LCI_RETRY) << i << " of " << threshold;
        ASSERT_EQ(synchronizer.signal(status_of(round * 100 + i)), LCI_DONE);
      }
      std::vector<lci_status> statuses(threshold);
      ASSERT_EQ(synchronizer.test(statuses.data()), LCI_DONE);
      for (uint32_t i = 0; i < threshold; ++i) EXPECT_EQ(statuses[i].tag, round * 100 + i);
      EXPECT_EQ(synchronizer.test(statuses.data()), LCI_RETRY);
    }
    for (uint32_t i = 0; i < threshold; ++i) synchronizer.signal(status_of(i));
    EXPECT_EQ(synchronizer.test(nullptr), LCI_DONE) << "statuses may be left";
  }
}

/// [E4] All sequences of signals and tests up to a length, against the table: the count of signals 0..k, fires at k,
/// starts anew; a signal at k is refused, and the next test says so once.
// Proves: E4
TEST(Synchronizer, FollowsItsStateTable) {
  constexpr uint32_t kLength = 12;
  for (const uint32_t threshold : {1u, 2u, 3u}) {
    for (uint32_t sequence = 0; sequence < 1u << kLength; ++sequence) {
      Synchronizer synchronizer(threshold);
      uint32_t count = 0;
      uint64_t accepted = 0;  // number of the first signal of the firing under way
      bool overrun = false;
      for (uint32_t step = 0; step < kLength; ++step) {
        if (sequence >> step & 1) {
          const bool room = count < threshold;
          lci_status status = status_of(accepted + count);
          status.port = 0;  // no arrival: nothing is freed with the object
          ASSERT_EQ(room ? LCI_DONE : LCI_ERR_OVERRUN, synchronizer.signal(status));
          count += room;
          overrun = overrun || !room;
          continue;
        }
        lci_status out[3];
        const int expected = overrun ? LCI_ERR_OVERRUN : count == threshold ? LCI_DONE : LCI_RETRY;
        ASSERT_EQ(expected, synchronizer.test(out))
            << "k " << threshold << " sequence " << sequence << " step " << step;
        overrun = false;
        if (expected != LCI_DONE) continue;
        for (uint32_t i = 0; i < threshold; ++i) ASSERT_EQ(accepted + i, out[i].tag);
        accepted += threshold;
        count = 0;
      }
    }
  }
}

/// [SS-41] The surplus is told to both sides, and the firing stays what it was.
// Proves: E3 SS-41
TEST(Synchronizer, OverrunIsDetected) {
  for (const uint32_t threshold : {1u, 3u}) {
    Synchronizer synchronizer(threshold);
    for (uint32_t i = 0; i < threshold; ++i) ASSERT_EQ(synchronizer.signal(status_of(i)), LCI_DONE);
    EXPECT_EQ(synchronizer.signal(status_of(1000)), LCI_ERR_OVERRUN);
    EXPECT_EQ(synchronizer.signal(status_of(1001)), LCI_ERR_OVERRUN);
    std::vector<lci_status> statuses(threshold);
    EXPECT_EQ(synchronizer.test(statuses.data()), LCI_ERR_OVERRUN);
    ASSERT_EQ(synchronizer.test(statuses.data()), LCI_DONE);
    for (uint32_t i = 0; i < threshold; ++i) EXPECT_EQ(statuses[i].tag, i);
    EXPECT_EQ(synchronizer.test(statuses.data()), LCI_RETRY);
    for (uint32_t i = 0; i < threshold; ++i) ASSERT_EQ(synchronizer.signal(status_of(50 + i)), LCI_DONE);
    ASSERT_EQ(synchronizer.test(statuses.data()), LCI_DONE);
    EXPECT_EQ(statuses[0].tag, 50u);
  }
}

// Proves: E12
TEST(Counter, CountsAndIsSet) {
  Counter counter;
  EXPECT_EQ(counter.get(), 0u);
  counter.signal(status_of(1));
  counter.signal(status_of(2, LCI_ERR_CANCELLED));
  EXPECT_EQ(counter.get(), 2u);
  counter.set(10);
  counter.signal(status_of(3));
  EXPECT_EQ(counter.get(), 11u);
}

struct Seen {
  lci_status status{};
  int calls = 0;
  bool in_context = false;
};

extern "C" void remember_signal(const lci_status* status, void* argument) {
  auto* seen = static_cast<Seen*>(argument);
  seen->status = *status;
  seen->in_context = in_signal_context();
  ++seen->calls;
}

// Proves: E11
TEST(Handler, GetsStatusAndArgumentInSignalContext) {
  Seen seen;
  Handler handler(remember_signal, &seen);
  EXPECT_FALSE(in_signal_context());
  const lci_status sent = status_of(5);
  EXPECT_EQ(handler.signal(sent), LCI_DONE);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_TRUE(seen.in_context);
  EXPECT_FALSE(in_signal_context());
  expect_same(seen.status, sent);
}

struct Nesting {
  Handler* inner;
  bool after_inner = false;
};

extern "C" void signal_inner(const lci_status* status, void* argument) {
  auto* nesting = static_cast<Nesting*>(argument);
  nesting->inner->signal(*status);
  nesting->after_inner = in_signal_context();
}

TEST(Handler, ContextNestsAndIsPerThread) {
  Seen seen;
  Handler inner(remember_signal, &seen);
  Nesting nesting{&inner};
  Handler outer(signal_inner, &nesting);
  EXPECT_EQ(outer.signal(status_of(1)), LCI_DONE);
  EXPECT_TRUE(seen.in_context);
  EXPECT_TRUE(nesting.after_inner);
  const SignalContext context;
  bool elsewhere = true;
  std::thread([&] { elsewhere = in_signal_context(); }).join();
  EXPECT_FALSE(elsewhere);
  EXPECT_TRUE(in_signal_context());
}

extern "C" void throw_on_odd(const lci_status* status, void*) {
  if (status->tag % 2 == 1) throw std::runtime_error("odd tag");
  if (status->tag == 100) throw 100;
}

/// [SS-46] The batch goes on.
// Proves: SS-46
TEST(Handler, ExceptionsEndAtTheBoundary) {
  Handler handler(throw_on_odd, nullptr);
  EXPECT_EQ(handler.signal(status_of(1)), LCI_ERR_ARGUMENT);
  EXPECT_NE(std::string(last_error()).find("odd tag"), std::string::npos);
  EXPECT_FALSE(in_signal_context()) << "left by the exception too";
  EXPECT_EQ(handler.signal(status_of(100)), LCI_ERR_ARGUMENT);
  EXPECT_EQ(handler.signal(status_of(2)), LCI_DONE);
}

}  // namespace
}  // namespace lci
