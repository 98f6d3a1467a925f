// SPDX-License-Identifier: Apache-2.0
// What a caller gets that passes nothing, or nonsense: a code, never the end of its process. [D17]
#include <algorithm>
#include <utility>

#include "support/posting.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 2;

/// Every function that takes a handle, without one, in a process without a global runtime.
TEST(Null, IsRefusedByEveryFunction) {
  ASSERT_EQ(nullptr, lci_global_runtime());
  EXPECT_EQ(LCI_NO_RANK, lci_runtime_rank(nullptr));
  EXPECT_EQ(0u, lci_runtime_size(nullptr));
  EXPECT_EQ(0u, lci_runtime_max_eager(nullptr));
  EXPECT_EQ(0u, lci_runtime_snapshot(nullptr, nullptr, 0));
  EXPECT_EQ(0u, lci_runtime_snapshot_part(nullptr, 0, nullptr, 0));
  EXPECT_EQ(nullptr, lci_runtime_allocator(nullptr));
  EXPECT_EQ(0u, lci_lane_park_offset(nullptr));
  EXPECT_EQ(0u, lci_lane_summary_offset(nullptr, 0));
  EXPECT_EQ(0u, lci_queue_length(nullptr));
  EXPECT_EQ(0u, lci_queue_pop_many(nullptr, nullptr, 3));
  EXPECT_EQ(0u, lci_counter_get(nullptr));
  EXPECT_EQ(0u, lci_comp_id(nullptr));
  lci_counter_set(nullptr, 1);
  lci_lane_wake(nullptr);
  lci_buffer_free(nullptr);
  lci_matching_free(nullptr);
  lci_attrs_free(nullptr);
  lci_log_free(nullptr);
  lci_inproc_free(nullptr);

  lci_status status{};
  uint64_t a = 0, b = 0;
  uint32_t n = 0;
  uint64_t fence = 0;
  uint8_t id = 0;
  int32_t level = 0;
  char text[8];
  void* memory = nullptr;
  lci_comp* comp = nullptr;
  lci_device* device = nullptr;
  lci_descriptor op = LCI_DESCRIPTOR_INIT;
  lci_group* group = nullptr;
  lci_context* context = nullptr;
  lci_failure failure{};
  lci_group_state state{};
  const std::vector<std::pair<const char*, int>> answers = {
      {"group_create", lci_group_create(nullptr, &n, 1, 0, &group)},
      {"group_info", lci_group_info(nullptr, &state)},
      {"group_rank", lci_group_rank(nullptr, 0, &n)},
      {"context_create", lci_context_create(nullptr, 0, 0, &context)},
      {"context_id", lci_context_id(nullptr, &a)},
      {"context_failure", lci_context_failure(nullptr, &failure)},
      {"context_revoke", lci_context_revoke(nullptr, LCI_ERR_CANCELLED)},
      {"post_group_barrier", lci_post_group_barrier(nullptr, nullptr, 0)},
      {"collective_chosen", lci_collective_chosen(nullptr, nullptr, &n)},
      {"runtime_close", lci_runtime_close(nullptr, 0)},
      {"runtime_attr", lci_runtime_attr(nullptr, "devices", text, sizeof text)},
      {"runtime_attrs", lci_runtime_attrs(nullptr, nullptr)},
      {"runtime_peer", lci_runtime_peer(nullptr, 0, &level)},
      {"runtime_log", lci_runtime_log(nullptr, nullptr)},
      {"log_take", lci_log_take(nullptr, &level, text, sizeof text)},
      {"runtime_arena", lci_runtime_arena(nullptr, &a, &b)},
      {"runtime_peer_arena", lci_runtime_peer_arena(nullptr, 0, &a, &b)},
      {"runtime_device", lci_runtime_device(nullptr, 0, &device)},
      {"device_add", lci_device_add(nullptr, &device)},
      {"device_attr", lci_device_attr(nullptr, "uid", text, sizeof text)},
      {"progress", lci_progress(nullptr)},
      {"queue_create", lci_queue_create(nullptr, 0, &comp)},
      {"queue_pop", lci_queue_pop(nullptr, &status)},
      {"queue_wait", lci_queue_wait(nullptr, nullptr, 0, 0, &status)},
      {"queue_wait_many", lci_queue_wait_many(nullptr, nullptr, 0, 0, &status, 1, &n)},
      {"synchronizer_create", lci_synchronizer_create(nullptr, 1, &comp)},
      {"synchronizer_test", lci_synchronizer_test(nullptr, &status)},
      {"synchronizer_wait", lci_synchronizer_wait(nullptr, nullptr, 0, 0, &status)},
      {"counter_create", lci_counter_create(nullptr, &comp)},
      {"handler_create", lci_handler_create(nullptr, nullptr, nullptr, &comp)},
      {"custom_create", lci_custom_create(nullptr, nullptr, nullptr, 0, &comp)},
      {"custom_taken", lci_custom_taken(nullptr, &status)},
      {"comp_signal", lci_comp_signal(nullptr, &status)},
      {"comp_attr", lci_comp_attr(nullptr, "id", text, sizeof text)},
      {"comp_zero_copy", lci_comp_zero_copy(nullptr)},
      {"arrival_free", lci_arrival_free(nullptr, &status)},
      {"set_allocator", lci_runtime_set_allocator(nullptr, nullptr)},
      {"test_drained", lci_test_drained(nullptr)},
      {"wait_drained", lci_wait_drained(nullptr, 0)},
      {"device_fence", lci_device_fence(nullptr, &fence)},
      {"device_fence_passed", lci_device_fence_passed(nullptr, 1)},
      {"wait_fence", lci_wait_fence(nullptr, 1, 0)},
      {"lane_fence", lci_lane_fence(nullptr, 0, &fence)},
      {"lane_fence_passed", lci_lane_fence_passed(nullptr, 0, 1)},
      {"lane_sent", lci_lane_sent(nullptr, 0, 0, &n)},
      {"lane_delivered", lci_lane_delivered(nullptr, 0, 0, 0)},
      {"port_open", lci_port_open(nullptr, kPort, "", nullptr, 0, 0)},
      {"port_close", lci_port_close(nullptr, kPort)},
      {"port_name", lci_port_name(nullptr, kPort, "a")},
      {"port_reply_room", lci_port_reply_room(nullptr, kPort, 1, 1, &id)},
      {"engine_create", lci_engine_create(nullptr, 1, 0, nullptr, nullptr)},
      {"engine_free", lci_engine_free(nullptr, 1)},
      {"engine_attr", lci_engine_attr(nullptr, 0, "keyed", text, sizeof text)},
      {"matching_create", lci_matching_create(nullptr, 0, nullptr)},
      {"matching_insert", lci_matching_insert(nullptr, 1, &a, 0, &memory)},
      {"matching_remove", lci_matching_remove(nullptr, 1, &a, 0)},
      {"memory_allocate", lci_memory_allocate(nullptr, 8, nullptr, &memory)},
      {"memory_register", lci_memory_register(nullptr, &a, 8, nullptr)},
      {"memory_free", lci_memory_free(nullptr)},
      {"memory_deregister", lci_memory_deregister(nullptr)},
      {"memory_handle", lci_memory_handle(nullptr, &id, 1)},
      {"remote_open", lci_remote_open(nullptr, 0, &id, 1, &a, nullptr)},
      {"remote_close", lci_remote_close(nullptr, 1)},
      {"post", lci_post(nullptr, &op, nullptr, &status)},
      {"post_barrier", lci_post_barrier(nullptr, nullptr, 0)},
      {"post_cancel", lci_post_cancel(nullptr, 0)},
      {"packet_get", lci_packet_get(nullptr, &a, &memory)},
      {"packet_put", lci_packet_put(nullptr, 1)},
      {"pool_create", lci_pool_create(nullptr, 1, 1, &n)},
      {"device_use_pool", lci_device_use_pool(nullptr, 0)},
      {"graph_create", lci_graph_create(nullptr, nullptr, 0, nullptr)},
      {"graph_start", lci_graph_start(nullptr)},
      {"graph_start_run", lci_graph_start_run(nullptr, 1)},
      {"graph_set_per_run", lci_graph_set_per_run(nullptr, 0)},
      {"graph_test", lci_graph_test(nullptr, &status)},
      {"graph_cancel", lci_graph_cancel(nullptr)},
      {"graph_set_depth", lci_graph_set_depth(nullptr, 1)},
      {"graph_set_op", lci_graph_set_op(nullptr, 0, 0, nullptr)},
      {"graph_test_run", lci_graph_test_run(nullptr, 1, &status)},
      {"graph_cancel_run", lci_graph_cancel_run(nullptr, 1)},
      {"graph_run_number", lci_graph_run_number(nullptr, 0, nullptr)},
      {"lane_create", lci_lane_create(nullptr, 0, 1, nullptr)},
      {"lane_memory", lci_lane_memory(nullptr, &a, &b)},
      {"lane_doorbell", lci_lane_doorbell(nullptr, &a, &b)},
      {"lane_enter", lci_lane_enter(nullptr)},
      {"lane_park", lci_lane_park(nullptr, 0)},
      {"lane_free", lci_lane_free(nullptr)},
      {"lane_open_port", lci_lane_open_port(nullptr, kPort, "", 0, 0, &n, &a, &b)},
      {"lane_close_port", lci_lane_close_port(nullptr, 0)},
      {"lane_zero_copy", lci_lane_zero_copy(nullptr, 0, 1)},
      {"lane_synchronizer", lci_lane_synchronizer_create(nullptr, 1, &comp)},
      {"lane_graph_create", lci_lane_graph_create(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, 0, &n)},
      {"lane_graph_free", lci_lane_graph_free(nullptr, 1)},
      {"lane_graph_cancel", lci_lane_graph_cancel(nullptr, 1)},
      {"lane_graph_statuses", lci_lane_graph_statuses(nullptr, 1, 0, 1, &status)},
  };
  for (const auto& [name, code] : answers) EXPECT_EQ(LCI_ERR_ARGUMENT, code) << "lci_" << name;
}

