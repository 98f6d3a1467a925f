// SPDX-License-Identifier: Apache-2.0
// Ranks that join over TCP while their connections break. Mutations that must make this file fail: see transport.tsv.
#include <gtest/gtest.h>

#include <thread>

#include "support/job.hpp"
#include "support/played_rank.hpp"

namespace lci_test {
namespace {

// The other rank has heard it, and waits for all; it has not heard the other rank, whose word is lost with each
// connection.
TEST(TcpJoin, ARankThatWaitsForAllAnswersOneThatHasNotHeardIt) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job));
  lci_runtime* runtime = nullptr;
  std::jthread joins([&] { EXPECT_EQ(LCI_DONE, create_over_tcp(job, 1, &runtime)) << lci_last_error(); });
  {
    PlayedRank peer(job, 0, 2);  // of two calls the lower rank's stands
    peer.meet();
    lci::Connection connection;
    for (uint32_t number = 0; number < 20; ++number) {
      PlayedRank::reset(std::move(connection));
      lci::OutgoingCall call = peer.call(1, 0, {number, 0});
      ASSERT_EQ(lci::OutgoingCall::Answer::kAccepted, outcome(call, [] { std::this_thread::yield(); }))
          << "after " << number << " connections";
      connection = peer.connection_of(call);
      PlayedRank::say_so(connection, call.verdict().taken);
    }
    peer.wait_for_all();
    joins.join();
  }
  ASSERT_NE(nullptr, runtime);
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 0));
  lci_inproc_free(job);
}

}  // namespace
}  // namespace lci_test
