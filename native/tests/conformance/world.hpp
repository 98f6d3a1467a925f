// SPDX-License-Identifier: Apache-2.0
// Tests of rows of the specification that every rank of a job runs alike, over each transport: ranks in one process,
// processes of 2 and 4 ranks over the file bootstrap, shared memory, TCP, and both (routed: two ranks to a host), and
// chaos under seeds that are printed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lci/lci.h"
#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/threads.hpp"

namespace lci_test {

using Bytes = std::vector<uint8_t>;

/// Whether the full figures of the rows are asked for (LCI_TIER).
bool soak();

/// One rank of the job, as the body of a row's test sees it. Used by the thread or the process of that rank only.
class World {
 public:
  World(lci_runtime* runtime, uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  lci_runtime* runtime() const { return runtime_; }
  lci_device* device(uint32_t index = 0) const;
  /// One more, which is progressed with the others.
  void add_device();
  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  uint32_t next() const { return (rank_ + 1) % size_; }
  uint32_t previous() const { return (rank_ + size_ - 1) % size_; }
  /// Of the chaos; 0 where there is none.
  uint64_t seed() const { return seed_; }

  /// One pass of each device. True if anything moved.
  bool progress();
  /// Progresses until @p ready; ends the test when that takes half a minute, in the soak ten.
  template <typename Ready>
  void until(Ready ready) {
    const lci::test::Deadline end(patience_);
    while (!ready()) {
      if (end.passed()) give_up("waited too long");
      if (!progress()) std::this_thread::yield();
    }
  }
  /// Posts until the answer is no retry.
  int post(const lci_descriptor& op, lci_comp* comp, lci_status* out = nullptr, uint32_t device_index = 0);
  /// The next status of a queue.
  lci_status pop(lci_comp* queue);
  lci_comp* queue(uint32_t capacity = 1024) const { return make_queue(runtime_, capacity); }
  void open_port(uint32_t port, lci_comp* comp, uint32_t messages = 0, uint64_t bytes = 0) const;
  /// All ranks have come here.
  void barrier();
  /// What every rank gave, in the order of ranks.
  std::vector<Bytes> gather(const Bytes& mine);
  uint64_t counter(const std::string& name) const;
  /// The rank is reached over a network: none reads the other one's memory.
  bool is_far(uint32_t rank) const;
  /// What a rank has not been sent is asked for: it cannot be looked at.
  bool peers_read_rings_only() const;
  /// What must hold when nothing is under way; after it, the objects of the test may be freed.
  void end();

 private:
  static constexpr uint32_t kGatherPort = 2000;
  std::string attribute(const char* name) const;
  [[noreturn]] void give_up(const std::string& why) const;

  lci_runtime* const runtime_;
  const uint64_t seed_;
  const uint64_t patience_ = soak() ? 600 : 30;
  uint32_t rank_ = 0, size_ = 0, devices_ = 0;
  lci_comp* ended_ = nullptr;
  lci_comp* gathered_ = nullptr;
};

/// Where a test runs.
struct Setting {
  std::string name;
  uint32_t ranks;
  bool processes;
  uint64_t seed;
  bool rings = false;          ///< A rank reads only what was sent to it.
  std::string transport = {};  ///< Empty: what the attributes say.
  bool breaks = false;         ///< Chaos resets connections as well.
  bool seals = false;          ///< What goes over them is sealed.
};
inline void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

/// The settings of every test: inproc, shm with 2 and 4 ranks, chaos of 3 seeds, in the soak 200,
/// or of that in LCI_SEED; and where a rank reads only what was sent to it, over TCP, and routed, also with chaos; and
/// over TCP connections that break, or are sealed. Under sanitizers chaos has one seed.
std::vector<Setting> settings();

/// Runs @p body on each rank of a new job, checks the ledgers, closes.
void run_everywhere(const Setting& setting, const Attributes& attributes, void (*body)(World&));

class Conformance : public testing::TestWithParam<Setting> {};

/// A test of ROW that each rank runs over every transport, with attributes of the runtimes as further arguments:
///   CONFORMANCE(C4, PutAtEverySize, {"packets", "16"}) { world.post(...); }
#define CONFORMANCE(row, name, ...)                                     \
  static void row##_##name(World& world);                               \
  TEST_P(Conformance, row##_##name) {                                   \
    run_everywhere(GetParam(), Attributes{__VA_ARGS__}, &row##_##name); \
  }                                                                     \
  static void row##_##name([[maybe_unused]] World& world)

}  // namespace lci_test
