// SPDX-License-Identifier: Apache-2.0
// A matching engine as a target of messages: a domain of its own, with its own capacity. [B17-B21]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flow/target.hpp"
#include "matching/matching_engine.hpp"
#include "protocol/run_floors.hpp"

namespace lci {

/// How an engine matches from one creation to its end. Never changes, and stays until the runtime goes.
struct Matcher {
  MatchingEngine* entries = nullptr;
  lci_make_key_fn make_key = nullptr;  ///< Null: see keyed.
  void* argument = nullptr;
  bool keyed = false;  ///< Keys are the users': made by make_key, or given with each operation. They travel. [2B-54]

  /// The key of an operation of this rank. @p rank: the source; @p policy: what wildcards have made of it.
  uint64_t key(const lci_descriptor& op, uint32_t rank, uint32_t policy) const {
    if (make_key) return make_key(rank, op.tag, policy, argument);
    return keyed ? op.u.ref.remote : lci::make_key(rank, op.tag, policy);
  }
};

/**
 * Memory order: matcher() is null while the engine is not open. Who is going to insert says so first (Device::Holding),
 * then looks at the matcher; close() takes the matcher away, then looks who inserts: all of it sequentially consistent,
 * so that one of the two sees the other. Engine 0 is never closed and spares this.
 *
 * left_behind is counted down, and the devices that have read all that a gone rank sent are counted, sequentially
 * consistently: whichever is the last to change, who changes it ends the receives that nothing comes for. It is counted
 * up before its device is counted.
 */
class Engine final : public Target {
 public:
  explicit Engine(uint32_t number) : index(number) {}
  const uint32_t index;
  RunFloors floors;  ///< Runs of graphs below which sends are not stored.
  MatchingEngineType type() const { return type_.load(std::memory_order_relaxed); }

  const Matcher* matcher() const { return matcher_.load(std::memory_order_seq_cst); }
  /// Whether sends of ranks that are gone may still come to it: they were announced before it was created.
  bool keeps_left_behind() const { return left_behind.load(std::memory_order_seq_cst) != 0; }
  /// Shows every entry to @p take, as MatchingEngine::extract does; nothing when the engine is not open.
  void extract(const std::function<bool(uint64_t key, void* value, Side side)>& take) const {
    if (const Matcher* matcher = this->matcher()) matcher->entries->extract(take);
  }

  // Under the lock of the runtime's registry:
  void open(MatchingEngineType type, uint32_t buckets, Matcher matcher);
  /// @return what is to be emptied when no device holds it any more.
  const Matcher* close();

 private:
  std::atomic<const Matcher*> matcher_{nullptr};
  std::atomic<MatchingEngineType> type_{MatchingEngineType::kMap};
  std::unique_ptr<MatchingEngine> entries_[2];  // by type; used again by a later creation
  std::vector<std::unique_ptr<const Matcher>> matchers_;
};

}  // namespace lci
