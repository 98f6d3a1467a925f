// SPDX-License-Identifier: Apache-2.0
// Packets in the user's hands, the completion semantic "network", lists of buffers. [B13, B16, C9, C13, SS-10, SS-22]
#include <numeric>

#include "support/posting.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 7;
constexpr uint32_t kLong = 150'000;  // several chunks, also where it is read in place

struct Receiver {
  Receiver(Job& job, uint32_t rank) : queue(make_queue(job.runtime(rank))), matched(make_queue(job.runtime(rank))) {
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", queue, 64, 1 << 20)) << lci_last_error();
  }
  lci_comp* queue;
  lci_comp* matched;
};

/// Takes what was sent by @p op and compares.
void expect_arrival(Job& job, Receiver& receiver, uint32_t to, uint8_t op, uint64_t tag,
                    const std::vector<uint8_t>& bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  lci_status status{};
  if (op == LCI_OP_AM) {
    ASSERT_TRUE(pop(job, receiver.queue, &status));
    EXPECT_EQ(0, compare(status.buffer, bytes.data(), size)) << size;
    lci_buffer_free(status.buffer);
  } else {
    std::vector<uint8_t> buffer(size);
    auto take = operation(LCI_OP_RECV, 0, 0, tag, buffer.data(), size);
    const int code = post_until_taken(job, to, take, receiver.matched, &status);
    if (code == LCI_POSTED) {
      ASSERT_TRUE(pop(job, receiver.matched, &status));
    }
    EXPECT_EQ(bytes, buffer);
  }
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(size, status.size);
  EXPECT_EQ(tag, status.tag);
}

const char* const kChaos[] = {"", "seed=4,delay=0.3,ticks=8", "seed=5,refuse=0.2,short=0.3",
                              "seed=6,delay=0.2,refuse=0.1"};

// Proves: B13 SS-22
// A message assembled in a packet: the payload that the receiver reads is that memory, and the packet comes back.
TEST(UserPackets, CarryWhatWasAssembledInPlace) {
  for (const char* chaos : kChaos) {
    for (const uint32_t ranks : {1u, 2u, 4u}) {
      Job job(ranks, {{"chaos", chaos}, {"packets", "4"}, {"packets_max", "8"}});
      const uint32_t to = ranks - 1, eager = lci_runtime_max_eager(job.runtime(0));
      Receiver receiver(job, to);
      uint64_t tag = 0;
      for (const uint8_t op : {LCI_OP_AM, LCI_OP_SEND}) {
        for (const uint32_t size : {0u, 8u, 192u, 193u, eager}) {
          const auto bytes = pattern(size, ++tag);
          uint64_t handle = 0;
          void* payload = nullptr;
          int code = LCI_RETRY;
          for (int i = 0; i < 10000 && (code = lci_packet_get(job.device(0), &handle, &payload)) != LCI_DONE; ++i) {
            job.progress();
          }
          ASSERT_EQ(LCI_DONE, code) << lci_last_error();
          EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(payload) % 64);
          if (size != 0) std::memcpy(payload, bytes.data(), size);
          auto post = operation(op, to, op == LCI_OP_AM ? kPort : 0, tag, nullptr, size);
          post.flags = LCI_FLAG_PACKET;
          post.u.ref.address = handle;
          EXPECT_EQ(1u, job.counter(0, "packets_held"));
          ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, post, nullptr)) << "kept on retry: " << lci_last_error();
          EXPECT_EQ(0u, job.counter(0, "packets_held"));
          EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(job.device(0), handle)) << "posted";
          EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &post, nullptr, nullptr)) << "posted twice";
          expect_arrival(job, receiver, to, op, tag, bytes);
        }
      }
      job.check_ledgers();
    }
  }
}

