// SPDX-License-Identifier: Apache-2.0
// Put and get between processes: shared regions by copies, memory of another process by messages, and a target that
// dies. [C4-C7, L1]
#include "support/processes.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

/// Sends the handle of @p memory to @p to, or waits for one.
void give_handle(Rank& self, uint32_t to, const lci_memory* memory) {
  const HandleBytes handle = handle_of(memory);
  self.until([&] {
    const int code = lci_post_am(self.device, to, kPort, 0, handle.data(), LCI_MEMORY_HANDLE_SIZE, nullptr, 0);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
    return code == LCI_DONE;
  });
}

uint64_t take_handle(Rank& self, uint32_t from) {
  lci_status status{};
  self.until([&] { return lci_queue_pop(self.inbox, &status) == LCI_DONE; });
  CHILD_EXPECT(status.rank == from && status.size == LCI_MEMORY_HANDLE_SIZE);
  uint64_t id = 0;
  CHILD_EXPECT(lci_remote_open(self.runtime, from, status.buffer, status.size, &id, nullptr) == LCI_DONE);
  lci_buffer_free(status.buffer);
  return id;
}

/// Posts until it is taken; the answer, or the code with which it ended. @p posted: whether it went by messages.
int finish(Rank& self, lci_descriptor op, bool* posted) {
  int code = LCI_RETRY;
  self.until([&] { return !is_retry(code = lci_post(self.device, &op, self.ended, nullptr)); });
  *posted = code == LCI_POSTED;
  if (code != LCI_POSTED) return code;
  lci_status status{};
  self.until([&] { return lci_queue_pop(self.ended, &status) == LCI_DONE; });
  return status.code;
}

TEST(RmaJob, PutsAndGetsReachSharedAndPrivateMemory) {
  const JobDirectory job(2);
  for (const bool shared : {true, false}) {
    constexpr uint64_t kBytes = 1 << 20;
    Child owner([&] {
      Rank self(job, 1, 2);
      std::vector<uint8_t> heap(kBytes);
      uint8_t* bytes = heap.data();
      lci_memory* memory = nullptr;
      if (shared) {
        void* address = nullptr;
        CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &memory, &address) == LCI_DONE);
        bytes = static_cast<uint8_t*>(address);
      } else {
        CHILD_EXPECT(lci_memory_register(self.runtime, bytes, kBytes, &memory) == LCI_DONE);
      }
      give_handle(self, 0, memory);
      for (const uint64_t size : {uint64_t{8}, uint64_t{8117}, kBytes}) {
        lci_status status{};
        self.until([&] { return lci_queue_pop(self.inbox, &status) == LCI_DONE; });
        CHILD_EXPECT(status.rank == 0 && status.tag == size % 65536 && !status.buffer && status.size == 0);
        CHILD_EXPECT(compare(bytes, pattern(size, size).data(), size) == 0);  // data before its signal
        give_handle(self, 0, memory);
      }
      CHILD_EXPECT(self.barrier().code == LCI_DONE);
      CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
      return 0;
    });
    Child user([&] {
      Rank self(job, 0, 2);
      const uint64_t remote = take_handle(self, 1);
      for (const uint64_t size : {uint64_t{8}, uint64_t{8117}, kBytes}) {
        const auto bytes = pattern(size, size);
        std::vector<uint8_t> in(size);
        bool posted = shared;
        CHILD_EXPECT(finish(self, remote_op(LCI_OP_PUT, 1, bytes.data(), size, remote, 0, kPort, size % 65536),
                            &posted) == LCI_DONE);
        CHILD_EXPECT(posted == !shared);
        take_handle(self, 1);
        CHILD_EXPECT(finish(self, remote_op(LCI_OP_GET, 1, in.data(), size, remote, 0), &posted) == LCI_DONE);
        CHILD_EXPECT(posted == !shared && in == bytes);
      }
      CHILD_EXPECT(self.barrier().code == LCI_DONE);
      CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
      return 0;
    });
    ASSERT_EQ(0, owner.wait());
    ASSERT_EQ(0, user.wait());
  }
}