/// Whatever may be posted needs something to signal, also where it could be done at once.
TEST(Targets, AreNeededByWhatMayBePosted) {
  Job job(2);
  const Allocated there(job.runtime(1), 4096);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(there.memory));
  uint64_t value = 7;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_put(job.device(0), 1, &value, 8, remote, 0, nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_get(job.device(0), 1, &value, 8, remote, 0, nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_atomic(job.device(0), 1, LCI_ATOMIC_ADD, 1, 0, remote, 0, nullptr, 0, nullptr));
  EXPECT_EQ(0, there.bytes_at[0]);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_recv(job.device(0), 1, 0, &value, 8, nullptr, 0, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_barrier(job.device(0), nullptr, 0));
  const std::vector<uint8_t> large(lci_runtime_max_eager(job.runtime(0)) + 1);
  const auto size = static_cast<uint32_t>(large.size());
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_am(job.device(0), 1, kPort, 0, large.data(), size, nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_send(job.device(0), 1, 0, large.data(), size, nullptr, 0));
  EXPECT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, 0, large.data(), size - 1, nullptr, 0)) << lci_last_error();
}

TEST(Targets, NamedByANumberMustExist) {
  Job job(1);
  uint64_t value = 7;
  const Allocated here(job.runtime(0), 4096);
  const uint64_t remote = open_remote(job.runtime(0), 0, handle_of(here.memory));
  for (lci_descriptor op :
       {operation(LCI_OP_AM, 0, kPort, 0, &value, 8), operation(LCI_OP_SEND, 0, 0, 0, &value, 8),
        operation(LCI_OP_RECV, 0, 0, 0, &value, 8), remote_op(LCI_OP_PUT, 0, &value, 8, remote, 0),
        remote_op(LCI_OP_GET, 0, &value, 8, remote, 0), atomic_op(LCI_ATOMIC_SWAP, 0, 1, 0, remote, 0)}) {
    op.flags |= LCI_FLAG_COMP;
    op.user_context = 4711;
    lci_descriptor twice = op;
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, nullptr, nullptr)) << int{op.op};
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), "4711")) << lci_last_error();
    lci_comp* queue = make_queue(job.runtime(0));
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &twice, queue, nullptr)) << "the flag says which one";
  }
}

