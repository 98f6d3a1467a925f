// SPDX-License-Identifier: Apache-2.0
// Echoes each way at once through inboxes of 16: as many as some seconds allow; in the soak a million. [X10]
// Two processes do the same in conformance/reply_rows_test.cpp.
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7, kCapacity = 16;
constexpr uint64_t kEchoes = 1'000'000, kAtLeast = 1000;
constexpr uint64_t kPatience = 60;  // seconds without an echo are taken for a hang

bool soak() {
  const char* tier = std::getenv("LCI_TIER");
  return tier && std::string(tier) == "soak";
}

/// One rank: asks the other, and answers it, until both have all their replies. Nothing is taken out of the inbox while
/// a request waits to be answered.
void echo(Job& job, uint32_t rank, lci_comp* inbox, uint8_t room, std::atomic<uint32_t>& told_all) {
  lci_device* device = job.device(rank);
  const uint32_t other = 1 - rank;
  uint64_t asked = 0, answered = 0, told = 0, sum = 0;
  lci_status request = LCI_STATUS_INIT;
  bool busy = false, satisfied = false;
  const lci::test::Deadline enough(4);
  std::optional<lci::test::Deadline> patience(kPatience);
  while (told_all < 2 && !patience->passed()) {
    int code = LCI_RETRY;
    const bool asks = asked < kEchoes && (soak() || asked < kAtLeast || !enough.passed());
    if (!asks && !satisfied && told == asked) {
      satisfied = true;
      ++told_all;
    }
    if (asks) {
      lci_descriptor op{};
      op.op = LCI_OP_AM;
      op.rank = other;
      op.port = kPort;
      op.tag = 0;
      op.size = sizeof asked;
      op.policy = room;
      std::memcpy(op.u.inline_payload, &asked, sizeof asked);
      code = lci_post(device, &op, nullptr, nullptr);
      ASSERT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
      asked += code == LCI_DONE;
    }
    if (!busy && lci_queue_pop(inbox, &request) == LCI_DONE) {
      busy = request.tag == 0;
      if (!busy) {
        uint64_t value;
        std::memcpy(&value, request.buffer, sizeof value);
        sum += value;
        ++told;
        patience.emplace(kPatience);
        ASSERT_EQ(LCI_DONE, lci_arrival_free(job.runtime(rank), &request));
      }
    }
    if (busy) {
      lci_descriptor op{};
      op.op = LCI_OP_AM;
      op.rank = other;
      op.port = kPort;
      op.tag = 1;
      op.size = sizeof asked;
      op.policy = LCI_AM_REPLY;
      std::memcpy(op.u.inline_payload, request.buffer, sizeof asked);
      const int reply = lci_post(device, &op, nullptr, nullptr);
      ASSERT_TRUE(reply == LCI_DONE || reply == LCI_RETRY_NOMEM) << "a reply waits for the ring alone: " << reply;
      if (reply == LCI_DONE) {
        ASSERT_EQ(LCI_DONE, lci_arrival_free(job.runtime(rank), &request));
        busy = false;
        ++answered;
      }
    }
    if (code != LCI_DONE && lci_progress(device) != LCI_DONE) std::this_thread::yield();
  }
  EXPECT_EQ(asked, told);
  EXPECT_EQ(told * (told - 1) / 2, sum) << "each once";
  EXPECT_GE(told, kAtLeast);
  EXPECT_GE(answered, kAtLeast);
  if (soak()) {
    EXPECT_EQ(kEchoes, told);
  }
}

// Proves: X10
// On: inproc
TEST(ReplyRoomStress, EchoesBothWaysAtOnce) {  // as many as soak() says
  Job job(2);
  lci_comp* inbox[2] = {};
  uint8_t room[2] = {};
  for (uint32_t rank = 0; rank < 2; ++rank) {
    inbox[rank] = make_queue(job.runtime(rank), 2 * kCapacity);
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", inbox[rank], kCapacity, 1 << 16));
    ASSERT_EQ(LCI_DONE, lci_port_reply_room(job.runtime(rank), kPort, kCapacity, 8, &room[rank])) << lci_last_error();
  }
  std::atomic<uint32_t> told_all{0};
  lci::test::run_threads(2, [&](uint32_t rank) { echo(job, rank, inbox[rank], room[rank], told_all); });
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
