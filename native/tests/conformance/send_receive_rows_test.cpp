// SPDX-License-Identifier: Apache-2.0
// Send and receive: sizes, orders, policies, wildcards, widths of tags.
#include <algorithm>
#include <deque>
#include <numeric>
#include <random>
#include <set>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

std::vector<uint32_t> shuffled(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

/// A region of the rank, to be sent from and received into.
struct Registered {
  Registered(lci_runtime* runtime, uint64_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(runtime, bytes, &memory, &address)) << lci_last_error();
    next = static_cast<uint8_t*>(address);
  }
  ~Registered() { EXPECT_EQ(LCI_DONE, lci_memory_free(memory)) << lci_last_error(); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  uint8_t* take(uint32_t bytes) {
    uint8_t* place = next;
    next += bytes;
    return place;
  }
  lci_memory* memory = nullptr;
  uint8_t* next = nullptr;
};

/// Sends of every size, posted in one order and received in another; @p expected: the receives are there before.
void every_size(World& world, bool expected, bool registered, uint64_t seed) {
  SCOPED_TRACE("order of seed " + std::to_string(seed));
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  const uint32_t sizes[] = {0, 8, 64, 65, 192, 193, eager, eager + 1, 65536};
  constexpr uint32_t kEach = 3;
  const auto count = static_cast<uint32_t>(std::size(sizes)) * kEach;
  Registered region(world.runtime(), registered ? uint64_t{2} * kEach * 100'000 : 64);
  std::deque<Bytes> heap;
  auto memory = [&](uint32_t bytes) { return registered ? region.take(bytes) : heap.emplace_back(bytes).data(); };
  lci_comp* sent = world.queue();
  lci_comp* received = world.queue();
  std::vector<uint8_t*> from(count), to(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t size = sizes[i % std::size(sizes)];
    from[i] = memory(size);
    to[i] = memory(size);
    const Bytes bytes = pattern(size, world.rank() + i);
    std::copy(bytes.begin(), bytes.end(), from[i]);
  }
  uint32_t sends = 0, receives = 0;
  std::vector<int> seen(count);
  auto take = [&](const lci_status& status) {
    ASSERT_LT(status.tag, count);
    ++seen[status.tag];
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(world.previous(), status.rank);
    EXPECT_EQ(status.tag, status.user_context);
    const Bytes bytes = pattern(sizes[status.tag % std::size(sizes)], world.previous() + status.tag);
    ASSERT_EQ(bytes.size(), status.size);
    EXPECT_EQ(0, compare(bytes.data(), to[status.tag], bytes.size())) << bytes.size();
  };
  auto receive = [&] {
    for (const uint32_t i : shuffled(count, seed * 2 + 1)) {
      lci_status status = LCI_STATUS_INIT;
      const auto op = operation(LCI_OP_RECV, world.previous(), 0, i, to[i], sizes[i % std::size(sizes)], i);
      const int code = world.post(op, received, &status);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
      receives += code == LCI_POSTED;
      if (code == LCI_DONE) take(status);
    }
  };
  if (expected) {
    receive();
    world.barrier();
  }
  for (const uint32_t i : shuffled(count, seed * 2)) {
    const auto op = operation(LCI_OP_SEND, world.next(), 0, i, from[i], sizes[i % std::size(sizes)], i);
    const int code = world.post(op, sent);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    sends += code == LCI_POSTED;
  }
  if (!expected) receive();
  for (; receives != 0; --receives) take(world.pop(received));
  for (; sends != 0; --sends) EXPECT_EQ(LCI_DONE, world.pop(sent).code);
  EXPECT_EQ(std::vector<int>(count, 1), seen);
  world.barrier();
}

// Proves: C2
CONFORMANCE(C2, EverySizeInAnyOrder) {
  for (const bool expected : {true, false}) {
    for (const bool registered : {true, false}) {
      every_size(world, expected, registered, world.seed() * 16 + expected * 2 + registered);
    }
  }
}

constexpr uint32_t kMessages = 1000;

/// A thousand sends under a policy, each received once: by the tag where it is compared.
void under_policy(World& world, uint32_t policy, bool wildcards) {
  SCOPED_TRACE("policy " + std::to_string(policy) + (wildcards ? ", wildcards" : ""));
  const bool by_tag = policy == LCI_POLICY_RANK_TAG || policy == LCI_POLICY_TAG;
  const bool by_rank = policy == LCI_POLICY_RANK_TAG || policy == LCI_POLICY_RANK;
  lci_comp* received = world.queue(kMessages);
  std::vector<uint64_t> to(kMessages), from(kMessages);
  std::vector<int> seen(kMessages);
  uint32_t posted = 0;
  auto take = [&](const lci_status& status) {
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(world.previous(), status.rank) << "the real one";
    ASSERT_LT(status.tag, kMessages) << "the real one";
    if (by_tag) {
      EXPECT_EQ(status.user_context, status.tag);
    }
    ++seen[status.tag];
    EXPECT_EQ(uint64_t{world.previous()} << 32 | status.tag, to[status.user_context]);
  };
  for (const uint32_t i : shuffled(kMessages, policy * 2 + 1)) {
    // What is not compared may be anything.
    const uint32_t rank = by_rank ? world.previous() : wildcards ? LCI_ANY_SOURCE : world.rank();
    const uint64_t tag = by_tag ? i : wildcards ? LCI_ANY_TAG : 77;
    auto receive = operation(LCI_OP_RECV, rank, 0, tag, &to[i], sizeof to[i], i);
    // A wildcard says which policy it is, whatever policy was given.
    receive.policy = static_cast<uint8_t>(wildcards ? 0 : policy);
    lci_status status = LCI_STATUS_INIT;
    const int code = world.post(receive, received, &status);
    if (code == LCI_DONE) {
      take(status);
    } else {
      ASSERT_EQ(LCI_POSTED, code) << lci_last_error();
      ++posted;
    }
  }
  world.barrier();
  for (const uint32_t i : shuffled(kMessages, policy * 2)) {
    from[i] = uint64_t{world.rank()} << 32 | i;
    auto send = operation(LCI_OP_SEND, world.next(), 0, i, &from[i], sizeof from[i]);
    send.policy = static_cast<uint8_t>(policy);
    ASSERT_EQ(LCI_DONE, world.post(send, nullptr)) << lci_last_error();
  }
  for (; posted != 0; --posted) take(world.pop(received));
  EXPECT_EQ(std::vector<int>(kMessages, 1), seen);
  world.barrier();
}

// Proves: C11
CONFORMANCE(C11, AThousandShuffledMessagesUnderEachPolicy) {
  for (uint32_t policy = LCI_POLICY_RANK_TAG; policy <= LCI_POLICY_NONE; ++policy) {
    under_policy(world, policy, false);
    if (policy != LCI_POLICY_RANK_TAG) under_policy(world, policy, true);
  }
}

// Proves: C11
// A send of one policy and a receive of another never meet, although rank and tag agree; so a wildcard, which is a
// policy of its own, never takes a default send.
CONFORMANCE(C11, PoliciesAndWildcardsDoNotMeetOthers) {
  lci_comp* received = world.queue();
  constexpr uint32_t kKinds = 4;
  uint64_t value[kKinds] = {1, 2, 3, 4}, place[kKinds] = {};
  for (uint32_t kind = 0; kind < kKinds; ++kind) {  // receives: three wildcards, and a default one
    const uint32_t rank = kind == 0 || kind == 2 ? LCI_ANY_SOURCE : world.previous();
    const uint64_t tag = kind == 1 || kind == 2 ? LCI_ANY_TAG : 5;
    ASSERT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, rank, 0, tag, &place[kind], 8, kind), received));
  }
  world.barrier();
  auto send = [&](uint32_t policy) {
    auto op = operation(LCI_OP_SEND, world.next(), 0, 5, &value[policy], 8);
    op.policy = static_cast<uint8_t>(policy);
    ASSERT_EQ(LCI_DONE, world.post(op, nullptr)) << lci_last_error();
  };
  // Each send, one after the other, finds the one receive of its kind.
  constexpr uint32_t kOfPolicy[] = {3, 1, 0, 2};
  for (uint32_t policy = 0; policy < kKinds; ++policy) {
    send(policy);
    const lci_status status = world.pop(received);
    EXPECT_EQ(kOfPolicy[policy], status.user_context);
    EXPECT_EQ(world.previous(), status.rank);
    EXPECT_EQ(5u, status.tag);
    EXPECT_EQ(value[policy], place[kOfPolicy[policy]]);
    world.barrier();
  }
}

