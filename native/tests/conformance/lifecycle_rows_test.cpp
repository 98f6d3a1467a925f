// SPDX-License-Identifier: Apache-2.0
// Rows of area A: what all ranks must have in common, and forms of operations.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

struct CountingAllocator {
  std::atomic<uint64_t> allocated{0}, freed{0};
  lci_allocator functions{&allocate, &deallocate, this};

  static void* allocate(size_t bytes, void* self) {
    static_cast<CountingAllocator*>(self)->allocated.fetch_add(1);
    return std::malloc(bytes);
  }
  static void deallocate(void* memory, void* self) {
    static_cast<CountingAllocator*>(self)->freed.fetch_add(1);
    std::free(memory);
  }
};

// As many allocations as messages, by each protocol; each buffer goes back where it came from, also when the allocator
// was changed meanwhile.
// Proves: A10
CONFORMANCE(A10, DeliveredMessagesLieWhereTheAllocatorSays) {
  constexpr uint32_t kSizes[] = {1, 40, 192, 193, 4000, 8192, 70'000};
  CountingAllocator counting;
  ASSERT_EQ(nullptr, lci_runtime_allocator(world.runtime())) << "malloc";
  ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(world.runtime(), &counting.functions));
  ASSERT_EQ(&counting.functions, lci_runtime_allocator(world.runtime()));
  lci_comp *inbox = world.queue(), *ended = world.queue();
  world.open_port(7, inbox);
  world.barrier();
  uint32_t posted = 0;
  std::vector<Bytes> sent;
  for (const uint32_t size : kSizes) {
    const Bytes& bytes = sent.emplace_back(pattern(size, size));
    const int code = world.post(operation(LCI_OP_AM, world.next(), 7, size, bytes.data(), size), ended);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code;
    posted += code == LCI_POSTED;
  }
  std::vector<void*> buffers;
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    const lci_status status = world.pop(inbox);
    const Bytes expected = pattern(status.size, status.tag);
    EXPECT_EQ(0, compare(expected.data(), status.buffer, status.size));
    buffers.push_back(status.buffer);
  }
  EXPECT_EQ(std::size(kSizes), counting.allocated.load());
  EXPECT_EQ(0u, counting.freed.load());
  ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(world.runtime(), nullptr));
  for (void* buffer : buffers) lci_buffer_free(buffer);
  EXPECT_EQ(std::size(kSizes), counting.freed.load());
  for (uint32_t i = 0; i < posted; ++i) world.pop(ended);
  lci_allocator half = counting.functions;
  half.deallocate = nullptr;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_runtime_set_allocator(world.runtime(), &half));
}

/// What a status says of a message, and what came with it.
std::string seen(const lci_status& status) {
  const auto* bytes = static_cast<const uint8_t*>(status.buffer);
  return std::to_string(status.rank) + "/" + std::to_string(status.port) + "/" + std::to_string(status.tag) + "/" +
         std::string(bytes, bytes + status.size);
}

// Plain form and descriptor have the same effect, in whatever order the descriptor is filled; one descriptor posted
// twice is two operations, and may be changed in between, also in what a plain form takes by position.
// Proves: A8
CONFORMANCE(A8, PlainFormAndDescriptorAreTheSame) {
  lci_comp *inbox = world.queue(), *ended = world.queue();
  world.open_port(8, inbox);
  world.barrier();
  char text[] = "sixteen bytes, a";
  const auto plain = [&] {
    int code = LCI_RETRY;
    world.until([&] {
      code = lci_post_am(world.device(), world.next(), 8, 5, text, 16, ended, 11);
      return !is_retry(code);
    });
    return code;
  };
  lci_descriptor forward{}, backward{};
  forward.op = LCI_OP_AM;
  forward.flags = LCI_FLAG_BUFFER;
  forward.rank = world.next();
  forward.port = 8;
  forward.tag = 5;
  forward.size = 16;
  forward.u.ref.address = reinterpret_cast<uint64_t>(text);
  forward.user_context = 11;
  backward.user_context = 11;
  backward.u.ref.address = reinterpret_cast<uint64_t>(text);
  backward.size = 16;
  backward.tag = 5;
  backward.port = 8;
  backward.rank = world.next();
  backward.flags = LCI_FLAG_BUFFER;
  backward.op = LCI_OP_AM;
  uint32_t posted = 0;
  for (const int code :
       {plain(), world.post(forward, ended), world.post(backward, ended), world.post(forward, ended)}) {
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code;
    posted += code == LCI_POSTED;
  }
  const std::string expected = std::to_string(world.previous()) + "/8/5/sixteen bytes, a";
  for (int i = 0; i < 4; ++i) {
    const lci_status status = world.pop(inbox);
    EXPECT_EQ(expected, seen(status));
    lci_buffer_free(status.buffer);
  }
  forward.rank = world.rank();  // once more, to oneself, and this time always posted
  forward.flags |= LCI_FLAG_SIGNAL;
  ASSERT_EQ(LCI_POSTED, world.post(forward, ended));
  ++posted;
  const lci_status own = world.pop(inbox);
  EXPECT_EQ(world.rank(), own.rank);
  lci_buffer_free(own.buffer);
  for (uint32_t i = 0; i < posted; ++i) EXPECT_EQ(11u, world.pop(ended).user_context);
}

