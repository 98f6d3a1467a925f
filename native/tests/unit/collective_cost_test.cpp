// SPDX-License-Identifier: Apache-2.0
// Rounds, bytes and memory of each algorithm are what is known of it. Mutations that must make this file fail: see
// collective.tsv.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "collective/bounds.hpp"
#include "collective/schedule.hpp"
#include "support/collective_cases.hpp"
#include "support/collective_forms.hpp"

namespace lci {
namespace {

using lci_test::all_sent;
using lci_test::GroupCall;
using lci_test::most_sent;
using lci_test::rounds_of;
using lci_test::Schedules;

constexpr uint64_t kElement = 8;

uint32_t log2_of(uint32_t size) {
  return static_cast<uint32_t>(std::bit_width(size - 1));
}

/// A count of which every member of these groups gets the same share.
constexpr uint64_t kCount = 16 * 9 * 5 * 7 * 11 * 13;
constexpr uint64_t kBytes = kCount * kElement;
constexpr uint32_t kSizes[] = {2, 3, 4, 5, 7, 8, 11, 13, 16};

Schedules schedules_of(uint8_t kind, uint8_t algorithm, uint32_t size, uint64_t count = kCount, uint32_t root = 0) {
  GroupCall call;
  call.kind = kind;
  call.algorithm = algorithm;
  call.size = size;
  call.count = count;
  call.root = root;
  std::string problem;
  Schedules schedules = call.schedules(&problem);
  EXPECT_EQ("", problem) << call.text();
  return schedules;
}

TEST(CollectiveCost, OfABarrierIsALogarithm) {
  for (const uint32_t size : kSizes) {
    const auto schedules = schedules_of(LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_DISSEMINATION, size, 0);
    EXPECT_EQ(log2_of(size), rounds_of(schedules));
    for (const auto& schedule : schedules) EXPECT_EQ(2 * log2_of(size), schedule->actions().size());
  }
}

TEST(CollectiveCost, OfTreesIsALogarithmOfRounds) {
  for (const uint32_t size : kSizes) {
    for (const uint32_t root : {0u, size - 1}) {
      const auto binomial = schedules_of(LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_BINOMIAL, size, kCount, root);
      EXPECT_EQ(log2_of(size), rounds_of(binomial));
      EXPECT_EQ((size - 1) * kBytes, all_sent(binomial));
      const auto wide = schedules_of(LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_KNOMIAL, size, kCount, root);
      EXPECT_EQ((log2_of(size) + 1) / 2, rounds_of(wide));
      EXPECT_EQ((size - 1) * kBytes, all_sent(wide));
      const auto reduce = schedules_of(LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_BINOMIAL, size, kCount, root);
      EXPECT_EQ(log2_of(size) + (root != 0), rounds_of(reduce));
      EXPECT_EQ((size - 1 + (root != 0)) * kBytes, all_sent(reduce));
      for (const auto& schedule : reduce) EXPECT_LE(schedule->scratch(), 2 * (kBytes + 64));
      for (const uint8_t kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER}) {
        const auto schedules = schedules_of(kind, LCI_ALGORITHM_BINOMIAL, size, 8, root);
        EXPECT_EQ(log2_of(size), rounds_of(schedules));
        for (const auto& schedule : schedules) EXPECT_LE(schedule->scratch(), (size + 1) / 2 * 8 * kElement);
        EXPECT_EQ(0u, schedules[(root + size - 1) % size]->scratch()) << "a leaf";
        EXPECT_EQ(0u, lci_test::bytes_copied(*schedules[(root + size - 1) % size])) << "a leaf";
        for (const auto& schedule : schedules) EXPECT_LE(lci_test::bytes_copied(*schedule), size * 8 * kElement);
      }
    }
  }
}

// Subtrees that lie in one piece go straight from the memory of the root, and into it.
TEST(CollectiveCost, OfTreesIsNoScratchAtARootThatCutsNoSubtree) {
  for (const uint8_t kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER}) {
    for (const uint32_t size : kSizes) {
      const auto schedules = schedules_of(kind, LCI_ALGORITHM_BINOMIAL, size, 8, 0);
      EXPECT_EQ(0u, schedules[0]->scratch()) << +kind << ", members " << size;
      if (!std::has_single_bit(size)) continue;
      const auto half = schedules_of(kind, LCI_ALGORITHM_BINOMIAL, size, 8, size / 2);
      EXPECT_EQ(0u, half[size / 2]->scratch()) << +kind << ", members " << size;
    }
  }
}

// One without messages is for copies before the first one.
TEST(CollectiveCost, OfNothingIsNoRound) {
  for (const auto& form : lci_test::kForms) {
    for (uint32_t size = 2; size <= 17; ++size) {
      if (!lci_test::serves(form, size)) continue;
      GroupCall call{.kind = form.kind, .algorithm = form.algorithm, .size = size, .count = 100};
      if (form.needs_list) call.edges = lci_test::grid(size);
      std::string problem;
      const auto schedules = call.schedules(&problem);
      size_t rounds = 0;
      for (const auto& schedule : schedules) rounds = std::max(rounds, schedule->rounds());
      const bool copies_first = form.kind == LCI_COLLECTIVE_ALLTOALL ||
                                (form.kind == LCI_COLLECTIVE_SCATTER && form.algorithm == LCI_ALGORITHM_BINOMIAL);
      EXPECT_EQ(rounds_of(schedules) + copies_first, rounds) << form.name << ", members " << size;
    }
  }
}

