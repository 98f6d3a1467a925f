// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves which call. Mutations that must make this file fail: see collective.tsv.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/bounds.hpp"
#include "collective/shape.hpp"
#include "support/collective_forms.hpp"

namespace lci {
namespace {

using lci_test::Form;
using lci_test::kForms;

Shape shape_of(uint8_t kind, uint32_t size, uint64_t bytes, uint64_t element = 1) {
  Shape shape;
  shape.kind = kind;
  shape.size = size;
  shape.element = element;
  shape.count = bytes / element;
  return shape;
}
uint8_t choice(Shape shape) {
  EXPECT_EQ(LCI_DONE, choose_algorithm(&shape)) << last_error();
  return shape.algorithm;
}
/// The choice up to so many bytes of a block, and above.
void expect_border(uint8_t kind, uint32_t size, uint64_t bytes, uint8_t up_to, uint8_t above) {
  EXPECT_EQ(up_to, choice(shape_of(kind, size, bytes))) << +kind << ", members " << size << ", bytes " << bytes;
  EXPECT_EQ(above, choice(shape_of(kind, size, bytes + 1))) << +kind << ", members " << size << ", bytes " << bytes;
}

TEST(CollectiveChoice, OfABroadcast) {
  constexpr uint8_t kKind = LCI_COLLECTIVE_BROADCAST;
  EXPECT_EQ(LCI_ALGORITHM_BINOMIAL, choice(shape_of(kKind, 5, 0)));
  expect_border(kKind, 5, kBinomialBroadcastMost, LCI_ALGORITHM_BINOMIAL, LCI_ALGORITHM_KNOMIAL);
  expect_border(kKind, 5, kKnomialBroadcastMost, LCI_ALGORITHM_KNOMIAL, LCI_ALGORITHM_CHAIN);
  expect_border(kKind, 5, kChainBroadcastMost, LCI_ALGORITHM_CHAIN, LCI_ALGORITHM_SCATTER_ALLGATHER);
}

TEST(CollectiveChoice, OfABroadcastBetweenMembersThatReadEachOthersMemory) {
  const auto near = [](uint32_t size, uint64_t bytes) {
    Shape shape = shape_of(LCI_COLLECTIVE_BROADCAST, size, bytes);
    shape.near = true;
    return choice(shape);
  };
  EXPECT_EQ(LCI_ALGORITHM_BINOMIAL, near(5, kBinomialBroadcastMost));
  EXPECT_EQ(LCI_ALGORITHM_KNOMIAL, near(5, kKnomialBroadcastMost + 1));
  EXPECT_EQ(LCI_ALGORITHM_KNOMIAL, near(5, kNearKnomialBroadcastMost));
  EXPECT_EQ(LCI_ALGORITHM_SCATTER_ALLGATHER, near(5, kNearKnomialBroadcastMost + 1));
  EXPECT_EQ(LCI_ALGORITHM_BINOMIAL, near(2, kKnomialBroadcastMost + 1));
}

TEST(CollectiveChoice, OfReductions) {
  expect_border(LCI_COLLECTIVE_REDUCE, 5, kBinomialReduceMost, LCI_ALGORITHM_BINOMIAL, LCI_ALGORITHM_RABENSEIFNER);
  expect_border(LCI_COLLECTIVE_ALLREDUCE, 8, kDoublingAllreduceMost, LCI_ALGORITHM_RECURSIVE_DOUBLING,
                LCI_ALGORITHM_RABENSEIFNER);
  expect_border(LCI_COLLECTIVE_ALLREDUCE, 6, kDoublingAllreduceMost, LCI_ALGORITHM_RECURSIVE_DOUBLING,
                LCI_ALGORITHM_RING);
  EXPECT_EQ(LCI_ALGORITHM_RECURSIVE_DOUBLING, choice(shape_of(LCI_COLLECTIVE_SCAN, 6, 1 << 20)));
  EXPECT_EQ(LCI_ALGORITHM_RECURSIVE_DOUBLING, choice(shape_of(LCI_COLLECTIVE_EXCLUSIVE_SCAN, 6, 1 << 20)));
}

// Else some members had nothing to reduce.
TEST(CollectiveChoice, OfFewElementsIsNoShareForEachMember) {
  constexpr uint64_t kLarge = 1 << 20;
  EXPECT_EQ(LCI_ALGORITHM_BINOMIAL, choice(shape_of(LCI_COLLECTIVE_REDUCE, 4, 3 * kLarge, kLarge)));
  EXPECT_EQ(LCI_ALGORITHM_RABENSEIFNER, choice(shape_of(LCI_COLLECTIVE_REDUCE, 4, 4 * kLarge, kLarge)));
  EXPECT_EQ(LCI_ALGORITHM_RECURSIVE_DOUBLING, choice(shape_of(LCI_COLLECTIVE_ALLREDUCE, 4, 3 * kLarge, kLarge)));
  EXPECT_EQ(LCI_ALGORITHM_RABENSEIFNER, choice(shape_of(LCI_COLLECTIVE_ALLREDUCE, 4, 4 * kLarge, kLarge)));
}

// These look at all blocks together.
TEST(CollectiveChoice, OfReduceScatterAndAllgather) {
  expect_border(LCI_COLLECTIVE_REDUCE_SCATTER, 8, kHalvingReduceScatterMost / 8, LCI_ALGORITHM_RECURSIVE_HALVING,
                LCI_ALGORITHM_PAIRWISE);
  expect_border(LCI_COLLECTIVE_REDUCE_SCATTER, 8, kPairwiseReduceScatterMost / 8, LCI_ALGORITHM_PAIRWISE,
                LCI_ALGORITHM_RING);
  EXPECT_EQ(LCI_ALGORITHM_PAIRWISE, choice(shape_of(LCI_COLLECTIVE_REDUCE_SCATTER, 6, 8)));
  expect_border(LCI_COLLECTIVE_ALLGATHER, 8, kBruckAllgatherMost / 8, LCI_ALGORITHM_BRUCK,
                LCI_ALGORITHM_RECURSIVE_DOUBLING);
  expect_border(LCI_COLLECTIVE_ALLGATHER, 8, kDoublingAllgatherMost / 8, LCI_ALGORITHM_RECURSIVE_DOUBLING,
                LCI_ALGORITHM_RING);
  expect_border(LCI_COLLECTIVE_ALLGATHER, 6, kBruckAllgatherMost / 6, LCI_ALGORITHM_BRUCK,
                LCI_ALGORITHM_NEIGHBOUR_EXCHANGE);
  expect_border(LCI_COLLECTIVE_ALLGATHER, 6, kDoublingAllgatherMost / 6, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE,
                LCI_ALGORITHM_RING);
  expect_border(LCI_COLLECTIVE_ALLGATHER, 5, kBruckAllgatherMost / 5, LCI_ALGORITHM_BRUCK, LCI_ALGORITHM_RING);
}

TEST(CollectiveChoice, OfListsOfCountsIsByTheirSum) {
  const std::vector<uint64_t> counts{0, kBruckAllgatherMost - 1, 0, 1}, more{0, kBruckAllgatherMost, 0, 1};
  Shape shape = shape_of(LCI_COLLECTIVE_ALLGATHER, 4, 1 << 30);
  shape.counts = counts;
  EXPECT_EQ(LCI_ALGORITHM_BRUCK, choice(shape));
  shape.counts = more;
  EXPECT_EQ(LCI_ALGORITHM_RECURSIVE_DOUBLING, choice(shape));
}

TEST(CollectiveChoice, OfAlltoall) {
  expect_border(LCI_COLLECTIVE_ALLTOALL, 5, kBruckAlltoallMost, LCI_ALGORITHM_BRUCK, LCI_ALGORITHM_PAIRWISE);
  const std::vector<uint64_t> counts(10, 1);
  Shape shape = shape_of(LCI_COLLECTIVE_ALLTOALL, 5, 1);
  shape.counts = counts;
  EXPECT_EQ(LCI_ALGORITHM_PAIRWISE, choice(shape));
}

// Of these the root alone may have a list, and all must choose alike.
TEST(CollectiveChoice, OfGatherAndScatterDoesNotDependOnWhatTheRootKnows) {
  const std::vector<uint64_t> counts(5, 1);
  for (const uint8_t kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER}) {
    for (const uint64_t bytes : {0, 1, 100000}) {
      Shape shape = shape_of(kind, 5, bytes);
      EXPECT_EQ(LCI_ALGORITHM_LINEAR, choice(shape));
      shape.counts = counts;
      EXPECT_EQ(LCI_ALGORITHM_LINEAR, choice(shape));
    }
  }
}

TEST(CollectiveChoice, OfTheOthers) {
  EXPECT_EQ(LCI_ALGORITHM_DISSEMINATION, choice(shape_of(LCI_COLLECTIVE_BARRIER, 5, 0)));
  const std::vector<uint64_t> nobody(2);
  Shape shape = shape_of(LCI_COLLECTIVE_NEIGHBOURS, 5, 7);
  shape.counts = nobody;
  EXPECT_EQ(LCI_ALGORITHM_DIRECT, choice(shape));
}

// What is short is shown to all, where they can see it.
TEST(CollectiveChoice, OfMembersThatReadEachOthersMemory) {
  const auto near_choice = [](uint8_t kind, uint32_t size, uint64_t bytes) {
    Shape shape = shape_of(kind, size, bytes);
    shape.near = true;
    return choice(shape);
  };
  EXPECT_EQ(LCI_ALGORITHM_ARENA_LINE, near_choice(LCI_COLLECTIVE_BARRIER, kBoardMembersMost, 0));
  EXPECT_EQ(LCI_ALGORITHM_DISSEMINATION, near_choice(LCI_COLLECTIVE_BARRIER, kBoardMembersMost + 1, 0));
  EXPECT_EQ(LCI_ALGORITHM_DISSEMINATION, near_choice(LCI_COLLECTIVE_BARRIER, 1, 0));
  for (const uint8_t kind : {LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_ALLGATHER}) {
    EXPECT_EQ(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, 2, 1));
    EXPECT_EQ(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, kBoardMembersMost, kSlotBytesMost));
    EXPECT_NE(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, kBoardMembersMost, kSlotBytesMost + 1));
    EXPECT_NE(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, kBoardMembersMost + 1, 1));
    EXPECT_NE(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, 2, 0)) << "nobody waits for anybody";
    EXPECT_NE(LCI_ALGORITHM_ARENA_SLOTS, near_choice(kind, 1, 1));
  }
  EXPECT_EQ(LCI_ALGORITHM_BINOMIAL, near_choice(LCI_COLLECTIVE_REDUCE, 2, 8));
  Shape long_one = shape_of(LCI_COLLECTIVE_ALLREDUCE, 2, kSlotBytesMost + 1);
  long_one.near = true;
  long_one.algorithm = LCI_ALGORITHM_ARENA_SLOTS;
  EXPECT_EQ(LCI_ERR_ARGUMENT, choose_algorithm(&long_one));
  EXPECT_STREQ("allreduce: arena-slots takes up to 1024 bytes of a member", last_error());
}

