// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed while all add to words of all, as initiators and as owners: what was confirmed has happened
// once, what was not has happened once or not at all, and the others' operations end. [C23, L1]
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>

#include "support/processes.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRanks = 3, kVictim = 2, kRegions = 2;

/// The additions of a rank to one word.
struct Book {
  std::atomic<uint64_t> begun, confirmed, failed;  ///< Begun: before they are posted.
};

/// The books of all ranks, and the words. They outlive the ranks.
struct Ledger {
  Book books[kRanks][kRanks][kRegions];  ///< By initiator, owner and region.
  /// By owner, region and initiator, of which each has a word of its own. Those of region 1 are the region, where even
  /// the dead leave them; those of region 0 are copied by survivors.
  std::atomic<uint64_t> words[kRanks][kRegions][kRanks];
  std::atomic<uint32_t> finished;  ///< Survivors that wait for nothing more.
};

/// Memory that processes forked later share.
class SharedLedger {
 public:
  SharedLedger() {
    void* memory = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(MAP_FAILED, memory);
    ledger_ = new (memory) Ledger();
  }
  ~SharedLedger() { munmap(ledger_, sizeof(Ledger)); }
  SharedLedger(const SharedLedger&) = delete;
  SharedLedger& operator=(const SharedLedger&) = delete;
  Ledger* operator->() const { return ledger_; }
  Ledger& operator*() const { return *ledger_; }

 private:
  Ledger* ledger_;
};

/// One rank adds 1 to words of every rank, itself included.
class Adding {
 public:
  Adding(Rank& self, uint32_t rank, uint64_t seed, Ledger& ledger)
      : self_(self), rank_(rank), random_(seed), ledger_(ledger) {
    auto* const outliving = ledger.words[rank][1];
    constexpr uint64_t kBytes = sizeof ledger.words[rank][1];
    CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &regions_[0], &arena_) == LCI_DONE);
    CHILD_EXPECT(lci_memory_register(self.runtime, outliving, kBytes, &regions_[1]) == LCI_DONE);
    std::memset(arena_, 0, kBytes);
    exchange();
  }
  /// Posts once, and takes what has ended. False: the victim is known to be dead.
  bool step() {
    if (pending_ < 100) post();
    serve();
    int32_t state = 0;
    CHILD_EXPECT(lci_runtime_peer(self_.runtime, kVictim, &state) == LCI_DONE);
    return state == LCI_PEER_ALIVE;
  }
  void serve() {
    lci_progress(self_.device);
    take();
  }
  /// Everything ends, with the victim or well, here and at the other survivor.
  void finish() {
    self_.until([&] {
      take();
      return pending_ == 0 && lci_test_drained(self_.device) == LCI_DONE;
    });
    ++ledger_.finished;
    self_.until([&] { return ledger_.finished == kRanks - 1; });
    for (uint32_t from = 0; from < kRanks; ++from) {
      ledger_.words[rank_][0][from] = static_cast<const uint64_t*>(arena_)[from];
    }
  }

 private:
  void take() {
    lci_status status{};
    while (lci_queue_pop(self_.ended, &status) == LCI_DONE) {
      Book& book = ledger_.books[rank_][status.rank][status.user_context];
      if (status.code == LCI_DONE) {
        confirm(book, status);
      } else {
        CHILD_EXPECT(status.rank == kVictim && status.code == LCI_ERR_PEER_FAILED);
        ++book.failed;
      }
      CHILD_EXPECT(pending_-- != 0);
    }
  }
  static void confirm(Book& book, const lci_status& status) {
    CHILD_EXPECT(status.size == 8 && !status.buffer && status.tag < book.begun);
    ++book.confirmed;
  }
  void exchange() {
    std::vector<uint8_t> handles = handle_of(regions_[0]);
    const HandleBytes second = handle_of(regions_[1]);
    handles.insert(handles.end(), second.begin(), second.end());
    for (uint32_t to = 0; to < kRanks; ++to) {
      self_.until([&] {
        const int code =
            lci_post_am(self_.device, to, kPort, 0, handles.data(), static_cast<uint32_t>(handles.size()), nullptr, 0);
        CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
        return code == LCI_DONE;
      });
    }
    for (uint32_t n = 0; n < kRanks; ++n) {
      lci_status status{};
      self_.until([&] { return lci_queue_pop(self_.inbox, &status) == LCI_DONE; });
      CHILD_EXPECT(status.size == kRegions * LCI_MEMORY_HANDLE_SIZE);
      for (uint32_t i = 0; i < kRegions; ++i) {
        const auto* handle = static_cast<const uint8_t*>(status.buffer) + i * LCI_MEMORY_HANDLE_SIZE;
        CHILD_EXPECT(lci_remote_open(self_.runtime, status.rank, handle, LCI_MEMORY_HANDLE_SIZE, &ids_[status.rank][i],
                                     nullptr) == LCI_DONE);
      }
      lci_buffer_free(status.buffer);
    }
    CHILD_EXPECT(self_.barrier().code == LCI_DONE);
  }
  void post() {
    const auto to = static_cast<uint32_t>(random_() % kRanks), region = static_cast<uint32_t>(random_() % kRegions);
    Book& book = ledger_.books[rank_][to][region];
    lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, to, 1, 0, ids_[to][region], 8 * rank_);
    op.user_context = region;
    if (random_() % 4 == 0) op.flags |= LCI_FLAG_NO_RETRY;
    if (random_() % 4 == 0) op.flags |= LCI_FLAG_SIGNAL;
    ++book.begun;
    lci_status status = LCI_STATUS_INIT;
    const int code = lci_post(self_.device, &op, self_.ended, &status);
    if (code == LCI_DONE) {
      confirm(book, status);
    } else if (code == LCI_POSTED || code == LCI_POSTED_BACKLOG) {
      ++pending_;
    } else {
      CHILD_EXPECT(code < LCI_ERR_ARGUMENT || (to == kVictim && code == LCI_ERR_PEER_FAILED));
      --book.begun;  // nothing has happened
    }
  }

  Rank& self_;
  const uint32_t rank_;
  std::mt19937_64 random_;
  Ledger& ledger_;
  void* arena_ = nullptr;
  lci_memory* regions_[kRegions] = {};
  uint64_t ids_[kRanks][kRegions] = {};
  uint64_t pending_ = 0;
};

