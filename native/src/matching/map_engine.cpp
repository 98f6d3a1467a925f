// SPDX-License-Identifier: Apache-2.0
#include "matching/map_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace lci {
namespace {

/// Spreads every bit of the key over the low bits (the finalizer of a 64-bit Murmur hash).
uint64_t mix(uint64_t key) {
  key = (key ^ (key >> 33)) * 0xFF51AFD7ED558CCDu;
  key = (key ^ (key >> 33)) * 0xC4CEB9FE1A85EC53u;
  return key ^ (key >> 33);
}

}  // namespace

MapEngine::MapEngine(uint32_t buckets, Values values)
    : mask_(std::bit_ceil(std::max(buckets, 1u)) - 1),
      placed_receives_(values == Values::kPlacedReceives),
      buckets_(size_t{mask_} + 1),
      touched_(size_t{mask_} / kBucketsPerPage + 1) {}

MapEngine::~MapEngine() {
  each_touched_bucket([](Bucket& bucket) {
    each_queue(bucket, [&](EntryQueue& queue) { queue.clear(bucket.spare); });
    bucket.spare.clear();
    free_blocks(bucket.chain);
  });
}

void* MapEngine::match_or_store(uint64_t key, Side side, const ValueMaker& make) {
  const uint32_t index = index_of(key);
  Bucket& bucket = buckets_[index];
  const std::lock_guard<TryLock> guard(bucket.lock);

  EntryQueue* queue = find(bucket, key);
  if (queue != nullptr && queue->side() != side) {
    void* matched = queue->pop(bucket.spare, placed(queue->side()));
    if (queue->empty()) release(bucket, queue);
    return matched;
  }
  touch(index);  // before: what make() looks at may tell others to walk the entries
  make_room(bucket, queue);
  void* value = make();  // may throw: nothing has changed yet; afterwards nothing does
  if (value == nullptr) return nullptr;
  if (queue == nullptr) {
    queue = claim(bucket);
    queue->open(key, side);
  }
  queue->push(value, bucket.spare, placed(side));
  return nullptr;
}

bool MapEngine::remove(uint64_t key, void* value, Side side) {
  const uint32_t index = index_of(key);
  Bucket& bucket = buckets_[index];
  const std::lock_guard<TryLock> guard(bucket.lock);

  EntryQueue* queue = find(bucket, key);
  if (queue == nullptr || queue->side() != side) return false;
  size_t looked_at = 0;
  const bool found = queue->remove(value, bucket.spare, placed(side), &looked_at);
  count_walked(looked_at);
  if (queue->empty()) release(bucket, queue);
  return found;
}

void MapEngine::extract(const std::function<bool(uint64_t, void*, Side)>& take) {
  each_touched_bucket([&](Bucket& bucket) {
    const std::lock_guard<TryLock> guard(bucket.lock);
    each_queue(bucket, [&](EntryQueue& queue) {
      count_walked(queue.extract(bucket.spare, placed(queue.side()),
                                 [&](void* value) { return take(queue.key(), value, queue.side()); }));
    });
    release_emptied(bucket);  // afterwards: the last one of a block may free it
  });
}

size_t MapEngine::size() {
  size_t sum = 0;
  each_touched_bucket([&](Bucket& bucket) {
    const std::lock_guard<TryLock> guard(bucket.lock);
    each_queue(bucket, [&](EntryQueue& queue) { sum += queue.size(); });
  });
  return sum;
}

uint32_t MapEngine::index_of(uint64_t key) const {
  return static_cast<uint32_t>(mix(key)) & mask_;
}

void MapEngine::touch(uint32_t index) {
  std::atomic<bool>& touched = touched_[index / kBucketsPerPage];
  if (!touched.load(std::memory_order_acquire)) touched.store(true, std::memory_order_seq_cst);
}

EntryQueue* MapEngine::find(Bucket& bucket, uint64_t key) {
  for (uint32_t i = 0; i < kInlineQueues; ++i) {
    if ((bucket.used >> i & 1) != 0 && bucket.queues[i].key() == key) return &bucket.queues[i];
  }
  for (Block* block = bucket.chain; block != nullptr; block = block->next) {
    EntryQueue* end = block->queues() + block->capacity;
    EntryQueue* found =
        std::find_if(block->queues(), end, [&](const EntryQueue& each) { return !each.empty() && each.key() == key; });
    if (found != end) return found;
  }
  return nullptr;
}

