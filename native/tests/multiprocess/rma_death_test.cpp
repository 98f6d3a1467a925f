// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed while puts and gets of all kinds are under way to and from them: the others' operations end,
// each once, and nothing of theirs stays behind. [C4-C7, X4, L1]
#include <cstdlib>
#include <memory>
#include <random>

#include "support/processes.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRanks = 3, kVictim = 2;
constexpr uint32_t kSignalPort = 10, kCapacity = 16;
constexpr uint64_t kBytes = 300'000;

uint64_t counter(const Rank& self, const std::string& name) {
  uint64_t values[256];
  const uint32_t count = lci_runtime_snapshot(self.runtime, values, 256);
  for (uint32_t i = 0; i < count; ++i) {
    if (name == lci_counter_name(i)) return values[i];
  }
  CHILD_EXPECT(!"such a counter");
  return 0;
}

/// Random puts and gets, with and without signal, to and from two regions of every rank.
class Traffic {
 public:
  Traffic(Rank& self, uint32_t rank, uint64_t seed) : self_(self), rank_(rank), random_(seed), heap_(kBytes) {
    CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &regions_[0], &address_) == LCI_DONE);
    CHILD_EXPECT(lci_memory_register(self.runtime, heap_.data(), kBytes, &regions_[1]) == LCI_DONE);
    CHILD_EXPECT(lci_queue_create(self.runtime, kCapacity, &told_) == LCI_DONE);
    CHILD_EXPECT(lci_port_open(self.runtime, kSignalPort, "", told_, kCapacity, 1 << 20) == LCI_DONE);
    exchange();
  }
  /// Posts once, takes what has ended and arrived. False: the victim is known to be dead.
  bool step() {
    if (pending_ < 100) post();
    lci_progress(self_.device);
    take();
    int32_t state = 0;
    CHILD_EXPECT(lci_runtime_peer(self_.runtime, kVictim, &state) == LCI_DONE);
    return state == LCI_PEER_ALIVE;
  }
  /// Everything ends, with the victim or well, and has left this rank.
  void finish() {
    self_.until([&] {
      take();
      return pending_ == 0 && lci_test_drained(self_.device) == LCI_DONE && counter(self_, "packets_out") == 0;
    });
    CHILD_EXPECT(counter(self_, "packets_get") == counter(self_, "packets_put"));
    CHILD_EXPECT(counter(self_, "sends_pending") == 0 && counter(self_, "protocol_errors") == 0);
  }
  void take() {
    take_ended();
    lci_status status{};
    while (lci_queue_pop(told_, &status) == LCI_DONE) CHILD_EXPECT(!status.buffer && status.size == 0);
  }
  /// One more signal to @p other, as far as its port has room.
  void signal(uint32_t other) {
    const int code =
        lci_post_put_signal(self_.device, other, out_.data(), 8, ids_[other][0], 0, kSignalPort, 1, self_.ended, 0);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
    pending_ += code == LCI_POSTED;
    take_ended();
  }
  bool port_is_full() const { return lci_queue_length(told_) == kCapacity; }
  /// The regions end, and the range that peers copied to and from is used again: nobody waits for a copy of the dead.
  void end_regions() {
    for (const auto& ids : ids_) {
      for (const uint64_t id : ids) CHILD_EXPECT(lci_remote_close(self_.runtime, id) == LCI_DONE);
    }
    CHILD_EXPECT(lci_memory_free(regions_[0]) == LCI_DONE && lci_memory_deregister(regions_[1]) == LCI_DONE);
    CHILD_EXPECT(counter(self_, "memory_regions") == 0 && counter(self_, "memory_allocated") == 0);
    lci_memory* again = nullptr;
    void* address = nullptr;
    CHILD_EXPECT(lci_memory_allocate(self_.runtime, kBytes, &again, &address) == LCI_DONE);
    CHILD_EXPECT(address == address_);
    CHILD_EXPECT(lci_memory_free(again) == LCI_DONE);
  }

 private:
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
      CHILD_EXPECT(status.size == 2 * LCI_MEMORY_HANDLE_SIZE);
      for (uint32_t i = 0; i < 2; ++i) {
        const auto* handle = static_cast<const uint8_t*>(status.buffer) + i * LCI_MEMORY_HANDLE_SIZE;
        CHILD_EXPECT(lci_remote_open(self_.runtime, status.rank, handle, LCI_MEMORY_HANDLE_SIZE, &ids_[status.rank][i],
                                     nullptr) == LCI_DONE);
      }
      lci_buffer_free(status.buffer);
    }
    CHILD_EXPECT(self_.barrier().code == LCI_DONE);
  }
  void post() {
    const auto to = static_cast<uint32_t>(random_() % kRanks);
    const uint64_t sizes[] = {0, 8, 5000, 100'000, kBytes / 2};
    const uint64_t size = sizes[random_() % 5], at = kBytes / 2 * (rank_ % 2);
    const uint8_t kind = random_() % 2 ? LCI_OP_PUT : LCI_OP_GET;
    // Each rank has memory of its own for each operation's direction: what a get brings is of no interest here.
    std::vector<uint8_t>& local = kind == LCI_OP_PUT ? out_ : in_;
    lci_descriptor op = remote_op(kind, to, local.data(), size, ids_[to][random_() % 2], at,
                                  random_() % 2 ? kSignalPort : 0, random_() % 65'536);
    if (random_() % 4 == 0) op.flags |= LCI_FLAG_NO_RETRY;
    const int code = lci_post(self_.device, &op, self_.ended, nullptr);
    const bool victims = to == kVictim;
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT || (victims && code == LCI_ERR_PEER_FAILED));
    pending_ += code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
  }
  void take_ended() {
    lci_status status{};
    while (lci_queue_pop(self_.ended, &status) == LCI_DONE) {
      CHILD_EXPECT(status.code == LCI_DONE || (status.rank == kVictim && status.code == LCI_ERR_PEER_FAILED));
      CHILD_EXPECT(pending_-- != 0);
    }
  }

  Rank& self_;
  const uint32_t rank_;
  std::mt19937_64 random_;
  std::vector<uint8_t> heap_, in_ = std::vector<uint8_t>(kBytes), out_ = std::vector<uint8_t>(kBytes, 1);
  lci_memory* regions_[2] = {};
  void* address_ = nullptr;
  lci_comp* told_ = nullptr;
  uint64_t ids_[kRanks][2] = {};
  uint64_t pending_ = 0;
};

