// SPDX-License-Identifier: Apache-2.0
// Rows of atomic operations: by instructions where the memory is at hand, and by messages.
#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kRounds = 100, kTurns = 4;

uint64_t word_at(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Every rank adds to a word of every rank, itself included, all at once: no two see the same value before, and the
/// sums are exact. Then each takes a word for itself by compare and swap, and gives it back by swap.
void atomics(World& world) {
  constexpr uint64_t kSums = 0, kLock = 8, kHeld = 16, kOwn = 24, kBytes = 32;
  lci_comp* ended = world.queue(4096);
  const auto step = [&](uint8_t kind, uint32_t to, uint64_t id, uint64_t operand, uint64_t expected, uint64_t place) {
    const lci_status status = finish(world, atomic_op(kind, to, operand, expected, id, place), ended);
    EXPECT_EQ(LCI_DONE, status.code) << lci_last_error();
    EXPECT_EQ(to, status.rank);
    EXPECT_EQ(77u, status.user_context);
    return status.tag;
  };
  for (const RegionKind kind : kRegionKinds) {
    Regions regions(world, kind, kBytes);
    std::fill_n(regions.mine(), kBytes, uint8_t{0});
    world.barrier();
    for (uint32_t to = 0; to < world.size(); ++to) {
      uint64_t last = 0;
      for (uint64_t round = 0; round < kRounds; ++round) {
        const uint64_t before = step(LCI_ATOMIC_ADD, to, regions.of(to), 1, 0, kSums);
        EXPECT_TRUE(round == 0 || before > last) << "its own additions came before";
        EXPECT_LT(before, kRounds * world.size());
        last = before;
      }
    }
    // A lock of the next rank: what is between the instructions belongs to one rank at a time.
    for (uint64_t round = 0; round < kTurns; ++round) {
      const uint64_t id = regions.of(0);
      world.until([&] { return step(LCI_ATOMIC_COMPARE_SWAP, 0, id, world.rank() + 1, 0, kLock) == 0; });
      EXPECT_EQ(0u, step(LCI_ATOMIC_SWAP, 0, id, 1, 0, kHeld)) << "two hold the lock";
      EXPECT_EQ(1u, step(LCI_ATOMIC_SWAP, 0, id, 0, 0, kHeld));
      EXPECT_EQ(world.rank() + 1u, step(LCI_ATOMIC_SWAP, 0, id, 0, 0, kLock)) << "somebody else took it";
    }
    const auto own = [&](uint8_t operation, uint64_t operand, uint64_t expected) {
      return step(operation, world.rank(), regions.of(world.rank()), operand, expected, kOwn);
    };
    EXPECT_EQ(0u, own(LCI_ATOMIC_SWAP, 7, 0));
    EXPECT_EQ(7u, own(LCI_ATOMIC_COMPARE_SWAP, 8, 9));
    EXPECT_EQ(7u, own(LCI_ATOMIC_COMPARE_SWAP, 8, 7));
    EXPECT_EQ(8u, word_at(regions.mine() + kOwn));
    world.barrier();
    EXPECT_EQ(kRounds * world.size(), word_at(regions.mine() + kSums));
    EXPECT_EQ(0u, word_at(regions.mine() + kLock));
    EXPECT_EQ(0u, word_at(regions.mine() + kHeld));
    regions.close();
  }
}

// Proves: C16 C23
CONFORMANCE(C23, AtomicOperations, {"rma", "auto"}) {
  atomics(world);
}
// Proves: C16 C23
CONFORMANCE(C23, AtomicOperationsByMessages, {"rma", "messages"}) {
  atomics(world);
}

// One owner serves by messages, and is atomic with itself, which uses instructions: both on the same word.
// Proves: C23
CONFORMANCE(C23, InstructionsAndMessagesMeetOnAWord, {"rma", "auto"}) {
  lci_comp* ended = world.queue(4096);
  Regions regions(world, RegionKind::kRegistered, 8);  // processes of others reach it by messages, this one does not
  std::fill_n(regions.mine(), 8, uint8_t{0});
  world.barrier();
  uint64_t posted = 0;
  lci_status status{};
  const auto take = [&] {
    while (lci_queue_pop(ended, &status) == LCI_DONE) {
      EXPECT_EQ(LCI_DONE, status.code);
      --posted;
    }
  };
  for (uint64_t round = 0; round < 10 * kRounds; ++round) {
    const int code = world.post(atomic_op(LCI_ATOMIC_ADD, 0, world.rank() + 1, 0, regions.of(0), 0), ended);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    posted += code == LCI_POSTED;
    take();
  }
  world.until([&] {
    take();
    return posted == 0;
  });
  world.barrier();
  if (world.rank() == 0) {
    const uint64_t sum = world.size() * (world.size() + 1) / 2;
    EXPECT_EQ(10 * kRounds * sum, word_at(regions.mine()));
  }
  regions.close();
}

/// An operation that cannot be done is refused at the caller, or at the owner, and changes nothing.
void refusals(World& world) {
  lci_comp* ended = world.queue();
  const uint32_t next = world.next();
  for (const RegionKind kind : kRegionKinds) {
    Regions regions(world, kind, 20);
    const auto answer = [&](uint64_t place) {
      return finish(world, atomic_op(LCI_ATOMIC_ADD, next, 1, 0, regions.of(next), place), ended).code;
    };
    for (const uint64_t place : {1u, 4u, 12u}) EXPECT_EQ(LCI_ERR_ARGUMENT, answer(place)) << place;
    for (const uint64_t place : {16u, 24u, 4096u}) EXPECT_EQ(LCI_ERR_SIZE, answer(place)) << place;
    world.barrier();
    EXPECT_TRUE(untouched(regions.mine(), 20));
    world.barrier();
    regions.end_mine();
    world.barrier();
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(0));
    world.barrier();
  }
}

// Proves: C23
CONFORMANCE(C23, WhatCannotBeDone, {"rma", "auto"}) {
  refusals(world);
}
// Proves: C23
CONFORMANCE(C23, WhatCannotBeDoneByMessages, {"rma", "messages"}) {
  refusals(world);
}

}  // namespace
}  // namespace lci_test
