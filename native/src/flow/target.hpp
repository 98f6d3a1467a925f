// SPDX-License-Identifier: Apache-2.0
// The target of a message, a port or a matching engine, as flow control sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "flow/capacity.hpp"
#include "flow/keys.hpp"
#include "lci/lci.h"

namespace lci {

/// FNV-1a; 0 stands for "no name given" and matches any.
uint32_t hash_name(const std::string& name);

class Target {
 public:
  enum class State : uint32_t { kNever, kOpen, kClosed };
  virtual ~Target() = default;

  bool is_open() const { return state.load(std::memory_order_acquire) == State::kOpen; }
  /// Keys that have room coming are looked at again by their devices. Any thread.
  void wake_waiting();
  /// The port opened or closed: every key is looked at. Any thread.
  void wake_all();
  /// Credit of a generation that no key holds any more, and what of it was lent. Any thread.
  void give(Credit credit, Credit lent, uint32_t generation_of_credit) {
    capacity.give(credit, lent, generation_of_credit);
    if (waiting_keys.load(std::memory_order_relaxed) != 0) wake_waiting();
  }
  /// A message of @p size that was to come has come, or never will. Any thread.
  void came(Credit taken, uint64_t size, uint32_t generation_of_credit) {
    capacity.came(taken, size, generation_of_credit);
    if (waiting_keys.load(std::memory_order_relaxed) != 0) wake_waiting();
  }
  void add_key(InKey* key);
  /// Each lease holder's fair part of what leases may take.
  Credit fair_share() const;
  /// Asks the other holders to give unused credit back. Any thread.
  void recall_from_others(const InKey* asking);

  std::atomic<State> state{State::kNever};
  std::atomic<uint32_t> generation{0};         ///< Counts openings.
  std::atomic<uint32_t> closed_generation{0};  ///< The last one that ended.
  /// What senders are told of a closed one: LCI_ERR_PORT_CLOSED, or LCI_ERR_PEER_LEFT if it ends with its rank. Whoever
  /// sees the state kClosed sees it.
  std::atomic<int> closed_as{LCI_ERR_PORT_CLOSED};
  std::atomic<uint32_t> holders{0};
  std::atomic<uint32_t> waiting_keys{0};  ///< Keys with an announcement that found no room.
  std::atomic<uint32_t> left_behind{0};   ///< Announced messages of ranks that are gone, which wait here.
  std::atomic<uint32_t> name_hash{0};     ///< Of an engine: whose keys it has; see sender_hash().
  /// Whether senders need credit. Who acquires what an opening says of it sees that the one before has ended.
  std::atomic<bool> credited{true};
  Capacity capacity;

 private:
  std::mutex mutex_;  // keys join once per (device, rank); walked on open, close, recall and shortage
  std::vector<InKey*> keys_;
};

}  // namespace lci
