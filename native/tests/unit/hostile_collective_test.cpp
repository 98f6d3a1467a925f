// SPDX-License-Identifier: Apache-2.0
// Messages and words of collectives that make no sense: their sender is treated as failed, and nobody else. What makes
// sense, however strange, is no protocol error.
#include <functional>
#include <string>

#include "support/groups.hpp"
#include "support/hostile_peer.hpp"
#include "wire/collective.hpp"

namespace lci_test {
namespace {

using lci::CallHeader;
using lci::CollectiveFrame;
using lci::CollectiveWord;
using lci::FailureFrame;
using lci::MessageHeader;
using lci::MessageKind;

constexpr CallHeader kBarrier{.kind = LCI_COLLECTIVE_BARRIER};
constexpr struct {
  CallHeader call = kBarrier;
  uint64_t more = 0;
} kLonger;

/// Rank 0, which has a context with rank 1, and one of its own with rank 2; rank 1 attacks.
class Scene {
 public:
  Scene()
      : job(3, {{"control_ring_bytes", "4096"}, {"peer_memory", "rings"}}),
        peer(job),
        with_peer_(job, {0, 1}),
        without_peer_(job, {0, 2}) {
    EXPECT_EQ(LCI_DONE, lci_context_id(with_peer_.members[0].context, &context));
    EXPECT_EQ(LCI_DONE, lci_context_id(without_peer_.members[0].context, &other));
    with_peer_.members[1].posted = UINT64_MAX;  // it says what it likes
    progress();
  }
  void send(const CollectiveFrame& frame, const void* payload, uint32_t size, uint64_t to) {
    std::array<std::byte, LCI_INLINE_MAX> bytes{};
    if (payload) std::memcpy(bytes.data(), payload, std::min(size, LCI_INLINE_MAX));
    EXPECT_TRUE(peer.send(lci::to_header(to, frame, size), bytes.data()));
    progress();
  }
  void send(const CollectiveFrame& frame, const void* payload = nullptr, uint32_t size = 0) {
    send(frame, payload, size, context);
  }
  /// What the peer would send honestly.
  void message(uint32_t sequence, uint16_t step = 0, const CallHeader& call = kBarrier) {
    send({CollectiveWord::kMessage, lci::kFlagFirst, step, sequence, 0}, &call, sizeof call);
  }
  /// Answers the first message of rank 0: it has met the context.
  void known(uint32_t sequence = 0) { send({.word = CollectiveWord::kKnown, .sequence = sequence}); }
  void failure(const FailureFrame& frame, uint32_t size) { send({.word = CollectiveWord::kFailed}, &frame, size); }
  int post() { return with_peer_.post(0); }
  /// A broadcast whose payload does not fit a message.
  int post_long(uint32_t root) {
    auto& own = with_peer_.members[0];
    lci_collective call{};
    call.kind = LCI_COLLECTIVE_BROADCAST;
    call.algorithm = LCI_ALGORITHM_BINOMIAL;
    call.type = LCI_TYPE_I64;
    call.root = root;
    call.count = kLongCount;
    call.out = data_.data();
    const int code = lci_post_collective(own.context, &call, own.ended, own.posted);
    own.posted += code == LCI_POSTED;
    return code;
  }
  /// What the peer says when it names a place for the payload of rank 0.
  void place(uint64_t id, uint32_t size) {
    const struct {
      CallHeader call{.kind = LCI_COLLECTIVE_BROADCAST,
                      .type = LCI_TYPE_I64,
                      .algorithm = LCI_ALGORITHM_BINOMIAL,
                      .count = kLongCount};
      uint64_t place;
      uint64_t more = 0;
    } said{.place = id};
    send({.flags = lci::kFlagFirst, .segment = lci::kPlaceSegment}, &said, size);
  }
  std::vector<lci_status>& ends() {
    with_peer_.look();
    return with_peer_.members[0].ends;
  }
  void progress() {
    for (int i = 0; i < 3; ++i) lci_progress(job.device(0));
  }
  std::vector<CollectiveFrame> answers() {
    std::vector<CollectiveFrame> answers;
    for (const MessageHeader& header : peer.take_answers()) {
      if (header.kind == MessageKind::kCollective) answers.push_back(lci::to_collective(header));
    }
    return answers;
  }
  /// How many answers of this sort have come since the last call.
  int64_t count(CollectiveWord word) {
    const auto all = answers();
    return std::count_if(all.begin(), all.end(), [&](const CollectiveFrame& answer) { return answer.word == word; });
  }
  uint64_t protocol_errors() { return job.counter(0, "protocol_errors"); }

