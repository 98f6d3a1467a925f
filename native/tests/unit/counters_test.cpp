// SPDX-License-Identifier: Apache-2.0
// The counters: a scenario in which each step moves exactly the counters that it should, and no other. What the network
// counters of [M1] count has no counterpart over shared memory.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "api/handles.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
using Deltas = std::map<std::string, int64_t>;

/// How often progress is called, what waits where, how credit travels, and over what links is not the scenario's.
const std::set<std::string> kOthers = {"progress_calls",   "progress_idle", "grants",         "returns",
                                       "recalls",          "pulls",         "credits_leased", "packets_free",
                                       "packets_capacity", "announcements"};

class Counters : public testing::Test {
 protected:
  Counters() {
    inbox_ = make_queue(job_.runtime(1));
    ended_ = make_queue(job_.runtime(0));
    received_ = make_queue(job_.runtime(1));
    EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", inbox_, 16, 1 << 20));
    post(message(0, 8));  // now there is credit
    take(1);
    job_.settle();
  }
  ~Counters() override { job_.check_ledgers(); }

  lci_descriptor message(uint64_t tag, uint32_t size) {
    return operation(LCI_OP_AM, 1, kPort, tag, bytes_.data(), size);
  }
  int post(const lci_descriptor& op) {
    lci_descriptor attempt = op;
    return lci_post(job_.device(0), &attempt, ended_, nullptr);
  }
  void take(int count) {
    for (int i = 0; i < count; ++i) {
      lci_status status{};
      ASSERT_TRUE(pop(job_, inbox_, &status));
      lci_buffer_free(status.buffer);
    }
  }
  /// What moved on @p rank during @p step and until nothing moves any more.
  template <typename Step>
  Deltas moved(uint32_t rank, Step step) {
    const auto before = all(rank);
    step();
    job_.settle();
    Deltas deltas;
    for (const auto& [name, value] : all(rank)) {
      const auto delta = static_cast<int64_t>(value - before.at(name));
      if (delta != 0 && !kOthers.count(name) && !name.starts_with("net_")) deltas[name] = delta;
    }
    return deltas;
  }