TEST(Cancel, SaysThatNothingWaits) {
  Job job(1, {{"devices", "2"}});
  lci_comp* queue = make_queue(job.runtime(0));
  uint64_t value = 0;
  EXPECT_EQ(LCI_ERR_NOT_PENDING, lci_post_cancel(job.device(0), 5)) << "never posted";
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "user_context 5")) << lci_last_error();
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 0, 1, &value, 8, queue, 5, nullptr));
  EXPECT_EQ(LCI_ERR_NOT_PENDING, lci_post_cancel(job.device(0, 1), 5)) << "posted on another device";
  EXPECT_EQ(LCI_DONE, lci_post_cancel(job.device(0, 0), 5)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_NOT_PENDING, lci_post_cancel(job.device(0, 0), 5)) << "cancelled before";
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 0, 2, &value, 8, queue, 6, nullptr));
  ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 0, 2, &value, 8, nullptr, 0));
  job.settle();
  EXPECT_EQ(LCI_ERR_NOT_PENDING, lci_post_cancel(job.device(0, 0), 6)) << "matched";
  EXPECT_EQ(0u, job.counter(0, "operations_error"));
  EXPECT_EQ(2u, lci_queue_length(queue));
}

TEST(Chaos, IsRefusedWhenItIsSet) {
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  for (const char* text :
       {"delay=2", "seed", "seed=x", "noise=1", "ticks=0", "stall=1@2", "kill=1", "delay=0.1,refuse"}) {
    EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_attrs_set(attrs, "chaos", text)) << text;
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), text)) << lci_last_error();
    EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_global_set("chaos", text)) << text;
  }
  for (const char* text :
       {"", "seed=3", "seed=7,delay=0.2,ticks=16,refuse=0.1,short=0.2,stall=1@1000x500,kill=2@5000"}) {
    EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, "chaos", text)) << lci_last_error();
  }
  lci_attrs_free(attrs);
}

