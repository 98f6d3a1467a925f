// SPDX-License-Identifier: Apache-2.0
// Rows of the ways that a short message takes: inside the descriptor, through a packet, out of registered memory.
#include <tuple>

#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kShortPort = 6;

/// What a rank gets from the one before it: messages by tag, whatever brings them.
class Arrivals {
 public:
  Arrivals(World& world, uint8_t kind) : world_(world), kind_(kind), queue_(world.queue()), place_(10'000) {
    if (kind == LCI_OP_AM) world.open_port(kShortPort, queue_);
    world.barrier();
  }
  /// The message with @p tag; active messages come in any order and are kept.
  Bytes take(uint64_t tag) {
    if (kind_ == LCI_OP_SEND) {
      lci_status status{};
      const auto op = operation(LCI_OP_RECV, world_.previous(), 0, tag, place_.data(), 10'000);
      if (world_.post(op, queue_, &status) == LCI_POSTED) status = world_.pop(queue_);
      EXPECT_EQ(LCI_DONE, status.code);
      return {place_.begin(), place_.begin() + static_cast<ptrdiff_t>(status.size)};
    }
    while (!kept_.count(tag)) {
      const lci_status status = world_.pop(queue_);
      const auto* bytes = static_cast<const uint8_t*>(status.buffer);
      kept_[status.tag].assign(bytes, bytes + status.size);
      lci_buffer_free(status.buffer);
    }
    return kept_.extract(tag).mapped();
  }
  void end() {
    if (kind_ == LCI_OP_AM) {
      EXPECT_EQ(LCI_DONE, lci_port_close(world_.runtime(), kShortPort));
    }
  }

 private:
  World& world_;
  const uint8_t kind_;
  lci_comp* const queue_;
  Bytes place_;
  std::map<uint64_t, Bytes> kept_;
};

lci_descriptor message(World& world, uint8_t kind, uint64_t tag, const void* bytes, uint32_t size) {
  return operation(kind, world.next(), kind == LCI_OP_AM ? kShortPort : 0, tag, bytes, size);
}

// Up to LCI_INLINE_MAX bytes travel in descriptors, which are the caller's again at once; one more is refused.
// Proves: G1
CONFORMANCE(G1, InlineMessages) {
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND}) {
    Arrivals arrivals(world, kind);
    for (const uint32_t size : {0u, 1u, 31u, 32u, 33u, 64u, 65u, 96u, 97u, 128u, 160u, LCI_INLINE_MAX}) {
      const Bytes bytes = pattern(size, world.rank() + size);
      lci_descriptor entries[4] = {};
      int code = LCI_RETRY;
      world.until([&] {
        entries[0] = message(world, kind, size, nullptr, size);
        entries[0].flags = LCI_FLAG_INLINE;
        if (size != 0) std::memcpy(static_cast<void*>(entries[0].u.inline_payload), bytes.data(), size);
        code = lci_post(world.device(), entries, nullptr, nullptr);
        std::memset(static_cast<void*>(entries), 0xDD, sizeof entries);
        return !is_retry(code);
      });
      EXPECT_EQ(LCI_DONE, code) << size << " " << lci_last_error();
      EXPECT_EQ(pattern(size, world.previous() + size), arrivals.take(size));
    }
    lci_descriptor large = message(world, kind, 0, nullptr, LCI_INLINE_MAX + 1);
    large.flags = LCI_FLAG_INLINE;
    EXPECT_EQ(LCI_ERR_SIZE, lci_post(world.device(), &large, nullptr, nullptr));
    world.barrier();
    arrivals.end();
  }
}

// A buffer of up to a packet is copied: done, and it may be overwritten. A packet of the user's goes as it is.
// Proves: G2
CONFORMANCE(G2, CopiedMessagesAndUsersPackets) {
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  lci_comp* ended = world.queue();
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND}) {
    Arrivals arrivals(world, kind);
    uint64_t tag = 0;
    for (const uint32_t size : {1u, LCI_INLINE_MAX, LCI_INLINE_MAX + 1, 4000u, eager}) {
      Bytes bytes = pattern(size, world.rank() + ++tag);
      EXPECT_EQ(LCI_DONE, world.post(message(world, kind, tag, bytes.data(), size), ended)) << lci_last_error();
      std::fill(bytes.begin(), bytes.end(), 0xDD);
      EXPECT_EQ(pattern(size, world.previous() + tag), arrivals.take(tag));

      const Bytes filled = pattern(size, world.rank() + ++tag);
      uint64_t handle = 0;
      void* payload = nullptr;
      world.until([&] { return lci_packet_get(world.device(), &handle, &payload) == LCI_DONE; });
      std::memcpy(payload, filled.data(), size);
      lci_descriptor op = message(world, kind, tag, nullptr, size);
      op.flags = LCI_FLAG_PACKET;
      op.u.ref.address = handle;
      EXPECT_EQ(LCI_DONE, world.post(op, ended)) << lci_last_error();
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(world.device(), handle)) << "it was taken over";
      EXPECT_EQ(pattern(size, world.previous() + tag), arrivals.take(tag));
    }
    EXPECT_EQ(0u, lci_queue_length(ended));
    world.barrier();
    arrivals.end();
  }
}

// The receiver sees a message as any other. The sender's memory is his again when the post says done, or else when the
// signal comes; then what the receiver can see is not copied (Network.ReadsAllocatedMemoryWhereItLies).
// Proves: G3
CONFORMANCE(G3, MessagesOutOfRegisteredMemory) {
  lci_comp* ended = world.queue();
  const Allocated shared(world.runtime(), 8000);
  Bytes heap(8000);
  const Registered registered(world.runtime(), heap.data(), heap.size());
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND}) {
    Arrivals arrivals(world, kind);
    uint64_t tag = 0;
    for (uint8_t* memory : {shared.bytes_at, heap.data()}) {
      for (const uint32_t size : {100u, 8000u}) {
        for (const bool network : {false, true}) {
          const Bytes bytes = pattern(size, world.rank() + ++tag);
          std::copy(bytes.begin(), bytes.end(), memory);
          lci_descriptor op = message(world, kind, tag, memory, size);
          if (network) op.flags |= LCI_FLAG_NETWORK;
          EXPECT_EQ(network ? LCI_POSTED : LCI_DONE, world.post(op, ended)) << lci_last_error();
          if (!network) std::fill_n(memory, size, uint8_t{0xDD});
          EXPECT_EQ(pattern(size, world.previous() + tag), arrivals.take(tag));
          if (network) {
            EXPECT_EQ(LCI_DONE, world.pop(ended).code);
          }
        }
      }
    }
    world.barrier();
    arrivals.end();
  }
  EXPECT_EQ(LCI_DONE, lci_memory_free(shared.memory));
}

}  // namespace
}  // namespace lci_test