/// The two survivors have come here; what one sent to the other before has arrived. A barrier would end with the dead.
/// @p meanwhile is called again and again.
template <typename F>
void meet(Rank& self, uint32_t other, F meanwhile, Place where = {}) {
  lci_descriptor op = operation(LCI_OP_SEND, other, 0, 1, nullptr, 0);
  self.until([&] {
    const int code = lci_post(self.device, &op, nullptr, nullptr);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
    return code == LCI_DONE;
  });
  lci_comp* heard = nullptr;
  CHILD_EXPECT(lci_counter_create(self.runtime, &heard) == LCI_DONE);
  op = operation(LCI_OP_RECV, other, 0, 1, nullptr, 0);
  lci_status status{};
  const int code = lci_post(self.device, &op, heard, &status);
  CHILD_EXPECT(code == LCI_DONE || code == LCI_POSTED);
  if (code == LCI_POSTED) {
    const auto met = [&] {
      meanwhile();
      return lci_counter_get(heard) == 1;
    };
    self.until(met, where);
  }
  CHILD_EXPECT(lci_comp_free(heard) == LCI_DONE);
}

void survive(const JobDirectory& job, uint32_t rank, uint64_t seed) {
  const uint32_t other = 1 - rank;
  Rank self(job, rank, kRanks);
  Traffic traffic(self, rank, seed + rank);
  while (traffic.step()) {
  }
  for (int i = 0; i < 200; ++i) traffic.step();  // the living go on
  traffic.finish();
  const auto take = [&] { traffic.take(); };
  meet(self, other, take);  // the other one's last signals want room
  // The ports get full: nothing of their room is leased to the dead. What fills them is not the other's signals alone:
  // those of this rank to itself, and the last ones of the dead, may come as late as that.
  const auto signal = [&] { traffic.signal(other); };
  self.until([&] {
    signal();
    return traffic.port_is_full();
  });
  meet(self, other, signal);  // until the other one's port is full, too
  traffic.finish();
  meet(self, other, take);
  traffic.end_regions();
  meet(self, other, [] {});
  CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
}

void run(const char* mode, uint64_t seed) {
  SCOPED_TRACE("replay with LCI_KILL_SEED=" + std::to_string(seed));
  const JobDirectory job(kRanks);
  const Signal ready;
  setenv("LCI_ATTR_RMA", mode, 1);
  std::vector<std::unique_ptr<Child>> survivors;
  for (const uint32_t rank : {0u, 1u}) {
    survivors.push_back(std::make_unique<Child>([&, rank] {
      survive(job, rank, seed);
      return 0;
    }));
  }
  Child victim([&]() -> int {
    Rank self(job, kVictim, kRanks);
    Traffic traffic(self, kVictim, seed + kVictim);
    ready.give();
    for (;;) traffic.step();
  });
  unsetenv("LCI_ATTR_RMA");
  ASSERT_TRUE(ready.take());
  usleep(static_cast<useconds_t>(seed * 7919 % 60'000));
  victim.kill();
  for (auto& each : survivors) EXPECT_EQ(0, each->wait());
}

void run_seeds(const char* mode) {
  const char* given = std::getenv("LCI_KILL_SEED");
  const char* tier = std::getenv("LCI_TIER");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given ? 1 : tier && std::string(tier) == "soak" ? 50 : 4;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) run(mode, seed);
}

// A rank dies as initiator and as target, over memory that is shared and memory that is not.
// Proves: X4
TEST(RmaDeath, NothingOfTheLivingIsLost) {
  run_seeds("auto");
}
// Proves: X4
TEST(RmaDeath, NothingOfTheLivingIsLostByMessages) {
  run_seeds("messages");
}

}  // namespace
}  // namespace lci_test
