// SPDX-License-Identifier: Apache-2.0
// Four threads help a lane while its owner enters, opens and closes ports: no enter is refused, nothing is lost.
#include <atomic>
#include <thread>
#include <vector>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5, kOther = 6, kHelpers = 4;
constexpr uint64_t kMessages = 20'000;

class Helpers {
 public:
  explicit Helpers(lci_lane* lane) {
    for (uint32_t i = 0; i < kHelpers; ++i) {
      threads_.emplace_back([this, lane] {
        while (!stop_.load(std::memory_order_acquire)) {
          if (lci_lane_help(lane) != LCI_DONE) std::this_thread::yield();
        }
      });
    }
  }
  ~Helpers() {
    stop_.store(true, std::memory_order_release);
    for (auto& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(LaneHelpStress, OwnerAndHelpersLoseNothing) {
  Job job(1, {{"devices", "2"}});
  {
    LaneDriver sender(job, 0, 1);
    LaneDriver lane(job, 0, 0);
    uint32_t index = lane.open(kPort, 64, 1 << 16);
    lane.demand(index).requested = UINT32_MAX;
    uint64_t sent = 0, taken = 0, sum = 0, refused = 0;
    std::atomic<bool> done{false};
    std::thread sending([&] {
      while (sent < kMessages) {
        auto& op = sender.add_am(0, kPort, sent, sent);
        op.device = 0;
        sender.enter();
        if (op.outcome == LCI_DONE) ++sent;
        sender.read([](const lci_record&) {});
      }
      while (!done.load(std::memory_order_acquire)) {
        sender.enter();
        sender.read([](const lci_record&) {});
      }
    });
    {
      const Helpers helpers(lane.handle());
      for (uint64_t turn = 0; taken < kMessages; ++turn) {
        if (turn % 64 == 0) {  // what the lane's own thread may do outside of an enter
          const uint32_t other = lane.open(kOther, 16, 4096);
          ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), other)) << lci_last_error();
        }
        if (turn % 3 == 0) std::this_thread::yield();  // the user's code
        refused += lane.enter() == LCI_ERR_BUSY;
        lane.read([&](const lci_record& record) {
          if (record.kind != LCI_RECORD_MESSAGE) return;
          ++taken;
          sum += LaneDriver::value_of(record);
        });
      }
    }
    done.store(true, std::memory_order_release);
    sending.join();
    EXPECT_EQ(0u, refused) << "an owner waits for a helper";
    EXPECT_EQ(kMessages * (kMessages - 1) / 2, sum);
    EXPECT_LT(0u, job.counter(0, "lane_helps"));
    for (int i = 0; i < 1'000; ++i) {
      sender.enter();
      lane.enter();
      sender.read([](const lci_record&) {});
      lane.read([](const lci_record&) {});
    }
  }
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
