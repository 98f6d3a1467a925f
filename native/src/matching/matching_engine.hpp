// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_MATCHING_MATCHING_ENGINE_HPP_
#define LCI_MATCHING_MATCHING_ENGINE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/attributes.hpp"
#include "lci/lci.h"

namespace lci {

/// Which kind of entry: one kind waits for the other.
enum class Side : uint8_t { kSend, kReceive };

/// The key of (rank, tag) under an ::lci_policy: policy 2, rank 30, tag 32 bits, so that policies never meet. What the
/// policy does not compare is left out. [2B-2, 2B-54]
constexpr uint64_t make_key(uint32_t rank, uint64_t tag, uint32_t policy) {
  const bool with_rank = policy == LCI_POLICY_RANK_TAG || policy == LCI_POLICY_RANK;
  const bool with_tag = policy == LCI_POLICY_RANK_TAG || policy == LCI_POLICY_TAG;
  return (uint64_t{policy & 3u} << 62) | (with_rank ? uint64_t{rank & 0x3FFFFFFFu} << 32 : 0) |
         (with_tag ? tag & 0xFFFFFFFFu : 0);
}

/// Makes the value that an engine is to store: called only if there is no match, so that a match costs nothing. Refers
/// to a function that outlives it. What it makes is stored: nothing may fail afterwards. It runs under the lock of the
/// key's entries and must not call the engine; it may copy a payload: whoever comes for that entry has to wait for the
/// copy anyway.
class ValueMaker {
 public:
  template <typename F>
  explicit ValueMaker(F& make)
      : context_(&make), call_([](void* context) -> void* { return (*static_cast<F*>(context))(); }) {}
  /// Null: nothing is to be stored.
  void* operator()() const { return call_(context_); }

 private:
  void* context_;
  void* (*call_)(void*);
};

/// Where in its engine a value lies, so that remove() finds it without a search. Guarded by the lock of the entries of
/// its key.
struct Place {
  const void* at = nullptr;  ///< Null: in none.
};
/// What values are: bare, or receives that begin with their Place.
enum class Values : uint8_t { kBare, kPlacedReceives };

/**
 * Pairs sends with receives of the same key. Any thread may call anything at any time. Entries of one key and side
 * leave in the order in which they came. [B17, SS-19]
 */
class MatchingEngine {
 public:
  virtual ~MatchingEngine() = default;

  /// Takes the oldest entry of the other side out and returns it; if there is none, stores what @p make makes, if
  /// anything, and returns null. One look-up under one lock.
  virtual void* match_or_store(uint64_t key, Side side, const ValueMaker& make) = 0;
  /// The same for a @p value that is there already (not null).
  void* insert(uint64_t key, void* value, Side side) {
    auto make = [value] { return value; };
    return match_or_store(key, side, ValueMaker(make));
  }
  /// Takes one stored entry out: true if it was there, false if it never was or has been matched. Of placed receives at
  /// a price that does not grow with what is stored; of other values the entries of @p key are searched.
  virtual bool remove(uint64_t key, void* value, Side side) = 0;
  /// Shows every stored entry to @p take, oldest first within a key, and takes out those for which it answers true. It
  /// runs under an internal lock and must not call the engine.
  virtual void extract(const std::function<bool(uint64_t key, void* value, Side side)>& take) = 0;
  /// Stored entries: a walk, for tests.
  virtual size_t size() = 0;

  /// Entries that remove() and extract() have looked at: for tests of what they cost.
  uint64_t walked() const { return walked_.load(std::memory_order_relaxed); }

  /// @param buckets a power of two; ignored by the queue engine
  static std::unique_ptr<MatchingEngine> create(MatchingEngineType type, uint32_t buckets,
                                                Values values = Values::kBare);

 protected:
  void count_walked(uint64_t entries) { walked_.fetch_add(entries, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> walked_{0};
};

}  // namespace lci

#endif  // LCI_MATCHING_MATCHING_ENGINE_HPP_
