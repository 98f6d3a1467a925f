// SPDX-License-Identifier: Apache-2.0
// Exceptions of a program's functions, which the program's own C++ library throws, end in the library. [SS-46, 2B-22]
#include <exception>
#include <stdexcept>

#include "support/graph.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 2;

void throw_by_tag(const lci_status* status, void* seen) {
  if (seen) ++*static_cast<uint64_t*>(seen);
  if (status->tag % 3 == 0) throw std::runtime_error("of a class");
  if (status->tag % 3 == 1) throw 1;
}

int throw_always(const lci_status*, void*) {
  throw std::logic_error("never takes anything");
}

void signal_all(lci_comp* object, bool always) {
  for (uint64_t tag = 0; tag < 30; ++tag) {
    lci_status status{};
    status.tag = tag;
    const int code = lci_comp_signal(object, &status);
    EXPECT_EQ(always || tag % 3 != 2 ? LCI_ERR_ARGUMENT : LCI_DONE, code) << "tag " << tag;
    if (tag % 3 == 0) {
      EXPECT_NE(nullptr, std::strstr(lci_last_error(), always ? "never takes anything" : "of a class"));
    }
  }
}

TEST(Exceptions, OfHandlersAndCustomObjectsAreAnswered) {
  Job job(1);
  lci_comp *handler = nullptr, *custom = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), throw_by_tag, nullptr, &handler));
  ASSERT_EQ(LCI_DONE, lci_custom_create(job.runtime(0), throw_always, nullptr, 0, &custom));
  signal_all(handler, false);
  signal_all(custom, true);
}

/// The program's C++ library counts what it has thrown and nobody has caught; destructors decide by that.
TEST(Exceptions, CountAsCaughtInTheProgram) {
  Job job(1);
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), throw_by_tag, nullptr, &handler));
  ASSERT_EQ(0, std::uncaught_exceptions());
  signal_all(handler, false);
  EXPECT_EQ(0, std::uncaught_exceptions());
}

/// One that the program itself is just handling is not touched.
TEST(Exceptions, LeaveTheOneThatIsBeingHandledAlone) {
  Job job(1);
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), throw_by_tag, nullptr, &handler));
  struct SignalsWhenUnwound {
    lci_comp* object;
    ~SignalsWhenUnwound() {
      EXPECT_EQ(1, std::uncaught_exceptions());
      signal_all(object, false);
      EXPECT_EQ(1, std::uncaught_exceptions());
    }
  };
  try {
    const SignalsWhenUnwound unwound{handler};
    throw std::runtime_error("the program's own");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ("the program's own", error.what());
  }
  EXPECT_EQ(0, std::uncaught_exceptions());
}

TEST(Exceptions, OfHandlersDoNotEndAPass) {
  Job job(1);
  lci_comp* handler = nullptr;
  uint64_t seen = 0;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), throw_by_tag, &seen, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", handler, 0, 0));
  for (uint64_t tag = 0; tag < 100; ++tag) {
    lci_descriptor op = operation(LCI_OP_AM, 0, kPort, tag, &tag, sizeof tag);
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr)) << lci_last_error();
  }
  job.settle();
  EXPECT_EQ(100u, job.counter(0, "arrivals"));
  EXPECT_EQ(100u, seen);
}

int throw_in_node(lci_graph*, lci_node, void*) {
  throw std::runtime_error("of a node");
}

TEST(Exceptions, OfNodesEndTheRun) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0));
  const lci_node node = graph.function(throw_in_node);
  graph.chain(node);
  graph.start();
  lci_status status{};
  EXPECT_EQ(LCI_ERR_ARGUMENT, graph.test(&status)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, graph.status_code(node));
}

uint64_t throw_for_key(uint32_t, uint64_t tag, uint32_t, void*) {
  if (tag == 1) throw 1;
  throw std::runtime_error("of a key");
}

TEST(Exceptions, OfMatchingKeysAreAnsweredAtThePost) {
  Job job(1);
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 3, LCI_ENGINE_MAP, throw_for_key, nullptr)) << lci_last_error();
  lci_comp* queue = make_queue(job.runtime(0));
  uint8_t byte = 0;
  lci_descriptor receive = operation(LCI_OP_RECV, 0, 3, 0, &byte, 1);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &receive, queue, nullptr));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "of a key")) << lci_last_error();
  receive.tag = 1;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &receive, queue, nullptr));
  EXPECT_EQ(0, std::uncaught_exceptions());
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "receives_pending"));
}

}  // namespace
}  // namespace lci_test
