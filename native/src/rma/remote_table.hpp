// SPDX-License-Identifier: Apache-2.0
// The regions of other ranks that this rank has opened, by id: index and generation.
//
// find() takes no lock and may run against open and close: a slot's id is cleared (relaxed) before its fields change
// (release stores) and set last (release). A reader loads id and fields with acquire and the id once more: who has seen
// a new field sees that the id has changed. Slots are never freed; a mutex serves those who open and close.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/lazy_array.hpp"
#include "rma/region_table.hpp"

namespace lci {

inline constexpr uint32_t kMaxRemotes = 1u << 20;

/// A region of another rank, or of this one, as its initiator sees it.
struct Remote {
  uint32_t rank = 0;
  uint32_t index = 0;
  uint64_t key = 0;
  uint64_t size = 0;
  std::byte* memory = nullptr;                        ///< Where the initiator can copy; null: the target does the work.
  const std::atomic<uint64_t>* shared_key = nullptr;  ///< Null: only the target knows whether the region has ended.
};

class RemoteTable {
 public:
  RemoteTable() : slots_(kMaxRemotes) {}

  /// False: all are taken.
  bool add(const Remote& remote, uint64_t* id);
  bool find(uint64_t id, Remote* out) const;
  bool remove(uint64_t id);

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> id;  ///< 0: closed.
    std::atomic<uint64_t> rank_and_index;
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> size;
    std::atomic<std::byte*> memory;
    std::atomic<const std::atomic<uint64_t>*> shared_key;
    uint32_t generation;
  };

  LazyArray<Slot> slots_;
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
};

}  // namespace lci
