// SPDX-License-Identifier: Apache-2.0
#include "base/device_set.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lci {
namespace {

std::vector<uint32_t> take(DeviceSet& set) {
  std::vector<uint32_t> taken;
  set.take_each([&](uint32_t device) { taken.push_back(device); });
  return taken;
}

TEST(DeviceSet, TellsOfEachDeviceOnce) {
  DeviceSet set;
  EXPECT_TRUE(set.empty());
  for (const uint32_t device : {127u, 0u, 64u, 63u, 0u}) set.add(device);
  EXPECT_FALSE(set.empty());
  EXPECT_TRUE(set.contains(64));
  EXPECT_FALSE(set.contains(65));
  EXPECT_EQ((std::vector<uint32_t>{0, 63, 64, 127}), take(set));
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(take(set).empty());
}

TEST(DeviceSet, KeepsTheOthers) {
  DeviceSet set;
  set.fill();
  DeviceBits others{};
  set_bit(others, 3);
  set_bit(others, 100);
  set.keep_only(others);
  EXPECT_FALSE(set.empty());
  EXPECT_EQ((std::vector<uint32_t>{3, 100}), take(set));
}

}  // namespace
}  // namespace lci
