// SPDX-License-Identifier: Apache-2.0
// Several matching engines: domains that do not meet, users' keys, creation and end. [B17-B21, C18, 2B-8, 2B-10, 2B-54]
#include <atomic>
#include <thread>

#include "support/posting.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kLong = 50000;
constexpr uint32_t kSizes[] = {0, 8, 192, 1000, kLong};

uint64_t by_class(uint32_t, uint64_t tag, uint32_t, void* shift) {
  return tag >> *static_cast<int*>(shift);
}

void create_everywhere(Job& job, uint32_t number, uint32_t type, lci_make_key_fn make_key = nullptr,
                       void* argument = nullptr) {
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(rank), number, type, make_key, argument)) << lci_last_error();
  }
}

/// Receives and waits for the status.
lci_status receive(Job& job, uint32_t rank, lci_descriptor op, lci_comp* queue) {
  lci_status status{};
  const int code = post_until_taken(job, rank, op, queue, &status);
  if (code == LCI_POSTED) {
    EXPECT_TRUE(pop(job, queue, &status));
  } else {
    EXPECT_EQ(LCI_DONE, code) << lci_last_error();
  }
  return status;
}

// Proves: B19 B20 C18
// The same rank and tag on several engines, on several devices, sent in one order and received in
// another; loopback, 2 and 4 ranks, and with chaos.
TEST(Engines, TheSameTagOnSeveralEnginesDoesNotCross) {
  for (const char* chaos :
       {"", "seed=1,delay=0.3,ticks=8", "seed=2,delay=0.3,ticks=8,refuse=0.1", "seed=3,refuse=0.2"}) {
    for (const uint32_t ranks : {1u, 2u, 4u}) {
      Job job(ranks, {{"chaos", chaos}});
      const uint32_t to = ranks - 1;
      create_everywhere(job, 1, LCI_ENGINE_MAP);
      create_everywhere(job, 200, LCI_ENGINE_QUEUE);
      lci_comp* sent = make_queue(job.runtime(0));
      lci_comp* received = make_queue(job.runtime(to));
      const uint16_t engines[] = {0, 1, 200};
      std::vector<std::vector<uint8_t>> payloads;
      uint32_t posted = 0;
      for (const uint32_t size : kSizes) {
        for (const uint16_t engine : engines) {
          payloads.push_back(pattern(size, payloads.size()));
          const auto op = operation(LCI_OP_SEND, to, engine, size, payloads.back().data(), size);
          const int code = post_until_taken(job, 0, op, sent);
          ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
          posted += code == LCI_POSTED;
        }
      }
      for (size_t i = payloads.size(); i-- > 0;) {
        const uint32_t size = kSizes[i / 3];
        std::vector<uint8_t> buffer(size);
        const auto op = operation(LCI_OP_RECV, 0, engines[i % 3], size, buffer.data(), size);
        const lci_status status = receive(job, to, op, received);
        EXPECT_EQ(LCI_DONE, status.code);
        EXPECT_EQ(size, status.size);
        EXPECT_EQ(payloads[i], buffer) << "engine " << engines[i % 3] << " size " << size;
      }
      lci_status status{};
      for (; posted != 0; --posted) ASSERT_TRUE(pop(job, sent, &status));
      job.check_ledgers();
      for (uint32_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(0u, job.counter(rank, "unexpected_stored"));
    }
  }
}

// Proves: B21
// A key that ignores the low bits of the tag: sends match by class, and the status has the real tag.
TEST(Engines, UsersKeysDecideWhatMatches) {
  Job job(2);
  int shift = 8;
  create_everywhere(job, 3, LCI_ENGINE_MAP, by_class, &shift);
  lci_comp* sent = make_queue(job.runtime(0));
  lci_comp* received = make_queue(job.runtime(1));
  uint32_t posted = 0;
  for (const bool expected : {false, true}) {
    for (const uint32_t size : kSizes) {
      const auto payload = pattern(size, size);
      std::vector<uint8_t> buffer(size);
      const auto send = operation(LCI_OP_SEND, 1, 3, 0x1234, payload.data(), size);
      auto take = operation(LCI_OP_RECV, 0, 3, 0x12FF, buffer.data(), size);
      lci_status status{};
      if (expected) {
        ASSERT_EQ(LCI_POSTED, post_until_taken(job, 1, take, received));
      }
      posted += post_until_taken(job, 0, send, sent) == LCI_POSTED;
      if (expected) {
        ASSERT_TRUE(pop(job, received, &status));
      } else {
        status = receive(job, 1, take, received);
      }
      EXPECT_EQ(0x1234u, status.tag) << "the real tag";
      EXPECT_EQ(0u, status.rank);
      EXPECT_EQ(payload, buffer) << size;
    }
  }
  // Without credit: the key travels with the announcement, too.
  uint64_t value = 5, place = 0;
  lci_comp* other = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, post_until_taken(job, 1, operation(LCI_OP_RECV, 0, 3, 0xAA00, &place, 8), other));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 3, 0xBB00, &value, 8), nullptr));
  job.settle();
  lci_status status{};
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(other, &status)) << "another class";
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 3, 0xAA77, &value, 8), nullptr));
  EXPECT_TRUE(pop(job, other, &status));
  EXPECT_EQ(0xAA77u, status.tag);
  for (; posted != 0; --posted) ASSERT_TRUE(pop(job, sent, &status));
  EXPECT_EQ(1u, job.counter(1, "unexpected_stored"));
  EXPECT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 3));
  EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
  job.check_ledgers();
}

