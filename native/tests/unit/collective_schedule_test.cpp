// SPDX-License-Identifier: Apache-2.0
// Every algorithm of every kind of call brings each member what lci.h says, whatever the order of messages. Mutations
// that must make this file fail: see collective.tsv.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collective/schedule.hpp"
#include "support/collective_forms.hpp"
#include "support/collective_model.hpp"

namespace lci {
namespace {

using lci_test::Form;
using lci_test::GroupCall;
using lci_test::kForms;
using lci_test::run_call;

class CollectiveSchedule : public testing::TestWithParam<Form> {
 protected:
  GroupCall call(uint32_t size) const {
    GroupCall call;
    call.kind = GetParam().kind;
    call.algorithm = GetParam().algorithm;
    call.size = size;
    return call;
  }
  bool is(uint8_t kind) const { return GetParam().kind == kind; }
  bool has_root() const {
    return is(LCI_COLLECTIVE_BROADCAST) || is(LCI_COLLECTIVE_REDUCE) || is(LCI_COLLECTIVE_GATHER) ||
           is(LCI_COLLECTIVE_SCATTER);
  }
  std::vector<uint32_t> roots(uint32_t size) const {
    std::set<uint32_t> roots{0};
    if (has_root()) roots.insert({1 % size, size / 2, size - 1});
    for (uint32_t root = 0; has_root() && size <= 9 && root < size; ++root) roots.insert(root);
    return {roots.begin(), roots.end()};
  }
  std::vector<uint32_t> sizes() const {
    std::vector<uint32_t> sizes;
    for (uint32_t size = 1; size <= 17; ++size) sizes.push_back(size);
    for (const uint32_t size : {32, 33}) sizes.push_back(size);
    std::erase_if(sizes, [](uint32_t size) { return !lci_test::serves(GetParam(), size); });
    return sizes;
  }
  /// Runs it, in place and not.
  void expect_right(GroupCall call) {
    for (const bool in_place : {false, true}) {
      call.in_place = in_place;
      if (in_place && (is(LCI_COLLECTIVE_BARRIER) || is(LCI_COLLECTIVE_BROADCAST))) continue;
      ++runs_;
      ASSERT_EQ("", run_call(call, runs_, runs_ * 7919).problem) << call.text();
    }
  }

  uint64_t runs_ = 0;
};

TEST_P(CollectiveSchedule, BringsWhatTheCallSays) {
  for (const uint32_t size : sizes()) {
    for (const uint64_t count : std::set<uint64_t>{0, 1, 7, 8, size - 1, size, size + 1, 1001}) {
      if (count == 1001 && size > 8) continue;
      for (const uint32_t root : roots(size)) {
        GroupCall one = call(size);
        one.count = is(LCI_COLLECTIVE_BARRIER) ? 0 : count;
        one.root = root;
        one.segment_bytes = GetParam().algorithm == LCI_ALGORITHM_CHAIN ? 24 : 0;
        if (is(LCI_COLLECTIVE_NEIGHBOURS)) one.edges = lci_test::grid(size);
        expect_right(one);
        if (HasFatalFailure()) return;
      }
    }
  }
}

class CollectiveLists : public CollectiveSchedule {};

TEST_P(CollectiveLists, MayHaveAnyCounts) {
  std::mt19937_64 random(11);
  for (const uint32_t size : sizes()) {
    const bool pairs = is(LCI_COLLECTIVE_ALLTOALL);
    for (int kind_of_list = 0; kind_of_list < 5; ++kind_of_list) {
      GroupCall one = call(size);
      one.counts = lci_test::some_counts(random, pairs ? size * size : size, kind_of_list);
      // The sides of members agree: then blocks come to where others were.
      for (uint32_t i = 0; pairs && kind_of_list == 1 && i < size; ++i) {
        for (uint32_t k = 0; k < i; ++k) one.counts[i * size + k] = one.counts[k * size + i];
      }
      // Every member sends as much as it gets, in other places.
      for (uint32_t i = 0; pairs && kind_of_list == 2 && i < size; ++i) {
        for (uint32_t k = 0; k < size; ++k) one.counts[i * size + k] = (k + size - i) % size;
      }
      one.count = 5;  // no matter
      for (const uint32_t root : roots(size)) {
        one.root = root;
        expect_right(one);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, CollectiveSchedule, testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Forms, CollectiveLists, testing::ValuesIn(lci_test::forms_with_lists()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CollectiveSchedules, MeetAnyNeighbours) {
  std::mt19937_64 random(5);
  for (uint64_t run = 0; run < 300; ++run) {
    GroupCall call;
    call.kind = LCI_COLLECTIVE_NEIGHBOURS;
    call.size = static_cast<uint32_t>(1 + random() % 9);
    call.count = random() % 4;
    call.in_place = random() % 2 == 0;
    for (uint32_t from = 0; from < call.size; ++from) {
      for (uint32_t to = 0; to < call.size; ++to) {
        if (from != to && random() % 3 == 0) call.edges.emplace_back(from, to);
      }
    }
    std::shuffle(call.edges.begin(), call.edges.end(), random);
    ASSERT_EQ("", run_call(call, run, run).problem) << call.text();
  }
}

// A root has a list of counts, and the others do not know.
TEST(CollectiveSchedules, MembersWithoutAListChooseWhatTheRootChooses) {
  for (const uint8_t kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER}) {
    for (const uint64_t count : {0, 3, 5000}) {
      GroupCall call;
      call.kind = kind;
      call.size = 5;
      call.root = 3;
      call.counts = {count, 0, 1, count, 2};
      ASSERT_EQ("", run_call(call, 1, 1).problem) << call.text();
    }
  }
}

TEST(CollectiveSchedules, ARootServesSixteenMembersAtATime) {
  for (const uint8_t kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER}) {
    for (const uint32_t root : {0, 20, 39}) {
      GroupCall call;
      call.kind = kind;
      call.algorithm = LCI_ALGORITHM_LINEAR;
      call.size = 40;
      call.root = root;
      call.count = 2;
      ASSERT_EQ("", run_call(call, 1, 1).problem) << call.text();
      std::string problem;
      const auto schedules = call.schedules(&problem);
      ASSERT_EQ(3u, schedules[root]->rounds());
      for (size_t round = 0; round < 3; ++round) {
        EXPECT_EQ(round < 2 ? 16 : 7, lci_test::messages_in(schedules[root]->round(round)));
      }
    }
  }
}

}  // namespace
}  // namespace lci