// Proves: C15 SS-14
CONFORMANCE(C15, TagsUpTo32BitsMatchAndNoMoreIsTaken) {
  constexpr uint64_t kTags[] = {0, 65535, 65536, LCI_MAX_TAG};
  lci_comp* received = world.queue();
  lci_comp* inbox = world.queue();
  world.open_port(9, inbox);
  world.barrier();
  uint64_t value[std::size(kTags)], place[std::size(kTags)] = {};
  for (size_t i = 0; i < std::size(kTags); ++i) {
    value[i] = world.rank() * 100 + i;
    const auto receive = operation(LCI_OP_RECV, world.previous(), 0, kTags[i], &place[i], 8, i);
    ASSERT_EQ(LCI_POSTED, world.post(receive, received)) << lci_last_error();
  }
  world.barrier();
  for (size_t i = 0; i < std::size(kTags); ++i) {
    ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_SEND, world.next(), 0, kTags[i], &value[i], 8), nullptr));
  }
  for (size_t i = 0; i < std::size(kTags); ++i) {
    const lci_status status = world.pop(received);
    EXPECT_EQ(kTags[status.user_context], status.tag) << "not cut";
    EXPECT_EQ(world.previous(), status.rank) << "rank and tag do not overlap";
    EXPECT_EQ(world.previous() * 100 + status.user_context, place[status.user_context]);
  }
  for (const uint64_t tag : {uint64_t{LCI_MAX_TAG} + 1, uint64_t{LCI_ANY_TAG}}) {
    auto send = operation(LCI_OP_SEND, world.next(), 0, tag, value, 8);
    EXPECT_EQ(LCI_ERR_TAG, lci_post(world.device(), &send, received, nullptr)) << tag;
    EXPECT_EQ(LCI_ERR_TAG, lci_post_send(world.device(), world.next(), tag, value, 8, received, 0)) << tag;
  }
  auto receive = operation(LCI_OP_RECV, world.next(), 0, LCI_MAX_TAG + 1, place, 8);
  EXPECT_EQ(LCI_ERR_TAG, lci_post(world.device(), &receive, received, nullptr));
  const std::set<uint64_t> longer = {uint64_t{LCI_MAX_TAG} + 1, ~uint64_t{0}};  // active messages carry 64 bits
  for (const uint64_t tag : longer) {
    ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.next(), 9, tag, value, 8), nullptr));
  }
  std::set<uint64_t> came;
  while (came.size() < longer.size()) {
    lci_status status = world.pop(inbox);
    EXPECT_TRUE(came.insert(status.tag).second) << status.tag;
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
  }
  EXPECT_EQ(longer, came);
}

// Proves: C12
CONFORMANCE(C12, NumbersInTheTagKeepTheOrder) {
  constexpr uint32_t kCount = 200;
  lci_in_order out, in;
  ASSERT_EQ(LCI_DONE, lci_in_order_start(&out, 3));
  ASSERT_EQ(LCI_DONE, lci_in_order_start(&in, 3));
  lci_comp* received = world.queue();
  std::vector<uint64_t> value(kCount), place(kCount);
  uint32_t posted = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    value[i] = uint64_t{world.rank()} << 32 | i;
    const auto send = operation(LCI_OP_SEND, world.next(), 0, lci_in_order_tag(&out), &value[i], 8);
    ASSERT_EQ(LCI_DONE, world.post(send, nullptr)) << lci_last_error();
  }
  for (uint32_t i = 0; i < kCount; ++i) {
    const auto receive = operation(LCI_OP_RECV, world.previous(), 0, lci_in_order_tag(&in), &place[i], 8, i);
    const int code = world.post(receive, received);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    posted += code == LCI_POSTED;
  }
  for (; posted != 0; --posted) EXPECT_EQ(LCI_DONE, world.pop(received).code);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(uint64_t{world.previous()} << 32 | i, place[i]);
}

}  // namespace
}  // namespace lci_test
