// SPDX-License-Identifier: Apache-2.0
// Row A24: devices that are added to running runtimes, by some ranks and not by others.
#include <list>
#include <set>

#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 12;
constexpr uint32_t kDevices = 4;

void free_payload(const lci_status& status) {
  if (status.buffer) lci_buffer_free(status.buffer);
}

// One rank has a device more than the others: what it posts there waits for them, and goes out when they have it.
// Proves: A24
CONFORMANCE(A24, APostWaitsUntilThePeerHasTheDevice) {
  lci_comp* inbox = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  for (uint32_t first = 0; first < 2; ++first) {  // once each way between the first two ranks
    const uint32_t index = first + 1;
    if (world.rank() == first) world.add_device();
    const uint64_t value = first;
    const auto op = operation(LCI_OP_AM, (first + 1) % 2, kPort, index, &value, sizeof value);
    if (world.rank() == first) {
      for (int i = 0; i < 20; ++i) {
        lci_descriptor attempt = op;
        EXPECT_EQ(LCI_RETRY_NOCREDIT, lci_post(world.device(index), &attempt, nullptr, nullptr)) << lci_last_error();
        world.progress();
      }
    }
    world.barrier();
    if (world.rank() != first) world.add_device();
    if (world.rank() == first) {
      EXPECT_EQ(LCI_DONE, world.post(op, nullptr, nullptr, index)) << lci_last_error();
    }
    if (world.rank() == (first + 1) % 2) {
      const lci_status status = world.pop(inbox);
      EXPECT_EQ(index, status.tag);
      EXPECT_EQ(first, status.rank);
      free_payload(status);
    }
    world.barrier();
  }
  lci_status none{};
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox, &none));
}

/// Messages of one rank to all others, over the devices that it has, posted as they are taken.
class Traffic {
 public:
  static constexpr uint64_t kOfEach = 60;

  Traffic(World& world, lci_comp* inbox) : world_(world), inbox_(inbox), bytes_(700, 3) {}

  void add(uint64_t number) {
    for (uint32_t to = 0; to < world_.size(); ++to) {
      const auto index = static_cast<uint32_t>(number % devices_);
      auto op = operation(LCI_OP_AM, to, kPort, number, bytes_.data(), number % 3 == 0 ? 700 : 16);
      if (number % 4 == 0) op.flags |= LCI_FLAG_NO_RETRY;
      waiting_.push_back({op, index});
    }
  }
  void add_device() {
    world_.add_device();
    ++devices_;
  }
  uint32_t devices() const { return devices_; }
  /// One attempt of each that waits, and one pass.
  void pass() {
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      lci_descriptor attempt = each->op;
      const int code = lci_post(world_.device(each->device), &attempt, nullptr, nullptr);
      EXPECT_TRUE(is_retry(code) || code == LCI_DONE || code == LCI_DONE_BACKLOG) << code << lci_last_error();
      each = is_retry(code) ? std::next(each) : waiting_.erase(each);
    }
    world_.progress();
    lci_status status{};
    while (lci_queue_pop(inbox_, &status) == LCI_DONE) {
      EXPECT_TRUE(came_.insert({status.rank, status.tag}).second) << "twice: " << status.tag << " of " << status.rank;
      free_payload(status);
    }
  }
  bool done() const { return waiting_.empty() && came_.size() == world_.size() * kOfEach; }

 private:
  struct Waiting {
    lci_descriptor op;
    uint32_t device;
  };
  World& world_;
  lci_comp* const inbox_;
  const Bytes bytes_;
  uint32_t devices_ = 1;
  std::list<Waiting> waiting_;
  std::set<std::pair<uint32_t, uint64_t>> came_;
};

// Each rank adds its devices at other times than the others, while messages run on those that there are.
// Proves: A24
CONFORMANCE(A24, NothingIsLostWhileRanksAddInAnyOrder) {
  lci_comp* inbox = world.queue();
  world.open_port(kPort, inbox, 64, 1 << 20);
  world.barrier();
  Traffic traffic(world, inbox);
  for (uint64_t number = 0; number < Traffic::kOfEach; ++number) {
    traffic.add(number);
    const bool due = (number + 7 * world.rank() + world.seed()) % (5 + world.rank()) == 0;
    if (due && traffic.devices() < kDevices) traffic.add_device();
    traffic.pass();
  }
  while (traffic.devices() < kDevices) traffic.add_device();
  world.until([&] {
    traffic.pass();
    return traffic.done();
  });
}

// A put that needs the peer's help waits for its device: a region of the test is reached by messages.
// Proves: A24
CONFORMANCE(A24, PutsByMessagesWaitUntilThePeerHasTheDevice, {"rma", "messages"}) {
  Regions regions(world, RegionKind::kRegistered, 64);
  lci_comp* ended = world.queue();
  if (world.rank() == 0) {
    world.add_device();
    const uint64_t value = 0x0102030405060708;
    const auto put = remote_op(LCI_OP_PUT, 1, &value, sizeof value, regions.of(1), 8);
    const auto add = atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, regions.of(1), 16);
    for (const auto& op : {put, add}) {
      lci_descriptor attempt = op;
      EXPECT_EQ(LCI_RETRY_NOCREDIT, lci_post(world.device(1), &attempt, ended, nullptr)) << lci_last_error();
    }
    world.barrier();
    EXPECT_EQ(LCI_DONE, finish(world, put, ended, 1).code);
    EXPECT_EQ(LCI_DONE, finish(world, add, ended, 1).code);
  } else {
    world.barrier();
    EXPECT_TRUE(untouched(regions.mine(), 64));
    world.add_device();
  }
  world.barrier();
  if (world.rank() == 1) {
    const uint64_t value = 0x0102030405060708;
    EXPECT_EQ(0, compare(regions.mine() + 8, &value, sizeof value));
    EXPECT_EQ(0xEF, regions.mine()[16]);
  }
  regions.close();
}

}  // namespace
}  // namespace lci_test
