// SPDX-License-Identifier: Apache-2.0
// What announced messages cost their receiver, measured: the memory of its process. [X8]
#include <cstdio>

#include "support/posting.hpp"
#include "support/processes.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kMiB = 1 << 20, kAttempts = 70'000;

// Of 32 GiB. Sanitizers keep a multiple of what is touched beside it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kMost = 512ull * kMiB;
#else
constexpr uint64_t kMost = 96ull * kMiB;
#endif

uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long long all = 0, resident = 0;
  const bool read = file && std::fscanf(file, "%llu %llu", &all, &resident) == 2;
  if (file) std::fclose(file);
  CHILD_EXPECT(read);
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A number for the other rank, over an engine of its own.
void tell(Rank& self, uint32_t to, uint64_t number) {
  const lci_descriptor op = operation(LCI_OP_SEND, to, 1, 0, &number, sizeof number);
  self.until([&] {
    lci_descriptor attempt = op;
    const int code = lci_post(self.device, &attempt, nullptr, nullptr);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
    return code == LCI_DONE;
  });
}

uint64_t hear(Rank& self, uint32_t from) {
  uint64_t number = 0;
  lci_descriptor op = operation(LCI_OP_RECV, from, 1, 0, &number, sizeof number);
  lci_status status{};
  const int code = lci_post(self.device, &op, self.ended, &status);
  CHILD_EXPECT(code == LCI_DONE || code == LCI_POSTED);
  if (code == LCI_POSTED) self.until([&] { return lci_queue_pop(self.ended, &status) == LCI_DONE; });
  CHILD_EXPECT(status.code == LCI_DONE && status.size == sizeof number);
  return number;
}

/// Announces as much as is accepted: sends without receives, then active messages that nobody takes.
void announce(const JobDirectory& job) {
  Rank self(job, 0, 2);
  CHILD_EXPECT(lci_engine_create(self.runtime, 1, LCI_ENGINE_MAP, nullptr, nullptr) == LCI_DONE);
  const std::vector<uint8_t> bytes = pattern(kMiB, 1);
  lci_comp* counter = nullptr;
  CHILD_EXPECT(lci_counter_create(self.runtime, &counter) == LCI_DONE);
  uint64_t announced = 0, refused = 0;
  for (uint64_t i = 0; i < kAttempts; ++i) {
    int code = LCI_RETRY;
    self.until([&] {  // a full ring is not what is asked for here
      code = lci_post_send(self.device, 1, announced, bytes.data(), kMiB, counter, 0);
      return code != LCI_RETRY_NOMEM;
    });
    CHILD_EXPECT(code == LCI_POSTED || code == LCI_RETRY_NOCREDIT);
    ++(code == LCI_POSTED ? announced : refused);
  }
  CHILD_EXPECT(announced == 32'768 && refused == kAttempts - announced);  // 65,536 for two ranks
  uint64_t messages = 0;
  uint32_t attempts = 0;
  self.until([&] {  // the port has bytes for 8, which come when its rank gets the processor
    const int code = lci_post_am(self.device, 1, kPort, messages, bytes.data(), kMiB, counter, 0);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
    messages += code == LCI_POSTED;
    return ++attempts >= 20'000 && messages >= 8;
  });
  tell(self, 1, messages);
  hear(self, 1);
  CHILD_EXPECT(lci_runtime_close(self.runtime, 0) == LCI_DONE);
}

/// Progresses while all that is announced; then what was announced can still be had.
void admit(const JobDirectory& job) {
  Rank self(job, 1, 2);
  CHILD_EXPECT(lci_engine_create(self.runtime, 1, LCI_ENGINE_MAP, nullptr, nullptr) == LCI_DONE);
  std::vector<uint8_t> buffer(kMiB, 9);
  const uint64_t before = resident_bytes();
  const uint64_t messages = hear(self, 0);
  const uint64_t after = resident_bytes();
  CHILD_EXPECT(lci_queue_length(self.inbox) <= 8);  // the port's bytes
  CHILD_EXPECT(after < before + kMost);
  const std::vector<uint8_t> bytes = pattern(kMiB, 1);
  for (uint64_t i = 0; i < messages; ++i) {
    lci_status status{};
    self.until([&] { return lci_queue_pop(self.inbox, &status) == LCI_DONE; });
    CHILD_EXPECT(status.size == kMiB && compare(status.buffer, bytes.data(), kMiB) == 0);
    lci_buffer_free(status.buffer);
  }
  for (const uint64_t tag : {0u, 1000u, 32'767u}) {
    lci_descriptor op = operation(LCI_OP_RECV, 0, 0, tag, buffer.data(), kMiB);
    CHILD_EXPECT(lci_post(self.device, &op, self.ended, nullptr) == LCI_POSTED);
    lci_status status{};
    self.until([&] { return lci_queue_pop(self.ended, &status) == LCI_DONE; });
    CHILD_EXPECT(status.code == LCI_DONE && status.size == kMiB && buffer == bytes);
  }
  tell(self, 0, 1);
  self.until([&] {
    int32_t state = 0;
    return lci_runtime_peer(self.runtime, 0, &state) == LCI_DONE && state != LCI_PEER_ALIVE;
  });
  CHILD_EXPECT(lci_runtime_close(self.runtime, 0) == LCI_DONE);
}

// Proves: X8
TEST(RendezvousMemory, AnnouncedMessagesDoNotFillTheirReceiver) {
  const JobDirectory job(2);
  Child receiver([&] {
    admit(job);
    return 0;
  });
  Child sender([&] {
    announce(job);
    return 0;
  });
  EXPECT_EQ(0, sender.wait());
  EXPECT_EQ(0, receiver.wait());
}

}  // namespace
}  // namespace lci_test
