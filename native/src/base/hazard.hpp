// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_HAZARD_HPP_
#define LCI_BASE_HAZARD_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/try_lock.hpp"

namespace lci {

/**
 * Hazard pointers: objects that were unlinked from a lock-free structure are deleted when no operation reads them.
 *
 * A record belongs to an operation, not to a thread: the swap that claims it publishes what it protects as well, and
 * the end of the operation frees it. So there are as many records as operations were ever under way at once, and any
 * number of short-lived threads needs no identity and leaves nothing behind. Records live as long as the domain.
 *
 * Who may call: any thread. An object is retired once, by whoever made it unreachable. The destructor of the domain
 * comes after the last operation, and deletes what is retired.
 *
 * Memory order: publishing, looking at the source again, unlinking and scanning are sequentially consistent: either the
 * scan sees the record, or the operation sees that the object was unlinked. Freeing a record releases, scanning
 * acquires: the last read comes before the deletion.
 *
 * T has a member `T* next_retired`, which belongs to the domain from retire() on.
 */
template <typename T>
class HazardDomain {
  struct alignas(64) Record {
    std::atomic<T*> object{nullptr};
  };
  struct Block {
    std::array<Record, 16> records;
    std::atomic<Block*> next{nullptr};
  };

 public:
  HazardDomain() = default;
  ~HazardDomain() {
    for (T* object = retired_.load(); object != nullptr;) delete std::exchange(object, object->next_retired);
    for (Block* block = first_.next.load(); block != nullptr;) delete std::exchange(block, block->next.load());
  }
  HazardDomain(const HazardDomain&) = delete;
  HazardDomain& operator=(const HazardDomain&) = delete;

  /// Protects what @p source points to (not null) for a scope.
  class Guard {
   public:
    Guard(HazardDomain& domain, const std::atomic<T*>& source)
        : object_(source.load(std::memory_order_acquire)), record_(domain.claim(object_)) {
      for (T* now; (now = source.load(std::memory_order_seq_cst)) != object_;) {
        object_ = now;
        record_.object.exchange(now, std::memory_order_seq_cst);
      }
    }
    ~Guard() { record_.object.store(nullptr, std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    T* operator->() const { return object_; }
    T* get() const { return object_; }

   private:
    T* object_;
    Record& record_;
  };

  /// Deletes @p object, which nobody can reach any more, now or when a later call finds it unprotected.
  void retire(T* object) {
    push_retired(object);
    for (T* each = retired_.exchange(nullptr, std::memory_order_acq_rel); each != nullptr;) {
      T* const examined = std::exchange(each, each->next_retired);
      if (is_protected(examined)) {
        push_retired(examined);
      } else {
        delete examined;
      }
    }
  }

 private:
  Record& claim(T* object) {
    const size_t start = spread();
    for (SpinWait wait;; wait.step()) {  // a second round only when there is no memory for one more block
      for (Block* block = &first_; block != nullptr; block = next(*block)) {
        for (size_t i = 0; i < block->records.size(); ++i) {
          Record& record = block->records[(start + i) % block->records.size()];
          T* expected = nullptr;
          if (record.object.load(std::memory_order_relaxed) == nullptr &&
              record.object.compare_exchange_strong(expected, object, std::memory_order_seq_cst)) {
            return record;
          }
        }
      }
    }
  }
  /// The block after @p block, added if need be; null when there is no memory.
  static Block* next(Block& block) {
    Block* known = block.next.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    Block* fresh = new (std::nothrow) Block;
    if (fresh == nullptr) return nullptr;
    if (block.next.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
    delete fresh;
    return known;
  }
  /// Where a thread begins to look, so that threads seldom meet.
  static size_t spread() {
    static thread_local char anchor;
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(&anchor) >> 6) * 0x9E3779B97F4A7C15u >> 60);
  }
  bool is_protected(const T* object) const {
    for (const Block* block = &first_; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
      for (const Record& record : block->records) {
        if (record.object.load(std::memory_order_seq_cst) == object) return true;
      }
    }
    return false;
  }
  void push_retired(T* object) {
    T* top = retired_.load(std::memory_order_relaxed);
    do {
      object->next_retired = top;
    } while (!retired_.compare_exchange_weak(top, object, std::memory_order_release, std::memory_order_relaxed));
  }

  Block first_;
  std::atomic<T*> retired_{nullptr};
};

}  // namespace lci

#endif  // LCI_BASE_HAZARD_HPP_
