// SPDX-License-Identifier: Apache-2.0
// Packets on their way home in bundles, and what a peer may write in their place.
#include "transport/memory/returned_packets.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace lci {
namespace {

constexpr uint32_t kPackets = 100;

class ReturnedPacketsTest : public testing::Test {
 protected:
  ReturnedPacketsTest() { returned_.overwrite(0); }

  PacketHeader& header(uint32_t handle) { return headers_[handle]; }
  auto header_of() {
    return [this](uint32_t handle) -> PacketHeader& { return header(handle); };
  }
  /// Packets @p first and the @p count - 1 that follow it.
  void give(uint32_t first, uint32_t count) {
    std::vector<uint32_t> handles(count);
    std::iota(handles.begin(), handles.end(), first);
    returned_.give(handles.data(), handles.size(), header_of());
  }
  /// What comes back, in its order; a handle that is not @p out, or comes twice, is refused.
  std::vector<uint32_t> take() {
    std::vector<uint32_t> taken;
    std::vector<bool> seen(kPackets);
    honest_ = returned_.take_all(kPackets, header_of(), [&](uint32_t handle) {
      if (handle == 0 || handle >= kPackets) return ReturnedPackets::Answer::kNoPacket;
      if (seen[handle]) return ReturnedPackets::Answer::kNotOut;
      seen[handle] = true;
      taken.push_back(handle);
      return ReturnedPackets::Answer::kTaken;
    });
    return taken;
  }

  ReturnedPackets returned_;
  std::vector<PacketHeader> headers_ = std::vector<PacketHeader>(kPackets);
  bool honest_ = false;
};

TEST_F(ReturnedPacketsTest, AnyNumberComesBackInItsOrder) {
  for (const uint32_t count : {0u, 1u, 2u, 14u, 15u, 16u, 30u, 31u, 99u}) {
    give(1, count);
    EXPECT_EQ(count == 0, returned_.empty());
    std::vector<uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(expected, take()) << count;
    EXPECT_TRUE(honest_);
    EXPECT_TRUE(returned_.empty()) << count;
  }
}

TEST_F(ReturnedPacketsTest, WhatIsGivenLaterComesFirst) {
  give(1, 20);
  give(30, 1);
  give(40, 16);
  const auto taken = take();
  ASSERT_EQ(37u, taken.size());
  EXPECT_EQ(40u, taken[0]);
  EXPECT_EQ(30u, taken[16]);
  EXPECT_EQ(1u, taken[17]);
  EXPECT_EQ(20u, taken[36]);
}

// One who gives back what it has not takes nothing from the others who gave back theirs.
TEST_F(ReturnedPacketsTest, WhatNobodyHasIsPassedOver) {
  give(1, 20);
  give(30, 1);
  header(1).others[3] = 30;  // again, instead of 5
  const auto taken = take();
  EXPECT_EQ(20u, taken.size());
  EXPECT_EQ(20u, taken.back());
  EXPECT_FALSE(honest_);
  EXPECT_TRUE(returned_.empty());
}

TEST_F(ReturnedPacketsTest, NonsenseEndsTheWalk) {
  give(1, 3);
  header(1).count = PacketHeader::kOthers + 1;
  EXPECT_EQ(std::vector<uint32_t>{1}, take()) << "more than a line holds";
  EXPECT_FALSE(honest_);

  give(1, 3);
  header(1).others[1] = kPackets;
  EXPECT_EQ((std::vector<uint32_t>{1, 2}), take()) << "no packet";
  EXPECT_FALSE(honest_);

  give(1, 20);
  header(16).next = 1;
  EXPECT_EQ(20u, take().size()) << "round in a circle";
  EXPECT_FALSE(honest_);

  returned_.overwrite(kPackets);
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(honest_);
  EXPECT_TRUE(returned_.empty());
}

}  // namespace
}  // namespace lci