TEST(Lane, RefusesMoreDescriptorsThanItHas) {
  Job job(1);
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 0, 1, &lane)) << lci_last_error();
  uint64_t base = 0, length = 0, layout[LCI_LAYOUT_COUNT];
  ASSERT_EQ(LCI_DONE, lci_lane_memory(lane, &base, &length));
  lci_layout(layout, LCI_LAYOUT_COUNT);
  auto* control = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
  control->flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
  for (const uint32_t count : {static_cast<uint32_t>(layout[LCI_LAYOUT_SUBMISSION_COUNT]) + 100, UINT32_MAX}) {
    control->submit_count = count;
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_enter(lane));
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), std::to_string(count).c_str())) << lci_last_error();
  }
  EXPECT_EQ(LCI_RETRY, lci_lane_enter(lane)) << "and goes on: " << lci_last_error();
  EXPECT_EQ(0u, job.counter(0, "operations_error"));
  ASSERT_EQ(LCI_DONE, lci_lane_free(lane));
}

TEST(Truncated, SaysHowLongTheMessageWas) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  std::vector<uint8_t> message(300, 9), place(200, 1);
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, 1, place.data(), 100, queue, 0, nullptr));
  lci_descriptor send = operation(LCI_OP_SEND, 0, 0, 1, message.data(), 300);
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, send, nullptr));
  lci_status status{};
  ASSERT_TRUE(pop(job, queue, &status));
  EXPECT_EQ(LCI_ERR_TRUNCATED, status.code);
  EXPECT_EQ(300u, status.size);
  EXPECT_EQ(100, std::count(place.begin(), place.end(), 9)) << "stored is what the buffer has room for";
}

TEST(Counters, HaveASentenceEach) {
  uint32_t count = 0;
  for (; lci_counter_name(count); ++count) {
    const char* help = lci_counter_help(count);
    ASSERT_NE(nullptr, help) << lci_counter_name(count);
    EXPECT_EQ('.', help[std::strlen(help) - 1]) << help;
  }
  EXPECT_EQ(nullptr, lci_counter_help(count));
  Job job(1);
  EXPECT_EQ(count, lci_runtime_snapshot(job.runtime(0), nullptr, 0));
}

/// The equalities that lci.h states, with packets in the hands of the program and of a lane.
TEST(Counters, BalanceAtRest) {
  Job job(1, {{"devices", "2"}});
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 1, 1, &lane)) << lci_last_error();
  uint64_t base = 0, length = 0, layout[LCI_LAYOUT_COUNT], packet = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_memory(lane, &base, &length));
  lci_layout(layout, LCI_LAYOUT_COUNT);
  const auto* control = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &packet, &payload)) << lci_last_error();
  lci_comp* queue = make_queue(job.runtime(0));
  std::vector<uint8_t> bytes(1000, 3), place(1000);
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, 9, place.data(), 1000, queue, 1, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, 1, place.data(), 1000, queue, 2, nullptr));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 0, 0, 1, bytes.data(), 1000), nullptr));
  job.settle();
  const auto counter = [&](const char* name) { return job.counter(0, name); };
  EXPECT_LT(0u, control->packet_count);
  EXPECT_EQ(1u, counter("packets_held"));
  EXPECT_EQ(counter("packets_get"), counter("packets_put") + counter("packets_held") + control->packet_count);
  EXPECT_EQ(0u, counter("packets_out"));
  EXPECT_EQ(1u, counter("receives_pending"));
  EXPECT_EQ(job.posted(0), counter("signals") + counter("signals_dropped") + counter("receives_pending"));
  EXPECT_EQ(lci_queue_length(queue), counter("statuses_pushed") - counter("statuses_popped"));
  ASSERT_EQ(LCI_DONE, lci_packet_put(job.device(0), packet));
  ASSERT_EQ(LCI_DONE, lci_lane_free(lane));
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