// [2B-30] Keys that were made outside of the core come with the operation.
TEST(Engines, GivenKeysTravel) {
  Job job(2);
  create_everywhere(job, 4, LCI_ENGINE_MAP | LCI_ENGINE_KEYED);
  lci_comp* received = make_queue(job.runtime(1));
  const uint64_t keys[] = {0, 1, ~0ull, 0x8000000000000001ull};
  uint64_t places[4] = {};
  for (uint64_t i = 0; i < 4; ++i) {
    auto take = operation(LCI_OP_RECV, 0, 4, 0, &places[i], 8, i);
    take.u.ref.remote = keys[i];
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 1, take, received)) << lci_last_error();
  }
  for (uint64_t i = 4; i-- > 0;) {
    auto send = operation(LCI_OP_SEND, 1, 4, 77, &i, 8);
    send.u.ref.remote = keys[i];
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, send, nullptr)) << lci_last_error();
    lci_status status{};
    ASSERT_TRUE(pop(job, received, &status));
    EXPECT_EQ(i, status.user_context);
    EXPECT_EQ(i, places[i]);
    EXPECT_EQ(77u, status.tag);
  }
  auto inlined = operation(LCI_OP_SEND, 1, 4, 77, nullptr, 8);
  inlined.flags = LCI_FLAG_INLINE;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &inlined, nullptr, nullptr)) << "no place for a key";
  job.check_ledgers();
}

// [X12, B20] Sends to an engine that the peer creates later wait, and none is lost.
TEST(Engines, SendsBeforeTheEngineExistsWait) {
  for (const bool closed_before : {false, true}) {
    for (const uint32_t size : kSizes) {
      Job job(2);
      ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 9, LCI_ENGINE_MAP, nullptr, nullptr));
      if (closed_before) {
        ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 9, LCI_ENGINE_QUEUE, nullptr, nullptr));
        ASSERT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 9));
      }
      lci_comp* sent = make_queue(job.runtime(0));
      lci_comp* received = make_queue(job.runtime(1));
      const auto payload = pattern(size, 9);
      auto send = operation(LCI_OP_SEND, 1, 9, 5, payload.data(), size);
      if (closed_before) {
        lci_descriptor first = send;
        EXPECT_LE(lci_post(job.device(0), &first, sent, nullptr), LCI_POSTED) << "not known yet";
        job.settle();
        EXPECT_EQ(LCI_ERR_PORT_CLOSED, post_until_taken(job, 0, send, sent)) << lci_last_error();
        lci_status status{};
        if (size == kLong) {
          ASSERT_TRUE(pop(job, sent, &status));
          EXPECT_EQ(LCI_ERR_PORT_CLOSED, status.code);
        }
        ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 9, LCI_ENGINE_MAP, nullptr, nullptr));
        job.settle();
        EXPECT_LE(post_until_taken(job, 0, send, sent), LCI_POSTED) << lci_last_error();
      } else {
        lci_descriptor first = send, second = send;
        EXPECT_LE(lci_post(job.device(0), &first, sent, nullptr), LCI_POSTED);
        EXPECT_EQ(LCI_RETRY_NOCREDIT, lci_post(job.device(0), &second, sent, nullptr)) << "one is announced";
        job.settle();
        ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 9, LCI_ENGINE_MAP, nullptr, nullptr));
      }
      std::vector<uint8_t> buffer(size);
      const lci_status status = receive(job, 1, operation(LCI_OP_RECV, 0, 9, 5, buffer.data(), size), received);
      EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(payload, buffer);
      job.check_ledgers();
    }
  }
}

