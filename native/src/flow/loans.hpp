// SPDX-License-Identifier: Apache-2.0
// Packets of peers in which arrivals lie that their user has not freed: zero-copy delivery. [B14, SS-21]
//
// What is known of a loan is kept here, in private memory: nothing is read from the packet, whose bytes are the peer's.
//
// Memory orders and callers: lend() by whoever owns the device on which the packet came, take_back() by any thread, and
// once: its compare-and-swap of the handle is an acquire that pairs with the release in lend(), so the entry is read
// before it can be used again. Entries of a rank appear when it lends first; the pointer is published by a release.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "flow/capacity.hpp"

namespace lci {

struct InKey;

/// Whom to credit when an arrival is freed.
struct Charge {
  InKey* key = nullptr;
  Credit credit;
  uint32_t generation = 0;
  uint64_t request = 0;  ///< Where the reply to it may go; 0: it asks for none.
};

class Loans {
 public:
  /// @param entries packets that an arena can hold, @p unit apart (in units of a handle)
  /// @param most packets of one rank that may be lent at a time; beyond it arrivals are copied, so that a user who
  ///        keeps what he gets does not take all packets of its senders
  Loans(uint32_t ranks, uint64_t entries, uint32_t unit, uint32_t most)
      : ranks_(std::make_unique<Rank[]>(ranks)), size_(ranks), entries_(entries), unit_(unit), most_(most) {}
  ~Loans() {
    for (uint32_t rank = 0; rank < size_; ++rank) std::free(ranks_[rank].entries.load(std::memory_order_relaxed));
  }
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  /// False: the arrival is to be copied.
  bool lend(uint32_t rank, uint32_t handle, const Charge& charge) {
    Rank& from = ranks_[rank];
    if (from.lent.load(std::memory_order_relaxed) >= most_) return false;
    Entry* entry = find(from, handle, true);
    uint32_t expected = kFree;
    if (!entry || !entry->handle.compare_exchange_strong(expected, kWriting, std::memory_order_acquire)) return false;
    from.lent.fetch_add(1, std::memory_order_relaxed);
    entry->charge = charge;
    entry->handle.store(handle, std::memory_order_release);
    return true;
  }
  /// False: it is not lent, or was taken back before.
  bool take_back(uint32_t rank, uint32_t handle, Charge* out) {
    if (rank >= size_ || handle <= kWriting) return false;
    Entry* entry = find(ranks_[rank], handle, false);
    if (!entry || entry->handle.load(std::memory_order_acquire) != handle) return false;
    uint32_t expected = handle;
    if (!entry->handle.compare_exchange_strong(expected, kWriting, std::memory_order_acquire)) return false;
    *out = entry->charge;
    entry->handle.store(kFree, std::memory_order_release);
    ranks_[rank].lent.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  uint32_t lent(uint32_t rank) const { return ranks_[rank].lent.load(std::memory_order_relaxed); }

 private:
  // No packet has these handles: they would lie in an arena's header.
  static constexpr uint32_t kFree = 0, kWriting = 1;
  struct Entry {
    std::atomic<uint32_t> handle;
    Charge charge;
  };
  struct Rank {
    std::atomic<Entry*> entries{nullptr};
    std::atomic<uint32_t> lent{0};
  };

  Entry* find(Rank& rank, uint32_t handle, bool make) {
    const uint64_t index = handle / unit_;
    if (index >= entries_) return nullptr;
    Entry* entries = rank.entries.load(std::memory_order_acquire);
    if (!entries && make) {
      // Zeroed, and touched where it is used only.
      auto* fresh = static_cast<Entry*>(std::calloc(entries_, sizeof(Entry)));
      if (!fresh) return nullptr;
      if (rank.entries.compare_exchange_strong(entries, fresh, std::memory_order_acq_rel)) {
        entries = fresh;
      } else {
        std::free(fresh);
      }
    }
    return entries ? entries + index : nullptr;
  }

  const std::unique_ptr<Rank[]> ranks_;
  const uint32_t size_;
  const uint64_t entries_;
  const uint32_t unit_;
  const uint32_t most_;
};

}  // namespace lci
