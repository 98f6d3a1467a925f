// SPDX-License-Identifier: Apache-2.0
// Put and get of every size, by copies and by messages. [B4, C4, C6, C16-C18, SS-33, SS-34, 2B-18, 2B-48]
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

/// Both ways, and the second one under disturbance.
class PutGet : public ::testing::TestWithParam<const char*> {
 protected:
  static Attributes attributes() {
    const std::string mode = GetParam();
    if (mode == "copies") return {};
    if (mode == "messages") return {{"rma", "messages"}};
    return {{"rma", "messages"},
            {"chaos", "seed=5,delay=0.3,ticks=9,refuse=0.2,short=0.2"},
            {"packets_max", "32"},
            {"packets", "16"}};
  }
  static bool by_messages() { return std::string(GetParam()) != "copies"; }
};
INSTANTIATE_TEST_SUITE_P(Ways, PutGet, ::testing::Values("copies", "messages", "chaos"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PutGet, EverySizeAtEveryPlace) {
  for (const uint32_t ranks : {1u, 2u, 4u}) {
    Job job(ranks, attributes());
    for (uint32_t from = 0; from < ranks; from += 3) {
      const uint32_t owner = (from + 1) % ranks;
      lci_comp* ended = make_queue(job.runtime(from));
      const uint32_t eager = lci_runtime_max_eager(job.runtime(0));
      for (const uint64_t size : {uint64_t{0}, uint64_t{8}, uint64_t{64}, uint64_t{65}, uint64_t{eager},
                                  uint64_t{eager} + 1, uint64_t{65536}, uint64_t{1} << 20}) {
        for (const bool allocated : {true, false}) {
          constexpr uint64_t kRoom = 31;
          std::vector<uint8_t> heap(size + kRoom);
          uint8_t* memory = heap.data();
          lci_memory* region = nullptr;
          if (allocated) {
            const Allocated made(job.runtime(owner), size + kRoom);
            region = made.memory;
            memory = made.bytes_at;
          } else {
            ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(owner), memory, size + kRoom, &region));
          }
          const uint64_t remote = open_remote(job.runtime(from), owner, handle_of(region));
          for (const uint64_t displacement : {0u, 13u, 31u}) {
            std::memset(memory, 0xEE, size + kRoom);
            const auto bytes = pattern(size, displacement + size);
            ASSERT_EQ(LCI_DONE, complete(job, from,
                                         remote_op(LCI_OP_PUT, owner, bytes.data(), size, remote, displacement), ended))
                << size << " " << lci_last_error();
            ASSERT_EQ(0, compare(memory + displacement, bytes.data(), size)) << size;
            for (uint64_t i = 0; i < displacement; ++i) ASSERT_EQ(0xEE, memory[i]) << "before the place";
            for (uint64_t i = displacement + size; i < size + kRoom; ++i) ASSERT_EQ(0xEE, memory[i]) << "behind it";
            std::vector<uint8_t> back(size + 1, 0xDD);
            ASSERT_EQ(LCI_DONE,
                      complete(job, from, remote_op(LCI_OP_GET, owner, back.data(), size, remote, displacement), ended))
                << size << " " << lci_last_error();
            ASSERT_EQ(0, compare(back.data(), bytes.data(), size)) << size;
            ASSERT_EQ(0xDD, back[size]);
          }
          ASSERT_EQ(LCI_DONE, lci_remote_close(job.runtime(from), remote));
          ASSERT_EQ(LCI_DONE, allocated ? lci_memory_free(region) : lci_memory_deregister(region)) << lci_last_error();
        }
      }
    }
    job.check_ledgers();
    EXPECT_EQ(by_messages(), job.counter(0, "rma_streamed") != 0);
    EXPECT_EQ(!by_messages(), job.counter(0, "rma_copied") != 0);
    EXPECT_EQ(job.counter(0, "rma_streamed"), job.counter(1 % ranks, "rma_served"));
  }
}

