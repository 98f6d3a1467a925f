// SPDX-License-Identifier: Apache-2.0
// A rank of a job: its transport, devices, ports, engines and completion objects. No process-global
// state: several runtimes live side by side. [A2, A3]
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/counters.hpp"
#include "base/growing_array.hpp"
#include "base/log.hpp"
#include "base/owner_barrier.hpp"
#include "bootstrap/bootstrap.hpp"
#include "device/device.hpp"
#include "device/kept_blocks.hpp"
#include "flow/loans.hpp"
#include "protocol/packets.hpp"
#include "protocol/targets.hpp"
#include "rma/region_table.hpp"
#include "rma/remote_table.hpp"
#include "transport/chaos/chaos.hpp"
#include "transport/peers.hpp"
#include "transport/transport.hpp"

namespace lci {

class Inbox;
class Lane;

/// Completion objects of one runtime.
inline constexpr uint32_t kMaxCompletions = 65535;

class Runtime final : public CompletionOwner {
 public:
  static int create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out);
  ~Runtime();
  /// Leaves the job: gracefully within @p timeout_ns, or at once with 0.
  void close(uint64_t timeout_ns);

  const Attributes& attributes() const { return attributes_; }
  uint32_t rank() const override { return rank_; }
  uint32_t size() const { return size_; }
  const char* bootstrap_name() const { return bootstrap_->name(); }
  Transport& transport() { return *transport_; }
  OwnMemory& memory() { return transport_->own(); }
  Packets& packets() { return *packets_; }
  Targets& targets() { return *targets_; }
  const Packets& packets() const { return *packets_; }
  Device& device(uint32_t index) { return *devices_[index]; }
  uint32_t devices() const { return static_cast<uint32_t>(devices_.size()); }
  /// Null: none.
  const ChaosPlan* chaos() const { return chaos_ ? &*chaos_ : nullptr; }
  Log& log() { return *log_; }
  /// For those who read it when this runtime has gone.
  std::shared_ptr<Log> share_log() const { return log_; }
  bool has_packets() const { return attributes_.packets_max != 0; }
  /// Whether peers read all of this rank's memory that they are told of, or rings and packets sent to them alone.
  bool shares_all_memory() const { return attributes_.peer_memory == PeerMemoryMode::kAll; }
  /// Of the buffers in which messages are given to users; null: malloc. [A10]
  const lci_allocator* allocator() const { return allocator_.load(std::memory_order_acquire); }
  void set_allocator(const lci_allocator* allocator) { allocator_.store(allocator, std::memory_order_release); }

  /// One of several inboxes of a port; the last one opens it. By the lane of @p inbox.
  int open_part(uint32_t number, const char* name, Part part, Inbox* inbox, uint32_t messages, uint64_t bytes);
  /// Closes the port of which @p inbox is a part, unless it is closed already, or another opening has begun.
  int close_part(Inbox& inbox, int told);
  /// Home lane: the port of a closed inbox leads to it no more. @return by what devices may still be in it.
  const Inbox* take_from_port(Inbox& inbox);
  bool is_delivering_to(const Inbox* reached_by) const;
  /// Packets of peers that users have not freed.
  Loans& loans() { return *loans_; }
  /// False: the arrival came in a packet, and its bytes lie in none of this rank's peers.
  bool could_be_lent(const lci_status& status);
  /// What an arrival brought goes, wherever it lies; false if it was freed already. Any thread.
  bool free_arrival(lci_status& status);
  /// The same of one that nobody took: it will not be answered, either. Any thread.
  void discard_arrival(lci_status& status) override;
  /// The same of one whose status is taken, and whose bytes nobody wants: its room goes back to its sender.
  void drop_arrival(lci_status& status);
  /// A packet of @p rank that was lent goes home, and its credit; false if it is not lent. Any thread.
  bool return_lent(uint32_t rank, uint32_t packet);

  // remote memory
  Copiers copiers() { return {*peers_, *transport_, owner_barrier_, size_, attributes_.devices, shares_all_memory()}; }
  RegionTable& regions() { return *regions_; }
  RemoteTable& remotes() { return remotes_; }

  // matching engines
  int create_engine(uint32_t number, uint32_t type, lci_make_key_fn make_key, void* argument);
  int free_engine(uint32_t number);

  // completion objects
  uint32_t add_completion(std::unique_ptr<Completion> completion);
  Completion* completion(uint32_t id);
  int remove_completion(Completion* completion);
  const OwnerBarrier& owner_barrier() const { return owner_barrier_; }

  // peers
  Peers& peers() { return *peers_; }

  std::mutex creating_lane;  ///< Held from the look whether devices are free until they are taken.
  /// Takes a lane that its loop has freed. Any thread.
  void retire_lane(std::unique_ptr<Lane> lane);

  SharedCounters shared;
  uint32_t snapshot(uint64_t* out, uint32_t count);
  /// What device @p index has counted, or with LCI_NO_DEVICE what none counts; 0 if there is no such device.
  uint32_t snapshot_part(uint32_t index, uint64_t* out, uint32_t count);
  bool closed() const { return closed_; }
  /// Java looks at the arena: its range stays mapped. [V15]
  void keep_ranges() { memory().keep_range(); }

 private:
  void give_back(uint32_t packet, const Charge& charge);
  bool wait_until_not_delivering(const Completion& completion) const;
  Runtime() = default;
  int start(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank);
  int join(uint64_t deadline, std::vector<Profile>* profiles);
  void clamp_packets();
  void make_devices();
  void place_came(uint32_t index) override { devices_[index]->room_came_elsewhere(); }
  void count_discarded() override { shared.add(Metric::discarded); }
  void open_engine(uint32_t number, MatchingEngineType type, Matcher matcher);
  uint64_t credits_out();
  void count_statuses(uint64_t* pushed, uint64_t* popped);
  void count_device(uint32_t index, CounterValues* sum) const;
  void count_rest(CounterValues* sum);

  Attributes attributes_;
  const std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::atomic<const lci_allocator*> allocator_{nullptr};
  std::unique_ptr<Bootstrap> bootstrap_;
  uint32_t rank_ = 0, size_ = 0;  // the bootstrap's: asked for by every message
  std::unique_ptr<Peers> peers_;  // hears of the transport
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Packets> packets_;
  std::unique_ptr<Targets> targets_;
  std::unique_ptr<RegionTable> regions_;
  RemoteTable remotes_;
  std::optional<ChaosPlan> chaos_;
  const KeptBlocks::User keeps_blocks_{KeptBlocks::shared()};
  std::unique_ptr<Loans> loans_;
  std::optional<DeviceParts> device_parts_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex engines_change_mutex_;  // opening and closing
  std::mutex lanes_mutex_;
  std::vector<std::unique_ptr<Lane>> retired_lanes_;  // operations on other devices may still name them
  std::mutex completions_mutex_;
  std::vector<std::unique_ptr<Completion>> completions_;
  GrowingArray<Completion*> completion_table_;
  std::deque<uint32_t> free_completions_;  // the one that is free longest first
  OwnerBarrier owner_barrier_;
  bool closed_ = false;
};

}  // namespace lci
