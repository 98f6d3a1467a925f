// SPDX-License-Identifier: Apache-2.0
// A peer that writes anything into the memory that it shares: the rank it attacks answers with a protocol error at
// most, keeps its own memory whole, and goes on serving others. [X8; the sanitizers see the rest]
#include <random>

#include "api/handles.hpp"
#include "device/channel.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

using lci::ChannelBlock;
using lci::Message;
using lci::RingProducer;
using lci::SlotHeader;

constexpr uint32_t kQueuePort = 7, kHandlerPort = 8, kUnopenedPort = 9;
constexpr uint32_t kLong = 100000;

/// Rank 1 of a job, whose rings towards rank 0 a test writes.
class HostilePeer {
 public:
  explicit HostilePeer(Job& job) : victim_(*job.runtime(0)->runtime), mine_(*job.runtime(1)->runtime) {
    const uint32_t data = mine_.attributes().ring_bytes / lci::kSlotBytes;
    const uint32_t control = mine_.attributes().control_ring_bytes / lci::kSlotBytes;
    const uint64_t offset = mine_.arena().allocate(ChannelBlock::bytes(control, data));
    auto* block = new (mine_.arena().at(offset)) ChannelBlock;
    control_ = RingProducer({&block->control_head, block->slots(), control});
    data_ = RingProducer({&block->data_head, block->slots() + control, data});
    mine_.arena().channel_offset(0, 0).store(offset);
    packet_ = static_cast<uint32_t>(mine_.arena().allocate(mine_.attributes().packet_size) / lci::kPacketUnit);
  }
  uint32_t packet() const { return packet_; }
  /// @param payload LCI_INLINE_MAX bytes, of which goes as much as the receiver looks at.
  void send(const SlotHeader& header, const void* payload) {
    const bool is_inline = header.kind == Message::kAmInline || header.kind == Message::kSendInline;
    const uint32_t offset = header.kind == Message::kRendezvousData ? 8 : 0;
    const uint32_t size = is_inline ? std::min(header.size, LCI_INLINE_MAX) : offset;
    RingProducer& ring = static_cast<uint32_t>(header.kind) >= 16 ? control_ : data_;
    if (!ring.has_room(lci::slots_for(size))) return;
    ring.write(header, payload, size);
    ring.publish();
    victim_.arena().summary(0)[1].store(1);
  }
  /// What rank 1 may write in rank 0's arena: its head words, and the list of packets that come back.
  void scribble(std::mt19937_64& random) {
    lci::Arena& arena = victim_.arena();
    if (const uint64_t offset = arena.channel_offset(0, 1).load()) {
      auto* block = reinterpret_cast<ChannelBlock*>(arena.at(offset));
      block->data_head.store(static_cast<uint32_t>(random() % 64));
      block->control_head.store(static_cast<uint32_t>(random()));
    }
    auto handle = static_cast<uint32_t>(random() % (1u << 14));
    while (handle < (1u << 14) && !victim_.pool().owns(handle)) ++handle;
    if (random() % 4 != 0) arena.header().device[0].returned_packets.store(handle);
    arena.header().device[0].park_slot.store(static_cast<uint32_t>(random()));
    arena.header().park[0].word.store(static_cast<uint32_t>(random() % 2));
  }

 private:
  lci::Runtime &victim_, &mine_;
  RingProducer control_, data_;
  uint32_t packet_ = 0;
};

SlotHeader random_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  auto any = [&](std::initializer_list<uint64_t> values) { return values.begin()[random() % values.size()]; };
  SlotHeader header{};
  header.kind = static_cast<Message>(any({1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, random() % 256}));
  header.flags = static_cast<uint8_t>(any({0, 4, 8, 12, random() % 256}));
  header.target = static_cast<uint16_t>(
      any({kQueuePort, kHandlerPort, kUnopenedPort, lci::kEngineTarget, lci::kEngineTarget + 1u, 0, random()}));
  header.size = static_cast<uint32_t>(
      any({0, 1, 8, 33, LCI_INLINE_MAX, LCI_INLINE_MAX + 1, max_eager, max_eager + 1, kLong, random() % 1000000}));
  header.aux = static_cast<uint32_t>(any({0, 1, 2, LCI_ERR_PORT_CLOSED, LCI_ERR_PORT_MISMATCH, random()}));
  const uint64_t context = uint64_t{1 + random() % 2} << 32 | random() % 4;
  header.tag = any({0, 1, 2, context, random()});
  header.arg = any({0, 1, packet, packet, context, uint64_t{packet} * 2, random() % (1u << 22), random()});
  return header;
}