  Job job_{2, {{"packets", "4"}, {"packets_max", "4"}, {"devices", "2"}, {"backlog_messages", "4"}}};
  lci_comp *inbox_ = nullptr, *ended_ = nullptr, *received_ = nullptr;
  const std::vector<uint8_t> bytes_ = pattern(100'000, 1);

  using Named = std::map<std::string, uint64_t>;
  Named all(uint32_t rank) {
    uint64_t values[256];
    return named(values, lci_runtime_snapshot(job_.runtime(rank), values, 256));
  }
  /// What one device of rank 0 has counted, or what none has.
  Named part(uint32_t device) {
    uint64_t values[256];
    return named(values, lci_runtime_snapshot_part(job_.runtime(0), device, values, 256));
  }

 private:
  static Named named(const uint64_t* values, uint32_t count) {
    Named all;
    for (uint32_t i = 0; i < count; ++i) all[lci_counter_name(i)] = values[i];
    return all;
  }
};

// Proves: M1
TEST_F(Counters, CountWhatIsDone) {
  const auto three_inline = [&] {
    for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(LCI_DONE, post(message(i, 40)));
  };
  EXPECT_EQ((Deltas{{"operations_am_done", 3}, {"sent_bytes", 120}}), moved(0, three_inline));
  EXPECT_EQ((Deltas{{"statuses_popped", 3}}), moved(1, [&] { take(3); }));
  EXPECT_EQ((Deltas{{"arrivals", 3}, {"arrival_bytes", 120}, {"statuses_pushed", 3}}), moved(1, three_inline));
  take(3);
  const auto in_a_packet = [&] { ASSERT_EQ(LCI_DONE, post(message(0, 4000))); };
  EXPECT_EQ((Deltas{{"operations_am_done", 1}, {"sent_bytes", 4000}, {"packets_get", 1}, {"packets_put", 1}}),
            moved(0, in_a_packet));
  take(1);
}

// Proves: M1
TEST_F(Counters, CountWhatIsPosted) {
  const auto long_message = [&] { ASSERT_EQ(LCI_POSTED, post(message(0, 100'000))); };
  const Deltas sender = moved(0, long_message);
  for (const auto& [name, delta] : Deltas{{"operations_am_posted", 1},
                                          {"sent_bytes", 100'000},
                                          {"rendezvous", 1},
                                          {"signals", 1},
                                          {"statuses_pushed", 1}}) {
    ASSERT_TRUE(sender.count(name)) << name;
    EXPECT_EQ(delta, sender.at(name)) << name;
  }
  ASSERT_TRUE(sender.count("packets_get"));
  EXPECT_EQ(sender.at("packets_get"), sender.at("packets_put"));
  take(1);
  uint64_t value = 0;
  const auto receive = [&] {
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job_.device(1), 0, 5, &value, 8, received_, 0, nullptr));
  };
  EXPECT_EQ((Deltas{{"operations_recv_posted", 1}, {"receives_pending", 1}}), moved(1, receive));
  const auto send = [&] { ASSERT_EQ(LCI_DONE, lci_post_send(job_.device(0), 1, 5, &value, 8, nullptr, 0)); };
  const Deltas matched = moved(1, send);
  for (const auto& [name, delta] : Deltas{
           {"receives_pending", -1}, {"signals", 1}, {"statuses_pushed", 1}, {"arrivals", 1}, {"arrival_bytes", 8}}) {
    ASSERT_TRUE(matched.count(name)) << name;
    EXPECT_EQ(delta, matched.at(name)) << name;
  }
}

// Proves: M1
TEST_F(Counters, CountRefusalsByTheirReason) {
  EXPECT_EQ((Deltas{{"retries_lock", 1}}), moved(0, [&] {
              lci::TryLock& lock = lci::from_handle(job_.device(0))->lock;
              lock.lock();
              EXPECT_EQ(LCI_RETRY_LOCK, post(message(0, 8)));
              lock.unlock();
            }));
  std::vector<uint64_t> held;
  uint64_t packet = 0;
  void* payload = nullptr;
  EXPECT_EQ((Deltas{{"packets_get", 4}, {"packets_held", 4}, {"packets_miss", 1}}), moved(0, [&] {
              while (lci_packet_get(job_.device(0), &packet, &payload) == LCI_DONE) held.push_back(packet);
            }));
  ASSERT_EQ(4u, held.size());
  EXPECT_EQ((Deltas{{"retries_nopacket", 1}, {"packets_miss", 1}}),
            moved(0, [&] { EXPECT_EQ(LCI_RETRY_NOPACKET, post(message(0, 4000))); }));
  lci_descriptor kept = message(1, 4000);
  kept.flags |= LCI_FLAG_NO_RETRY;
  const Deltas backlog = moved(0, [&] {
    EXPECT_EQ(LCI_DONE_BACKLOG, post(kept));
    EXPECT_EQ(LCI_RETRY_BACKLOG, post(message(2, 8)));
  });
  EXPECT_EQ(1, backlog.at("backlog_push"));
  EXPECT_EQ(1, backlog.at("backlog_depth"));
  EXPECT_EQ(1, backlog.at("retries_backlog"));
  EXPECT_EQ(0u, backlog.count("backlog_pop"));
  const Deltas freed = moved(0, [&] {
    for (const uint64_t each : held) ASSERT_EQ(LCI_DONE, lci_packet_put(job_.device(0), each));
  });
  EXPECT_EQ(1, freed.at("backlog_pop"));
  EXPECT_EQ(-1, freed.at("backlog_depth"));
  EXPECT_EQ(-4, freed.at("packets_held"));
  take(1);
}

// Proves: M1
TEST_F(Counters, CountProgressErrorsAndSteals) {
  const uint64_t calls = job_.counter(0, "progress_calls");
  for (int i = 0; i < 10; ++i) lci_progress(job_.device(0));
  EXPECT_EQ(calls + 10, job_.counter(0, "progress_calls"));
  EXPECT_EQ((Deltas{{"operations_error", 1}}), moved(0, [&] {
              lci_descriptor wrong = message(0, 8);
              wrong.rank = 2;
              EXPECT_EQ(LCI_ERR_RANK, post(wrong));
            }));
  uint64_t packet = 0;
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job_.device(0, 0), &packet, &payload)) << "all packets lie with device 0";
  ASSERT_EQ(LCI_DONE, lci_packet_put(job_.device(0, 0), packet));
  EXPECT_EQ((Deltas{{"packets_get", 1}, {"packets_steal", 1}, {"packets_held", 1}}),
            moved(0, [&] { ASSERT_EQ(LCI_DONE, lci_packet_get(job_.device(0, 1), &packet, &payload)); }));
  ASSERT_EQ(LCI_DONE, lci_packet_put(job_.device(0, 1), packet));
}

// Mutation: counters_of_device_0.
// Proves: M1 U7
TEST_F(Counters, TellWhatEachDeviceDid) {
  const Named first = part(0), second = part(1);
  const auto post_on = [&](uint32_t device) {
    lci_descriptor op = message(1, 40);
    return lci_post(job_.device(0, device), &op, ended_, nullptr);
  };
  const auto progress = [&] {
    job_.settle();
    for (uint32_t rank = 0; rank < 2; ++rank) lci_progress(job_.device(rank, 1));
  };
  const lci::test::Deadline deadline(30);
  ASSERT_EQ(LCI_DONE, post_on(0));
  for (int sent = 0; sent < 3; progress()) {
    ASSERT_FALSE(deadline.passed());
    sent += post_on(1) == LCI_DONE;
  }
  for (int taken = 0; taken < 4; progress()) {
    ASSERT_FALSE(deadline.passed());
    lci_status status{};
    if (lci_queue_pop(inbox_, &status) != LCI_DONE) continue;
    ++taken;
    lci_buffer_free(status.buffer);
  }
  lci::TryLock& lock = lci::from_handle(job_.device(0, 1))->lock;
  lock.lock();
  EXPECT_EQ(LCI_RETRY_LOCK, post_on(1));
  lock.unlock();
  for (; part(1)["packets_out"] != 0; progress()) ASSERT_FALSE(deadline.passed());
  EXPECT_EQ(1u, part(0)["operations_am_done"] - first.at("operations_am_done"));
  EXPECT_EQ(3u, part(1)["operations_am_done"] - second.at("operations_am_done"));
  EXPECT_EQ(120u, part(1)["sent_bytes"] - second.at("sent_bytes"));
  EXPECT_EQ(first.at("retries_lock"), part(0)["retries_lock"]);
  EXPECT_EQ(second.at("retries_lock") + 1, part(1)["retries_lock"]);
  EXPECT_LT(second.at("packets_get"), part(1)["packets_get"]) << "the first was announced in a packet";
  EXPECT_EQ(0u, part(LCI_NO_DEVICE)["operations_am_done"]);
  EXPECT_EQ(4u, part(LCI_NO_DEVICE)["packets_capacity"]);
  for (const auto& [name, value] : all(0)) {
    EXPECT_EQ(value, part(0)[name] + part(1)[name] + part(LCI_NO_DEVICE)[name]) << name;
  }
  EXPECT_EQ(0u, lci_runtime_snapshot_part(job_.runtime(0), 2, nullptr, 0)) << "there are two devices";
}

// A port that needs no credit, and nobody who reads.
// Proves: M1
TEST_F(Counters, CountAFullRing) {
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(
                          job_.runtime(1), [](const lci_status*, void*) {}, nullptr, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort + 1, "", handler, 0, 0));
  const lci_descriptor op = operation(LCI_OP_AM, 1, kPort + 1, 0, bytes_.data(), 8);
  ASSERT_EQ(LCI_DONE, post_until_taken(job_, 0, op, ended_));
  job_.settle();
  int64_t sent = 0;
  const Deltas full = moved(0, [&] {
    int code = LCI_DONE;
    while ((code = post(op)) == LCI_DONE) ++sent;
    EXPECT_EQ(LCI_RETRY_NOMEM, code);
  });
  EXPECT_EQ((Deltas{{"operations_am_done", sent}, {"sent_bytes", 8 * sent}, {"retries_nomem", 1}, {"ring_full", 1}}),
            full);
}

// A queue that is freed takes its counts along into the sum, and what lay in it is in no queue any more.
// Proves: M1
TEST_F(Counters, KeepWhatFreedQueuesHaveCounted) {
  lci_comp* queue = make_queue(job_.runtime(0), 8);
  lci_status status{};
  const Deltas deltas = moved(0, [&] {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(LCI_DONE, lci_comp_signal(queue, &status));
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
    ASSERT_EQ(LCI_DONE, lci_comp_free(queue));
  });
  EXPECT_EQ(3, deltas.at("statuses_pushed"));
  EXPECT_EQ(3, deltas.at("statuses_popped"));
}

}  // namespace
}  // namespace lci_test
