// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>

namespace lci {
namespace {

struct Pair {
  Pair() {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0) return;
    here = std::make_unique<FrameStream>(FileDescriptor(sockets[0]), 1000);
    there = std::make_unique<FrameStream>(FileDescriptor(sockets[1]), 1000);
  }
  std::unique_ptr<FrameStream> here, there;
};

TEST(FrameStreams, FramesComeAsTheyWent) {
  Pair pair;
  ASSERT_NE(nullptr, pair.there);
  pair.there->post(FrameKind::kValues, share({1, 2, 3}));
  pair.there->post(FrameKind::kAsk);
  pair.here->receive();
  const auto first = pair.here->next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(FrameKind::kValues, first->kind);
  EXPECT_EQ((std::vector<uint8_t>{1, 2, 3}), first->content);
  const auto second = pair.here->next();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(FrameKind::kAsk, second->kind);
  EXPECT_FALSE(pair.here->next().has_value());
  EXPECT_FALSE(pair.here->ended());
}

/// A send that fails tells that the peer has closed, not why: that it may have said before.
TEST(FrameStreams, WhatAPeerSaidBeforeItClosedIsHeardAfterASendThatFails) {
  Pair pair;
  ASSERT_NE(nullptr, pair.there);
  pair.there->leave();
  pair.there.reset();
  pair.here->post(FrameKind::kValues, share({1, 2, 3}));
  EXPECT_FALSE(pair.here->has_to_send());
  EXPECT_FALSE(pair.here->ended()) << "what it said is not received yet";
  pair.here->receive();
  const auto frame = pair.here->next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(FrameKind::kLeave, frame->kind);
  pair.here->receive();
  EXPECT_TRUE(pair.here->ended());
  EXPECT_EQ("its connection broke: Broken pipe", pair.here->why());
}

}  // namespace
}  // namespace lci
