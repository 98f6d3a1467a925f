// SPDX-License-Identifier: Apache-2.0
// Peers that give packets back in bundles of all sizes while their owner takes them.
#include "transport/memory/returned_packets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::run_threads;

// Each giver has packets of its own; the owner hands each that has come back to its giver again. None is lost, none
// comes twice.
TEST(ReturnedPacketsStress, EachComesBackOnce) {
  constexpr uint32_t kGivers = 3, kEach = 64, kRounds = 20'000;
  ReturnedPackets returned;
  returned.overwrite(0);
  std::vector<PacketHeader> headers(1 + kGivers * kEach);
  const auto header_of = [&](uint32_t handle) -> PacketHeader& { return headers[handle]; };
  const auto out = std::make_unique<std::atomic<uint32_t>[]>(headers.size());  // 1: with its giver
  for (uint32_t handle = 1; handle < headers.size(); ++handle) out[handle] = 1;
  std::atomic<uint64_t> given{0}, taken{0};
  std::atomic<uint32_t> giving{kGivers};
  bool wrong = false;
  const Deadline deadline(20);
  run_threads(1 + kGivers, [&](uint32_t thread) {
    if (thread == kGivers) {
      std::vector<uint32_t> back;
      for (bool last = false; !last;) {
        last = giving == 0;  // what was given before is taken in this round
        back.clear();
        const bool honest = returned.take_all(kGivers * kEach, header_of, [&](uint32_t handle) {
          if (handle == 0 || handle >= headers.size()) return ReturnedPackets::Answer::kNoPacket;
          back.push_back(handle);
          return ReturnedPackets::Answer::kTaken;
        });
        if (!honest) wrong = true;
        for (const uint32_t handle : back) {
          ++taken;
          if (out[handle].exchange(1, std::memory_order_release) != 0) wrong = true;
        }
        std::this_thread::yield();
      }
      return;
    }
    uint32_t random = thread + 1;
    std::vector<uint32_t> handles;
    for (uint32_t round = 0; round < kRounds && !deadline.passed(); ++round) {
      random = random * 1664525 + 1013904223;
      const uint32_t most = 1 + (random >> 16) % kEach;
      handles.clear();
      for (uint32_t handle = 1 + thread * kEach; handle < 1 + (thread + 1) * kEach && handles.size() < most; ++handle) {
        if (out[handle].load(std::memory_order_acquire) == 0) continue;
        out[handle].store(0, std::memory_order_relaxed);
        handles.push_back(handle);
      }
      if (handles.empty()) std::this_thread::yield();
      given += handles.size();
      returned.give(handles.data(), handles.size(), header_of);
    }
    --giving;
  });
  EXPECT_FALSE(wrong);
  EXPECT_EQ(given, taken);
  EXPECT_NE(0u, given);
}

}  // namespace
}  // namespace lci