TEST(CollectiveChoice, KeepsWhatTheCallNamesAndRefusesWhatCannotServe) {
  const std::vector<uint64_t> list(32, 1);
  for (uint8_t kind = LCI_COLLECTIVE_BARRIER; kind <= LCI_COLLECTIVE_NEIGHBOURS; ++kind) {
    for (uint8_t algorithm = 1; algorithm <= LCI_ALGORITHM_DIRECT + 1; ++algorithm) {
      for (uint32_t size = 1; size <= 16; ++size) {
        for (const bool with_list : {false, true}) {
          Shape shape = shape_of(kind, size, 64);
          shape.algorithm = algorithm;
          if (with_list) shape.counts = list;
          bool served = false;
          for (const Form& form : kForms) {
            if (form.kind != kind || form.algorithm != algorithm || !lci_test::serves(form, size)) continue;
            served = form.needs_list ? with_list : !with_list || form.may_have_list;
          }
          ASSERT_EQ(served ? LCI_DONE : LCI_ERR_ARGUMENT, choose_algorithm(&shape))
              << +kind << ", " << +algorithm << ", members " << size << ", list " << with_list;
          EXPECT_EQ(algorithm, shape.algorithm);
        }
      }
    }
  }
}

TEST(CollectiveChoice, SaysWhyItRefuses) {
  const auto why = [](uint8_t kind, uint8_t algorithm, uint32_t size, std::vector<uint64_t> list = {}) {
    Shape shape = shape_of(kind, size, 64);
    shape.algorithm = algorithm;
    shape.counts = list;
    EXPECT_EQ(LCI_ERR_ARGUMENT, choose_algorithm(&shape));
    return std::string(last_error());
  };
  EXPECT_EQ("allreduce: Rabenseifner needs 2^k members, and the group has 6",
            why(LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, 6));
  EXPECT_EQ("allgather: neighbour exchange needs an even number of members, and the group has 5",
            why(LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, 5));
  EXPECT_EQ("scan: direct is no algorithm for it", why(LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_DIRECT, 5));
  EXPECT_EQ("scan: there is no algorithm 18", why(LCI_COLLECTIVE_SCAN, 18, 5));
  EXPECT_EQ(
      "barrier: arena-line needs up to 16 members on one host, where ranks read each other's memory "
      "(peer_memory)",
      why(LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_ARENA_LINE, 5));
  EXPECT_EQ("alltoall: Bruck takes no list of counts", why(LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK, 1, {1, 1}));
  EXPECT_EQ("scan: recursive doubling takes no list of counts", why(LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_AUTO, 1, {1}));
  EXPECT_EQ("neighbours: the list of them is missing", why(LCI_COLLECTIVE_NEIGHBOURS, LCI_ALGORITHM_AUTO, 5));
  EXPECT_EQ("there is no collective 0", why(0, 0, 5));
  EXPECT_EQ("there is no collective 13", why(13, 0, 5));
}

TEST(CollectiveChoice, OnlyAChainHasSegments) {
  Shape shape = shape_of(LCI_COLLECTIVE_BROADCAST, 4, 1 << 20);
  ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
  EXPECT_EQ(LCI_ALGORITHM_CHAIN, shape.algorithm);
  EXPECT_EQ(kSegmentBytes, shape.segment_bytes);
  shape.segment_bytes = 1000;
  ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
  EXPECT_EQ(1000u, shape.segment_bytes) << "what the call says";
  shape.algorithm = LCI_ALGORITHM_BINOMIAL;
  ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
  EXPECT_EQ(0u, shape.segment_bytes);
  shape.algorithm = LCI_ALGORITHM_CHAIN;
  shape.segment_bytes = 1;
  shape.count = 1 << 20;
  ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
  EXPECT_GT(shape.segment_bytes, 16u) << "not more rounds than there are numbers";
}

}  // namespace
}  // namespace lci
