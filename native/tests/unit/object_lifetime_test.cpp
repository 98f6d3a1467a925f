// SPDX-License-Identifier: Apache-2.0
// Completion objects that are freed while arrivals are on their way to them. [B26, X13]
// Mutation that must make this file fail: free_under_delivery.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/background.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5;

/// A function of the user that is still running when its port closes.
struct Slow {
  std::atomic<bool> entered{false}, go{false}, left{false};
  lci_comp* object = nullptr;
  int freed_inside = LCI_DONE;

  void run() {
    entered.store(true);
    while (!go.load()) std::this_thread::yield();
    left.store(true);
  }
};
void run_slow(const lci_status*, void* argument) {
  static_cast<Slow*>(argument)->run();
}
int take_slow(const lci_status*, void* argument) {
  return static_cast<Slow*>(argument)->run(), LCI_DONE;
}

lci_comp* make_slow(lci_runtime* runtime, bool custom, Slow* slow) {
  lci_comp* object = nullptr;
  EXPECT_EQ(LCI_DONE, custom ? lci_custom_create(runtime, take_slow, slow, 0, &object)
                             : lci_handler_create(runtime, run_slow, slow, &object));
  return object;
}

/// Whoever has closed the port and freed the object may free what its function works on.
// Proves: B26
TEST(ObjectLifetime, FreeingWaitsForTheArrivalThatIsBeingDelivered) {
  for (const bool custom : {false, true}) {
    Job job(1, {{"devices", "2"}});
    Slow slow;
    lci_comp* object = make_slow(job.runtime(0), custom, &slow);
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", object, 0, 0));
    lci_device* device = job.device(0, 1);
    while (lci_post_am(device, 0, kPort, 1, "x", 1, nullptr, 0) != LCI_DONE) lci_progress(device);
    Background progress([&] { lci_progress(device); });
    while (!slow.entered.load()) std::this_thread::yield();

    std::atomic<bool> freed{false};
    bool left_before = false;
    int code = LCI_RETRY;
    std::thread freeing([&] {
      EXPECT_EQ(LCI_DONE, lci_port_close(job.runtime(0), kPort));
      code = lci_comp_free(object);
      left_before = slow.left.load();
      freed.store(true);
    });
    // Time to go wrong in; whoever waits, waits until `go`.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!freed.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    slow.go.store(true);
    freeing.join();
    EXPECT_EQ(LCI_DONE, code) << lci_last_error();
    EXPECT_TRUE(left_before) << "the object was freed while its function was running";
  }
}

void free_itself(const lci_status*, void* argument) {
  auto& slow = *static_cast<Slow*>(argument);
  EXPECT_EQ(LCI_DONE, lci_port_close(lci_global_runtime(), kPort));
  slow.freed_inside = lci_comp_free(slow.object);
}

/// A function cannot wait for its own end.
TEST(ObjectLifetime, AFunctionMayNotFreeItsOwnObject) {
  lci_runtime* runtime = nullptr;
  ASSERT_EQ(LCI_DONE, lci_global_init(nullptr, &runtime)) << lci_last_error();
  Slow slow;
  ASSERT_EQ(LCI_DONE, lci_handler_create(runtime, free_itself, &slow, &slow.object));
  ASSERT_EQ(LCI_DONE, lci_port_open(runtime, kPort, "", slow.object, 0, 0));
  while (lci_post_am(nullptr, 0, kPort, 1, "x", 1, nullptr, 0) != LCI_DONE) lci_progress(nullptr);
  for (int i = 0; i < 10; ++i) lci_progress(nullptr);
  EXPECT_EQ(LCI_ERR_BUSY, slow.freed_inside);
  EXPECT_EQ(LCI_DONE, lci_comp_free(slow.object)) << "when it has returned";
  EXPECT_EQ(LCI_DONE, lci_global_fini(100));
}

}  // namespace
}  // namespace lci_test
