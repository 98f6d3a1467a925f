// SPDX-License-Identifier: Apache-2.0
// Calls of members on several hosts, of which some share one. Mutations that must make this file fail: see
// collective.tsv.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/bounds.hpp"
#include "collective/schedule.hpp"
#include "support/collective_forms.hpp"
#include "support/collective_model.hpp"

namespace lci {
namespace {

using lci_test::GroupCall;
using lci_test::run_call;
using lci_test::Schedules;

constexpr uint8_t kKinds[] = {LCI_COLLECTIVE_BARRIER, LCI_COLLECTIVE_BROADCAST, LCI_COLLECTIVE_REDUCE,
                              LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_ALLGATHER};

using HostMap = std::vector<uint32_t>;

/// By the number of each member's host, whatever it is.
HostMap lowest(const std::vector<uint32_t>& numbers) {
  HostMap hosts;
  for (const uint32_t number : numbers) {
    hosts.push_back(static_cast<uint32_t>(std::find(numbers.begin(), numbers.end(), number) - numbers.begin()));
  }
  return hosts;
}

/// Whether the members of each host follow each other.
bool is_in_order(const HostMap& hosts) {
  return std::is_sorted(hosts.begin(), hosts.end());
}

/// In blocks, in turn, all but some on one host, and by chance; those that serve calls of this kind.
std::vector<HostMap> host_maps(uint32_t size, uint8_t kind = LCI_COLLECTIVE_BARRIER) {
  const std::function<uint32_t(uint32_t)> rules[] = {
      [](uint32_t member) { return member / 2; },
      [](uint32_t member) { return member / 3; },
      [](uint32_t member) { return member % 2; },
      [](uint32_t member) { return member % 3; },
      [](uint32_t member) { return member == 1 ? 1u : 0u; },
      [size](uint32_t member) { return member < size / 2 ? 0 : member; },
      [random = std::mt19937(7 * size)](uint32_t) mutable { return static_cast<uint32_t>(random() % 4); },
  };
  std::set<HostMap> maps;
  for (const auto& rule : rules) {
    std::vector<uint32_t> numbers;
    for (uint32_t member = 0; member < size; ++member) numbers.push_back(rule(member));
    const HostMap map = lowest(numbers);
    const size_t hosts = std::set<uint32_t>(map.begin(), map.end()).size();
    const bool serves = kind != LCI_COLLECTIVE_ALLGATHER || is_in_order(map);
    if (hosts != 1 && hosts != size && serves) maps.insert(map);
  }
  return {maps.begin(), maps.end()};
}

GroupCall call_of(uint8_t kind, const HostMap& hosts, uint64_t count, uint32_t root = 0) {
  GroupCall call;
  call.kind = kind;
  call.algorithm = LCI_ALGORITHM_HIERARCHICAL;
  call.size = static_cast<uint32_t>(hosts.size());
  call.root = root;
  call.count = kind == LCI_COLLECTIVE_BARRIER ? 0 : count;
  call.hosts = hosts;
  return call;
}
bool has_root(uint8_t kind) {
  return kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_REDUCE;
}

class CollectiveHierarchical : public testing::TestWithParam<uint8_t> {};

TEST_P(CollectiveHierarchical, BringsWhatTheCallSays) {
  uint64_t runs = 0;
  for (const uint32_t size : {3, 4, 5, 6, 7, 8, 9, 12, 17}) {
    for (const HostMap& hosts : host_maps(size, GetParam())) {
      for (const uint64_t count : std::set<uint64_t>{0, 1, size - 1, size + 1, 1001}) {
        if (count == 1001 && size > 8) continue;
        for (uint32_t root = 0; root<(has_root(GetParam()) ? size : 1); root += count> size && size > 5 ? 3 : 1) {
          GroupCall call = call_of(GetParam(), hosts, count, root);
          for (const bool in_place : {false, true}) {
            call.in_place = in_place;
            call.near_on_hosts = runs % 4 < 2;
            ++runs;
            ASSERT_EQ("", run_call(call, runs, runs * 7919).problem) << call.text();
          }
        }
      }
    }
  }
  EXPECT_LT(GetParam() == LCI_COLLECTIVE_ALLGATHER ? 200u : 500u, runs);
}

uint64_t messages_between_hosts(const Schedules& schedules, const HostMap& hosts) {
  uint64_t messages = 0;
  for (uint32_t member = 0; member < schedules.size(); ++member) {
    for (const Action& action : schedules[member]->actions()) {
      messages += action.kind == Action::Kind::kSend && hosts[action.member] != hosts[member];
    }
  }
  return messages;
}

/// What the members of each host bring together.
std::vector<uint64_t> of_hosts(const HostMap& hosts, uint64_t count) {
  std::vector<uint64_t> counts;
  for (const uint32_t host : std::set<uint32_t>(hosts.begin(), hosts.end())) {
    counts.push_back(static_cast<uint64_t>(std::count(hosts.begin(), hosts.end(), host)) * count);
  }
  return counts;
}

TEST_P(CollectiveHierarchical, SendsBetweenHostsWhatAGroupOfSpeakersWould) {
  for (const uint32_t size : {4, 7, 12, 17}) {
    for (const HostMap& hosts : host_maps(size, GetParam())) {
      for (const uint64_t count : {8, 4001}) {
        std::string problem;
        const GroupCall call = call_of(GetParam(), hosts, count);
        const Schedules all = call.schedules(&problem);
        ASSERT_EQ("", problem) << call.text();
        GroupCall few = call;
        few.algorithm = LCI_ALGORITHM_AUTO;
        few.size = static_cast<uint32_t>(std::set<uint32_t>(hosts.begin(), hosts.end()).size());
        few.hosts = {};
        if (GetParam() == LCI_COLLECTIVE_ALLGATHER) few.counts = of_hosts(hosts, count);
        const Schedules speakers = few.schedules(&problem);
        const HostMap apart = lowest([&] {
          std::vector<uint32_t> numbers(few.size);
          for (uint32_t member = 0; member < few.size; ++member) numbers[member] = member;
          return numbers;
        }());
        EXPECT_EQ(messages_between_hosts(speakers, apart), messages_between_hosts(all, hosts)) << call.text();
        for (const auto& schedule : all) EXPECT_EQ(all[0]->rounds(), schedule->rounds()) << call.text();
      }
    }
  }
}

/// Which members each one has heard of, by a bit, when all have done their rounds.
std::vector<uint32_t> heard_of(const Schedules& schedules) {
  std::vector<uint32_t> known(schedules.size());
  for (uint32_t member = 0; member < known.size(); ++member) known[member] = 1u << member;
  for (size_t round = 0; round < schedules[0]->rounds(); ++round) {
    const std::vector<uint32_t> before = known;
    for (uint32_t member = 0; member < known.size(); ++member) {
      for (const Action& action : schedules[member]->round(round)) {
        if (action.kind == Action::Kind::kReceive) known[member] |= before[action.member];
      }
    }
  }
  return known;
}

// There are no bytes that would say so.
TEST(CollectiveHosts, ABarrierEndsWhenAllHaveComeToIt) {
  for (uint32_t size = 3; size <= 17; ++size) {
    for (const HostMap& hosts : host_maps(size)) {
      std::string problem;
      const GroupCall call = call_of(LCI_COLLECTIVE_BARRIER, hosts, 0);
      const Schedules schedules = call.schedules(&problem);
      ASSERT_EQ("", problem) << call.text();
      for (const uint32_t known : heard_of(schedules)) ASSERT_EQ((1u << size) - 1, known) << call.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CollectiveHierarchical, testing::ValuesIn(kKinds));

uint8_t choice(const GroupCall& call) {
  Shape shape = call.shape(0, {});
  shape.algorithm = LCI_ALGORITHM_AUTO;
  EXPECT_EQ(LCI_DONE, choose_algorithm(&shape)) << last_error();
  return shape.algorithm;
}

TEST(CollectiveHosts, AreLookedAtWhereSomeShareOne) {
  for (const uint8_t kind : kKinds) {
    EXPECT_EQ(LCI_ALGORITHM_HIERARCHICAL, choice(call_of(kind, {0, 0, 2}, 8)));
    EXPECT_NE(LCI_ALGORITHM_HIERARCHICAL, choice(call_of(kind, {}, 8)));
  }
  for (const uint8_t kind : {LCI_COLLECTIVE_REDUCE, LCI_COLLECTIVE_ALLREDUCE}) {
    constexpr uint64_t kMost = kHierarchicalReductionMost / sizeof(uint64_t);
    EXPECT_EQ(LCI_ALGORITHM_HIERARCHICAL, choice(call_of(kind, {0, 0, 2}, kMost)));
    EXPECT_NE(LCI_ALGORITHM_HIERARCHICAL, choice(call_of(kind, {0, 0, 2}, kMost + 1)));
  }
  EXPECT_EQ(LCI_ALGORITHM_PAIRWISE, choice(call_of(LCI_COLLECTIVE_REDUCE_SCATTER, {0, 0, 2}, 8)));
}

// Blocks of a host lie together then.
TEST(CollectiveHosts, OfAnAllgatherHaveMembersThatFollowEachOther) {
  constexpr uint64_t kMost = kHierarchicalAllgatherMost / sizeof(uint64_t) / 4;
  EXPECT_EQ(LCI_ALGORITHM_HIERARCHICAL, choice(call_of(LCI_COLLECTIVE_ALLGATHER, {0, 0, 2, 2}, kMost)));
  EXPECT_EQ(LCI_ALGORITHM_RING, choice(call_of(LCI_COLLECTIVE_ALLGATHER, {0, 0, 2, 2}, kMost + 1)));
  EXPECT_EQ(LCI_ALGORITHM_BRUCK, choice(call_of(LCI_COLLECTIVE_ALLGATHER, {0, 1, 0, 1}, 8)));
  const GroupCall mixed = call_of(LCI_COLLECTIVE_ALLGATHER, {0, 1, 0, 1}, 8);
  Shape shape = mixed.shape(0, {});
  EXPECT_EQ(LCI_ERR_ARGUMENT, choose_algorithm(&shape));
  EXPECT_NE(std::string::npos, std::string(last_error()).find("behind one another")) << last_error();
  const std::vector<uint64_t> counts{8, 8, 8, 8};
  const GroupCall in_order = call_of(LCI_COLLECTIVE_ALLGATHER, {0, 0, 2, 2}, 8);
  shape = in_order.shape(0, counts);
  shape.algorithm = LCI_ALGORITHM_AUTO;
  EXPECT_EQ(LCI_DONE, choose_algorithm(&shape));
  EXPECT_EQ(LCI_ALGORITHM_BRUCK, shape.algorithm) << "a list of counts";
}

// Three of them read the block of the one that speaks at the same time.
TEST(CollectiveHosts, WhoseMembersReadEachOtherHaveTheWideTree) {
  GroupCall call = call_of(LCI_COLLECTIVE_BROADCAST, {0, 0, 0, 0, 4}, kKnomialBroadcastMost / sizeof(uint64_t) + 1);
  for (const bool near : {false, true}) {
    call.near_on_hosts = near;
    std::string problem;
    const Schedules schedules = call.schedules(&problem);
    ASSERT_EQ("", problem);
    size_t most = 0;
    for (size_t round = 0; round < schedules[0]->rounds(); ++round) {
      most = std::max(most, schedules[0]->round(round).size());
    }
    EXPECT_EQ(near ? 3u : 1u, most);
  }
}

TEST(CollectiveHosts, AreNeededByWhoNamesThem) {
  GroupCall call = call_of(LCI_COLLECTIVE_ALLREDUCE, {}, 8);
  call.size = 3;
  Shape shape = call.shape(0, {});
  EXPECT_EQ(LCI_ERR_ARGUMENT, choose_algorithm(&shape));
  EXPECT_NE(std::string::npos, std::string(last_error()).find("members that share a host")) << last_error();
}

}  // namespace
}  // namespace lci
