// SPDX-License-Identifier: Apache-2.0
// A peer that writes anything into the memory that it shares: the rank it attacks answers with a protocol error at
// most, keeps its own memory whole, and goes on serving others. [X8; the sanitizers see the rest]
#include <random>

#include "support/hostile_peer.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci::MessageHeader;
using lci::MessageKind;

constexpr uint32_t kQueuePort = 7, kHandlerPort = 8, kUnopenedPort = 9;
constexpr uint32_t kLong = 100000;

MessageHeader random_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  auto any = [&](std::initializer_list<uint64_t> values) { return values.begin()[random() % values.size()]; };
  MessageHeader header{};
  header.kind = static_cast<MessageKind>(
      any({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23, 24, random() % 256}));
  header.flags = static_cast<uint8_t>(any({0, 4, 8, 12, 16, 20, random() % 256}));
  header.target = static_cast<uint16_t>(
      any({kQueuePort, kHandlerPort, kUnopenedPort, lci::kEngineTarget, lci::kEngineTarget + 1u, 0, random()}));
  header.size = static_cast<uint32_t>(
      any({0, 1, 8, 33, LCI_INLINE_MAX, LCI_INLINE_MAX + 1, max_eager, max_eager + 1, kLong, random() % 1000000}));
  header.aux = static_cast<uint32_t>(any({0, 1, 2, LCI_ERR_PORT_CLOSED, LCI_ERR_PORT_MISMATCH, random()}));
  const uint64_t context = uint64_t{1 + random() % 2} << 32 | random() % 4;
  header.tag = any({0, 1, 2, context, random()});
  header.arg = any({0, 1, packet, packet | lci::kInPlace, context, uint64_t{packet} * 2, random() % (1u << 22),
                    random() | lci::kInPlace, random()});
  return header;
}

/// A message that an honest peer could send at some time: nonsense that comes later meets a state worth attacking.
MessageHeader plausible_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  const auto port = static_cast<uint16_t>(random() % 2 ? kQueuePort : kUnopenedPort);
  const auto target = static_cast<uint16_t>(random() % 2 ? port : lci::kEngineTarget);
  const uint64_t context = uint64_t{1 + random() % 2} << 32 | random() % 4;
  const auto small = static_cast<uint32_t>(random() % max_eager);
  switch (random() % 14) {
    case 8:
      return {MessageKind::kPutData, 0, 0, small, 0, context, packet};
    case 9:
      return {MessageKind::kGet, 0, 0, 0, 0, 1 + random() % kLong, context};
    case 10:
      return {MessageKind::kPutAck, 0, 0, 0, random() % 4 ? 0u : uint32_t{LCI_ERR_CLOSED}, context, small};
    case 12:
      return {MessageKind::kAtomic, 0, 0, 0, 1 + static_cast<uint32_t>(random() % 3), context, random() % 3};
    case 13:
      return {MessageKind::kAtomicAnswer, 0, 0, 0, random() % 4 ? 0u : uint32_t{LCI_ERR_CLOSED}, context, small};
    case 11:
      return {MessageKind::kAmInline, lci::kFlagSignal, kHandlerPort, 0, 1, random() % 3, 0};
    case 0:
      return {MessageKind::kAnnounce, 0, target, small, 0, random() % 3, packet};
    case 1:
      return {MessageKind::kRendezvous, 0, target, kLong, 0, random() % 3, context};
    case 2:
      return {MessageKind::kRendezvousData, 0, 0, small, 0, context, packet | (random() % 2 ? lci::kInPlace : 0)};
    case 3:
      return {MessageKind::kAmInline, 0, kHandlerPort, small % LCI_INLINE_MAX, 1, 0, 0};
    case 4:
      return {MessageKind::kAmPacket, 0, kHandlerPort, small, 1, 0, packet | (random() % 2 ? lci::kInPlace : 0)};
    case 5:
      return {MessageKind::kGrant, 0, target, static_cast<uint32_t>(random() % 4), 0, 1, random() % kLong};
    case 6:
      return {MessageKind::kRecall, 0, target, 0, 0, 1, 0};
    default:
      return {random() % 2 ? MessageKind::kReady : MessageKind::kWithdraw, 0, 0, 0, 0, context, context};
  }
}

/// A plausible message, now and then with one field of nonsense.
MessageHeader next_header(std::mt19937_64& random, uint32_t packet, uint32_t max_eager) {
  MessageHeader header = plausible_header(random, packet, max_eager);
  const MessageHeader nonsense = random_header(random, packet, max_eager);
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
    Job job(2, {{"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}, {"rma", "messages"}});
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
    // Regions that the peer may name, with the right key or not; what lies around them is not its to touch.
    std::vector<uint8_t> guarded(3 * kLong, 0xEE);
    Registered region(job.runtime(0), guarded.data() + kLong, kLong);
    uint64_t key = 0;
    const HandleBytes handle = handle_of(region.memory);
    std::memcpy(&key, handle.data() + 24, sizeof key);
    const Allocated theirs(job.runtime(1), kLong);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(theirs.memory));
    std::vector<uint8_t> bytes(kLong, 1), in(3000), got(kLong);
    lci_status status{};
    const bool speaks = seed % 2;
    for (int round = 0; round < 200 && job.counter(0, "peers_failed") == 0; ++round) {
      if (speaks) {
        lci_post_am(device, 1, kUnopenedPort, 1, bytes.data(), 500, local, 1);
        lci_post_am(device, 1, kQueuePort, 1, bytes.data(), kLong, local, 1);
        lci_post_put_signal(device, 1, bytes.data(), kLong, remote, 0, kQueuePort, 1, local, 3);
        lci_post_get(device, 1, got.data(), kLong, remote, 0, local, 3);
        lci_post_atomic(device, 1, LCI_ATOMIC_ADD, 1, 0, remote, 0, local, 3, nullptr);
        lci_post_send(device, 1, random() % 3, bytes.data(), round % 2 ? 40 : kLong, local, 1);
      }
      lci_post_recv(device, random() % 4 ? 1 : LCI_ANY_SOURCE, random() % 3, in.data(), 3000, local, 2, &status);
      for (uint64_t burst = 1 + random() % 4; burst > 0; --burst) {
        uint8_t payload[LCI_INLINE_MAX];
        for (auto& byte : payload) byte = static_cast<uint8_t>(random());
        if (random() % 2) std::memset(payload, 0, 8);
        const MessageHeader header = next_header(random, peer.packet(), lci_runtime_max_eager(job.runtime(0)));
        const bool names_region = header.kind == MessageKind::kPutData || header.kind == MessageKind::kGet ||
                                  header.kind == MessageKind::kAtomic;
        if (names_region && random() % 8 != 0) {
          lci::RemoteAccess access{key, random() % (2 * kLong), random() % 8 ? 0 : static_cast<uint32_t>(random()), 0};
          if (random() % 8 == 0) access.displacement = random();
          std::memcpy(payload, &access, sizeof access);
        }
        const uint64_t places[] = {peer.begin(), peer.begin() + random() % kLong, peer.end(), random()};
        peer.packet_naming(places[random() % 64 == 0 ? random() % 4 : random() % 2]);
        peer.send(header, payload);
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
    for (uint32_t i = 0; i < kLong; ++i) {
      ASSERT_EQ(0xEE, guarded[i]);
      ASSERT_EQ(0xEE, guarded[2 * kLong + i]);
    }
    region.end();
    job.close(0, 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lci_test
