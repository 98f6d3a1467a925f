// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_MATCHING_MAP_ENGINE_HPP_
#define LCI_MATCHING_MAP_ENGINE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/lazy_array.hpp"
#include "base/try_lock.hpp"
#include "matching/entry_queue.hpp"
#include "matching/matching_engine.hpp"

namespace lci {

/**
 * Hash table of queues; all values of a queue are of one side, since complementary ones pair at once. [B18]
 *
 * A bucket is two cache lines: its lock and first queue in the first line, two more queues after it. More keys than
 * three go to chained blocks, each with 2n + 1 queues where the one before has n; empty blocks at the end of a chain
 * are freed. Under low load an operation touches one line of the table. The table takes memory only where it is
 * touched. A bucket keeps a few nodes of emptied queues, so that traffic that comes and goes allocates nothing. A
 * placed receive knows its node, so remove() looks at the entries of that node alone.
 *
 * Memory order: everything in a bucket is guarded by its lock, held for one operation; the lock also hands what a value
 * points to from the thread that stored it to the one that takes it out. `touched_`
 * marks pages of the table that were ever written, so that walks over all buckets skip the rest. It is set under the
 * bucket's lock, sequentially consistent and before the value is made: who tells the maker to store nothing, and walks
 * afterwards, finds what was stored all the same.
 */
class MapEngine final : public MatchingEngine {
 public:
  MapEngine(uint32_t buckets, Values values);
  ~MapEngine() override;

  void* match_or_store(uint64_t key, Side side, const ValueMaker& make) override;
  bool remove(uint64_t key, void* value, Side side) override;
  void extract(const std::function<bool(uint64_t, void*, Side)>& take) override;
  size_t size() override;

 private:
  static constexpr uint32_t kInlineQueues = 3;
  static constexpr uint32_t kBucketsPerPage = 32;

  struct Block {
    Block* next;
    uint32_t capacity;
    uint32_t used;
    EntryQueue* queues() { return reinterpret_cast<EntryQueue*>(this + 1); }
  };
  struct alignas(64) Bucket {
    TryLock lock;
    uint8_t used;  // bit i: queues[i] is in use; spares a look at the second line
    Block* chain;
    EntryQueue queues[kInlineQueues];
    SpareNodes spare;
  };
  static_assert(sizeof(Bucket) == 128 && sizeof(Bucket) * kBucketsPerPage == 4096);

  uint32_t index_of(uint64_t key) const;
  void touch(uint32_t index);

  static EntryQueue* find(Bucket& bucket, uint64_t key);
  static void make_room(Bucket& bucket, const EntryQueue* queue);
  static EntryQueue* claim(Bucket& bucket);
  static void release(Bucket& bucket, EntryQueue* queue);
  static void release_emptied(Bucket& bucket);
  static uint32_t free_inline(const Bucket& bucket);
  static Block* free_block(const Bucket& bucket);
  static Block* append_block(Bucket& bucket);
  static void free_blocks(Block* block);
  template <typename Visit>
  static void each_queue(Bucket& bucket, Visit visit);
  template <typename Visit>
  void each_touched_bucket(Visit visit);

  bool placed(Side side) const { return placed_receives_ && side == Side::kReceive; }

  const uint32_t mask_;
  const bool placed_receives_;
  LazyArray<Bucket> buckets_;
  std::vector<std::atomic<bool>> touched_;
};

}  // namespace lci

#endif  // LCI_MATCHING_MAP_ENGINE_HPP_