// A copy is done, and the target need not progress; a message is posted. [2B-48]
TEST_P(PutGet, AnswersDoneWhereTheMemoryIsAtHand) {
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  uint64_t value = 42;
  lci_status status{};
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    const int code = post_until_taken(job, 0, remote_op(kind, 1, &value, 8, remote, 8), ended, &status);
    ASSERT_EQ(by_messages() ? LCI_POSTED : LCI_DONE, code) << lci_last_error();
    if (by_messages()) {
      ASSERT_TRUE(pop(job, ended, &status));
    }
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(8u, status.size);
    EXPECT_EQ(77u, status.user_context);
    EXPECT_EQ(&value, status.buffer);
  }
  EXPECT_EQ(42u, value);
  // Asked for: exactly one signal. [SS-9]
  lci_descriptor op = remote_op(LCI_OP_PUT, 1, &value, 8, remote, 16);
  op.flags |= LCI_FLAG_SIGNAL;
  EXPECT_EQ(LCI_POSTED, post_until_taken(job, 0, op, ended));
  ASSERT_TRUE(pop(job, ended, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  job.check_ledgers();
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended, &status));
}

TEST_P(PutGet, ThePayloadMayBeInlineOrAPacket) {
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 16384);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  for (const uint32_t size : {0u, 1u, 64u, 65u, LCI_INLINE_MAX}) {
    lci_descriptor entries[4] = {remote_op(LCI_OP_PUT, 1, nullptr, size, remote, 5)};
    entries[0].flags = LCI_FLAG_INLINE;
    const auto bytes = pattern(size, size);
    if (size != 0) std::memcpy(static_cast<void*>(entries + 1), bytes.data(), size);
    int code = LCI_RETRY;
    while (is_retry(code = lci_post(job.device(0), entries, ended, nullptr))) job.progress();
    ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
    std::memset(static_cast<void*>(entries + 1), 0, 192);  // the descriptor is the caller's again
    lci_status status{};
    if (code == LCI_POSTED) {
      ASSERT_TRUE(pop(job, ended, &status));
    }
    EXPECT_EQ(0, compare(region.bytes_at + 5, bytes.data(), size)) << size;
  }
  lci_descriptor op = remote_op(LCI_OP_PUT, 1, nullptr, LCI_INLINE_MAX + 1, remote, 0);
  op.flags = LCI_FLAG_INLINE;
  EXPECT_EQ(LCI_ERR_SIZE, lci_post(job.device(0), &op, ended, nullptr));
  op = remote_op(LCI_OP_GET, 1, nullptr, 8, remote, 0);
  op.flags = LCI_FLAG_INLINE;
  EXPECT_EQ(LCI_ERR_SIZE, lci_post(job.device(0), &op, ended, nullptr)) << "a get needs a place";
  job.check_ledgers();
}

// Packets are a lane's: it hands them to its loop. [B13, SS-22]
TEST_P(PutGet, ALanePostsThemAndRecordsTheirEnd) {
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 16384);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* signals = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 4, "", signals, 0, 0));
  uint64_t base = 0, length = 0;
  ASSERT_EQ(LCI_DONE, lci_runtime_arena(job.runtime(0), &base, &length));
  {
    LaneDriver lane(job, 0);
    const auto bytes = pattern(8000, 3);
    std::vector<uint8_t> in(8000);
    uint64_t records = 0, expected = 0, told = 0, wanted = 0;
    lci_status status{};
    auto turn = [&] {
      lane.enter();
      lane.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_OP) return;
        EXPECT_EQ(LCI_DONE, record.code);
        EXPECT_EQ(record.size, record.u.address);
        EXPECT_EQ(77u, record.context);
        ++records;
      });
      lci_progress(job.device(1));
      while (lci_queue_pop(signals, &status) == LCI_DONE) ++told;
    };
    auto post = [&](lci_descriptor op, const void* inline_payload) {
      uint16_t outcome = LCI_RETRY;
      for (int i = 0; i < 100000 && is_retry(outcome); ++i) {
        lci_descriptor& place = lane.add(op);
        if (inline_payload) std::memcpy(static_cast<void*>(&place + 1), inline_payload, op.size);
        if (inline_payload) lane.control().submit_count += (op.size + 63) / 64;
        turn();
        outcome = place.outcome;
      }
      ASSERT_EQ(by_messages() ? LCI_POSTED : LCI_DONE, outcome) << lci_last_error();
      expected += by_messages();
      wanted += op.port != 0;
      for (int i = 0; i < 100000 && records != expected; ++i) turn();
      ASSERT_EQ(expected, records);
    };
    post(remote_op(LCI_OP_PUT, 1, bytes.data(), 8000, remote, 1), nullptr);
    EXPECT_EQ(0, compare(region.bytes_at + 1, bytes.data(), 8000));
    post(remote_op(LCI_OP_GET, 1, in.data(), 8000, remote, 1, 4, 9), nullptr);
    EXPECT_EQ(bytes, in);
    lci_descriptor inlined = remote_op(LCI_OP_PUT, 1, nullptr, 150, remote, 9000, 4, 10);
    inlined.flags = LCI_FLAG_INLINE;
    post(inlined, bytes.data());
    EXPECT_EQ(0, compare(region.bytes_at + 9000, bytes.data(), 150));
    ASSERT_NE(0u, lane.control().packet_count);
    const uint32_t packet = lane.control().packets[--lane.control().packet_count];
    uint64_t layout[LCI_LAYOUT_COUNT];
    lci_layout(layout, LCI_LAYOUT_COUNT);
    std::memcpy(
        reinterpret_cast<void*>(base + packet * layout[LCI_LAYOUT_PACKET_UNIT] + layout[LCI_LAYOUT_PACKET_PAYLOAD]),
        bytes.data(), 5000);
    lci_descriptor packed = remote_op(LCI_OP_PUT, 1, nullptr, 5000, remote, 3);
    packed.flags = LCI_FLAG_PACKET;
    packed.u.ref.address = packet;
    post(packed, nullptr);
    EXPECT_EQ(0, compare(region.bytes_at + 3, bytes.data(), 5000));
    for (int i = 0; i < 100000 && told != wanted; ++i) turn();
    EXPECT_EQ(2u, told);
    EXPECT_EQ(0u, lane.control().in_flight);
  }
  EXPECT_EQ(LCI_DONE, lci_port_close(job.runtime(1), 4));
}