  Job job;
  HostilePeer peer;
  uint64_t context = 0, other = 0;

 private:
  static constexpr uint64_t kLongCount = 25;

  GroupContext with_peer_, without_peer_;
  std::array<int64_t, kLongCount> data_{};
};

struct Nonsense {
  const char* what;
  std::function<void(Scene&)> attack;
};

std::vector<Nonsense> messages() {
  return {
      {"collective message too long",
       [](Scene& scene) { scene.send({.flags = lci::kFlagFirst}, nullptr, LCI_INLINE_MAX + 1); }},
      {"collective message too long",
       [](Scene& scene) { scene.send({.flags = lci::kFlagFirst}, nullptr, UINT32_MAX); }},
      {"collective message with unknown flags", [](Scene& scene) { scene.send({.flags = 4}, &kBarrier, 32); }},
      {"collective message without its header",
       [](Scene& scene) { scene.send({.flags = lci::kFlagFirst}, &kBarrier, 31); }},
      {"collective message of no member",
       [](Scene& scene) { scene.send({.flags = lci::kFlagFirst}, &kBarrier, 32, scene.other); }},
      {"more collective messages than there is room for",
       [](Scene& scene) {
         for (uint32_t i = 0; i <= lci::kRoomMessages; ++i) scene.message(i);
       }},
      {"collective message twice",
       [](Scene& scene) {
         scene.message(5);
         scene.message(5);
       }},
      {"collective message out of place",  // found when its call is posted
       [](Scene& scene) {
         scene.message(0, 1);
         EXPECT_EQ(LCI_POSTED, scene.post());
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.message(0, UINT16_MAX);
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.segment = 1}, nullptr, 0);
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.flags = lci::kFlagFirst}, &kLonger, sizeof kLonger);
       }},
      {"collective message out of place",  // a place, where nothing long is sent
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.flags = lci::kFlagFirst, .segment = lci::kPlaceSegment}, &kLonger, sizeof kLonger);
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.flags = lci::kFlagFirst, .segment = 2}, &kBarrier, sizeof kBarrier);
       }},
  };
}

std::vector<Nonsense> places() {
  constexpr uint64_t kFirstPlace = uint64_t{1} << 32;
  return {
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(0));
         scene.place(0, sizeof(CallHeader) + 8);
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(0));
         scene.place(1, sizeof(CallHeader) + 7);
       }},
      {"collective message out of place",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(0));
         scene.place(kFirstPlace, sizeof(CallHeader) + 9);
       }},
      {"collective message out of place",  // the payload itself, which is too long for that
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(1));
         const CallHeader call{.kind = LCI_COLLECTIVE_BROADCAST,
                               .type = LCI_TYPE_I64,
                               .algorithm = LCI_ALGORITHM_BINOMIAL,
                               .root = 1,
                               .count = 25};
         scene.message(0, 0, call);
       }},
      {"chunk outside its message",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(1));
         EXPECT_TRUE(scene.peer.send({MessageKind::kRendezvousData, 0, 0, 201, 0, kFirstPlace, scene.peer.packet()}));
       }},
      {"place that is unknown, and was used",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post_long(1));
         EXPECT_TRUE(scene.peer.send({MessageKind::kRendezvousData, 0, 0, 200, 0, kFirstPlace, scene.peer.packet()}));
         scene.progress();
         scene.send({.word = CollectiveWord::kUnknown, .segment = lci::kPlaceSegment});
       }},
  };
}

