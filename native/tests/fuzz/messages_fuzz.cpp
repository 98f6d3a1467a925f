// SPDX-License-Identifier: Apache-2.0
// Everything that a peer writes into shared memory: headers of data and control messages, immediate data, parts of
// regions that it names, the slots of its rings, and the words that it shares. The rank answers with a protocol error
// at most, writes nothing outside its regions, and goes on serving others.
#include "fuzz/input.hpp"
#include "support/groups.hpp"
#include "support/hostile_peer.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci::MessageHeader;
using lci::MessageKind;
using lci_fuzz::Input;

constexpr uint32_t kQueuePort = 7, kHandlerPort = 8, kUnopenedPort = 9;
constexpr uint32_t kLong = 100000;
/// Ids of the first operations under way, as they travel: generation and index.
constexpr uint64_t kFirst = uint64_t{1} << 32, kSecond = kFirst | 1, kReused = uint64_t{2} << 32;

/// One byte chooses a value that a state may know, or takes the next bytes as they are.
template <typename T>
T choose(Input& input, std::initializer_list<uint64_t> known) {
  const size_t at = input.number<uint8_t>();
  return at < known.size() ? static_cast<T>(known.begin()[at]) : input.number<T>();
}

MessageHeader header_of(Input& input, uint32_t packet, uint32_t max_eager) {
  MessageHeader header{};
  header.kind = static_cast<MessageKind>(
      choose<uint8_t>(input, {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21, 22, 23, 10, 24, 25}));
  header.flags = choose<uint8_t>(input, {0, lci::kFlagCredited, lci::kFlagUncredited, lci::kFlagKeyed, lci::kFlagSignal,
                                         lci::kFlagCredited | lci::kFlagUncredited, lci::kFlagAsks, lci::kFlagReply});
  header.target = choose<uint16_t>(
      input, {kQueuePort, kHandlerPort, kUnopenedPort, lci::kEngineTarget, lci::kEngineTarget + 1u, 0});
  header.size =
      choose<uint32_t>(input, {0, 1, 8, 33, LCI_INLINE_MAX, LCI_INLINE_MAX + 1, max_eager, max_eager + 1, kLong});
  header.aux = choose<uint32_t>(input, {0, 1, 2, LCI_ERR_PORT_CLOSED, LCI_ERR_PORT_MISMATCH, LCI_ERR_MEMORY_CLOSED});
  header.tag = choose<uint64_t>(input, {0, 1, 2, kFirst, kSecond, kReused, kLong});
  header.arg = choose<uint64_t>(input, {0, 1, packet, kFirst, kSecond, kReused, uint64_t{packet} * 2, kLong,
                                        packet | lci::kInPlace, lci::kInPlace});
  return header;
}

