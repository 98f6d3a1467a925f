// SPDX-License-Identifier: Apache-2.0
// The completion object of kind "lane": one drainer, no atomics for arrivals of its own loop's devices, a queue of heap
// nodes for those of others. What is not drained is stored here, within the port's capacity.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/kept_ranges.hpp"
#include "base/mpsc_stack.hpp"
#include "base/ring_queue.hpp"
#include "device/device.hpp"
#include "protocol/lane_view.hpp"
#include "protocol/port.hpp"

namespace lci {

class Inbox;
class Lane;

/// Where the bytes of a message lie that are not in its record.
struct StoredPlace {
  std::byte* bytes = nullptr;
  uint32_t taken = 0;   ///< Of the inbox's ring.
  bool owned = false;   ///< In an ArrivalBuffer.
  uint32_t packet = 0;  ///< In this packet of its sender, which is lent to us.
};

/// Bytes for stored payloads: allocated and freed in order, in a range that Java has mapped. Owner: the home lane.
class PayloadRing {
 public:
  /// Reserves address space; memory is touched as used. @return false when the system refuses.
  bool reserve(uint64_t bytes);
  ~PayloadRing();
  PayloadRing() = default;
  PayloadRing(const PayloadRing&) = delete;
  PayloadRing& operator=(const PayloadRing&) = delete;

  PayloadRing(PayloadRing&& other) noexcept { *this = std::move(other); }
  PayloadRing& operator=(PayloadRing&& other) noexcept {
    std::swap(range_, other.range_);
    std::swap(tail_, other.tail_);
    std::swap(used_, other.used_);
    return *this;
  }
  /// Nothing of what was stored is needed any more; its memory goes, its range stays.
  void clear();

  /// Contiguous room, or null. @p taken: what free() is to be told.
  std::byte* allocate(uint32_t bytes, uint32_t* taken);
  void free(uint32_t taken);
  std::byte* base() const { return range_.base; }
  uint64_t length() const { return range_.bytes; }

 private:
  KeptRanges::Range range_;
  uint64_t tail_ = 0, used_ = 0;
};

/// The inboxes of a port that several lanes take. Filled under the lock of the runtime's ports; what devices read of it
/// was written before the port opened.
struct PortParts {
  std::string name;
  std::vector<Inbox*> inboxes;
  uint32_t attached = 0;

  Inbox& of(uint64_t tag) const { return *inboxes[tag % inboxes.size()]; }
};

class Inbox final : public InboxView {
 public:
  Inbox(Lane& lane, Port& port, uint32_t index) : lane_(lane), port_(port), index_(index) {}
  ~Inbox();
  /// @p spare: ranges to use again.
  bool open(uint32_t messages, uint64_t bytes, uint32_t max_eager, std::vector<PayloadRing>& spare);
  /// Home lane, before it is freed: its range goes to the spare ones. @return messages that were thrown away.
  uint64_t end(std::vector<PayloadRing>& spare);

  bool arrive(Device& device, const Arrival& arrival, const Payload& payload, std::byte* owned) override {
    Inbox& home = parts_ ? parts_->of(arrival.tag) : *this;
    return home.take(device, arrival, payload, owned);
  }
  /// Home lane, before the port opens.
  void set_parts(std::shared_ptr<PortParts> parts) { parts_ = std::move(parts); }
  /// Null: the port has no parts. Home lane.
  PortParts* parts() const { return parts_.get(); }
  /// Home lane: moves what other loops pushed into the store. True if anything came.
  bool take_pushed();
  bool has_pushed() const { return taken_ || !pushed_.empty(std::memory_order_acquire); }
  bool stored() const { return !store_.empty(); }
  size_t depth() const { return store_.size(); }
  /// Home lane: records up to @p quantum stored messages within demand and room. True if anything moved.
  bool drain(uint32_t quantum);
  /// Home lane: the record's payload was read.
  void freed(uint32_t taken) { ring_.free(taken); }
  /// Home lane: throws away what is stored; @return how many.
  uint64_t discard();

  /// Home lane writes, any thread reads: messages may be left in their packets, and kept there.
  bool is_zero_copy() const { return zero_copy_.load(std::memory_order_relaxed); }
  void set_zero_copy(bool on) { zero_copy_.store(on, std::memory_order_relaxed); }

  Lane& lane() { return lane_; }
  Port& port() { return port_; }
  uint32_t index() const { return index_; }
  const PayloadRing& ring() const { return ring_; }
  bool closing = false;
  uint32_t records_out = 0;  ///< Records written and not consumed yet.

 private:
  friend class Lane;
  struct Stored {
    Arrival arrival;
    uint32_t size;
    StoredPlace place;
  };
  struct Pushed {
    Pushed* next;
    Arrival arrival;
    uint32_t size;
    StoredPlace place;  // no bytes: they follow
    std::byte* bytes() { return place.bytes ? place.bytes : reinterpret_cast<std::byte*>(this + 1); }
    static Pushed*& next_of(Pushed& node) { return node.next; }
  };
  bool take(Device& device, const Arrival& arrival, const Payload& payload, std::byte* owned);
  /// Where the bytes may stay; no bytes: they are to be copied.
  StoredPlace leave_in_place(const Arrival& arrival, const Payload& payload, std::byte* owned);
  void store(const Arrival& arrival, const Payload& payload, StoredPlace place);
  void push(const Arrival& arrival, const Payload& payload, const StoredPlace& place);

  Lane& lane_;
  Port& port_;
  const uint32_t index_;
  PayloadRing ring_;
  std::shared_ptr<PortParts> parts_;
  RingQueue<Stored> store_;
  std::atomic<bool> zero_copy_{false};
  Pushed* taken_ = nullptr;  // of pushed_, and not stored yet
  alignas(64) MpscStack<Pushed, &Pushed::next_of, std::memory_order_seq_cst> pushed_;
};

}  // namespace lci
