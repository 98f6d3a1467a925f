// SPDX-License-Identifier: Apache-2.0
// The pair of rings between one of our devices and the device of the same number of a peer, with the flow-control keys
// that run over it. Touched only by the owner of the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "flow/keys.hpp"
#include "lci/lci.h"
#include "protocol/contexts.hpp"
#include "transport/chaos/chaos.hpp"
#include "transport/memory/peer_memory.hpp"
#include "transport/memory/ring_pair.hpp"

namespace lci {

class Device;
class Handed;
struct SendContext;

/// Puts, gets and atomic operations through messages that one device may have under way at one rank: what the other
/// side has to remember. [X1]
inline constexpr uint32_t kMaxRemoteOperations = 256;

/// Rendezvous that one device may have announced to a port that gives no credit, and had no answer to; and the bytes of
/// them that the receiver makes room for at a time, a longer one alone. [X8]
inline constexpr uint32_t kMaxUncreditedRendezvous = 64;
inline constexpr uint64_t kUncreditedBytes = 2u << 20;

/// The receiver's context for which nothing more comes, and why.
struct Withdrawal {
  uint64_t receiver;
  int code;  ///< 0: the sender has given up. Else it is a get that ended so.
};

/// What a peer is to learn of one of its puts.
struct PutAck {
  uint64_t put;
  uint64_t bytes;
  int code;
};

/// The answer to an atomic operation of a peer.
struct AtomicAnswer {
  uint64_t operation;
  uint64_t before;
  int code;
};

/// A message of a collective that met no context.
struct UnknownMessage {
  uint64_t context, tag;
  uint16_t step;
  bool agrees;  ///< A word of an agreement, which may have an outcome.
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

template <typename T>
[[gnu::noinline]] void grow_by(std::vector<T>* list, size_t more) {
  list->reserve(std::max<size_t>(16, 2 * (list->size() + more)));
}

/// Room for one more, or so many, so that adding them, when what they stand for has happened, cannot fail.
template <typename T>
void make_room(std::vector<T>* list, size_t more = 1) {
  if (list->capacity() - list->size() < more) grow_by(list, more);
}

struct Link {
  Device* device = nullptr;
  uint32_t device_index = 0;
  Handed* handed = nullptr;  ///< What other threads leave for the device.
  uint32_t rank = 0;
  PeerMemory* peer = nullptr;  ///< Null only of a rank that is gone and never spoke to this one.
  bool shares_memory = false;  ///< Each reads all of the other one's memory that it is told of.

  // towards the peer
  bool out_open = false;
  bool awaits_device = false;  ///< The peer has no device of this number: what is posted is refused until it has.
  RingProducer data_out, control_out;
  KeyTable<OutKey> out_keys;
  OutKey* queued_returns = nullptr;   ///< Keys whose credit goes back when the control ring has room.
  uint64_t full_batch = 0;            ///< Batch in which the data ring was full.
  bool wants_room = false;            ///< Somebody was told nomem.
  bool wants_remote = false;          ///< Somebody was told that there are too many remote operations.
  bool touched = false;               ///< Written to since the last doorbell.
  uint32_t announced[2] = {};         ///< Packets that are out with an announcement, by their colour.
  std::vector<SendContext*> streams;  ///< Rendezvous whose receiver is ready.
  std::vector<Withdrawal> withdrawals;
  WaitingList waiting;               ///< Of graphs: what has no key and found no room.
  uint32_t remote_operations = 0;    ///< Ours at the peer, through messages.
  std::vector<SignalRight> signals;  ///< Data is in place; the signal waits for room. The oldest is first.
  uint64_t signals_numbered = 0;     ///< That came there so far,
  uint64_t signals_marked = 0;       ///< and so many of them are before a fence.
  std::vector<uint64_t> asks;        ///< Gets whose next range is to be asked for when there is room.
  std::unique_ptr<LinkChaos> chaos;

  // from the peer
  bool in_open = false;
  bool ready = false;  ///< In the device's list of links that may hold messages.
  RingConsumer data_in, control_in;
  KeyTable<InKey> in_keys;
  InKey* queued_control = nullptr;     ///< Keys with grants, recalls or refusals to send,
  bool refuses_engine = false;         ///< one of them the refusal of an engine.
  std::vector<uint64_t> queued_ready;  ///< Receive contexts whose "ready" waits for room.
  std::vector<uint32_t> packets_back;  ///< Packets of the peer that go back at the end of the pass.
  std::vector<PutAck> put_acks;
  std::vector<AtomicAnswer> atomic_answers;
  std::vector<UnknownMessage> unknown;  ///< Whose sender is to be told.
  uint32_t served_gets = 0;             ///< The peer's at us, with those of whose end it has not been told.
  uint64_t uncredited_bytes = 0;        ///< Taken by rendezvous that come without credit,
  bool uncredited_wait = false;         ///< and others wait for them to end.

  bool broken = false;     ///< The peer sent nonsense: nothing more of it is looked at.
  bool failed = false;     ///< The peer is gone: what is bound to it ends,
  size_t ended_steps = 0;  ///< and so many steps of that are done.
  bool reclaimed = false;  ///< So are the packets that it had.
  /// What waits for room in its rings is dropped: the peer is gone.
  void drop_queues() {
    streams.clear();
    queued_ready.clear();
    withdrawals.clear();
    put_acks.clear();
    atomic_answers.clear();
    unknown.clear();
    signals.clear();
    asks.clear();
    queued_control = nullptr;
    queued_returns = nullptr;
    if (chaos) chaos->drop();
  }
  bool out_queued() const {
    return queued_returns || queued_control || !queued_ready.empty() || !withdrawals.empty() || !signals.empty() ||
           !asks.empty() || !put_acks.empty() || !atomic_answers.empty() || !unknown.empty();
  }
  bool may_put_and_get() const { return remote_operations + signals.size() < kMaxRemoteOperations; }
};

}  // namespace lci
