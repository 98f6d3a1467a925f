// SPDX-License-Identifier: Apache-2.0
// The message ring between one producer and one consumer: visibility by groups, room, wrap, and a peer's nonsense.
// Mutation: ring_show_early.
#include "transport/memory/ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "lci/lci.h"

namespace lci {
namespace {

constexpr uint32_t kSlots = 64;

struct Ring {
  explicit Ring(uint32_t start = 0)
      : head(start), producer({&head, slots.data(), kSlots, start}), consumer({&head, slots.data(), kSlots, start}) {}

  alignas(64) std::atomic<uint32_t> head;
  std::array<Slot, kSlots> slots{};
  RingProducer producer;
  RingConsumer consumer;

  void write(uint32_t size, uint64_t tag) {
    const std::vector<std::byte> payload(size, std::byte(tag));
    producer.write({MessageKind::kAmInline, 5, 77, size, 9, tag, ~tag}, payload.data(), size);
  }
  /// Takes the next message and checks all of it.
  void take(uint32_t size, uint64_t tag) {
    ASSERT_TRUE(consumer.has_message()) << tag;
    const MessageHeader header = consumer.header();
    EXPECT_EQ(MessageKind::kAmInline, header.kind);
    EXPECT_EQ(5, header.flags);
    EXPECT_EQ(77, header.target);
    EXPECT_EQ(9u, header.aux);
    EXPECT_EQ(size, header.size);
    EXPECT_EQ(tag, header.tag);
    EXPECT_EQ(~tag, header.arg);
    std::byte payload[LCI_INLINE_MAX];
    consumer.read_payload(payload, size);
    EXPECT_EQ(std::vector<std::byte>(size, std::byte(tag)), std::vector<std::byte>(payload, payload + size));
    consumer.advance(slots_for(size));
  }
};

TEST(Ring, AGroupIsVisibleWhenItIsPublished) {
  Ring ring;
  for (uint64_t tag = 1; tag <= 3; ++tag) ring.write(8, tag);
  EXPECT_FALSE(ring.consumer.has_message());
  ring.producer.publish();
  for (uint64_t tag = 1; tag <= 3; ++tag) ring.take(8, tag);
  EXPECT_FALSE(ring.consumer.has_message());
  ring.producer.publish();  // nothing new
  EXPECT_FALSE(ring.consumer.has_message());
}

TEST(Ring, AFullGroupIsPublishedUnasked) {
  Ring ring;
  for (uint64_t tag = 0; tag < 40; ++tag) ring.write(8, tag);
  uint64_t taken = 0;
  for (; ring.consumer.has_message(); ++taken) ring.take(8, taken);
  EXPECT_EQ(32u, taken);
}

TEST(Ring, CarriesEverySizeOverManyLaps) {
  Ring ring;
  uint64_t tag = 0;
  for (uint32_t lap = 0; lap < 50; ++lap) {
    for (uint32_t size = 0; size <= LCI_INLINE_MAX; size += 7, ++tag) {
      ASSERT_TRUE(ring.producer.has_room(slots_for(size)));
      ring.write(size, tag);
      ring.producer.publish();
      ring.take(size, tag);
    }
  }
}

// Numbers of slots wrap after 2^32. Whatever they are then, each message is seen when its group is published, and
// whole: groups of every length end before the wrap, on it and after it, with messages of one slot and of several.
TEST(Ring, CarriesEverythingOverTheWrapOfItsNumbers) {
  for (uint32_t before = 2 * kSlots; before < 3 * kSlots; ++before) {
    SCOPED_TRACE("started " + std::to_string(before) + " slots before the wrap");
    Ring ring(0u - before);
    uint64_t written = 0, taken = 0;
    const auto size = [](uint64_t tag) { return static_cast<uint32_t>(tag % 5 == 4 ? 33 + tag % 100 : 8); };
    for (uint32_t group = 0; group < 6 * kSlots; ++group) {
      for (uint32_t i = 0; i <= group % 7; ++i) {
        ASSERT_TRUE(ring.producer.has_room(slots_for(size(written)))) << written;
        ring.write(size(written), written);
        ++written;
      }
      ASSERT_FALSE(ring.consumer.has_message()) << "before the group " << group << " is published";
      ring.producer.publish();
      for (; taken < written; ++taken) {
        ring.take(size(taken), taken);
        if (HasFailure()) return;
      }
      ASSERT_FALSE(ring.consumer.has_message()) << taken;
    }
    EXPECT_LT(ring.head.load(), 0x80000000u) << "the wrap was not reached";
  }
}

// A slot that nobody has written looks like the message of the last number.
TEST(Ring, StartsInFreshMemoryWhereNoSlotLooksLikeAMessage) {
  for (uint32_t before = 0; before <= 2 * kSlots; ++before) {
    const uint32_t start = 0u - before;
    Ring ring(start);
    bool none = true;
    for (uint32_t i = 0; i < kSlots && none; ++i) {
      none = !ring.consumer.has_message();
      ring.consumer.advance(1);
    }
    EXPECT_TRUE(none || !may_start_at(start, kSlots)) << before;
    EXPECT_EQ(before == 0 || before > kSlots, may_start_at(start, kSlots)) << before;
  }
  EXPECT_TRUE(may_start_at(0, kSlots));
}

TEST(Ring, IsFullUntilAQuarterWasTaken) {
  Ring ring;
  for (uint64_t tag = 0; tag < kSlots; ++tag) {
    ASSERT_TRUE(ring.producer.has_room(1));
    ring.write(8, tag);
  }
  EXPECT_FALSE(ring.producer.has_room(1));
  for (uint64_t tag = 0; tag + 1 < kSlots / 4; ++tag) ring.take(8, tag);
  EXPECT_FALSE(ring.producer.has_room(1));
  ring.take(8, kSlots / 4 - 1);
  EXPECT_TRUE(ring.producer.has_room(kSlots / 4));
  EXPECT_FALSE(ring.producer.has_room(kSlots / 4 + 1));
}

TEST(Ring, AHeadThatCannotBeIsNotBelieved) {
  Ring ring;
  for (uint64_t tag = 0; tag < kSlots; ++tag) ring.write(8, tag);
  for (const uint32_t nonsense : {kSlots + 1, 0x80000000u, 0xFFFFFFFFu}) {
    ring.head.store(nonsense);
    EXPECT_FALSE(ring.producer.has_room(1)) << nonsense;
  }
  ring.head.store(kSlots);
  EXPECT_TRUE(ring.producer.has_room(kSlots));
}

TEST(Ring, NorIsOneAroundTheWrap) {
  constexpr uint32_t kStart = 0u - kSlots / 2;
  Ring ring(kStart);
  for (uint64_t tag = 0; tag < kSlots; ++tag) ring.write(8, tag);
  for (const uint32_t nonsense : {kStart - 1, kSlots / 2 + 1, 0x80000000u}) {
    ring.head.store(nonsense);
    EXPECT_FALSE(ring.producer.has_room(1)) << nonsense;
  }
  ring.head.store(0);
  EXPECT_TRUE(ring.producer.has_room(kSlots / 2));
  EXPECT_FALSE(ring.producer.has_room(kSlots / 2 + 1));
}

}  // namespace
}  // namespace lci
