// SPDX-License-Identifier: Apache-2.0
#include "pool/packet_pool.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <vector>

#include "base/prefetch.hpp"

#if (defined(LCI_TEST_CHECKS) && LCI_TEST_CHECKS) || defined(LCI_THREAD_SANITIZER) || defined(__SANITIZE_ADDRESS__)
#define LCI_POOL_CHECKED 1
#else
#define LCI_POOL_CHECKED 0
#endif

namespace lci {
namespace {

constexpr uint32_t kUnit = 64;           // bytes that a handle counts
constexpr uint32_t kGrowthBackoff = 64;  // attempts that are skipped after the source refused
/// So much of the next packet is asked for; what follows comes in order, which processors see.
constexpr uint32_t kAskedAhead = 512;

/// Adds under a lock: no read-modify-write is needed, readers are relaxed.
template <typename T>
void add(std::atomic<T>& counter, T amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

/// Handles in a ring that has room for every packet of the pool. All but the atomics is guarded by `lock`.
class alignas(64) PacketPool::Deque {
 public:
  Deque(uint32_t room, uint64_t seed) : room_(room), handles_(new uint32_t[room]), random_(seed) {}

  TryLock lock;
  std::atomic<uint64_t> gets{0};
  std::atomic<uint64_t> puts{0};
  std::atomic<uint64_t> steals{0};
  std::atomic<uint64_t> rejected{0};
  std::atomic<uint64_t> misses{0};  // also counted without the lock

  uint32_t size() const { return size_.load(std::memory_order_relaxed); }

  /// False when full: only possible after a packet was put twice.
  bool push_tail(uint32_t handle) {
    if (size() == room_) return false;
    handles_[wrap(head_ + size())] = handle;
    add(size_, 1u);
    return true;
  }
  bool push_head(uint32_t handle) {
    if (size() == room_) return false;
    head_ = head_ == 0 ? room_ - 1 : head_ - 1;
    handles_[head_] = handle;
    add(size_, 1u);
    return true;
  }
  uint32_t pop_tail() {
    size_.store(size() - 1, std::memory_order_relaxed);
    return handles_[wrap(head_ + size())];
  }
  uint32_t pop_head() {
    const uint32_t handle = handles_[head_];
    head_ = wrap(uint64_t{head_} + 1);
    size_.store(size() - 1, std::memory_order_relaxed);
    return handle;
  }
  uint32_t head() const { return handles_[head_]; }
  uint32_t tail() const { return handles_[wrap(head_ + size() - 1)]; }

  /// A number below @p bound (xorshift; only spread matters).
  uint32_t random_below(uint32_t bound) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<uint32_t>((random_ >> 32) * bound >> 32);
  }

 private:
  uint32_t wrap(uint64_t index) const { return static_cast<uint32_t>(index < room_ ? index : index - room_); }

  const uint32_t room_;
  const std::unique_ptr<uint32_t[]> handles_;
  uint32_t head_ = 0;
  std::atomic<uint32_t> size_{0};
  uint64_t random_;
};

/**
 * Chunks sorted by their first handle. One writer (under PacketPool::growing_), any readers. A chunk above all others
 * is appended: entry first, then the count. Any other one moves entries, which readers notice by `version_`.
 */
class PacketPool::ChunkTable {
 public:
  ChunkTable(uint32_t max_chunks, uint32_t packets_per_chunk, uint32_t max_packets, uint32_t packet_size)
      : entries_(max_chunks), per_chunk_(packets_per_chunk), max_(max_packets), stride_(packet_size / kUnit) {}