std::vector<Nonsense> words() {
  const auto word = [](uint8_t number) { return CollectiveFrame{.word = static_cast<CollectiveWord>(number)}; };
  const auto room = [](uint32_t places) { return CollectiveFrame{.word = CollectiveWord::kRoom, .segment = places}; };
  const auto failure = [](uint32_t code, uint32_t rank, uint32_t size, uint32_t other = 1) {
    return [=](Scene& scene) { scene.failure({.code = code, .rank = rank, .ranks = {0, other}}, size); };
  };
  const char* const says_nothing = "failure that says nothing";
  return {
      {"unknown word of a collective", [=](Scene& scene) { scene.send(word(0)); }},
      {"unknown word of a collective", [=](Scene& scene) { scene.send(word(10)); }},
      {"agreement that says nothing", [=](Scene& scene) { scene.send(word(9)); }},
      {"agreement that says nothing",
       [](Scene& scene) { scene.send({.word = CollectiveWord::kAgree, .step = 5}, &kBarrier, lci::agree_bytes(2)); }},
      {"agreement that says nothing",
       [](Scene& scene) {
         scene.send({.word = CollectiveWord::kAgree, .sequence = 1}, &kBarrier, lci::agree_bytes(2));
       }},
      {"agreement that nobody would say",  // a proposal, by who does not coordinate
       [](Scene& scene) { scene.send({.word = CollectiveWord::kAgree, .step = 2}, &kBarrier, lci::agree_bytes(2)); }},
      {"agreement that nobody would say",  // to acknowledge nothing
       [](Scene& scene) { scene.send({.word = CollectiveWord::kAgree, .step = 3}, &kBarrier, lci::agree_bytes(2)); }},
      {"question of another length", [=](Scene& scene) { scene.send(word(7)); }},
      {"question of another length", [=](Scene& scene) { scene.send(word(7), &kLonger, sizeof kLonger); }},
      {"answer that says nothing", [=](Scene& scene) { scene.send(word(8), &kBarrier, 3); }},
      {"answer that says nothing", [=](Scene& scene) { scene.send(word(8), nullptr, 4 * lci::kMostNamed + 4); }},
      {"answer that says nothing", [](Scene& scene) { scene.send({.word = CollectiveWord::kAnswer, .step = 3}); }},
      {"word of no member", [=](Scene& scene) { scene.send(word(4), nullptr, 0, scene.other); }},
      {"places that were not taken", [=](Scene& scene) { scene.send(room(1)); }},
      {"places that were not taken",
       [=](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send(room(0));
       }},
      {"places that were not taken",
       [=](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send(room(UINT32_MAX));
       }},
      {"answer to a collective message that was not sent",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.word = CollectiveWord::kUnknown, .step = 1});
       }},
      {"answer to a collective message that was not sent",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         for (int i = 0; i < 2; ++i) scene.send({.word = CollectiveWord::kUnknown});
       }},
      {"answer to a collective message that was not sent", [](Scene& scene) { scene.known(); }},
      {"answer to a collective message that was not sent",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         scene.send({.word = CollectiveWord::kKnown, .step = 1});
       }},
      {"answer to a collective message that was not sent",
       [](Scene& scene) {
         EXPECT_EQ(LCI_POSTED, scene.post());
         for (int i = 0; i < 2; ++i) scene.known();
       }},
      {"answer to a collective message that was not sent",
       [](Scene& scene) { scene.send({.word = CollectiveWord::kUnknown}); }},
      {"failure of another length", failure(LCI_ERR_COLLECTIVE, 1, 31)},
      {"failure of another length", failure(LCI_ERR_COLLECTIVE, 1, 0)},
      {says_nothing, failure(LCI_ERR_COLLECTIVE, 1, 96)},
      {says_nothing, failure(LCI_ERR_MISMATCH, 1, 32)},
      {says_nothing, failure(LCI_ERR_MISMATCH, 1, 96, 2)},
      {says_nothing, failure(LCI_ERR_COLLECTIVE, 2, 32)},
      {says_nothing, failure(LCI_ERR_COLLECTIVE, UINT32_MAX, 32)},
      {says_nothing, failure(LCI_DONE, 1, 32)},
      {says_nothing, failure(LCI_RETRY, 1, 32)},
      {says_nothing, failure(LCI_ERR_FENCED, 1, 32)},
  };
}