// What was stored before its receive came gives its credit back, also in an engine that is not the first of its number.
TEST(Engines, CreditComesBackWhenAnEngineWasCreatedAgain) {
  constexpr uint32_t kMessages = 200;
  Job job(2, {{"engine_messages", "16"}});
  create_everywhere(job, 2, LCI_ENGINE_MAP);
  ASSERT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 2)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 2, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
  lci_comp* received = make_queue(job.runtime(1));
  for (uint64_t i = 0; i < kMessages; ++i) {
    uint64_t value = i, place = 0;
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 2, 1, &value, 8), nullptr));
    job.settle();
    EXPECT_EQ(LCI_DONE, receive(job, 1, operation(LCI_OP_RECV, 0, 2, 1, &place, 8), received).code);
    EXPECT_EQ(i, place);
  }
  EXPECT_EQ(kMessages, job.counter(1, "unexpected"));
  EXPECT_GT(10u, job.counter(0, "announcements")) << "after the first ones each message had credit";
  job.check_ledgers();
}

// What an engine holds when it is freed ends: receives are cancelled, senders are told.
// Proves: SS-18
TEST(Engines, FreeingEndsWhatIsUnmatched) {
  for (const bool again : {false, true}) {  // created again before anybody heard of the end
    Job job(2);
    create_everywhere(job, 2, LCI_ENGINE_MAP);
    lci_comp* sent = make_queue(job.runtime(0));
    lci_comp* received = make_queue(job.runtime(1));
    uint64_t place = 0;
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 1, operation(LCI_OP_RECV, 0, 2, 1, &place, 8, 41), received));
    const auto payload = pattern(kLong, 1);
    for (const uint32_t size : kSizes) {  // unexpected: stored, announced and rendezvous
      ASSERT_LE(post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 2, 7, payload.data(), size, size), sent),
                LCI_POSTED);
    }
    job.settle();
    EXPECT_EQ(5u, job.counter(1, "unexpected_stored"));
    ASSERT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 2)) << lci_last_error();
    if (again) {
      ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 2, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
    }
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(received, &status)) << "before it returns";
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
    EXPECT_EQ(41u, status.user_context);
    ASSERT_TRUE(pop(job, sent, &status)) << "the sender of the rendezvous";
    EXPECT_EQ(LCI_ERR_PORT_CLOSED, status.code);
    EXPECT_EQ(kLong, status.user_context);
    EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
    EXPECT_EQ(0u, job.counter(1, "receives_pending"));
    job.settle();
    const int expected = again ? LCI_DONE : LCI_ERR_PORT_CLOSED;
    EXPECT_EQ(expected, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 2, 1, &place, 8), sent)) << lci_last_error();
    if (again) {
      EXPECT_EQ(LCI_DONE, receive(job, 1, operation(LCI_OP_RECV, 0, 2, 1, &place, 8), received).code);
    } else {
      EXPECT_EQ(LCI_ERR_ARGUMENT, post_until_taken(job, 1, operation(LCI_OP_RECV, 0, 2, 1, &place, 8), received));
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_free(job.runtime(1), 2)) << "twice";
    }
    job.check_ledgers();
  }
}

// What is matched goes on, though its sender has not been told of the match yet. Mutation: refusal_before_ready.
// Proves: SS-18
TEST(Engines, FreeingLetsGoOnWhatIsMatched) {
  for (const bool again : {false, true}) {  // created again before anybody heard of the end
    SCOPED_TRACE(again ? "created again" : "freed");
    Job job(2);
    create_everywhere(job, 2, LCI_ENGINE_MAP);
    lci_comp* sent = make_queue(job.runtime(0));
    lci_comp* received = make_queue(job.runtime(1));
    const auto payload = pattern(kLong, 1);
    std::vector<uint8_t> buffer(kLong);
    for (const uint64_t tag : {7, 8}) {
      ASSERT_EQ(LCI_POSTED,
                post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 2, tag, payload.data(), kLong, tag), sent));
    }
    job.settle();
    ASSERT_EQ(LCI_POSTED,
              post_until_taken(job, 1, operation(LCI_OP_RECV, 0, 2, 7, buffer.data(), kLong, 41), received));
    ASSERT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 2)) << lci_last_error();
    if (again) {
      ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 2, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
    }
    lci_status status{};
    ASSERT_TRUE(pop(job, received, &status));
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(payload, buffer);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(pop(job, sent, &status));
      EXPECT_EQ(status.user_context == 7 ? LCI_DONE : LCI_ERR_PORT_CLOSED, status.code) << status.user_context;
    }
    job.check_ledgers();
  }
}

