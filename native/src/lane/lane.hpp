// SPDX-License-Identifier: Apache-2.0
// A lane: the block of memory that an event loop and the core share, and the pass that serves it. [area V]
//
// Memory orders and callers: whoever is inside has taken the word `inside_` by an acquire, and gives it up by a
// release, so that a hand-over between threads is clean; everything else in the block is plain, because only the thread
// inside enter touches it. A helper progresses the lane's devices while its thread is elsewhere: it is inside, but
// touches neither the block nor what the loop reads. Other threads reach a lane through `pushed_` (multi-producer
// stack, taken whole), and wake().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/kept_ranges.hpp"
#include "base/mpsc_stack.hpp"
#include "base/ring_queue.hpp"
#include "completion/synchronizer.hpp"
#include "lane/inbox.hpp"
#include "lane/kept_messages.hpp"
#include "lci/lci.h"
#include "protocol/lane_view.hpp"

namespace lci {

class Runtime;
class Completions;
class LaneGraphs;

/// A lane needs these parts of its runtime.
struct LaneParts {
  Runtime& runtime;  ///< That they say they are of.
  const DeviceParts& devices;
  Completions& completions;
  std::mutex& creating;  ///< Held from the look whether devices are free until they are taken.
};

inline constexpr uint32_t kLaneSubmissions = 256;
inline constexpr uint32_t kLaneInboxes = 256;
/// Entries behind the submission array, so that an inline payload may start in its last one.
inline constexpr uint32_t kSubmissionSlack = 4;

/// Where the parts of a lane's block lie.
struct LaneLayout {
  static constexpr uint64_t kControl = 0;
  static constexpr uint64_t kDemand = (sizeof(lci_lane_control) + 63) / 64 * 64;
  static constexpr uint64_t kSubmission = kDemand + kLaneInboxes * sizeof(lci_demand);
  static constexpr uint64_t kCompletion = kSubmission + (kLaneSubmissions + kSubmissionSlack) * sizeof(lci_descriptor);
};

class Lane final : public LaneView {
 public:
  static int create(const LaneParts& parts, uint32_t first_device, uint32_t count, std::unique_ptr<Lane>* out);
  ~Lane();
  /// Closes the ports, forgets the operations, gives the devices back. The object stays until its runtime goes: an
  /// operation on another device may still name it.
  void retire();

  int enter();
  /// Another thread progresses the devices once. LCI_RETRY: nothing moved, or somebody is inside.
  int help();
  int park(uint64_t timeout_ns);
  void wake() override;
  /// Runs @p work, by the lane's own thread outside enter, while no helper is inside.
  template <typename F>
  auto alone(F work) {
    const Alone alone(*this);
    return work();
  }

  int open_port(uint32_t number, const char* name, Part part, uint32_t messages, uint64_t bytes, uint32_t* index);
  int close_port(uint32_t index);
  int set_zero_copy(uint32_t index, bool on);
  Inbox* inbox(uint32_t index) { return index < inboxes_.size() ? inboxes_[index].get() : nullptr; }

  uint64_t base() const { return reinterpret_cast<uint64_t>(block_); }
  uint64_t length() const { return length_; }
  Runtime& runtime() { return runtime_; }
  const DeviceParts& parts() const { return parts_; }
  Completions& completions() { return completions_; }
  Device& device(uint32_t index) { return *devices_[index]; }
  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }
  uint32_t park_slot() const { return park_slot_; }
  /// Before the first enter: records are numbered from @p start on, modulo 2^32.
  void number_records_from(uint32_t start);

  bool is_entered() const override;
  LaneGraphs& graphs() { return *graphs_; }
  /// Any thread: a record of one of the lane's graphs.
  void graph_event(const lci_record& record);

  bool operation_ended(Device* from, int code, uint32_t rank, uint64_t tag, uint64_t size, uint64_t context,
                       const void* received) override;
  void writable(Device* from, uint32_t rank, uint16_t target, uint64_t count) override;
  void peer_changed(Device* from, uint32_t rank, int state, int code) override;
  void port_changed(Device* from, uint32_t rank, uint16_t target, int code) override;
  /// Any thread: a synchronizer of this lane became ready.
  void synchronizer_fired(uint32_t id, std::vector<lci_status> statuses);

 private:
  friend class Inbox;
  enum class Inside : uint32_t { kNobody, kOwner, kHelper };
  class Telling;
  /// Changes with each record, when room comes back, and with messages and ends of operations.
  struct Told {
    uint32_t tail;
    uint64_t generations, heard;
    bool operator==(const Told&) const = default;
  };
  /// Keeps helpers out for a scope of the lane's own thread, which may be inside already.
  class Alone {
   public:
    explicit Alone(Lane& lane) : lane_(lane), taken_(!lane.is_entered() && lane.take()) {}
    ~Alone() {
      if (taken_) lane_.leave();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Lane& lane_;
    const bool taken_;
  };
  /// Leaves the lane at the end of the scope, also when memory ran out in it.
  class Entered {
   public:
    explicit Entered(Lane& lane);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Lane& lane_;
    const Lane*& of_thread_;  // to ask where it lies is a call
    const Lane* const before_;
  };
  /// Gone from its port, freed when no device of another lane is about to leave a message in it.
  struct ClosedInbox {
    std::unique_ptr<Inbox> inbox;
    const Inbox* reached_by;
  };
  struct Pushed {
    Pushed* next;
    lci_record record;
    bool operation;
    static Pushed*& next_of(Pushed& node) { return node.next; }
  };
  explicit Lane(const LaneParts& parts);
  lci_lane_control& control() { return *reinterpret_cast<lci_lane_control*>(block_ + LaneLayout::kControl); }
  lci_demand& demand(uint32_t index) { return reinterpret_cast<lci_demand*>(block_ + LaneLayout::kDemand)[index]; }
  lci_descriptor* submissions() { return reinterpret_cast<lci_descriptor*>(block_ + LaneLayout::kSubmission); }
  lci_record& record(uint32_t position) {
    return reinterpret_cast<lci_record*>(block_ + LaneLayout::kCompletion)[position & ring_mask_];
  }

