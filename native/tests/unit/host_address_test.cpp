// SPDX-License-Identifier: Apache-2.0
// How a rank says that it can be met: bytes of another process, so anything.
#include "transport/shm/host_address.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

using testing::IsSubstring;

TEST(HostAddress, OfThisProcess) {
  HostAddress read{};
  ASSERT_EQ(LCI_DONE, decode_address(encode(address_of_this_process()), 1, &read)) << last_error();
  EXPECT_EQ(getpid(), read.process);
  EXPECT_NE(0u, read.process_start);
  EXPECT_NE('\0', *read.boot);
  EXPECT_EQ(LCI_DONE, check_same_host(0, address_of_this_process(), 1, read)) << last_error();
}

TEST(HostAddress, NonsenseIsRefused) {
  const std::vector<std::function<void(HostAddress&)>> changes = {
      [](HostAddress& address) { address.process = 0; },
      [](HostAddress& address) { address.process = -1; },
      [](HostAddress& address) { std::memset(address.boot, 'x', sizeof address.boot); },
      [](HostAddress& address) { std::memset(address.socket, 'x', sizeof address.socket); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    HostAddress wrong = address_of_this_process(), read{};
    changes[i](wrong);
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_address(encode(wrong), 1, &read)) << i;
    EXPECT_EQ(1, last_error_rank());
    EXPECT_PRED_FORMAT2(IsSubstring, "makes no sense", last_error());
  }
}

TEST(HostAddress, AnotherHostIsNamed) {
  const HostAddress here = address_of_this_process();
  HostAddress elsewhere = here;
  elsewhere.boot[0] = elsewhere.boot[0] == 'a' ? 'b' : 'a';
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, check_same_host(0, here, 1, elsewhere));
  EXPECT_EQ(1, last_error_rank());
  EXPECT_PRED_FORMAT2(IsSubstring, "another host", last_error());
  elsewhere.boot[0] = '\0';
  EXPECT_EQ(LCI_DONE, check_same_host(0, here, 1, elsewhere)) << "where it cannot be read it is not compared";
}

// All ranks are looked at before the first meets another one.
TEST(HostAddress, OfAllRanksAreChecked) {
  const std::vector<uint32_t> all{0, 1, 2};
  std::vector<Profile> profiles(3, new_profile());
  for (Profile& profile : profiles) profile.address = encode(address_of_this_process());
  std::vector<HostAddress> addresses;
  EXPECT_EQ(LCI_DONE, decode_addresses(profiles, 0, all, &addresses)) << last_error();
  EXPECT_EQ(3u, addresses.size());
  HostAddress elsewhere = address_of_this_process();
  std::strcpy(elsewhere.boot, "of another host");
  profiles[2].address = encode(elsewhere);
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_addresses(profiles, 0, all, &addresses));
  EXPECT_EQ(2, last_error_rank());
  EXPECT_EQ(LCI_DONE, decode_addresses(profiles, 0, {0, 1}, &addresses))
      << "who is not to be met here is not looked at";
  profiles[1].address = TransportAddress{};
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, decode_addresses(profiles, 0, all, &addresses));
  EXPECT_EQ(1, last_error_rank());
}

}  // namespace
}  // namespace lci