// Bounds are the initiator's to check; nothing is written. [SS-33]
TEST_P(PutGet, BoundsAndArgumentsAreChecked) {
  Job job(3, attributes());
  const Allocated region(job.runtime(1), 100), far(job.runtime(2), 100);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  const uint64_t other = open_remote(job.runtime(0), 2, handle_of(far.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  std::memset(region.bytes_at, 0xEE, 100);
  std::vector<uint8_t> bytes(200);
  auto answer = [&](lci_descriptor op) { return lci_post(job.device(0), &op, ended, nullptr); };
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    auto op = [&](uint64_t size, uint64_t id, uint64_t displacement) {
      return remote_op(kind, 1, bytes.data(), size, id, displacement);
    };
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(101, remote, 0)));
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(1, remote, 100)));
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(50, remote, 51)));
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(8, remote, UINT64_MAX - 3)));
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(0, remote, 101)));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(op(8, 0, 0)));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(op(8, remote + (1ull << 32), 0)));
    EXPECT_EQ(LCI_ERR_RANK, answer(op(8, other, 0))) << "a region of rank 2";
    lci_descriptor wide = op(0, remote, 0);
    wide.u.ref.count = (uint64_t{1} << 32) + 8;  // cut to 32 bits it would fit [2B-18]
    EXPECT_EQ(LCI_ERR_SIZE, answer(wide));
    wide.size = 8;
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(wide));
    lci_descriptor null = op(8, remote, 0);
    null.u.ref.address = 0;
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(null));
    lci_descriptor tagged = op(8, remote, 0);
    tagged.port = 3;
    tagged.tag = LCI_MAX_SIGNAL_TAG + 1;
    EXPECT_EQ(LCI_ERR_TAG, answer(tagged));
    tagged.port = LCI_MAX_PORT + 1;
    tagged.tag = 0;
    EXPECT_EQ(LCI_ERR_PORT, answer(tagged));
    lci_descriptor nobody = op(8, remote, 0);
    nobody.rank = 3;
    EXPECT_EQ(LCI_ERR_RANK, answer(nobody));
  }
  EXPECT_EQ(LCI_ERR_SIZE, lci_post_put(job.device(0), 1, bytes.data(), 1ull << 40, remote, 0, ended, 0));
  EXPECT_EQ(LCI_ERR_PORT, lci_post_put_signal(job.device(0), 1, bytes.data(), 8, remote, 0, 0, 0, ended, 0));
  EXPECT_EQ(LCI_ERR_TAG, lci_post_get_signal(job.device(0), 1, bytes.data(), 8, remote, 0, 1, 65536, ended, 0));
  if (by_messages()) {
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_put(job.device(0), 1, bytes.data(), 8, remote, 0, nullptr, 0));
  }
  job.settle();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(0xEE, region.bytes_at[i]);
  job.check_ledgers();
}

