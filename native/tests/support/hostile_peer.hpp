// SPDX-License-Identifier: Apache-2.0
// Rank 1 of a job of this process, of which a test writes whatever it shares with rank 0: its rings towards it, and the
// words of rank 0 that peers may write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/handles.hpp"
#include "protocol/link.hpp"
#include "support/job.hpp"

namespace lci_test {

class HostilePeer {
 public:
  explicit HostilePeer(Job& job) : victim_(*job.runtime(0)->runtime), mine_(*job.runtime(1)->runtime) {
    const uint32_t data = mine_.attributes().ring_bytes / lci::kSlotBytes;
    const uint32_t control = mine_.attributes().control_ring_bytes / lci::kSlotBytes;
    const uint64_t offset = mine_.memory().allocate(lci::RingPair::bytes(control, data));
    block_ = new (mine_.memory().at(offset)) lci::RingPair;
    slots_ = control + data;
    control_ = lci::RingProducer({&block_->control_head, block_->slots(), control});
    data_ = lci::RingProducer({&block_->data_head, block_->slots() + control, data});
    mine_.memory().ring_pair_offset(0, 0).store(offset);
    packet_ = static_cast<uint32_t>(mine_.memory().allocate(mine_.attributes().packet_size) / lci::kPacketUnit);
  }
  /// A packet of its own.
  uint32_t packet() const { return packet_; }
  /// That packet, for a message whose payload is where the packet says: here.
  uint64_t packet_naming(uint64_t offset) {
    std::memcpy(mine_.memory().at(uint64_t{packet_} * lci::kPacketUnit) + lci::kPacketPayloadOffset, &offset,
                sizeof offset);
    return packet_ | lci::kInPlace;
  }
  /// Where its arena ends, and where of the memory that it cuts up the first byte is.
  uint64_t end() const { return mine_.memory().reserve(); }
  uint64_t begin() const { return mine_.memory().doorbell_length(); }

  /// False: there is no room for it.
  /// @param payload LCI_INLINE_MAX bytes, of which goes as much as the receiver looks at; null for zeros.
  bool send(const lci::MessageHeader& header, const void* payload = nullptr) {
    static constexpr uint8_t kZeros[LCI_INLINE_MAX] = {};
    const uint32_t size = payload_bytes(header);
    lci::RingProducer& ring = static_cast<uint32_t>(header.kind) >= 16 ? control_ : data_;
    if (!ring.has_room(lci::slots_for(size))) return false;
    ring.write(header, payload ? payload : kZeros, size);
    ring.publish();
    ring_doorbell();
    return true;
  }
  /// The control messages that rank 0 has sent since the last call. Until then its ring fills.
  std::vector<lci::MessageHeader> take_answers() {
    std::vector<lci::MessageHeader> answers;
    const uint64_t offset = victim_.memory().ring_pair_offset(0, 1).load();
    if (offset == 0) return answers;
    if (!reads_) {
      auto* block = reinterpret_cast<lci::RingPair*>(victim_.memory().at(offset));
      const uint32_t control = victim_.attributes().control_ring_bytes / lci::kSlotBytes;
      answers_ = lci::RingConsumer({&block->control_head, block->slots(), control});
      reads_ = true;
    }
    while (answers_.has_message()) {
      const lci::MessageHeader& answer = answers.emplace_back(answers_.header());
      answers_.advance(answer.kind == lci::MessageKind::kCollective ? lci::slots_for(answer.size) : 1);
    }
    answers_.publish_head();
    return answers;
  }
  /// Says that its rings are elsewhere in its arena.
  void move_rings(uint64_t offset) {
    mine_.memory().ring_pair_offset(0, 0).store(offset);
    ring_doorbell();
  }
  void ring_doorbell() { victim_.memory().summary(0)[1].store(1); }

  /// Writes over one 64-bit word of its rings, be it a sequence number, a header or a payload.
  void scribble_ring(uint32_t word, uint64_t value) {
    constexpr uint32_t kWords = lci::kSlotBytes / sizeof(uint64_t);
    lci::Slot& slot = block_->slots()[word / kWords % slots_];
    if (word % kWords == 0) {
      slot.word.store(value);
    } else {
      std::memcpy(reinterpret_cast<std::byte*>(&slot) + word % kWords * sizeof value, &value, sizeof value);
    }
    ring_doorbell();
  }
  /// What rank 1 may write in rank 0's arena: its head words, and the list of packets that come back. The values are
  /// those of @p random.
  template <typename Random>
  void scribble(Random&& random) {
    lci::OwnMemory& arena = victim_.memory();
    if (const uint64_t offset = arena.ring_pair_offset(0, 1).load()) {
      auto* block = reinterpret_cast<lci::RingPair*>(arena.at(offset));
      block->data_head.store(static_cast<uint32_t>(random() % 64));
      block->control_head.store(static_cast<uint32_t>(random()));
    }
    auto handle = static_cast<uint32_t>(random() % (1u << 14));
    while (handle < (1u << 14) && !victim_.packets().pool().owns(handle)) ++handle;
    if (random() % 4 != 0) arena.header().device[0].returned_packets.overwrite(handle);
    arena.header().device[0].park_slot.store(static_cast<uint32_t>(random()));
    arena.header().park[0].word.store(static_cast<uint32_t>(random() % 2));
  }

 private:
  static uint32_t payload_bytes(const lci::MessageHeader& header) {
    switch (header.kind) {
      case lci::MessageKind::kAmInline:
      case lci::MessageKind::kSendInline:
      case lci::MessageKind::kCollective:
        return std::min(header.size, LCI_INLINE_MAX);
      case lci::MessageKind::kPutData:
      case lci::MessageKind::kGet:
        return sizeof(lci::RemoteAccess);
      case lci::MessageKind::kAtomic:
        return sizeof(lci::AtomicAccess);
      default:
        return sizeof(uint64_t);  // an offset, or a key
    }
  }

  lci::Runtime &victim_, &mine_;
  lci::RingPair* block_ = nullptr;
  uint32_t slots_ = 0;
  lci::RingProducer control_, data_;
  lci::RingConsumer answers_;
  bool reads_ = false;
  uint32_t packet_ = 0;
};

}  // namespace lci_test
