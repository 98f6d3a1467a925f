// SPDX-License-Identifier: Apache-2.0
// In which order algorithms combine what members bring. Mutations that must make this file fail: see collective.tsv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
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

GroupCall call_of(const Form& form, uint32_t size, uint64_t count) {
  GroupCall call;
  call.kind = form.kind;
  call.algorithm = form.algorithm;
  call.size = size;
  call.count = count;
  return call;
}

/// Those that combine intervals of members.
class CollectiveOrder : public testing::TestWithParam<Form> {};

TEST_P(CollectiveOrder, IsThatOfMembers) {
  uint64_t runs = 0;
  for (uint32_t size = 1; size <= 33; ++size) {
    if (!lci_test::serves(GetParam(), size)) continue;
    for (const uint64_t count : {1, 3, 40}) {
      for (uint32_t root = 0; root < size; root += GetParam().kind == LCI_COLLECTIVE_REDUCE ? 1 : size) {
        GroupCall call = call_of(GetParam(), size, count);
        call.reduction = lci_test::kAffine;
        call.root = root;
        call.in_place = runs % 2 == 0;
        ++runs;
        ASSERT_EQ("", run_call(call, runs, runs).problem) << call.text();
      }
    }
  }
}

std::vector<Form> ordered_forms() {
  std::vector<Form> forms;
  for (const Form& form : kForms) {
    const bool combines = form.kind == LCI_COLLECTIVE_REDUCE || form.kind == LCI_COLLECTIVE_ALLREDUCE ||
                          form.kind == LCI_COLLECTIVE_SCAN || form.kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN;
    if (combines && form.algorithm != LCI_ALGORITHM_RING) forms.push_back(form);
  }
  return forms;
}
INSTANTIATE_TEST_SUITE_P(Forms, CollectiveOrder, testing::ValuesIn(ordered_forms()),
                         [](const auto& info) { return std::string(info.param.name); });

std::vector<Form> combining_forms() {
  std::vector<Form> forms = ordered_forms();
  for (const Form& form : kForms) {
    const bool shares_out = form.kind == LCI_COLLECTIVE_REDUCE_SCATTER;
    if (shares_out || (form.kind == LCI_COLLECTIVE_ALLREDUCE && form.algorithm == LCI_ALGORITHM_RING)) {
      forms.push_back(form);
    }
  }
  return forms;
}

class CollectiveBits : public testing::TestWithParam<Form> {};

// Sums of floating point numbers differ with their association.
TEST_P(CollectiveBits, AreThoseOfEachRun) {
  for (uint32_t size = 2; size <= 17; ++size) {
    if (!lci_test::serves(GetParam(), size)) continue;
    GroupCall call = call_of(GetParam(), size, 100);
    call.reduction = lci_test::kSumFloat;
    const auto first = run_call(call, size, 1);
    call.in_place = true;
    const auto second = run_call(call, size, 2);
    ASSERT_EQ("", first.problem + second.problem);
    if (GetParam().kind != LCI_COLLECTIVE_EXCLUSIVE_SCAN) {
      EXPECT_EQ(first.out, second.out) << call.text();
    }
    for (uint32_t member = 1; GetParam().kind == LCI_COLLECTIVE_ALLREDUCE && member < size; ++member) {
      EXPECT_EQ(first.out[0], first.out[member]) << call.text();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Forms, CollectiveBits, testing::ValuesIn(combining_forms()),
                         [](const auto& info) { return std::string(info.param.name); });

// An operator that neither commutes nor is associative: whoever combines in another way has other bits.
TEST(CollectiveBits, AllMembersOfAnAllreduceHaveTheSameForAnyOperator) {
  const lci_test::Reduction any{8, [](std::byte* to, const std::byte* left, const std::byte* right) {
                                  uint64_t a, b;
                                  std::memcpy(&a, left, 8);
                                  std::memcpy(&b, right, 8);
                                  a = (a * 0x9e3779b97f4a7c15u) ^ (b + (a >> 31));
                                  std::memcpy(to, &a, 8);
                                }};
  for (const Form& form : kForms) {
    if (form.kind != LCI_COLLECTIVE_ALLREDUCE) continue;
    for (uint32_t size = 2; size <= 17; ++size) {
      if (!lci_test::serves(form, size)) continue;
      const GroupCall call = call_of(form, size, 20);
      std::string problem;
      const auto schedules = call.schedules(&problem);
      ASSERT_EQ("", problem);
      std::vector<lci_test::MemberMemory> memory;
      std::mt19937_64 random(size);
      for (uint32_t member = 0; member < size; ++member) {
        memory.push_back(call.memory(member, schedules[member]->scratch()));
        const auto some = lci_test::some_bytes(random, call.in_bytes(member));
        std::copy(some.begin(), some.end(), memory[member].area(Area::kIn).begin());
      }
      ASSERT_EQ("", lci_test::Simulation(schedules, memory, any, size).run());
      const auto first = memory[0].area(Area::kOut);
      for (uint32_t member = 1; member < size; ++member) {
        EXPECT_TRUE(std::equal(first.begin(), first.end(), memory[member].area(Area::kOut).begin())) << call.text();
      }
    }
  }
}

}  // namespace
}  // namespace lci
