// SPDX-License-Identifier: Apache-2.0
// Receives that have matched a rendezvous, in a list that needs no memory.
#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <utility>

#include "protocol/handed.hpp"

namespace lci {
namespace {

constexpr uint32_t kMany = 100'000;

MatchedReceives many() {
  MatchedReceives all;
  for (uint32_t i = 0; i < kMany; ++i) {
    auto one = std::make_unique<ReceiveContext>();
    one->size = i;
    all.add(std::move(one));
  }
  return all;
}

void* end_many(void*) {
  MatchedReceives all = many();
  all = many();
  EXPECT_EQ(0u, all.take_first()->size);
  EXPECT_EQ(1u, all.take_first()->size);
  return nullptr;
}

// Each leads to the next one: an end that follows them takes a stack of so many calls.
TEST(MatchedReceives, AnyNumberEndsOnASmallStack) {
  pthread_attr_t small{};
  ASSERT_EQ(0, pthread_attr_init(&small));
  ASSERT_EQ(0, pthread_attr_setstacksize(&small, 512 << 10));
  pthread_t thread{};
  ASSERT_EQ(0, pthread_create(&thread, &small, end_many, nullptr));
  EXPECT_EQ(0, pthread_join(thread, nullptr));
  EXPECT_EQ(0, pthread_attr_destroy(&small));
}

}  // namespace
}  // namespace lci