class Victim {
 public:
  Victim()
      : job_(2, {{"arena_bytes", "8M"},
                 {"matching_buckets", "16"},
                 {"packets", "16"},
                 {"ring_bytes", "16K"},
                 {"control_ring_bytes", "4K"},
                 {"rma", "messages"}}),
        peer_(job_),
        device_(job_.device(0)),
        queue_(make_queue(job_.runtime(0))),
        local_(make_queue(job_.runtime(0))),
        region_(job_.runtime(0), guarded_.data() + kLong, kLong),
        theirs_(job_.runtime(1), kLong),
        remote_(open_remote(job_.runtime(0), 1, handle_of(theirs_.memory))) {
    lci_comp* handler = nullptr;
    EXPECT_EQ(LCI_DONE, lci_handler_create(job_.runtime(0), look, &sum_, &handler));
    EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kQueuePort, "", queue_, 16, 1 << 20));
    EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kHandlerPort, "", handler, 0, 0));
    const HandleBytes handle = handle_of(region_.memory);
    std::memcpy(&key_, handle.data() + 24, sizeof key_);
    EXPECT_EQ(LCI_DONE, lci_context_id(context_, &context_id_));
  }
  void step(Input& input) {
    act(input);
    const int code = lci_progress(device_);
    FUZZ_EXPECT(code == LCI_DONE || code == LCI_RETRY);
    take();
  }
  bool failed() { return job_.counter(0, "peers_failed") != 0; }
  /// Itself, at least, on the port that the peer sends to.
  bool still_serves() {
    constexpr uint64_t kMarker = 0xFEED'BEEF'0000'1111ull;
    int posted = LCI_RETRY;
    served_ = false;
    for (int i = 0; i < 10000 && !served_; ++i) {
      if (posted != LCI_DONE) posted = lci_post_am(device_, 0, kQueuePort, kMarker, nullptr, 0, nullptr, 0);
      lci_progress(device_);
      take(kMarker);
    }
    return served_;
  }
  bool untouched() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(guarded_.begin(), guarded_.begin() + kLong, is_guard) &&
           std::all_of(guarded_.end() - kLong, guarded_.end(), is_guard);
  }
  void close() {
    region_.end();
    job_.close(0, 0);
  }

 private:
  static constexpr uint8_t kGuard = 0xEE;
  static constexpr uint64_t kShortSum = 40;

  static void look(const lci_status* status, void* sum) {
    for (uint64_t i = 0; i < status->size; ++i)
      *static_cast<uint64_t*>(sum) += static_cast<uint8_t*>(status->buffer)[i];
  }
  /// What the rank does itself, so that there is something to be attacked; or an attack.
  void act(Input& input) {
    lci_status status{};
    switch (input.number<uint8_t>() % 12) {
      case 0:
        lci_post_am(device_, 1, kUnopenedPort, 1, bytes_.data(), 500, local_, 1);
        lci_post_am(device_, 1, kQueuePort, 1, bytes_.data(), kLong, local_, 1);
        break;
      case 1: {
        const uint8_t tag = input.number<uint8_t>();
        lci_post_send(device_, 1, tag % 3, bytes_.data(), tag % 2 ? 40 : kLong, local_, 1);
        break;
      }
      case 2: {
        const uint8_t tag = input.number<uint8_t>();
        lci_post_recv(device_, tag % 4 ? 1 : LCI_ANY_SOURCE, tag % 3, in_.data(), 3000, local_, 2, &status);
        break;
      }
      case 3:
        peer_.scribble([&] { return input.number<uint32_t>(); });
        break;
      case 4:
        lci_post_put_signal(device_, 1, bytes_.data(), kLong, remote_, 0, kQueuePort, 1, local_, 3);
        break;
      case 5:
        lci_post_get(device_, 1, got_.data(), kLong, remote_, 0, local_, 3);
        break;
      case 6: {
        lci_descriptor barrier{};
        barrier.op = LCI_OP_BARRIER;
        lci_post(device_, &barrier, local_, &status);
        break;
      }
      case 7: {
        const auto word = input.number<uint16_t>();
        peer_.scribble_ring(word, input.number<uint64_t>());
        break;
      }
      case 10:
        lci_post_group_barrier(context_, local_, 4);
        break;
      case 11: {
        const uint64_t count = input.number<uint8_t>() % 2 == 0 ? kShortSum : kLong;  // what there is memory for
        const lci_collective sum{LCI_COLLECTIVE_ALLREDUCE,
                                 LCI_ALGORITHM_RECURSIVE_DOUBLING,
                                 LCI_TYPE_U8,
                                 LCI_REDUCE_SUM,
                                 0,
                                 0,
                                 bytes_.data(),
                                 guarded_.data() + kLong,
                                 count,
                                 nullptr};
        lci_post_collective(context_, &sum, local_, 4);
        break;
      }
      default:
        attack(input);
    }
  }
  void attack(Input& input) {
    const MessageHeader header = header_of(input, peer_.packet(), lci_runtime_max_eager(job_.runtime(0)));
    if (header.kind == MessageKind::kCollective) return attack_group(input);
    if (header.arg & lci::kInPlace) {
      const uint64_t begin = peer_.begin(), end = peer_.end();
      peer_.packet_naming(choose<uint64_t>(input, {begin, begin - 1, end - 8, end, 0, UINT64_MAX}));
    }
    uint8_t payload[LCI_INLINE_MAX] = {};
    if (header.kind == MessageKind::kPutData || header.kind == MessageKind::kGet ||
        header.kind == MessageKind::kAtomic) {
      lci::RemoteAccess access;
      access.key = choose<uint64_t>(input, {key_, 0});
      access.displacement = choose<uint64_t>(input, {0, 1, kLong - 1, kLong, UINT64_MAX});
      access.index = choose<uint32_t>(input, {0, 1});
      std::memcpy(payload, &access, sizeof access);
    } else {
      input.copy(payload, input.number<uint8_t>() % 16);
    }
    peer_.send(header, payload);
  }
  /// What a member says of a call, or of a failure, with any of it changed.
  void attack_group(Input& input) {
    using lci::CollectiveWord;
    const auto word = choose<uint8_t>(input, {1, 2, 3, 4, 5, 6, 7, 8});
    const lci::CollectiveFrame frame{static_cast<CollectiveWord>(word),
                                     choose<uint8_t>(input, {lci::kFlagFirst, lci::kFlagFirst | lci::kFlagUnsure, 0}),
                                     choose<uint16_t>(input, {0, 1}), choose<uint32_t>(input, {0, 1, 2, UINT32_MAX}),
                                     choose<uint32_t>(input, {0, 1, lci::kRoomMessages})};
    uint8_t payload[LCI_INLINE_MAX] = {};
    if (frame.word == CollectiveWord::kFailed) {
      const lci::FailureFrame failure{
          .sequence = choose<uint64_t>(input, {0, 1, uint64_t{1} << 40}),
          .code = choose<uint32_t>(input, {LCI_ERR_COLLECTIVE, LCI_ERR_MISMATCH, LCI_ERR_PEER_LEFT, LCI_DONE}),
          .rank = choose<uint32_t>(input, {1, 0, 2})};
      std::memcpy(payload, &failure, sizeof failure);
    } else {
      lci::CallHeader call{.kind = LCI_COLLECTIVE_BARRIER};
      if (input.number<uint8_t>() % 2 == 0) {
        call = {.kind = LCI_COLLECTIVE_ALLREDUCE,
                .op = LCI_REDUCE_SUM,
                .type = LCI_TYPE_U8,
                .algorithm = LCI_ALGORITHM_RECURSIVE_DOUBLING,
                .count = choose<uint64_t>(input, {kShortSum, kLong})};
      }
      std::memcpy(payload, &call, sizeof call);
      input.copy(payload + sizeof call, input.number<uint8_t>() % 16);
    }
    const auto size = choose<uint32_t>(
        input, {sizeof(lci::CallHeader), lci::kShortFailure, sizeof(lci::FailureFrame), sizeof(lci::CallHeader) + 8,
                sizeof(lci::CallHeader) + kShortSum, 4, 0, LCI_INLINE_MAX, LCI_INLINE_MAX + 1});
    peer_.send(lci::to_header(choose<uint64_t>(input, {context_id_, 1}), frame, size), payload);
  }
  void take(uint64_t marker = 0) {
    lci_status status{};
    while (lci_queue_pop(local_, &status) == LCI_DONE) {
    }
    while (lci_queue_pop(queue_, &status) == LCI_DONE) {
      served_ = served_ || (status.rank == 0 && status.tag == marker);
      if (status.buffer) look(&status, &sum_);
      lci_buffer_free(status.buffer);
    }
  }

  // First what operations may touch until the job ends.
  std::vector<uint8_t> guarded_ = std::vector<uint8_t>(3 * kLong, kGuard);
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kLong, 1), in_ = std::vector<uint8_t>(3000),
                       got_ = std::vector<uint8_t>(kLong);
  uint64_t sum_ = 0;
  Job job_;
  HostilePeer peer_;
  lci_device* device_;
  lci_comp *queue_, *local_;
  Registered region_;
  const Allocated theirs_;
  const uint64_t remote_;
  lci_context* const context_ = make_context(make_group(job_.runtime(0), {0, 1}));
  uint64_t key_ = 0, context_id_ = 0;
  bool served_ = false;
};

}  // namespace
}  // namespace lci_test

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::testing::GTEST_FLAG(break_on_failure) = true;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lci_fuzz::Input input(data, size);
  lci_test::Victim victim;
  for (int steps = 0; steps < 500 && !input.empty() && !victim.failed(); ++steps) victim.step(input);
  FUZZ_EXPECT(victim.still_serves());
  FUZZ_EXPECT(victim.untouched());
  victim.close();
  return 0;
}
