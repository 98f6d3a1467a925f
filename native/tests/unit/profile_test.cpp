// SPDX-License-Identifier: Apache-2.0
// What ranks say of themselves through the bootstrap: bytes of another process, so anything.
#include "peer/profile.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

using testing::IsSubstring;

Profile right(uint32_t rank = 1) {
  Profile profile = new_profile();
  profile.rank = rank;
  profile.size = 3;
  profile.devices = 2;
  profile.ring_bytes = 65536;
  profile.control_ring_bytes = 4096;
  profile.packet_size = 8192;
  profile.announcements = 100;
  profile.reserve = 1 << 20;
  return profile;
}

std::vector<uint8_t> bytes_of(const Profile& profile) {
  std::vector<uint8_t> bytes(sizeof profile);
  std::memcpy(bytes.data(), &profile, sizeof profile);
  return bytes;
}

TEST(Profile, IsReadAsItWasWritten) {
  Profile read{};
  ASSERT_EQ(LCI_DONE, decode_profile(bytes_of(right()), 1, 3, &read)) << last_error();
  EXPECT_EQ(0, std::memcmp(&read, bytes_of(right()).data(), sizeof read));
  EXPECT_EQ(LCI_DONE, check_agreement(right(0), read)) << last_error();
}

TEST(Profile, NonsenseIsRefused) {
  Profile read{};
  const std::vector<std::function<void(Profile&)>> changes = {
      [](Profile& profile) { profile.magic ^= 1; },   [](Profile& profile) { profile.rank = 2; },
      [](Profile& profile) { profile.size = 4; },     [](Profile& profile) { profile.reserve = 0; },
      [](Profile& profile) { profile.reserve += 1; }, [](Profile& profile) { profile.reserve = ~uint64_t{4095}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Profile wrong = right();
    changes[i](wrong);
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_profile(bytes_of(wrong), 1, 3, &read)) << i;
    EXPECT_EQ(1, last_error_rank());
    EXPECT_PRED_FORMAT2(IsSubstring, "makes no sense", last_error());
  }
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_profile({}, 1, 3, &read));
}

TEST(Profile, AnotherVersionIsNamed) {
  Profile read{};
  Profile older = right();
  --older.abi;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_profile(bytes_of(older), 1, 3, &read));
  EXPECT_PRED_FORMAT2(IsSubstring, "rank 1 runs another version", last_error());
  for (const size_t size : {size_t{12}, sizeof(Profile) - 1, sizeof(Profile) + 1}) {
    std::vector<uint8_t> bytes = bytes_of(right());
    bytes.resize(size);
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_profile(bytes, 1, 3, &read)) << size;
    EXPECT_PRED_FORMAT2(IsSubstring, "rank 1 runs another version", last_error());
  }
}

TEST(Profile, DifferencesAreNamed) {
  const std::vector<std::pair<std::string, uint32_t Profile::*>> agreed = {
      {"devices is 5, here 2", &Profile::devices},
      {"ring_bytes is 5", &Profile::ring_bytes},
      {"control_ring_bytes is 5", &Profile::control_ring_bytes},
      {"packet_size", &Profile::packet_size},
      {"peer_memory (0: all, 1: rings) is 5, here 0", &Profile::peer_memory},
      {"announcements is 5", &Profile::announcements}};
  for (const auto& [text, member] : agreed) {
    Profile other = right();
    other.*member = 5;
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, check_agreement(right(0), other)) << text;
    EXPECT_EQ(1, last_error_rank());
    EXPECT_PRED_FORMAT2(IsSubstring, text, last_error());
  }
}

}  // namespace
}  // namespace lci