// Mutation: keep_region_key.
TEST_P(PutGet, UseAfterTheEndIsAnError) {
  Job job(2, attributes());
  lci_comp* ended = make_queue(job.runtime(0));
  std::vector<uint8_t> heap(4096, 0xEE), bytes(4096, 1);
  for (const bool allocated : {true, false}) {
    lci_memory* region = nullptr;
    if (allocated) {
      region = Allocated(job.runtime(1), 4096).memory;
    } else {
      ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(1), heap.data(), 4096, &region));
    }
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region));
    ASSERT_EQ(LCI_DONE, allocated ? lci_memory_free(region) : lci_memory_deregister(region));
    const Allocated next(job.runtime(1), 4096);  // may lie in the same place
    std::memset(next.bytes_at, 0xEE, 4096);
    for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
      EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, complete(job, 0, remote_op(kind, 1, bytes.data(), 4096, remote, 0), ended));
      EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, complete(job, 0, remote_op(kind, 1, bytes.data(), 0, remote, 0), ended));
    }
    for (int i = 0; i < 4096; ++i) ASSERT_EQ(0xEE, next.bytes_at[i]);
    for (int i = 0; i < 4096; ++i) ASSERT_EQ(0xEE, heap[i]);
    for (int i = 0; i < 4096; ++i) ASSERT_EQ(1, bytes[i]);
    ASSERT_EQ(LCI_DONE, lci_memory_free(next.memory));
    EXPECT_EQ(LCI_DONE, lci_remote_close(job.runtime(0), remote));
  }
  job.check_ledgers();
}

// What is under way when its region ends: done or an error, and no byte after the end.
TEST_P(PutGet, ARegionMayEndUnderAnOperation) {
  constexpr uint64_t kSize = 2 << 20;
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    for (int passes = 0; passes < 40; passes += 8) {
      Job job(2, attributes());
      lci_comp* ended = make_queue(job.runtime(0));
      std::vector<uint8_t> heap(kSize, 0xEE), bytes(kSize, 1);
      Registered region(job.runtime(1), heap.data(), kSize);
      const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
      const int code = post_until_taken(job, 0, remote_op(kind, 1, bytes.data(), kSize, remote, 0), ended);
      ASSERT_EQ(by_messages() ? LCI_POSTED : LCI_DONE, code) << lci_last_error();
      for (int i = 0; i < passes; ++i) job.progress();
      region.end();
      const std::vector<uint8_t> then = heap;
      if (!by_messages()) break;
      lci_status status{};
      ASSERT_TRUE(pop(job, ended, &status));
      EXPECT_TRUE(status.code == LCI_DONE || status.code == LCI_ERR_MEMORY_CLOSED) << lci_code_name(status.code);
      if (passes == 0) {
        EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, status.code);
      }
      job.check_ledgers();
      EXPECT_EQ(then, heap) << "written after the region had ended";
    }
  }
}

// What a peer has to remember of us is bounded; more is refused, and goes on when some have ended. [X1]
TEST(PutGetBounds, OperationsUnderWayAreBounded) {
  Job job(2, {{"rma", "messages"}});
  const Allocated region(job.runtime(1), 1 << 20);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  std::vector<uint8_t> bytes(20000, 3), in(20000);
  uint32_t posted = 0;
  int code = LCI_POSTED;
  for (; posted < 1000 && code == LCI_POSTED; ++posted) {
    const bool put = posted % 2;
    lci_descriptor op = remote_op(put ? LCI_OP_PUT : LCI_OP_GET, 1, put ? bytes.data() : in.data(), 20000, remote, 0);
    code = lci_post(job.device(0), &op, ended, nullptr);
  }
  EXPECT_EQ(LCI_RETRY_PENDING, code);
  EXPECT_EQ(257u, posted);
  lci_status status{};
  for (uint32_t i = 0; i + 1 < posted; ++i) {
    ASSERT_TRUE(pop(job, ended, &status));
    EXPECT_EQ(LCI_DONE, status.code);
  }
  EXPECT_EQ(LCI_DONE, complete(job, 0, remote_op(LCI_OP_GET, 1, in.data(), 20000, remote, 0), ended));
  EXPECT_EQ(bytes, in);
  job.check_ledgers();
}