TEST(UserPackets, MisuseIsRefused) {
  Job job(1);
  lci_device* device = job.device(0);
  uint64_t handle = 0;
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(device, &handle, &payload));
  auto op = operation(LCI_OP_RECV, 0, 0, 1, nullptr, 8);
  op.flags = LCI_FLAG_PACKET;
  op.u.ref.address = handle;
  lci_comp* queue = make_queue(job.runtime(0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(device, &op, queue, nullptr)) << "never for receives";
  op.op = LCI_OP_AM;
  op.port = kPort;
  op.size = lci_runtime_max_eager(job.runtime(0)) + 1;
  EXPECT_EQ(LCI_ERR_SIZE, lci_post(device, &op, queue, nullptr));
  EXPECT_EQ(LCI_DONE, lci_packet_put(device, handle)) << "kept on error";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(device, handle)) << "twice";
  for (const uint64_t wrong : {uint64_t{0}, handle + 1, uint64_t{12345}, handle | uint64_t{1} << 32, ~uint64_t{0}}) {
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(device, wrong)) << wrong;
  }
  job.check_ledgers();
}

// Proves: B16
// [SS-24] A pool that users have emptied says so, recovers, and one packet that is never given back is reported.
TEST(UserPackets, APoolRunsDryAndRecovers) {
  Job job(2, {{"packets", "2"}, {"packets_max", "2"}});
  Receiver receiver(job, 1);
  uint64_t handles[3] = {};
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &handles[0], &payload));
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &handles[1], &payload));
  EXPECT_EQ(LCI_RETRY_NOPACKET, lci_packet_get(job.device(0), &handles[2], &payload));
  const auto bytes = pattern(1000, 1);
  auto op = operation(LCI_OP_AM, 1, kPort, 5, bytes.data(), 1000);
  EXPECT_EQ(LCI_RETRY_NOPACKET, lci_post(job.device(0), &op, nullptr, nullptr));
  ASSERT_EQ(LCI_DONE, lci_packet_put(job.device(0), handles[1]));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
  expect_arrival(job, receiver, 1, LCI_OP_AM, 5, bytes);
  job.settle();
  job.close(0, 1000);
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("1 packets")) << lci_last_error();
}

// Proves: C9 SS-10
// Posted, whatever the size; no signal before the receiver has taken the message, and exactly one after.
TEST(Network, SignalsOnceTheReceiverHasTakenTheMessage) {
  for (const char* chaos : kChaos) {
    for (const uint32_t ranks : {1u, 2u}) {
      Job job(ranks, {{"chaos", chaos}});
      const uint32_t to = ranks - 1, eager = lci_runtime_max_eager(job.runtime(0));
      Receiver receiver(job, to);
      lci_comp* sent = make_queue(job.runtime(0));
      const Allocated shared(job.runtime(0), kLong);
      uint64_t tag = 0;
      for (const int i : {0, 1, 2, 3}) {
        const uint8_t op = i % 2 ? LCI_OP_SEND : LCI_OP_AM;
        for (const uint32_t size : {0u, 8u, 193u, 4000u, eager, eager + 1, kLong}) {
          const auto bytes = pattern(size, ++tag);
          std::copy(bytes.begin(), bytes.end(), shared.bytes_at);
          const uint8_t* memory = i < 2 ? bytes.data() : shared.bytes_at;
          auto post = operation(op, to, op == LCI_OP_AM ? kPort : 0, tag, memory, size, tag);
          post.flags |= LCI_FLAG_NETWORK;
          ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, post, sent)) << lci_last_error();
          lci_status status{};
          if (ranks == 2) {  // the receiver does not look: nothing can have been taken
            for (int i = 0; i < 50; ++i) lci_progress(job.device(0));
            EXPECT_EQ(LCI_RETRY, lci_queue_pop(sent, &status)) << size;
          }
          expect_arrival(job, receiver, to, op, tag, bytes);
          ASSERT_TRUE(pop(job, sent, &status)) << size;
          EXPECT_EQ(LCI_DONE, status.code);
          EXPECT_EQ(tag, status.user_context);
          EXPECT_EQ(size, status.size);
        }
      }
      lci_status status{};
      job.settle();
      EXPECT_EQ(LCI_RETRY, lci_queue_pop(sent, &status)) << "once";
      job.check_ledgers();
    }
  }
}