/// A message that an honest peer could send at some time: nonsense that comes later meets a state worth attacking.
SlotHeader plausible_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  const auto port = static_cast<uint16_t>(random() % 2 ? kQueuePort : kUnopenedPort);
  const auto target = static_cast<uint16_t>(random() % 2 ? port : lci::kEngineTarget);
  const uint64_t context = uint64_t{1 + random() % 2} << 32 | random() % 4;
  const auto small = static_cast<uint32_t>(random() % max_eager);
  switch (random() % 8) {
    case 0:
      return {Message::kAnnounce, 0, target, small, 0, random() % 3, packet};
    case 1:
      return {Message::kRendezvous, 0, target, kLong, 0, random() % 3, context};
    case 2:
      return {Message::kRendezvousData, 0, 0, small, 0, context, packet};
    case 3:
      return {Message::kAmInline, 0, kHandlerPort, small % LCI_INLINE_MAX, 1, 0, 0};
    case 4:
      return {Message::kAmPacket, 0, kHandlerPort, small, 1, 0, packet};
    case 5:
      return {Message::kGrant, 0, target, static_cast<uint32_t>(random() % 4), 0, 1, random() % kLong};
    case 6:
      return {Message::kRecall, 0, target, 0, 0, 1, 0};
    default:
      return {random() % 2 ? Message::kReady : Message::kWithdraw, 0, 0, 0, 0, context, context};
  }
}

/// A plausible message, now and then with one field of nonsense.
SlotHeader next_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  SlotHeader header = plausible_header(random, packet, max_eager);
  const SlotHeader nonsense = random_header(random, packet, max_eager);
  switch (random() % 128) {
    case 0:
      header.kind = nonsense.kind;
      break;
    case 1:
      header.flags = nonsense.flags;
      break;
    case 2:
      header.target = nonsense.target;
      break;
    case 3:
    case 4:
      header.size = nonsense.size;
      break;
    case 5:
      header.aux = nonsense.aux;
      break;
    case 6:
      header.tag = nonsense.tag;
      break;
    case 7:
    case 8:
      header.arg = nonsense.arg;
      break;
    default:
      break;
  }
  return header;
}

TEST(HostilePeer, HarmsOnlyItself) {
  const uint64_t first = ::testing::UnitTest::GetInstance()->random_seed();
  for (uint64_t seed = first; seed < first + 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Job job(2, {{"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}});
    HostilePeer peer(job);
    lci_comp* queue = make_queue(job.runtime(0));
    lci_comp* local = make_queue(job.runtime(0));
    lci_comp* handler = nullptr;
    auto look = [](const lci_status* status, void* sum) {
      for (uint64_t i = 0; i < status->size; ++i)
        *static_cast<uint64_t*>(sum) += static_cast<uint8_t*>(status->buffer)[i];
    };
    uint64_t sum = 0;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), look, &sum, &handler));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kQueuePort, "", queue, 16, 1 << 20));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kHandlerPort, "", handler, 0, 0));
    lci_device* device = job.device(0);
    std::vector<uint8_t> bytes(kLong, 1), in(3000);
    lci_status status{};
    const bool speaks = seed % 2;
    for (int round = 0; round < 200 && job.counter(0, "peers_failed") == 0; ++round) {
      if (speaks) {
        lci_post_am(device, 1, kUnopenedPort, 1, bytes.data(), 500, local, 1);
        lci_post_am(device, 1, kQueuePort, 1, bytes.data(), kLong, local, 1);
        lci_post_send(device, 1, random() % 3, bytes.data(), round % 2 ? 40 : kLong, local, 1);
      }
      lci_post_recv(device, random() % 4 ? 1 : LCI_ANY_SOURCE, random() % 3, in.data(), 3000, local, 2, &status);
      for (uint64_t burst = 1 + random() % 4; burst > 0; --burst) {
        uint8_t payload[LCI_INLINE_MAX];
        for (auto& byte : payload) byte = static_cast<uint8_t>(random());
        if (random() % 2) std::memset(payload, 0, 8);
        peer.send(next_header(random, peer.packet(), lci_runtime_max_eager(job.runtime(0))), payload);
      }
      if (random() % 8 == 0) peer.scribble(random);
      const int code = lci_progress(device);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_RETRY) << lci_last_error();
      while (lci_queue_pop(local, &status) == LCI_DONE) {
      }
      while (lci_queue_pop(queue, &status) == LCI_DONE) lci_buffer_free(status.buffer);
    }
    // Whatever came, the victim still serves: here, itself.
    bool served = false;
    uint64_t marker = 0xFEEDull << 32 | seed;
    int posted = LCI_RETRY;
    for (int i = 0; i < 10000 && !served; ++i) {
      if (posted != LCI_DONE) posted = lci_post_am(device, 0, kQueuePort, marker, nullptr, 0, nullptr, 0);
      lci_progress(device);
      while (lci_queue_pop(queue, &status) == LCI_DONE) {
        served = served || (status.rank == 0 && status.tag == marker);
        lci_buffer_free(status.buffer);
      }
    }
    EXPECT_TRUE(served) << lci_code_name(posted);
    job.close(0, 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lci_test