void survive(const JobDirectory& job, uint32_t rank, uint64_t seed, Ledger& ledger) {
  Rank self(job, rank, kRanks);
  Adding adding(self, rank, seed + rank, ledger);
  while (adding.step()) {
  }
  for (int i = 0; i < 200; ++i) adding.step();  // the living go on
  adding.finish();
  CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
}

/// A confirmed addition has happened, and one that has happened was begun. Between the living nothing is in doubt.
void check(const Ledger& ledger) {
  for (uint32_t from = 0; from < kRanks; ++from) {
    for (uint32_t owner = 0; owner < kRanks; ++owner) {
      for (uint32_t region = 0; region < kRegions; ++region) {
        if (owner == kVictim && region == 0) continue;  // its arena went with it
        SCOPED_TRACE("rank " + std::to_string(from) + " at rank " + std::to_string(owner) + ", region " +
                     std::to_string(region));
        const Book& book = ledger.books[from][owner][region];
        const uint64_t word = ledger.words[owner][region][from].load();
        const uint64_t begun = book.begun.load(), confirmed = book.confirmed.load(), failed = book.failed.load();
        EXPECT_LE(confirmed, word);
        EXPECT_LE(word, begun);
        if (from != kVictim) {
          EXPECT_EQ(begun, confirmed + failed) << "some did not end";
        }
        if (from != kVictim && owner != kVictim) {
          EXPECT_EQ(0u, failed);
          EXPECT_EQ(confirmed, word);
        }
      }
    }
  }
}

void run(const Attributes& attributes, uint64_t seed) {
  SCOPED_TRACE("replay with LCI_KILL_SEED=" + std::to_string(seed));
  const JobDirectory job(kRanks);
  const Signal ready;
  const SharedLedger ledger;
  for (const auto& [name, value] : attributes) setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::unique_ptr<Child>> survivors;
  for (const uint32_t rank : {0u, 1u}) {
    survivors.push_back(std::make_unique<Child>([&, rank] {
      survive(job, rank, seed, *ledger);
      return 0;
    }));
  }
  Child victim([&]() -> int {
    Rank self(job, kVictim, kRanks);
    Adding adding(self, kVictim, seed + kVictim, *ledger);
    ready.give();
    for (;;) adding.step();
  });
  for (const auto& [name, value] : attributes) unsetenv(name.c_str());
  ASSERT_TRUE(ready.take());
  usleep(static_cast<useconds_t>(seed * 7919 % 60'000));
  victim.kill();
  for (auto& each : survivors) EXPECT_EQ(0, each->wait());
  if (!testing::Test::HasFailure()) check(*ledger);
}

void run_seeds(const Attributes& attributes) {
  const char* given = std::getenv("LCI_KILL_SEED");
  const char* tier = std::getenv("LCI_TIER");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given ? 1 : tier && std::string(tier) == "soak" ? 50 : 4;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) run(attributes, seed);
}

// Proves: C23
TEST(AtomicsDeath, WhatIsConfirmedHasHappenedOnce) {
  run_seeds({});
}
// Proves: C23
TEST(AtomicsDeath, WhatIsConfirmedHasHappenedOnceByMessages) {
  run_seeds({{"LCI_ATTR_RMA", "messages"}});
}
// Proves: C23
TEST(AtomicsDeath, WhatIsConfirmedHasHappenedOnceThroughRings) {
  run_seeds({{"LCI_ATTR_PEER_MEMORY", "rings"}});
}

}  // namespace
}  // namespace lci_test
