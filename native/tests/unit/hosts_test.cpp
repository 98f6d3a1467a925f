// SPDX-License-Identifier: Apache-2.0
#include "peer/hosts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace lci {
namespace {

using Ranks = std::vector<uint32_t>;

TEST(Hosts, WhoIsAtOnePlaceIsOnOneHost) {
  const HostPlace here = place_of_this_process(0);
  const HostPlace again = place_of_this_process(0);
  ASSERT_NE('\0', here.boot[0]);
  HostPlace elsewhere = here;
  std::strcpy(elsewhere.boot, "of another system");
  const Hosts hosts = Hosts::of({here, elsewhere, again, elsewhere, here});
  EXPECT_EQ(2u, hosts.count());
  EXPECT_EQ((Ranks{0, 2, 4}), hosts.ranks_at(2));
  EXPECT_EQ((Ranks{1, 3}), hosts.ranks_at(1));
  EXPECT_EQ(0u, hosts.ranks_at(4).front());
  EXPECT_TRUE(hosts.share(1, 3));
  EXPECT_FALSE(hosts.share(1, 4));
}

TEST(Hosts, WhateverKeepsMemoryApartMakesTwo) {
  const std::vector<std::function<void(HostPlace&)>> differences = {
      [](HostPlace& place) { ++place.network; }, [](HostPlace& place) { ++place.processes; },
      [](HostPlace& place) { ++place.user; }, [](HostPlace& place) { ++place.part; }};
  for (const auto& change : differences) {
    HostPlace other = place_of_this_process(0);
    change(other);
    EXPECT_EQ(2u, Hosts::of({place_of_this_process(0), other}).count());
  }
}

TEST(Hosts, APlaceThatIsNotKnownIsNobodyElses) {
  const std::vector<std::function<void(HostPlace&)>> unknown = {
      [](HostPlace& place) { std::memset(place.boot, 0, sizeof place.boot); },
      [](HostPlace& place) { place.network = 0; }, [](HostPlace& place) { place.processes = 0; }};
  for (const auto& forget : unknown) {
    HostPlace place = place_of_this_process(0);
    forget(place);
    EXPECT_EQ(3u, Hosts::of({place, place, place}).count());
  }
}

TEST(Hosts, OneOrEach) {
  EXPECT_EQ(1u, Hosts::one(3).count());
  EXPECT_EQ((Ranks{0, 1, 2}), Hosts::one(3).ranks_at(1));
  EXPECT_EQ(3u, Hosts::each(3).count());
  EXPECT_EQ((Ranks{1}), Hosts::each(3).ranks_at(1));
}

}  // namespace
}  // namespace lci