uint32_t MapEngine::free_inline(const Bucket& bucket) {
  return static_cast<uint32_t>(std::countr_one(bucket.used));
}

/// A block with an empty queue, or null.
MapEngine::Block* MapEngine::free_block(const Bucket& bucket) {
  Block* block = bucket.chain;
  while (block != nullptr && block->used == block->capacity) block = block->next;
  return block;
}

/// For one more entry, in @p queue or, if that is null, in one that is to be claimed.
void MapEngine::make_room(Bucket& bucket, const EntryQueue* queue) {
  if (queue != nullptr) return queue->make_room(bucket.spare);
  if (free_inline(bucket) >= kInlineQueues && free_block(bucket) == nullptr) append_block(bucket);
}

/// An empty queue, for which there is room, and which the caller must fill before the lock is released.
EntryQueue* MapEngine::claim(Bucket& bucket) {
  const uint32_t at = free_inline(bucket);
  if (at < kInlineQueues) {
    bucket.used = static_cast<uint8_t>(bucket.used | 1u << at);
    return &bucket.queues[at];
  }
  Block* block = free_block(bucket);
  ++block->used;
  EntryQueue* end = block->queues() + block->capacity;
  return std::find_if(block->queues(), end, [](const EntryQueue& each) { return each.empty(); });
}

/// Gives an emptied queue back, and frees the blocks at the end of the chain that hold nothing.
void MapEngine::release(Bucket& bucket, EntryQueue* queue) {
  if (queue >= bucket.queues && queue < bucket.queues + kInlineQueues) {
    bucket.used = static_cast<uint8_t>(bucket.used & ~(1u << (queue - bucket.queues)));
    return;
  }
  Block** end = &bucket.chain;
  for (Block** link = &bucket.chain; *link != nullptr; link = &(*link)->next) {
    Block* block = *link;
    if (queue >= block->queues() && queue < block->queues() + block->capacity) --block->used;
    if (block->used > 0) end = &block->next;
  }
  free_blocks(*end);
  *end = nullptr;
}

/// The same of all queues that are empty.
void MapEngine::release_emptied(Bucket& bucket) {
  for (uint32_t i = 0; i < kInlineQueues; ++i) {
    if (bucket.queues[i].empty()) bucket.used = static_cast<uint8_t>(bucket.used & ~(1u << i));
  }
  Block** end = &bucket.chain;
  for (Block** link = &bucket.chain; *link != nullptr; link = &(*link)->next) {
    Block* const block = *link;
    const auto is_used = [](const EntryQueue& queue) { return !queue.empty(); };
    block->used = static_cast<uint32_t>(std::count_if(block->queues(), block->queues() + block->capacity, is_used));
    if (block->used > 0) end = &block->next;
  }
  free_blocks(*end);
  *end = nullptr;
}

MapEngine::Block* MapEngine::append_block(Bucket& bucket) {
  uint32_t capacity = kInlineQueues;
  Block** link = &bucket.chain;
  for (; *link != nullptr; link = &(*link)->next) capacity = (*link)->capacity;
  capacity = 2 * capacity + 1;
  // Zero bytes are an empty block of empty queues.
  auto* block = static_cast<Block*>(std::calloc(1, sizeof(Block) + capacity * sizeof(EntryQueue)));
  if (block == nullptr) throw std::bad_alloc();
  block->capacity = capacity;
  *link = block;
  return block;
}

void MapEngine::free_blocks(Block* block) {
  while (block != nullptr) {
    Block* next = block->next;
    std::free(block);
    block = next;
  }
}

template <typename Visit>
void MapEngine::each_queue(Bucket& bucket, Visit visit) {
  for (uint32_t i = 0; i < kInlineQueues; ++i) {
    if ((bucket.used >> i & 1) != 0) visit(bucket.queues[i]);
  }
  for (Block* block = bucket.chain; block != nullptr; block = block->next) {
    for (uint32_t i = 0; i < block->capacity; ++i) {
      if (!block->queues()[i].empty()) visit(block->queues()[i]);
    }
  }
}

template <typename Visit>
void MapEngine::each_touched_bucket(Visit visit) {
  for (uint32_t page = 0; page < touched_.size(); ++page) {
    if (!touched_[page].load(std::memory_order_seq_cst)) continue;
    const uint32_t first = page * kBucketsPerPage;
    const uint32_t end = std::min(first + kBucketsPerPage, mask_ + 1);
    for (uint32_t index = first; index < end; ++index) visit(buckets_[index]);
  }
}

}  // namespace lci