TEST(HostileCollective, NonsenseEndsItsSenderAndNobodyElse) {
  std::vector<Nonsense> cases = messages();
  for (const auto& more : {places(), words()}) cases.insert(cases.end(), more.begin(), more.end());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(std::to_string(i) + ": " + cases[i].what);
    Scene scene;
    cases[i].attack(scene);
    scene.progress();
    EXPECT_LE(1u, scene.protocol_errors());
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find(cases[i].what)) << lci_last_error();
    EXPECT_EQ(1u, scene.job.counter(0, "peers_failed"));
    EXPECT_EQ(LCI_ERR_PEER_FAILED, scene.post()) << lci_last_error();
    for (const lci_status& end : scene.ends()) EXPECT_EQ(LCI_ERR_PEER_FAILED, end.code);
    scene.job.close(0, 0);
    if (HasFailure()) return;
  }
}

TEST(HostileCollective, WhatIsStrangeIsNoNonsense) {
  Scene scene;
  scene.message(0);
  scene.send({.word = CollectiveWord::kOpen});
  scene.send({.word = CollectiveWord::kOpen});
  scene.send({.word = CollectiveWord::kRoom, .segment = 7}, nullptr, 0, 0xABCDEF);
  scene.send({.word = CollectiveWord::kFailed}, nullptr, 3, 0xABCDEF);
  scene.message(UINT32_MAX);  // of a call that is over: there is none before the first
  EXPECT_EQ(LCI_POSTED, scene.post());
  scene.known();
  ASSERT_EQ(1u, scene.ends().size());
  EXPECT_EQ(LCI_DONE, scene.ends()[0].code);
  scene.send({.word = CollectiveWord::kUnknown});  // it has freed the context since
  EXPECT_EQ(0u, scene.protocol_errors());
  scene.job.close(0, 0);
}

// Its own message may be here long before its answer, which may be that the message met nothing.
TEST(HostileCollective, ACallWaitsForTheAnswerToItsFirstMessage) {
  Scene scene;
  EXPECT_EQ(LCI_POSTED, scene.post());
  EXPECT_EQ(LCI_POSTED, scene.post());
  scene.message(0);
  scene.message(1);
  EXPECT_TRUE(scene.ends().empty());
  EXPECT_EQ(1, scene.count(CollectiveWord::kMessage)) << "one alone asks";
  scene.send({.word = CollectiveWord::kOpen});
  scene.send({.word = CollectiveWord::kUnknown});  // overtaken
  EXPECT_TRUE(scene.ends().empty());
  EXPECT_EQ(1, scene.count(CollectiveWord::kMessage)) << "it comes again";
  scene.known();
  EXPECT_EQ(1, scene.count(CollectiveWord::kMessage)) << "and then the other one";
  EXPECT_EQ(2u, scene.ends().size());
  EXPECT_EQ(0u, scene.protocol_errors());
  scene.job.close(0, 0);
}

TEST(HostileCollective, AMemberThatAsksIsAnswered) {
  Scene scene;
  const CollectiveFrame frame{CollectiveWord::kMessage, lci::kFlagFirst | lci::kFlagUnsure, 0, 3, 0};
  scene.send(frame, &kBarrier, sizeof kBarrier);
  const auto answers = scene.answers();
  ASSERT_EQ(1u, answers.size());
  EXPECT_EQ(CollectiveWord::kKnown, answers[0].word);
  EXPECT_EQ(3u, answers[0].sequence);
  scene.job.close(0, 0);
}

TEST(HostileCollective, EachFieldOfTheHeaderIsCompared) {
  std::vector<CallHeader> calls(8, kBarrier);
  calls[0].kind = 0;
  calls[1].op = 1;
  calls[2].type = 1;
  calls[3].algorithm = 1;
  calls[4].root = 1;
  calls[5].segment_bytes = 1;
  calls[6].count = 1;
  calls[7].hash = 1;
  for (const CallHeader& call : calls) {
    Scene scene;
    scene.message(0, 0, call);
    EXPECT_EQ(LCI_POSTED, scene.post());
    scene.progress();
    ASSERT_EQ(1u, scene.ends().size());
    EXPECT_EQ(LCI_ERR_MISMATCH, scene.ends()[0].code);
    EXPECT_EQ(0u, scene.protocol_errors());
    EXPECT_EQ(1, scene.count(CollectiveWord::kFailed));
    scene.job.close(0, 0);
  }
}

