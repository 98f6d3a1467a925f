// SPDX-License-Identifier: Apache-2.0
// A rank that others count as failed, and that lives. Mutations that must make this file fail: see transport.tsv.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "api/handles.hpp"
#include "runtime/runtime.hpp"
#include "support/job.hpp"
#include "support/played_rank.hpp"
#include "support/posting.hpp"
#include "support/statuses.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci_test {
namespace {

Attributes over_tcp(Attributes more = {}) {
  more.emplace_back("transport", "tcp");
  return more;
}

/// That of a rank whose monitors are going to have found something.
lci::TcpTransport& transport_of(Job& job, uint32_t rank) {
  return static_cast<lci::TcpTransport&>(job.runtime(rank)->runtime->transport());
}

// One path of three is broken: two ranks agree that the third has failed, and it hears so as soon as it asks.
TEST(TcpFence, ARankThatOthersCallDeadEndsWhatItWaitsForAndTheyGoOn) {
  Job job(3, over_tcp());
  lci_comp* const ended = make_queue(job.runtime(0));
  std::array<uint64_t, 4> words{};
  uint64_t context = 0;
  for (const uint32_t from : {1u, 2u, LCI_ANY_SOURCE}) {
    lci_descriptor receive = operation(LCI_OP_RECV, from, 0, 7, &words[context], 8, context);
    if (from == LCI_ANY_SOURCE) receive.policy = LCI_POLICY_TAG;
    ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &receive, ended, nullptr)) << lci_last_error();
    ++context;
  }
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(0), ended, context)) << lci_last_error();
  job.settle();
  transport_of(job, 1).hear(0, lci::RankState::kFailed, 0);
  for (uint64_t i = 0; i <= context; ++i) {
    lci_status status{};
    ASSERT_TRUE(pop(job, ended, &status)) << i;
    EXPECT_EQ(LCI_ERR_FENCED, status.code) << status.user_context;
  }
  EXPECT_EQ(1u, job.counter(0, "fenced"));
  EXPECT_EQ(0u, job.counter(0, "peers_failed")) << "they live";
  int32_t state = 0;
  ASSERT_EQ(LCI_DONE, lci_runtime_peer(job.runtime(0), 2, &state));
  EXPECT_EQ(LCI_PEER_FENCED, state);
  EXPECT_EQ(LCI_ERR_FENCED, post_am(job, 0, 1, 5, 0, pattern(8, 0)));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("counts as failed")) << lci_last_error();
  lci_descriptor receive = operation(LCI_OP_RECV, LCI_ANY_SOURCE, 0, 7, words.data(), 8);
  receive.policy = LCI_POLICY_TAG;
  EXPECT_EQ(LCI_ERR_FENCED, lci_post(job.device(0), &receive, ended, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_FENCED, lci_post_barrier(job.device(0), ended, 0));

  ASSERT_TRUE(until(job, [&] { return job.counter(2, "peers_failed") == 1; }));
  lci_comp* const inbox = make_queue(job.runtime(2));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(2), 5, "", inbox, 0, 0));
  ASSERT_EQ(LCI_DONE, post_am(job, 1, 2, 5, 9, pattern(8, 0))) << "they go on";
  lci_status status{};
  ASSERT_TRUE(pop(job, inbox, &status));
  lci_buffer_free(status.buffer);
  EXPECT_EQ(1u, job.counter(1, "peers_failed") + job.counter(1, "fenced"));
}

// Both tell the third rank, which believes the first, and tells the other.
TEST(TcpFence, OfTwoThatCallEachOtherDeadOneIsBelieved) {
  Job job(3, over_tcp());
  transport_of(job, 0).hear(1, lci::RankState::kFailed, 0);
  transport_of(job, 1).hear(0, lci::RankState::kFailed, 0);
  ASSERT_TRUE(until(job, [&] { return job.counter(0, "fenced") + job.counter(1, "fenced") != 0; }));
  const uint32_t fenced = job.counter(0, "fenced") != 0 ? 0 : 1;
  ASSERT_TRUE(until(job, [&] { return job.counter(2, "peers_failed") == 1; }));
  for (int i = 0; i < 2000; ++i) job.progress();
  EXPECT_EQ(1u, job.counter(0, "fenced") + job.counter(1, "fenced")) << "of the two one is believed";
  EXPECT_EQ(0u, job.counter(2, "fenced"));
  EXPECT_EQ(1u, job.counter(fenced, "peers_failed"));
}

// Ranks 0 and 1 are played: of two calls a lower rank's stands.
TEST(TcpFence, ARankThatIsFencedFencesNobody) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(3, &job));
  lci_runtime* runtime = nullptr;
  {
    std::array<std::unique_ptr<PlayedRank>, 2> others{std::make_unique<PlayedRank>(job, 0, 3),
                                                      std::make_unique<PlayedRank>(job, 1, 3)};
    std::array<lci::Connection, 2> links;
    lci::test::run_threads(3, [&](uint32_t rank) {
      if (rank == 2) {
        EXPECT_EQ(LCI_DONE, create_over_tcp(job, rank, &runtime)) << lci_last_error();
        return;
      }
      others[rank]->meet();
      links[rank] = others[rank]->join(2);
      others[rank]->wait_for_all();
    });
    ASSERT_NE(nullptr, runtime);
    lci_device* device = nullptr;
    ASSERT_EQ(LCI_DONE, lci_runtime_device(runtime, 0, &device));
    const auto call = [&](uint32_t from, uint32_t to_device) {
      lci::OutgoingCall call = others[from]->call(2, to_device, {1, 0});
      return outcome(call, [device] { lci_progress(device); });
    };
    auto& transport = static_cast<lci::TcpTransport&>(runtime->runtime->transport());
    transport.hear(0, lci::RankState::kFailed, 0);
    EXPECT_EQ(lci::OutgoingCall::Answer::kFailed, call(0, 0));
    EXPECT_EQ(lci::OutgoingCall::Answer::kFailed, call(0, lci::kMonitorDevice));
    EXPECT_EQ(lci::OutgoingCall::Answer::kAccepted, call(1, lci::kMonitorDevice));
    transport.host().fenced(1);
    for (const uint32_t from : {0u, 1u}) {
      EXPECT_EQ(lci::OutgoingCall::Answer::kLater, call(from, 0)) << "rank " << from;
      EXPECT_EQ(lci::OutgoingCall::Answer::kLater, call(from, lci::kMonitorDevice)) << "rank " << from;
    }
  }
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 0));
  lci_inproc_free(job);
}

}  // namespace
}  // namespace lci_test