// Every kind of operation has a plain form.
// Proves: A8
CONFORMANCE(A8, EveryOperationHasAPlainForm) {
  lci_comp *inbox = world.queue(), *ended = world.queue();
  world.open_port(8, inbox);
  lci_memory* memory = nullptr;
  void* address = nullptr;
  ASSERT_EQ(LCI_DONE, lci_memory_allocate(world.runtime(), 64, &memory, &address)) << lci_last_error();
  std::fill_n(static_cast<uint8_t*>(address), 64, uint8_t{9});
  Bytes handle(LCI_MEMORY_HANDLE_SIZE);
  ASSERT_EQ(LCI_DONE, lci_memory_handle(memory, handle.data(), handle.size()));
  const Bytes theirs = world.gather(handle)[world.next()];
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_remote_open(world.runtime(), world.next(), theirs.data(), theirs.size(), &id, nullptr));
  lci_device* device = world.device();
  const uint32_t next = world.next();
  uint64_t out = 0x0102030405060708, in = 0, got = 0, got_too = 0;
  uint32_t posted = 0;
  const auto taken = [&](auto post) {
    int code = LCI_RETRY;
    world.until([&] {
      code = post();
      return !is_retry(code);
    });
    EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code << ": " << lci_last_error();
    posted += code == LCI_POSTED;
  };
  taken([&] { return lci_post_recv(device, world.previous(), 3, &in, 8, ended, 0, nullptr); });
  taken([&] { return lci_post_recv(device, world.previous(), 4, &got, 8, ended, 99, nullptr); });
  taken([&] { return lci_post_am(device, next, 8, 1, &out, 8, ended, 0); });
  taken([&] { return lci_post_send(device, next, 3, &out, 8, ended, 0); });
  taken([&] { return lci_post_put(device, next, &out, 8, id, 0, ended, 0); });
  taken([&] { return lci_post_put_signal(device, next, &out, 8, id, 8, 8, 2, ended, 0); });
  taken([&] { return lci_post_get(device, next, &got, 8, id, 16, ended, 0); });
  taken([&] { return lci_post_get_signal(device, next, &got_too, 8, id, 24, 8, 3, ended, 0); });
  taken([&] { return lci_post_atomic(device, next, LCI_ATOMIC_ADD, 1, 0, id, 32, ended, 0, nullptr); });
  taken([&] { return lci_post_barrier(device, ended, 0); });
  ASSERT_EQ(LCI_DONE, lci_post_cancel(device, 99)) << lci_last_error();
  uint64_t tags = 0;
  for (int i = 0; i < 3; ++i) {  // the active message and two signals
    const lci_status status = world.pop(inbox);
    tags |= 1u << status.tag;
    if (status.buffer) lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(0b1110u, tags);
  uint32_t cancelled = 0;
  for (uint32_t i = 0; i < posted; ++i) {
    const lci_status status = world.pop(ended);
    cancelled += status.code == LCI_ERR_CANCELLED && status.user_context == 99;
  }
  EXPECT_EQ(1u, cancelled);
  EXPECT_EQ(out, in);
  EXPECT_EQ(0x0909090909090909u, got);
  EXPECT_EQ(0x0909090909090909u, got_too);
  world.barrier();
  EXPECT_EQ(out, static_cast<uint64_t*>(address)[0]);
  EXPECT_EQ(out, static_cast<uint64_t*>(address)[1]);
  EXPECT_EQ(0x090909090909090Au, static_cast<uint64_t*>(address)[4]);
  EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), id));
  world.barrier();
  EXPECT_EQ(LCI_DONE, lci_memory_free(memory)) << lci_last_error();
}

// All devices are there when a runtime is: the first message on each is taken at once, before anybody has progressed.
// Proves: A19
CONFORMANCE(A19, TrafficMayStartAtOnce, {"devices", "4"}) {
  lci_comp* ended = world.queue();
  const uint64_t sent = world.rank();
  std::vector<uint64_t> received(4, ~uint64_t{0});
  uint32_t posted = 0, attempts = 0;
  for (uint32_t device = 0; device < 4; ++device) {
    int code = LCI_RETRY;
    while (is_retry(code)) {
      code = lci_post_send(world.device(device), world.next(), device, &sent, sizeof sent, ended, 0);
      ++attempts;
      if (is_retry(code)) world.progress();
    }
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code << lci_last_error();
    posted += code == LCI_POSTED;
  }
  if (world.seed() == 0) {  // chaos refuses on purpose
    EXPECT_EQ(4u, attempts);
  }
  for (uint32_t device = 0; device < 4; ++device) {
    const auto op = operation(LCI_OP_RECV, world.previous(), 0, device, &received[device], sizeof sent);
    posted += world.post(op, ended, nullptr, device) == LCI_POSTED;
  }
  for (uint32_t i = 0; i < posted; ++i) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
  EXPECT_EQ(std::vector<uint64_t>(4, world.previous()), received);
}

}  // namespace
}  // namespace lci_test