TEST(CollectiveCost, OfAChainIsASegmentForEachMember) {
  GroupCall call;
  call.kind = LCI_COLLECTIVE_BROADCAST;
  call.algorithm = LCI_ALGORITHM_CHAIN;
  call.count = 1000;
  call.segment_bytes = 800;
  for (const uint32_t size : kSizes) {
    call.size = size;
    std::string problem;
    const auto schedules = call.schedules(&problem);
    EXPECT_EQ(10 + size - 2, rounds_of(schedules));
    EXPECT_EQ(8000u, most_sent(schedules));
    for (const auto& schedule : schedules) EXPECT_EQ(0u, schedule->scratch());
  }
}

TEST(CollectiveCost, OfScatterAndAllgatherIsTwiceTheBytesAtMost) {
  for (const uint32_t size : kSizes) {
    const auto schedules = schedules_of(LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_SCATTER_ALLGATHER, size);
    EXPECT_EQ(log2_of(size) + size - 1, rounds_of(schedules));
    EXPECT_LE(most_sent(schedules), 2 * kBytes / size * (size - 1));
    for (const Action& action : schedules[0]->actions()) EXPECT_EQ(Action::Kind::kSend, action.kind) << "the root";
  }
}

TEST(CollectiveCost, OfAllreduce) {
  for (const uint32_t size : kSizes) {
    const bool power = std::has_single_bit(size);
    const auto doubling = schedules_of(LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RECURSIVE_DOUBLING, size);
    const uint32_t steps = static_cast<uint32_t>(std::bit_width(size) - 1);
    EXPECT_EQ(steps + (power ? 0 : 2), rounds_of(doubling));
    EXPECT_EQ((steps + (power ? 0 : 1)) * kBytes, most_sent(doubling));
    const auto ring = schedules_of(LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RING, size);
    EXPECT_EQ(2 * (size - 1), rounds_of(ring));
    for (const auto& schedule : ring) {
      EXPECT_EQ(2 * kBytes / size * (size - 1), lci_test::bytes_sent(*schedule));
      EXPECT_LE(schedule->scratch(), 2 * kBytes / size + 128);
      EXPECT_EQ(0u, lci_test::bytes_copied(*schedule));
    }
    if (!power) continue;
    const auto rabenseifner = schedules_of(LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, size);
    EXPECT_EQ(2 * steps, rounds_of(rabenseifner));
    for (const auto& schedule : rabenseifner) {
      EXPECT_EQ(2 * kBytes / size * (size - 1), lci_test::bytes_sent(*schedule));
      EXPECT_LE(schedule->scratch(), kBytes / 2 + 64);
    }
  }
}

TEST(CollectiveCost, OfRabenseifnersReduce) {
  for (const uint32_t size : kSizes) {
    for (uint32_t root = 0; root < size; ++root) {
      const auto schedules = schedules_of(LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_RABENSEIFNER, size, kCount, root);
      const uint32_t steps = static_cast<uint32_t>(std::bit_width(size) - 1);
      EXPECT_EQ(2 * steps + !std::has_single_bit(size), rounds_of(schedules));
      EXPECT_LT(most_sent(schedules), 2 * kBytes);
      EXPECT_LT(lci_test::bytes_sent(*schedules[root]), kBytes) << "the root gathers";
      for (const auto& schedule : schedules) EXPECT_LE(schedule->scratch(), 2 * kBytes + 128);
    }
  }
}

TEST(CollectiveCost, OfReduceScatter) {
  for (const uint32_t size : kSizes) {
    for (const uint8_t algorithm : {LCI_ALGORITHM_PAIRWISE, LCI_ALGORITHM_RING}) {
      const auto schedules = schedules_of(LCI_COLLECTIVE_REDUCE_SCATTER, algorithm, size, 100);
      EXPECT_EQ(size - 1, rounds_of(schedules));
      for (const auto& schedule : schedules) {
        EXPECT_EQ((size - 1) * 100 * kElement, lci_test::bytes_sent(*schedule));
        EXPECT_LE(schedule->scratch(), 2 * (100 * kElement + 64));
      }
    }
    if (!std::has_single_bit(size)) continue;
    const auto schedules = schedules_of(LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RECURSIVE_HALVING, size, 100);
    EXPECT_EQ(log2_of(size), rounds_of(schedules));
    for (const auto& schedule : schedules) {
      EXPECT_EQ((size - 1) * 100 * kElement, lci_test::bytes_sent(*schedule));
      EXPECT_LE(schedule->scratch(), size * 100 * kElement + 128);
    }
  }
}

