// SPDX-License-Identifier: Apache-2.0
// The pair of rings between one of our devices and the device of the same number of a peer, with the flow-control keys
// that run over it. Touched only by the owner of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flow/keys.hpp"
#include "lci/lci.h"
#include "transport/shm/arena.hpp"
#include "transport/shm/ring.hpp"

namespace lci {

class Device;
struct SendContext;
class ChannelChaos;

/// What the sender cuts from its arena for one channel.
struct ChannelBlock {
  alignas(64) std::atomic<uint32_t> data_head;
  alignas(64) std::atomic<uint32_t> control_head;
  // control slots, then data slots, follow
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  static uint64_t bytes(uint32_t control_slots, uint32_t data_slots) {
    return sizeof(ChannelBlock) + uint64_t{control_slots + data_slots} * kSlotBytes;
  }
};

/// A vector indexed by target number: user ports and engines, each grown when first named.
template <typename Key>
class KeyTable {
 public:
  Key* find(uint16_t target) const {
    const auto& keys = target & kEngineTarget ? engines_ : ports_;
    const uint32_t index = target & ~kEngineTarget;
    return index < keys.size() ? keys[index].get() : nullptr;
  }
  Key& add(uint16_t target) {
    auto& keys = target & kEngineTarget ? engines_ : ports_;
    const uint32_t index = target & ~kEngineTarget;
    if (index >= keys.size()) keys.resize(index + 1);
    keys[index] = std::make_unique<Key>();
    return *keys[index];
  }
  template <typename F>
  void for_each(F visit) {
    for (auto* keys : {&ports_, &engines_}) {
      for (auto& key : *keys) {
        if (key) visit(*key);
      }
    }
  }

 private:
  std::vector<std::unique_ptr<Key>> ports_, engines_;
};

struct Channel {
  Device* device = nullptr;
  uint32_t rank = 0;
  Arena* peer = nullptr;

  // towards the peer
  bool out_open = false;
  RingProducer data_out, control_out;
  KeyTable<OutKey> out_keys;
  OutKey* queued_returns = nullptr;   ///< Keys whose credit goes back when the control ring has room.
  uint64_t full_batch = 0;            ///< Batch in which the data ring was full.
  bool wants_room = false;            ///< Somebody was told nomem.
  bool touched = false;               ///< Written to since the last doorbell.
  std::vector<SendContext*> streams;  ///< Rendezvous whose receiver is ready.
  std::vector<uint64_t> withdrawals;  ///< The peer's receive contexts for which nothing more comes.
  std::unique_ptr<ChannelChaos> chaos;

  // from the peer
  bool in_open = false;
  bool ready = false;  ///< In the device's list of channels that may hold messages.
  RingConsumer data_in, control_in;
  KeyTable<InKey> in_keys;
  InKey* queued_control = nullptr;     ///< Keys with grants, recalls or refusals to send.
  std::vector<uint64_t> queued_ready;  ///< Receive contexts whose "ready" waits for room.
  std::vector<uint32_t> packets_back;  ///< Packets of the peer that go back at the end of the pass.

  bool broken = false;  ///< The peer sent nonsense: nothing more of it is looked at.
  bool failed = false;  ///< The peer is gone and its failure was handled.
  bool out_queued() const { return queued_returns || queued_control || !queued_ready.empty() || !withdrawals.empty(); }
};

}  // namespace lci
