// SPDX-License-Identifier: Apache-2.0
// Objects of one runtime are refused by another, at the caller: they may go with theirs at any time. [A3, B26]
#include <functional>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5;

/// Two runtimes that have nothing to do with each other.
class OtherRuntime : public testing::Test {
 protected:
  void SetUp() override {
    const auto add = [this](int code, lci_comp*& object) {
      ASSERT_EQ(LCI_DONE, code) << lci_last_error();
      foreign_.push_back(object);
    };
    lci_runtime* runtime = other_.runtime(0);
    lci_comp* object = nullptr;
    add(lci_queue_create(runtime, 16, &object), object);
    add(lci_synchronizer_create(runtime, 1, &object), object);
    add(lci_counter_create(runtime, &object), object);
    add(lci_handler_create(
            runtime, [](const lci_status*, void*) {}, nullptr, &object),
        object);
    add(lci_custom_create(
            runtime, [](const lci_status*, void*) -> int { return LCI_DONE; }, nullptr, 0, &object),
        object);
    lci_graph* graph = nullptr;
    ASSERT_EQ(LCI_DONE, lci_graph_create(runtime, nullptr, 0, &graph));
    foreign_.push_back(lci_graph_comp(graph));
  }
  void expect_refused(int code) {
    EXPECT_EQ(LCI_ERR_ARGUMENT, code);
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), "another runtime")) << lci_last_error();
  }

  Job job_{1};
  Job other_{1};
  std::vector<lci_comp*> foreign_;
  char buffer_[64] = {};
};

TEST_F(OtherRuntime, ObjectsAreRefusedByEveryPost) {
  for (lci_comp* foreign : foreign_) {
    for (const uint8_t kind :
         {LCI_OP_AM, LCI_OP_SEND, LCI_OP_RECV, LCI_OP_BARRIER, LCI_OP_CANCEL, LCI_OP_PUT, LCI_OP_GET, LCI_OP_ATOMIC}) {
      for (const int flags : {0, int{LCI_FLAG_SIGNAL}, int{LCI_FLAG_NO_RETRY}, int{LCI_FLAG_NETWORK}}) {
        auto op = operation(kind, 0, kind == LCI_OP_AM ? kPort : 0, 1, buffer_, 8, 1);
        op.flags = static_cast<uint8_t>(op.flags | flags);
        expect_refused(lci_post(job_.device(0), &op, foreign, nullptr));
      }
    }
  }
  EXPECT_EQ(0u, job_.posted(0));
}

TEST_F(OtherRuntime, ObjectsAreNotPutBehindPorts) {
  for (lci_comp* foreign : foreign_) {
    expect_refused(lci_port_open(job_.runtime(0), kPort, "", foreign, 0, 0));
  }
  EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "", make_queue(job_.runtime(0)), 0, 0)) << "it is free";
}

TEST_F(OtherRuntime, ObjectsAndDevicesAreNotOfAGraph) {
  lci_graph* graph = nullptr;
  for (lci_comp* foreign : foreign_) expect_refused(lci_graph_create(job_.runtime(0), foreign, 0, &graph));
  EXPECT_EQ(nullptr, graph);
  ASSERT_EQ(LCI_DONE, lci_graph_create(job_.runtime(0), nullptr, 0, &graph));
  auto op = operation(LCI_OP_BARRIER, 0, 0, 0, nullptr, 0);
  op.flags = 0;
  lci_node node = 0;
  expect_refused(lci_graph_add_op(graph, other_.device(0), &op, nullptr, &node));
  EXPECT_EQ(LCI_DONE, lci_graph_add_op(graph, job_.device(0), &op, nullptr, &node)) << lci_last_error();
}

// The ids of completion objects in descriptors are those of the device's own runtime.
TEST_F(OtherRuntime, NumbersMeanTheObjectsOfTheDevicesRuntime) {
  lci_comp* own = make_queue(job_.runtime(0));
  ASSERT_EQ(lci_comp_id(own), lci_comp_id(foreign_.front()));
  auto op = operation(LCI_OP_BARRIER, 0, 0, 0, nullptr, 0, lci_comp_id(own));
  op.flags = LCI_FLAG_COMP;
  ASSERT_EQ(LCI_POSTED, lci_post(job_.device(0), &op, nullptr, nullptr)) << lci_last_error();
  lci_status status{};
  EXPECT_TRUE(pop(job_, own, &status));
  EXPECT_EQ(0u, lci_queue_length(foreign_.front()));
}

// An arrival that lies in its packet is freed by the runtime that it came to.
TEST_F(OtherRuntime, ArrivalsInTheirPacketAreNotFreedByAnother) {
  lci_comp* inbox = make_queue(job_.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(inbox));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "", inbox, 0, 0));
  const auto bytes = pattern(1000, 1);
  lci_status status{};
  for (int i = 0; i < 16 && status.packet == 0; ++i) {  // the first has no credit, and is copied
    const auto op = operation(LCI_OP_AM, 0, kPort, 0, bytes.data(), 1000);
    ASSERT_EQ(LCI_DONE, post_until_taken(job_, 0, op, nullptr));
    ASSERT_TRUE(pop(job_, inbox, &status));
    if (status.packet == 0) lci_buffer_free(status.buffer);
  }
  ASSERT_NE(0u, status.packet);
  const lci_status before = status;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_arrival_free(other_.runtime(0), &status));
  EXPECT_EQ(before.buffer, status.buffer);
  EXPECT_EQ(LCI_DONE, lci_arrival_free(job_.runtime(0), &status)) << lci_last_error();
}

// A blocking post has an object of its own, which is of the device's runtime.
TEST_F(OtherRuntime, BlockingPostsGoOn) {
  uint64_t word = 5, received = 0;
  ASSERT_EQ(LCI_DONE, lci_post_send(job_.device(0), 0, 1, &word, sizeof word, LCI_COMP_NULL, 0)) << lci_last_error();
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_post_recv(job_.device(0), 0, 1, &received, sizeof received, LCI_COMP_NULL, 0, &status))
      << lci_last_error();
  EXPECT_EQ(5u, received);
}

}  // namespace
}  // namespace lci_test