// Those that are signalled to an object leave no record: what is refused beyond them hears of the generation. [V3]
// Mutation: remote_room_untold.
TEST(PutGetBounds, ALaneHearsThatThereIsRoomForMore) {
  Job job(2, {{"rma", "messages"}});
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &ended));
  {
    LaneDriver lane(job, 0);
    const uint64_t value = 5;
    lci_descriptor op = remote_op(LCI_OP_PUT, 1, &value, 8, remote, 0);
    op.flags |= LCI_FLAG_COMP;
    op.user_context = lci_comp_id(ended);
    uint64_t posted = 0;
    uint16_t outcome = LCI_POSTED;
    for (; posted < 1000 && outcome == LCI_POSTED; posted += outcome == LCI_POSTED) {
      const lci_descriptor& added = lane.add(op);
      lane.enter();
      outcome = added.outcome;
    }
    EXPECT_EQ(LCI_RETRY_PENDING, outcome);
    EXPECT_EQ(256u, posted);
    const uint32_t generation = lane.control().generation[0];
    for (int i = 0; i < 100; ++i) lane.enter();
    EXPECT_EQ(generation, lane.control().generation[0]) << "told to try in vain";
    for (int i = 0; i < 100000 && lci_counter_get(ended) != posted; ++i) {
      lci_progress(job.device(1));
      if (lane.rings()) lane.enter();
    }
    EXPECT_EQ(posted, lci_counter_get(ended));
    EXPECT_EQ(0u, lane.read([](const lci_record& record) { ADD_FAILURE() << "a record of kind " << record.kind; }));
    EXPECT_NE(generation, lane.control().generation[0]) << "refused for ever, with room";
    const lci_descriptor& added = lane.add(op);
    lane.enter();
    EXPECT_EQ(LCI_POSTED, added.outcome);
    for (int i = 0; i < 100000 && lci_counter_get(ended) != posted + 1; ++i) {
      lci_progress(job.device(1));
      lane.enter();
    }
  }
  job.check_ledgers();
}

// As above, for one that waits in the backlog while all the others end in one pass, after it looked at the backlog: a
// loop that enters only when it is told to is told. Mutation: late_room_untold.
TEST(PutGetBounds, ALaneHearsThatItsBacklogMayGoOn) {
  Job job(2, {{"rma", "messages"}});
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &ended));
  {
    LaneDriver lane(job, 0);
    lane.control().arrival_budget = 1000;
    uint64_t place = 0;
    lci_descriptor op = remote_op(LCI_OP_GET, 1, &place, 8, remote, 0);
    op.flags |= LCI_FLAG_COMP | LCI_FLAG_NO_RETRY;
    op.user_context = lci_comp_id(ended);
    uint64_t posted = 0;
    for (uint16_t outcome = LCI_POSTED; posted < 1000 && outcome == LCI_POSTED; ++posted) {
      const lci_descriptor& added = lane.add(op);
      lane.enter();
      outcome = added.outcome;
    }
    ASSERT_EQ(257u, posted);
    ASSERT_EQ(1u, job.counter(0, "backlog_depth"));
    for (int i = 0; i < 100; ++i) lci_progress(job.device(1));  // all is answered before the lane looks
    for (int i = 0; i < 1000 && lci_counter_get(ended) != posted; ++i) {
      if (lane.rings()) lane.enter();
      lci_progress(job.device(1));
    }
    EXPECT_EQ(posted, lci_counter_get(ended));
    for (int i = 0; i < 1000; ++i) lane.enter(), lci_progress(job.device(1));
    EXPECT_FALSE(lane.rings()) << "it would never rest";
  }
  job.check_ledgers();
}

// A target that closes: a typed error at the initiator, for what is posted and for what comes later.
TEST_P(PutGet, ATargetThatClosesEndsThem) {
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    Job job(2, attributes());
    lci_comp* ended = make_queue(job.runtime(0));
    std::vector<uint8_t> heap(1 << 20), bytes(1 << 20, 1);
    lci_memory* region = nullptr;
    ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(1), heap.data(), heap.size(), &region));
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region));
    const lci_descriptor op = remote_op(kind, 1, bytes.data(), bytes.size(), remote, 0);
    if (by_messages()) {
      ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, op, ended));
      for (int i = 0; i < 4; ++i) job.progress();
    }
    job.close(1, 0);
    lci_status status{};
    if (by_messages()) {
      ASSERT_TRUE(pop(job, ended, &status));
      EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
    }
    const int code = complete(job, 0, op, ended);
    EXPECT_TRUE(code == LCI_ERR_PEER_FAILED || code == LCI_ERR_MEMORY_CLOSED) << lci_code_name(code);
    job.check_ledgers();
  }
}

}  // namespace
}  // namespace lci_test