// One rank owns the data, and reserves more addresses than the others: they see all of it, and what it cuts behind it.
TEST(RmaJob, ARankMayReserveMoreThanTheOthers) {
  constexpr uint64_t kBytes = 100 << 20, kLast = kBytes - 8, kOwner = 1;
  const JobDirectory job(3);
  const auto leave = [](Rank& self) {
    CHILD_EXPECT(self.barrier().code == LCI_DONE);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
    return 0;
  };
  const auto user = [&](uint32_t rank) {
    Rank self(job, rank, 3, {{"arena_bytes", "64M"}});
    const uint64_t remote = take_handle(self, kOwner);
    bool posted = true;
    CHILD_EXPECT(self.barrier().code == LCI_DONE);
    uint64_t value = 0;
    CHILD_EXPECT(finish(self, remote_op(LCI_OP_GET, kOwner, &value, 8, remote, kLast), &posted) == LCI_DONE);
    CHILD_EXPECT(!posted && value == 4711);
    self.exchange(rank, 3, 500);
    return leave(self);
  };
  Child zero([&] { return user(0); }), two([&] { return user(2); });
  Child owner([&] {
    Rank self(job, kOwner, 3, {{"arena_bytes", "256M"}});
    lci_memory* memory = nullptr;
    void* address = nullptr;
    CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &memory, &address) == LCI_DONE);
    static_cast<uint64_t*>(address)[kLast / 8] = 4711;
    give_handle(self, 0, memory);
    give_handle(self, 2, memory);
    CHILD_EXPECT(self.barrier().code == LCI_DONE);
    self.exchange(kOwner, 3, 500);
    return leave(self);
  });
  EXPECT_EQ(0, zero.wait());
  EXPECT_EQ(0, two.wait());
  EXPECT_EQ(0, owner.wait());
}

// kill -9 of the target, which never progresses again after it gave its handles away. [L1]
TEST(RmaJob, ATargetThatDiesEndsPutsAndGets) {
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    const JobDirectory job(2);
    const Signal ready, posted_all;
    Child owner([&]() -> int {
      Rank self(job, 1, 2);
      static std::vector<uint8_t> heap(8 << 20);
      lci_memory* memory = nullptr;
      CHILD_EXPECT(lci_memory_register(self.runtime, heap.data(), heap.size(), &memory) == LCI_DONE);
      give_handle(self, 0, memory);
      ready.give();
      for (int i = 0; i < 20; ++i) lci_progress(self.device);  // a part may have moved
      for (;;) pause();
    });
    Child user([&] {
      Rank self(job, 0, 2);
      const uint64_t remote = take_handle(self, 1);
      std::vector<uint8_t> bytes(8 << 20);
      uint32_t posted = 0;
      lci_descriptor op = remote_op(kind, 1, bytes.data(), bytes.size(), remote, 0);
      while (posted < 5) {
        const int code = lci_post(self.device, &op, self.ended, nullptr);
        CHILD_EXPECT(code == LCI_POSTED || is_retry(code));
        posted += code == LCI_POSTED;
      }
      posted_all.give();
      for (uint32_t ended = 0; ended < posted; ++ended) {
        lci_status status{};
        self.until([&] { return lci_queue_pop(self.ended, &status) == LCI_DONE; });
        CHILD_EXPECT(status.code == LCI_ERR_PEER_FAILED && status.rank == 1 && status.user_context == 77);
      }
      CHILD_EXPECT(lci_post(self.device, &op, self.ended, nullptr) == LCI_ERR_PEER_FAILED);
      CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
      return 0;
    });
    ASSERT_TRUE(ready.take());
    ASSERT_TRUE(posted_all.take());
    owner.kill();
    EXPECT_EQ(0, user.wait());
  }
}

}  // namespace
}  // namespace lci_test