// Proves: G3
// On: shm (the receiver reads the message where it lies)
// Memory that the receiver can see is not copied: what is written before it looks is what it gets. Not so a message
// that waits without credit, and memory of the program's own. Mutation: copy_always.
TEST(Network, ReadsAllocatedMemoryWhereItLies) {
  Job job(2);
  Receiver receiver(job, 1);
  const Allocated shared(job.runtime(0), kLong);
  std::vector<uint8_t> own(kLong);
  lci_comp* sent = make_queue(job.runtime(0));
  uint64_t tag = 0;
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND}) {
    bool announced = true;  // the first message of a key has no credit yet
    for (const uint32_t size : {8u, 8u, 100u, 8000u, kLong}) {
      for (uint8_t* memory : {shared.bytes_at, own.data()}) {
        const auto before = pattern(size, ++tag);
        std::copy(before.begin(), before.end(), memory);
        auto op = operation(kind, 1, kind == LCI_OP_AM ? kPort : 0, tag, memory, size, tag);
        op.flags |= LCI_FLAG_NETWORK;
        ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, op, sent)) << lci_last_error();
        const auto after = pattern(size, 1000 + tag);
        std::copy(after.begin(), after.end(), memory);
        const bool in_place = memory == shared.bytes_at && !announced;
        announced = false;
        // A rendezvous is read when the receiver is ready.
        expect_arrival(job, receiver, 1, kind, tag, in_place || size == kLong ? after : before);
        lci_status status{};
        ASSERT_TRUE(pop(job, sent, &status)) << size;
        EXPECT_EQ(LCI_DONE, status.code);
        EXPECT_EQ(tag, status.user_context);
      }
    }
  }
  job.settle();
  EXPECT_EQ(0u, lci_queue_length(sent));
  EXPECT_EQ(LCI_DONE, lci_memory_free(shared.memory));
  job.check_ledgers();
}

// A peer that goes takes the signal's reason with it; close ends what is left. With credit for what is read in place.
TEST(Network, EndsWithThePeerOrTheRuntime) {
  for (const bool peer_goes : {true, false}) {
    Job job(2);
    Receiver receiver(job, 1);
    lci_comp* sent = make_queue(job.runtime(0));
    const Allocated shared(job.runtime(0), kLong);
    std::fill_n(shared.bytes_at, kLong, uint8_t{1});
    auto first = operation(LCI_OP_AM, 1, kPort, 1, shared.bytes_at, 8);
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, first, nullptr));
    expect_arrival(job, receiver, 1, LCI_OP_AM, 1, std::vector<uint8_t>(8, 1));
    for (const uint32_t size : {8u, kLong}) {
      auto post = operation(LCI_OP_AM, 1, kPort, 1, shared.bytes_at, size, size);
      post.flags |= LCI_FLAG_NETWORK | LCI_FLAG_NO_RETRY;
      ASSERT_TRUE(lci_post(job.device(0), &post, sent, nullptr) <= LCI_POSTED_BACKLOG) << lci_last_error();
    }
    if (peer_goes) {
      job.close(1, 0);
      for (int i = 0; i < 2; ++i) {
        lci_status status{};
        ASSERT_TRUE(pop(job, sent, &status));
        EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
      }
      job.check_ledgers();
    } else {
      job.close(0, 0);  // leaks and double signals are the sanitizers' to see
    }
  }
}

std::vector<lci_buffer> split(const std::vector<uint8_t>& bytes, const std::vector<uint32_t>& sizes) {
  std::vector<lci_buffer> parts;
  uint32_t at = 0;
  for (const uint32_t size : sizes) {
    parts.push_back({size == 0 ? nullptr : const_cast<uint8_t*>(bytes.data()) + at, size});
    at += size;
  }
  return parts;
}