TEST(CollectiveCost, OfAllgather) {
  const uint64_t sent = 100 * kElement;
  for (const uint32_t size : kSizes) {
    const auto expect = [&](uint8_t algorithm, uint32_t rounds) {
      const auto schedules = schedules_of(LCI_COLLECTIVE_ALLGATHER, algorithm, size, 100);
      EXPECT_EQ(rounds, rounds_of(schedules)) << +algorithm;
      for (const auto& schedule : schedules) {
        EXPECT_EQ((size - 1) * sent, lci_test::bytes_sent(*schedule)) << +algorithm;
        EXPECT_LE(schedule->scratch(), algorithm == LCI_ALGORITHM_BRUCK ? size * sent + 64 : 0) << +algorithm;
        const uint64_t turned = algorithm == LCI_ALGORITHM_BRUCK ? size * sent : 0;
        EXPECT_EQ(sent + turned, lci_test::bytes_copied(*schedule)) << +algorithm;
      }
    };
    expect(LCI_ALGORITHM_BRUCK, log2_of(size));
    expect(LCI_ALGORITHM_RING, size - 1);
    if (std::has_single_bit(size)) expect(LCI_ALGORITHM_RECURSIVE_DOUBLING, log2_of(size));
    if (size % 2 == 0) expect(LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, size / 2);
  }
}

TEST(CollectiveCost, OfAlltoall) {
  for (const uint32_t size : kSizes) {
    const auto bruck = schedules_of(LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK, size, 4);
    EXPECT_EQ(log2_of(size), rounds_of(bruck));
    EXPECT_LE(most_sent(bruck), log2_of(size) * (size + 1) / 2 * 4 * kElement);
    const auto pairwise = schedules_of(LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_PAIRWISE, size, 4);
    EXPECT_EQ(size - (size % 2 == 0), rounds_of(pairwise));
    for (const auto& schedule : pairwise) {
      EXPECT_EQ((size - 1) * 4 * kElement, lci_test::bytes_sent(*schedule));
      EXPECT_LE(schedule->scratch(), 64u);
    }
  }
}

TEST(CollectiveCost, OfScansIsALogarithm) {
  for (const uint32_t size : kSizes) {
    for (const uint8_t kind : {LCI_COLLECTIVE_SCAN, LCI_COLLECTIVE_EXCLUSIVE_SCAN}) {
      const auto schedules = schedules_of(kind, LCI_ALGORITHM_RECURSIVE_DOUBLING, size, 100);
      EXPECT_EQ(log2_of(size), rounds_of(schedules));
      EXPECT_LE(most_sent(schedules), log2_of(size) * 100 * kElement);
      EXPECT_EQ(0u, schedules[0]->scratch());
      const uint32_t blocks = kind == LCI_COLLECTIVE_SCAN ? 1 : 2;
      for (const auto& schedule : schedules) EXPECT_LE(schedule->scratch(), blocks * (100 * kElement + 64));
    }
  }
}

// Memory that does not overlap need not be spared.
TEST(CollectiveCost, AMemberWhoseMemoryIsApartTakesNoScratch) {
  GroupCall call;
  call.size = 6;
  call.count = 100;
  for (const uint8_t kind : {LCI_COLLECTIVE_ALLTOALL, LCI_COLLECTIVE_NEIGHBOURS}) {
    call.kind = kind;
    if (kind == LCI_COLLECTIVE_NEIGHBOURS) call.edges = lci_test::grid(6);
    std::string problem;
    const auto apart = call.schedules(&problem, UINT64_MAX), unknown = call.schedules(&problem);
    for (uint32_t member = 0; member < call.size; ++member) {
      EXPECT_EQ(0u, apart[member]->scratch());
      EXPECT_NE(0u, unknown[member]->scratch());
    }
  }
}

TEST(CollectiveCost, RoundsOfManyMembersAndOfLongChainsHaveNumbers) {
  GroupCall call;
  call.kind = LCI_COLLECTIVE_BROADCAST;
  call.algorithm = LCI_ALGORITHM_CHAIN;
  call.size = 256;
  for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{1} << 33, uint64_t{1} << 45}) {
    call.count = bytes / kElement;
    for (const uint32_t own : {0, 255}) {
      Shape shape = call.shape(own, {});
      ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
      ASSERT_LT(make_schedule(shape)->rounds(), Schedule::kMostRounds) << bytes;
      if (bytes == 1 << 30) {
        EXPECT_EQ(kSegmentBytes, shape.segment_bytes);
      }
    }
  }
  for (const auto& form : lci_test::kForms) {
    if (form.kind == LCI_COLLECTIVE_NEIGHBOURS) continue;
    call = GroupCall{.kind = form.kind, .algorithm = form.algorithm, .size = 256, .count = 1000};
    const std::vector<uint64_t> none;
    Shape shape = call.shape(1, none);
    ASSERT_EQ(LCI_DONE, choose_algorithm(&shape));
    EXPECT_LE(make_schedule(shape)->rounds(), 1000u) << form.name;
  }
}

}  // namespace
}  // namespace lci