  /// By the lane's own thread, which waits for a helper. False: another thread does the same.
  bool take();
  void leave() { inside_.store(Inside::kNobody, std::memory_order_release); }
  /// Whether the thread inside is the lane's own: it alone may write what the loop reads.
  bool owner_is_inside() const { return inside_.load(std::memory_order_relaxed) == Inside::kOwner; }
  uint32_t free_consumed();
  /// Calls of groups in one batch.
  struct Calls {
    uint32_t posted = 0;
    bool refused = false;  ///< One found no memory.
  };
  uint32_t publish();
  int submit(lci_descriptor& op, Device& device);
  void submit_call(lci_descriptor& op, Calls* batch);
  int refuse(const lci_descriptor& op) const;
  /// The loop gives back a message that it kept.
  int release_kept(uint64_t number);
  void give_back(const Held& held);
  bool progress(Budget budget, Device::By by = Device::By::kOwner);
  uint64_t generations() const;
  Budget budget();
  void drain();
  bool pass();
  Told told() const;
  bool stay(const Told& before);
  bool has_calls() const;
  void refill_packets();
  uint32_t packet_cache() const;
  void give_up_packets();
  bool take_pushed();
  bool has_pushed() const { return taken_ || !pushed_.empty(std::memory_order_acquire); }
  bool has_work();
  bool look_again();
  void push(const lci_record& record, bool operation);
  void push(Pushed* oldest, Pushed* newest);
  /// There is room in the queue for the ends of all operations that were posted, and for one record more.
  void make_room() { queue_.reserve(queue_.size() + in_flight_ + 1); }
  /// A record that is not the end of an operation.
  void queue(const lci_record& record) {
    make_room();
    queue_.push_back(record);
  }
  uint32_t room() const { return ring_size_ - (tail_ - head_); }
  /// A record for @p inbox with its payload in the record, or null and at @p place; false if there is no room or no
  /// demand.
  bool write_message(Inbox& inbox, const Arrival& arrival, uint32_t size, const Payload* payload,
                     const StoredPlace& place);
  /// Skips to the start of the ring if @p count records do not fit before its end; false without room for both.
  bool make_contiguous(uint32_t count);
  bool may_record();
  void release_inboxes() {
    if (closing_inboxes_ != 0 || !closed_inboxes_.empty()) release_closed_inboxes();
  }
  void release_closed_inboxes();
  void make_room_to_close();

  Runtime& runtime_;
  const DeviceParts& parts_;
  Completions& completions_;
  KeptRanges::Range block_range_;
  std::byte* block_ = nullptr;
  uint64_t length_ = 0;
  uint32_t ring_size_ = 0, ring_mask_ = 0;
  uint32_t packet_cache_ = 0;
  uint32_t head_ = 0, tail_ = 0;  // the core's view of the ring
  uint32_t park_slot_ = 0;
  uint32_t in_flight_ = 0;
  uint32_t rotate_inbox_ = 0, rotate_device_ = 0;
  std::vector<Held> held_;  // by the records in the ring
  KeptMessages kept_;
  std::vector<Device*> devices_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::vector<ClosedInbox> closed_inboxes_;
  uint32_t closing_inboxes_ = 0;          // of inboxes_
  std::vector<PayloadRing> spare_rings_;  // of inboxes that are gone
  std::unique_ptr<LaneGraphs> graphs_;
  RingQueue<lci_record> queue_;  // operation completions and events, always drained
  std::atomic<Inside> inside_{Inside::kNobody};
  std::atomic<bool> owner_waits_{false};  // for a helper
  uint64_t told_generations_ = 0;         // the sum of what the control line says
  bool posted_calls_alone_ = false;       // and none was refused, in this pass; or nothing
  Pushed* taken_ = nullptr;               // of pushed_, and not in the queue yet
  alignas(64) MpscStack<Pushed, &Pushed::next_of, std::memory_order_seq_cst> pushed_;
};

/// A synchronizer whose firings are records of a lane. [E2]
class LaneSynchronizer final : public Completion {
 public:
  LaneSynchronizer(Lane& lane, uint32_t threshold) : Completion(Kind::kLane), lane_(lane), threshold_(threshold) {}
  int signal(const lci_status& status) override;
  bool stores() const override { return true; }

 private:
  Lane& lane_;
  const uint32_t threshold_;
  TryLock lock_;
  std::vector<lci_status> statuses_;
};

}  // namespace lci