  void add(uint32_t first_handle) {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    const uint64_t entry = uint64_t{first_handle} << 32 | count;  // chunks are numbered in the order they came
    if (count == 0 || entries_[count - 1].load(std::memory_order_relaxed) < entry) {
      entries_[count].store(entry, std::memory_order_release);
      count_.store(count + 1, std::memory_order_release);
      return;
    }
    version_.fetch_add(1, std::memory_order_relaxed);
    uint32_t at = count;
    for (; at > 0 && entries_[at - 1].load(std::memory_order_relaxed) > entry; --at) {
      entries_[at].store(entries_[at - 1].load(std::memory_order_relaxed), std::memory_order_release);
    }
    entries_[at].store(entry, std::memory_order_release);
    count_.store(count + 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }

  /// Number of the packet that starts at @p handle, below the pool's bound; kNone if none does.
  uint32_t packet_number(uint32_t handle) const {
    for (SpinWait wait;; wait.step()) {
      const uint32_t before = version_.load(std::memory_order_acquire);
      const uint32_t number = search(handle);
      // The loads of the search are acquire, so this one comes after them.
      if ((before & 1) == 0 && version_.load(std::memory_order_relaxed) == before) return number;
    }
  }
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

 private:
  uint32_t search(uint32_t handle) const {
    uint32_t low = 0;
    uint32_t high = count_.load(std::memory_order_acquire);
    uint64_t found = 0;
    while (low < high) {  // the last chunk that starts at or before the handle
      const uint32_t middle = low + (high - low) / 2;
      const uint64_t entry = entries_[middle].load(std::memory_order_acquire);
      if (entry >> 32 <= handle) {
        found = entry;
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) return kNone;
    const uint32_t distance = handle - static_cast<uint32_t>(found >> 32);
    const uint64_t base = (found & 0xFFFFFFFFu) * per_chunk_;
    const uint32_t packet = distance / stride_;
    if (distance % stride_ != 0 || packet >= std::min<uint64_t>(per_chunk_, max_ - base)) return kNone;
    return static_cast<uint32_t>(base) + packet;
  }

  std::vector<std::atomic<uint64_t>> entries_;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> version_{0};
  const uint32_t per_chunk_;
  const uint32_t max_;
  const uint32_t stride_;
};

/// Test builds know of each packet whether it is in or out, and end the process when it is put twice. [M7]
class PacketPool::PutCheck {
 public:
#if LCI_POOL_CHECKED
  PutCheck(const ChunkTable& chunks, uint32_t max) : chunks_(chunks), out_(max) {}

  void on_get(uint32_t handle) {
    flip(handle, true, "was got twice");
  }
  void on_put(uint32_t handle) {
    flip(handle, false, "was put twice");
  }

 private:
  void flip(uint32_t handle, bool out, const char* misuse) {
    const uint32_t number = chunks_.packet_number(handle);
    if (number == ChunkTable::kNone) stop(handle, "is no packet of this pool");
    if (out_[number].exchange(out, std::memory_order_relaxed) == out) stop(handle, misuse);
  }
  [[noreturn]] static void stop(uint32_t handle, const char* misuse) {
    std::fprintf(stderr, "lci: packet pool: handle %u %s\n", handle, misuse);
    std::abort();
  }

  const ChunkTable& chunks_;
  std::vector<std::atomic<bool>> out_;
#else
  PutCheck(const ChunkTable&, uint32_t) {}
  void on_get(uint32_t) {}
  void on_put(uint32_t) {}
#endif
};

PacketPool::PacketPool(ChunkSource& source, uint32_t packet_size, uint32_t chunk, uint32_t max, uint32_t deques)
    : source_(source),
      packet_size_(packet_size),
      chunk_(std::clamp(chunk, 1u, std::max(max, 1u))),
      max_(max),
      chunks_(std::make_unique<ChunkTable>((max + chunk_ - 1) / chunk_, chunk_, max, packet_size)),
      check_(std::make_unique<PutCheck>(*chunks_, max)) {
  while (this->deques() < deques) add_deque();
}

PacketPool::~PacketPool() = default;

void PacketPool::add_deque() {
  const uint32_t index = deques();
  deques_[index] = std::make_unique<Deque>(max_, 0x9E3779B97F4A7C15u * (index + 1));
  deque_count_.store(index + 1, std::memory_order_release);
}

/// A caller that takes one packet fills it first: meanwhile the lines of the next one come from the peer.
uint32_t PacketPool::get(uint32_t deque) {
  Deque& own = *deques_[deque];
  if (const TryLockGuard guard(own.lock); guard) {
    if (own.size() > 0 || refill(deque)) {
      const uint32_t handle = own.pop_tail();
      check_->on_get(handle);
      add(own.gets, uint64_t{1});
      if (own.size() > 0) ask_for(own.tail());
      return handle;
    }
  }
  own.misses.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

uint32_t PacketPool::get_many(uint32_t deque, uint32_t* out, uint32_t n) {
  Deque& own = *deques_[deque];
  uint32_t taken = 0;
  if (const TryLockGuard guard(own.lock); guard) {
    do {
      for (; taken < n && own.size() > 0; ++taken) {
        out[taken] = own.pop_tail();
        check_->on_get(out[taken]);
      }
    } while (taken < n && refill(deque));
    add(own.gets, uint64_t{taken});
  }
  if (taken < n) own.misses.fetch_add(1, std::memory_order_relaxed);
  return taken;
}

void PacketPool::ask_for(uint32_t handle) const {
  if (packet_size_ < kAskedAhead) return;
  const std::byte* packet = data(handle);
#pragma GCC unroll 8
  for (uint32_t at = 0; at < kAskedAhead; at += kUnit) prefetch_for_write(packet + at);
}

void PacketPool::put_many(uint32_t deque, const uint32_t* handles, uint32_t n, End end) {
  Deque& own = *deques_[deque];
  const std::lock_guard<TryLock> guard(own.lock);
  for (uint32_t i = 0; i < n; ++i) {
    check_->on_put(handles[i]);
    const bool taken = end == End::kHead ? own.push_head(handles[i]) : own.push_tail(handles[i]);
    if (!taken) add(own.rejected, uint64_t{1});
  }
  add(own.puts, uint64_t{n});
}

bool PacketPool::owns(uint32_t handle) const {
  return chunks_->packet_number(handle) != ChunkTable::kNone;
}

uint32_t PacketPool::free_count() const {
  uint32_t sum = 0;
  const uint32_t count = deques();
  for (uint32_t deque = 0; deque < count; ++deque) sum += free_in(deque);
  return sum;
}

uint32_t PacketPool::free_in(uint32_t deque) const {
  return deques_[deque]->size();
}

PacketPoolCounters PacketPool::counters() const {
  PacketPoolCounters sum;
  const uint32_t count = deques();
  for (uint32_t deque = 0; deque < count; ++deque) sum += counters_of(deque);
  return sum;
}

PacketPoolCounters PacketPool::counters_of(uint32_t deque) const {
  const Deque& from = *deques_[deque];
  return {from.gets.load(std::memory_order_relaxed), from.puts.load(std::memory_order_relaxed),
          from.steals.load(std::memory_order_relaxed), from.misses.load(std::memory_order_relaxed),
          from.rejected.load(std::memory_order_relaxed)};
}

/// Brings packets into the caller's own deque, which it has locked.
bool PacketPool::refill(uint32_t deque) {
  return grow(*deques_[deque]) || steal(deque);
}

bool PacketPool::grow(Deque& own) {
  const TryLockGuard guard(growing_);
  const uint32_t existing = capacity_.load(std::memory_order_relaxed);
  if (!guard || existing == max_) return false;
  if (growth_pause_ > 0) {
    --growth_pause_;
    return false;
  }
  const uint32_t count = std::min(chunk_, max_ - existing);
  const uint64_t offset = source_.allocate(size_t{count} * packet_size_);
  const uint64_t end = offset + uint64_t{count} * packet_size_;
  if (offset == 0 || offset % kUnit != 0 || end / kUnit > std::numeric_limits<uint32_t>::max()) {
    growth_pause_ = kGrowthBackoff;
    return false;
  }
  const auto first = static_cast<uint32_t>(offset / kUnit);
  chunks_->add(first);
  for (uint32_t i = count; i-- > 0;) own.push_tail(first + i * (packet_size_ / kUnit));  // lowest address leaves first
  capacity_.store(existing + count, std::memory_order_relaxed);
  return true;
}

bool PacketPool::steal(uint32_t thief) {
  const uint32_t count = deques();
  if (count == 1) return false;
  Deque& own = *deques_[thief];
  Deque& victim = *deques_[(thief + 1 + own.random_below(count - 1)) % count];
  const TryLockGuard guard(victim.lock);  // never waits, so two thieves cannot block each other
  if (!guard || victim.size() == 0) return false;
  for (uint32_t left = (victim.size() + 1) / 2; left > 0; --left) {
    own.push_tail(victim.pop_head());
  }
  add(own.steals, uint64_t{1});
  return true;
}

}  // namespace lci