TEST(Engines, LimitsAreChecked) {
  Job job(1);
  lci_runtime* runtime = job.runtime(0);
  uint64_t value = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_create(runtime, 0, LCI_ENGINE_MAP, nullptr, nullptr)) << "the default";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_create(runtime, LCI_MAX_ENGINE + 1, LCI_ENGINE_MAP, nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_create(runtime, 1, 2, nullptr, nullptr)) << "unknown type";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_create(runtime, 1, LCI_ENGINE_KEYED, by_class, nullptr)) << "given and made";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_free(runtime, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_free(runtime, 1));
  for (const uint16_t number : {uint16_t{1}, uint16_t{LCI_MAX_ENGINE + 1}, uint16_t{0x8000}, uint16_t{0xFFFF}}) {
    for (const uint8_t op : {LCI_OP_SEND, LCI_OP_RECV, LCI_OP_CANCEL}) {
      lci_descriptor unknown = operation(op, 0, number, 1, &value, 8);
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &unknown, make_queue(runtime), nullptr)) << number;
    }
  }
  ASSERT_EQ(LCI_DONE, lci_engine_create(runtime, LCI_MAX_ENGINE, LCI_ENGINE_MAP, nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_create(runtime, LCI_MAX_ENGINE, LCI_ENGINE_MAP, nullptr, nullptr)) << "in use";
}

// [2B-42] One side with the user's keys, the other without: found before anything is matched.
TEST(Engines, KeysOfAnotherKindAreAMismatch) {
  for (const bool early : {false, true}) {
    Job job(2);
    int shift = 0;
    ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 1, LCI_ENGINE_MAP, by_class, &shift));
    auto create = [&] { ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 1, LCI_ENGINE_MAP, nullptr, nullptr)); };
    if (!early) create();
    uint64_t value = 0;
    EXPECT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 1, 1, &value, 8), nullptr));
    if (early) create();
    job.settle();
    EXPECT_EQ(LCI_ERR_PORT_MISMATCH, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 1, 1, &value, 8), nullptr));
    EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
    EXPECT_EQ(1u, job.counter(1, "discarded"));
    job.check_ledgers();
  }
}

// [B20, SS-18] Engines come and go while peers send and devices insert; the sanitizers see the rest.
TEST(Engines, ComeAndGoUnderTraffic) {
  Job job(2);
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 1, LCI_ENGINE_MAP, nullptr, nullptr));
  std::atomic<bool> stop{false};
  lci_comp* received = make_queue(job.runtime(1), 65536);
  const auto payload = pattern(kLong, 1);
  lci_comp* sent = make_queue(job.runtime(0), 65536);
  std::vector<uint8_t> buffer(kLong);
  uint64_t posted = 0, ended = 0, receives = 0, receives_ended = 0;
  std::thread sender([&] {
    lci_status status{};
    for (uint64_t i = 0; !stop.load(); ++i) {
      auto op = operation(LCI_OP_SEND, 1, 1, i % 4, payload.data(), i % 8 == 0 ? kLong : 8);
      posted += lci_post(job.device(0), &op, sent, nullptr) == LCI_POSTED;
      lci_progress(job.device(0));
      while (lci_queue_pop(sent, &status) == LCI_DONE) ++ended;
    }
  });
  std::thread receiver([&] {
    lci_status status{};
    for (uint64_t i = 0; !stop.load(); ++i) {
      if (receives - receives_ended < 1000) {
        auto op = operation(LCI_OP_RECV, 0, 1, i % 4, buffer.data(), kLong);
        receives += lci_post(job.device(1), &op, received, nullptr) == LCI_POSTED;
      }
      lci_progress(job.device(1));
      while (lci_queue_pop(received, &status) == LCI_DONE) ++receives_ended;
    }
  });
  const lci::test::Deadline deadline(5);  // a busy machine does fewer rounds
  for (int i = 0; i < 300 && !deadline.passed(); ++i) {
    const uint32_t type = i % 2 ? LCI_ENGINE_QUEUE : LCI_ENGINE_MAP;
    EXPECT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), 1, type, nullptr, nullptr)) << lci_last_error();
    for (int pause = 0; pause < 20; ++pause) std::this_thread::yield();
    EXPECT_EQ(LCI_DONE, lci_engine_free(job.runtime(1), 1)) << lci_last_error();
  }
  stop.store(true);
  sender.join();
  receiver.join();
  job.settle();
  lci_status status{};
  while (lci_queue_pop(sent, &status) == LCI_DONE) ++ended;
  while (lci_queue_pop(received, &status) == LCI_DONE) ++receives_ended;
  EXPECT_EQ(posted, ended) << "every send has one signal";
  EXPECT_EQ(receives, receives_ended) << "every receive has one signal";
  EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