// Proves: C13
TEST(Lists, ArriveAsOneMessage) {
  const std::vector<std::vector<uint32_t>> shapes = {{0},          {0, 0, 0},        {8},          {1, 2, 3},
                                                     {100, 92},    {100, 93},        {0, 4000, 0}, {8000, 100, 28},
                                                     {8000, 5000}, {1, 60000, 0, 2}, {8128, 8128}, {0, 0, 30000, 1}};
  for (const char* chaos : kChaos) {
    for (const uint32_t ranks : {1u, 2u, 4u}) {
      for (const uint8_t flags : {0, int{LCI_FLAG_SIGNAL}, int{LCI_FLAG_NO_RETRY}, int{LCI_FLAG_NETWORK}}) {
        Job job(ranks, {{"chaos", chaos}});
        const uint32_t to = ranks - 1, eager = lci_runtime_max_eager(job.runtime(0));
        Receiver receiver(job, to);
        lci_comp* sent = make_queue(job.runtime(0));
        uint64_t tag = 0;
        for (const uint8_t op : {LCI_OP_AM, LCI_OP_SEND}) {
          for (const auto& shape : shapes) {
            const uint32_t size = std::accumulate(shape.begin(), shape.end(), 0u);
            const auto bytes = pattern(size, ++tag);
            auto parts = split(bytes, shape);
            auto post = operation(op, to, op == LCI_OP_AM ? kPort : 0, tag, parts.data(), 0, tag);
            post.flags |= LCI_FLAG_LIST | flags;
            post.u.ref.count = parts.size();
            const int code = post_until_taken(job, 0, post, sent);
            const bool posted = size > eager || (flags & (LCI_FLAG_SIGNAL | LCI_FLAG_NETWORK));
            ASSERT_EQ(posted ? LCI_POSTED : LCI_DONE, code & ~1) << lci_last_error();
            std::fill(parts.begin(), parts.end(), lci_buffer{reinterpret_cast<void*>(8), 1});  // the list may go
            expect_arrival(job, receiver, to, op, tag, bytes);
            lci_status status{};
            if (!posted) continue;
            ASSERT_TRUE(pop(job, sent, &status));
            EXPECT_EQ(LCI_DONE, status.code);
            EXPECT_EQ(size, status.size);
            EXPECT_EQ(tag, status.user_context);
          }
        }
        job.check_ledgers();
      }
    }
  }
}

TEST(Lists, BadOnesAreRefused) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  uint8_t byte = 0;
  const lci_buffer good[] = {{&byte, 1}}, null[] = {{&byte, 1}, {nullptr, 1}};
  const lci_buffer huge[] = {{&byte, 0xFFFFFFFFull}, {&byte, 1}}, wraps[] = {{&byte, 1}, {&byte, ~0ull}};
  const struct {
    uint8_t op;
    uint8_t form;
    const lci_buffer* parts;
    uint64_t count;
    int code;
  } cases[] = {
      {LCI_OP_AM, LCI_FLAG_BUFFER, good, 0, LCI_ERR_ARGUMENT},
      {LCI_OP_AM, LCI_FLAG_BUFFER, nullptr, 1, LCI_ERR_ARGUMENT},
      {LCI_OP_AM, LCI_FLAG_BUFFER, good, LCI_MAX_LIST + 1, LCI_ERR_ARGUMENT},
      {LCI_OP_AM, LCI_FLAG_BUFFER, good, ~0ull, LCI_ERR_ARGUMENT},
      {LCI_OP_SEND, LCI_FLAG_BUFFER, null, 2, LCI_ERR_ARGUMENT},
      {LCI_OP_SEND, LCI_FLAG_BUFFER, huge, 2, LCI_ERR_SIZE},
      {LCI_OP_SEND, LCI_FLAG_BUFFER, wraps, 2, LCI_ERR_SIZE},
      {LCI_OP_SEND, LCI_FLAG_PACKET, good, 1, LCI_ERR_ARGUMENT},
      {LCI_OP_SEND, LCI_FLAG_INLINE, good, 1, LCI_ERR_ARGUMENT},
      {LCI_OP_RECV, LCI_FLAG_BUFFER, null, 2, LCI_ERR_ARGUMENT},
      {LCI_OP_RECV, LCI_FLAG_BUFFER, huge, 2, LCI_ERR_SIZE},
      {LCI_OP_RECV, LCI_FLAG_INLINE, good, 1, LCI_ERR_ARGUMENT},
      {LCI_OP_BARRIER, LCI_FLAG_BUFFER, good, 1, LCI_ERR_ARGUMENT},
      {LCI_OP_CANCEL, LCI_FLAG_BUFFER, good, 1, LCI_ERR_ARGUMENT},
  };
  for (const auto& each : cases) {
    lci_descriptor op = operation(each.op, 0, each.op == LCI_OP_AM ? kPort : 0, 1, each.parts, 0);
    op.flags = each.form | LCI_FLAG_LIST;
    op.u.ref.count = each.count;
    EXPECT_EQ(each.code, lci_post(job.device(0), &op, queue, nullptr)) << int{each.op} << " " << each.count;
  }
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