// Each message of a context that is not there is answered, and nothing of it is kept.
TEST(HostileCollective, MessagesOfContextsThatAreNotThereAreAnswered) {
  Scene scene;
  for (uint32_t i = 0; i < 1000; ++i) {
    const CallHeader call = kBarrier;
    scene.send({CollectiveWord::kMessage, lci::kFlagFirst, 3, i, 4}, &call, sizeof call, 1'000'000 + i);
    const auto answers = scene.answers();
    ASSERT_EQ(1u, answers.size()) << i;
    EXPECT_EQ(CollectiveWord::kUnknown, answers[0].word);
    EXPECT_EQ(i, answers[0].sequence);
    EXPECT_EQ(4u, answers[0].segment);
    EXPECT_EQ(3u, answers[0].step);
  }
  EXPECT_EQ(0u, scene.protocol_errors());
  scene.job.close(0, 0);
}

// One that does not read the answers has a bounded number of them kept.
TEST(HostileCollective, AnswersThatAreNotReadAreBounded) {
  Scene scene;
  uint64_t sent = 0;
  for (; sent < 100'000 && scene.protocol_errors() == 0; ++sent) {
    scene.send({CollectiveWord::kMessage, lci::kFlagFirst, 0, 0, 0}, &kBarrier, sizeof kBarrier, 1'000'000 + sent);
  }
  EXPECT_EQ(1u, scene.protocol_errors());
  EXPECT_LT(sent, 20'000u);
  EXPECT_GE(sent, 1024u * lci::kRoomMessages) << "an honest peer may send as many";
  scene.job.close(0, 0);
}

// A peer that does not read holds up the messages of collectives, and leaves room for what is never refused.
TEST(HostileCollective, MessagesLeaveAPartOfTheRing) {
  Scene scene;
  std::vector<lci_context*> contexts;
  lci_comp* const ended = make_queue(scene.job.runtime(0));
  for (uint64_t key = 1; key <= 5; ++key) {
    lci_context* const context = make_context(make_group(scene.job.runtime(0), {0, 1}), key);
    uint64_t id = 0;
    EXPECT_EQ(LCI_DONE, lci_context_id(context, &id));
    EXPECT_EQ(LCI_POSTED, lci_post_group_barrier(context, ended, 0));
    scene.progress();
    scene.answers();
    scene.send({.word = CollectiveWord::kKnown}, nullptr, 0, id);
    contexts.push_back(context);
  }
  for (lci_context* const context : contexts) {
    for (int i = 0; i < 14; ++i) EXPECT_EQ(LCI_POSTED, lci_post_group_barrier(context, ended, 0));
  }
  scene.progress();
  constexpr int64_t kSlots = 4096 / 64;
  EXPECT_EQ(kSlots - kSlots / 4, scene.count(CollectiveWord::kMessage));
  for (int i = 0; i < 10; ++i) scene.progress();
  EXPECT_EQ(70 - (kSlots - kSlots / 4), scene.count(CollectiveWord::kMessage)) << "the rest comes when there is room";
  scene.job.close(0, 0);
}

// Places come back without being asked for, and its answers are a part of what it may send.
TEST(HostileCollective, APeerThatSaysUnknownForEverIsSentNothingMore) {
  Scene scene;
  EXPECT_EQ(LCI_POSTED, scene.post());
  scene.send({.word = CollectiveWord::kUnknown});
  scene.answers();
  for (int i = 0; i < 100; ++i) scene.progress();
  EXPECT_TRUE(scene.answers().empty()) << "it waits until the context is there";
  scene.send({.word = CollectiveWord::kOpen});
  ASSERT_EQ(1u, scene.answers().size());
  scene.send({.word = CollectiveWord::kUnknown});
  for (int i = 0; i < 100; ++i) scene.progress();
  EXPECT_TRUE(scene.answers().empty()) << "it was there, and is gone";
  EXPECT_EQ(0u, scene.protocol_errors());
  scene.job.close(0, 0);
}

}  // namespace
}  // namespace lci_test
