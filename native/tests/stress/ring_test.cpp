// SPDX-License-Identifier: Apache-2.0
// A ring under a producer and a consumer at full speed: every message once, in order, whole.
#include "transport/memory/ring.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lci/lci.h"
#include "support/threads.hpp"

namespace lci {
namespace {

constexpr uint32_t kSlots = 256;

bool soak() {
  const char* tier = std::getenv("LCI_TIER");
  return tier && std::string(tier) == "soak";
}
uint64_t messages() {
  return soak() ? 20'000'000 : 500'000;
}
uint32_t size_of(uint64_t tag) {
  return tag % 4 != 0 ? 8 : static_cast<uint32_t>(tag * 31 % (LCI_INLINE_MAX + 1));
}

/// @param start the number of the first slot
void carry_all(uint32_t start) {
  struct Shared {
    alignas(64) std::atomic<uint32_t> head{0};
    Slot slots[kSlots] = {};
  };
  const auto shared = std::make_unique<Shared>();
  shared->head.store(start);
  const test::Deadline end(soak() ? 600 : 60);
  const RingMemory memory{&shared->head, shared->slots, kSlots, start};
  std::thread thread([&memory, &end] {
    RingProducer producer(memory);
    for (uint64_t tag = 0; tag < messages(); ++tag) {
      const uint32_t size = size_of(tag);
      while (!producer.has_room(slots_for(size))) {
        if (end.passed()) return;
        producer.publish();
        std::this_thread::yield();
      }
      uint64_t payload[LCI_INLINE_MAX / 8 + 1];
      for (uint32_t i = 0; i <= size / 8; ++i) payload[i] = tag * 0x9E3779B97F4A7C15u + i;
      producer.write({MessageKind::kAmInline, 0, 1, size, 0, tag, 0}, payload, size);
      if (tag % 5 == 0) producer.publish();
    }
    producer.publish();
  });
  RingConsumer consumer(memory);
  uint64_t wrong = 0, taken = 0;
  for (uint64_t tag = 0; tag < messages(); ++tag) {
    while (!consumer.has_message() && !end.passed()) std::this_thread::yield();
    if (!consumer.has_message()) break;
    ++taken;
    const MessageHeader header = consumer.header();
    const uint32_t size = size_of(tag);
    uint64_t payload[LCI_INLINE_MAX / 8 + 1] = {};
    if (header.tag == tag && header.size == size) {
      consumer.read_payload(payload, size);
      for (uint32_t i = 0; i < size / 8; ++i) wrong += payload[i] != tag * 0x9E3779B97F4A7C15u + i;
    } else {
      ++wrong;
    }
    consumer.advance(slots_for(size));
  }
  thread.join();
  EXPECT_EQ(0u, wrong);
  EXPECT_EQ(messages(), taken);
  EXPECT_FALSE(consumer.has_message());
}

TEST(RingStress, EveryMessageOnceInOrderAndWhole) {
  carry_all(0);
}

TEST(RingStress, EveryMessageOnceInOrderAndWholeOverTheWrapOfTheNumbers) {
  carry_all(0u - 100'000);
}

}  // namespace
}  // namespace lci
