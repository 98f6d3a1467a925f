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
#include "base/device_table.hpp"
#include "base/growing_array.hpp"
#include "base/log.hpp"
#include "base/owner_barrier.hpp"
#include "bootstrap/bootstrap.hpp"
#include "collective/contexts.hpp"
#include "device/arrival_end.hpp"
#include "device/completions.hpp"
#include "device/device.hpp"
#include "flow/loans.hpp"
#include "lane/lane.hpp"
#include "protocol/kept_blocks.hpp"
#include "protocol/packets.hpp"
#include "protocol/targets.hpp"
#include "rma/region_table.hpp"
#include "rma/remote_table.hpp"
#include "transport/chaos/chaos.hpp"
#include "transport/peers.hpp"
#include "transport/transport.hpp"

namespace lci {

class Runtime final : public CompletionOwner {
 public:
  static int create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out);
  ~Runtime();
  /// Leaves the job. Peers see a departure if everything has left within @p timeout_ns, and else, or with 0, a failure.
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
  Device& device(uint32_t index) { return devices_[index]; }
  uint32_t devices() const { return devices_.size(); }
  /// One device more: peers that were refused it are told. Any thread. LCI_ERR_EXHAUSTED, LCI_ERR_NO_MEMORY.
  int add_device(Device** out);
  /// Null: none.
  const ChaosPlan* chaos() const { return chaos_ ? &*chaos_ : nullptr; }
  Log& log() { return *log_; }
  /// For those who read it when this runtime has gone.
  std::shared_ptr<Log> share_log() const { return log_; }
  bool has_packets() const { return attributes_.packets_max != 0; }
  /// Whether peers read all of this rank's memory that they are told of, or rings and packets sent to them alone.
  /// With those of its host.
  bool shares_memory() const { return attributes_.peer_memory == PeerMemoryMode::kAll; }
  /// Of the buffers in which messages are given to users; null: malloc. [A10]
  const lci_allocator* allocator() const { return allocator_.load(std::memory_order_acquire); }
  void set_allocator(const lci_allocator* allocator) { allocator_.store(allocator, std::memory_order_release); }

  /// Devices share these.
  const DeviceParts& parts() const { return *device_parts_; }
  Completions& completions() { return *completions_; }
  LaneParts lane_parts() { return {*this, *device_parts_, *completions_, creating_lane_}; }
  // As the owner of completion objects:
  void discard_arrival(lci_status& status) override { lci::discard_arrival(parts(), status); }

  // remote memory
  Copiers copiers() { return {*peers_, *transport_, owner_barrier_, hosts_, rank_, size_, shares_memory()}; }
  RegionTable& regions() { return *regions_; }
  RemoteTable& remotes() { return remotes_; }

  // groups
  Contexts& contexts() { return contexts_; }
  const Hosts& hosts() const { return hosts_; }

  // matching engines
  int create_engine(uint32_t number, uint32_t type, lci_make_key_fn make_key, void* argument);
  int free_engine(uint32_t number);

  const OwnerBarrier& owner_barrier() const { return owner_barrier_; }

  // peers
  Peers& peers() { return *peers_; }

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
  Runtime() = default;
  int start(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank);
  int join(uint64_t deadline, std::vector<Profile>* profiles);
  void clamp_packets();
  void make_devices();
  Device& make_device();
  bool drain(uint64_t timeout_ns);
  void place_came(uint32_t index) override { devices_[index].room_came_elsewhere(); }
  void count_discarded() override { shared.add(Metric::discarded); }
  void open_engine(uint32_t number, MatchingEngineType type, Matcher matcher);
  uint64_t credits_out();
  void count_device(uint32_t index, CounterValues* sum) const;
  void count_rest(CounterValues* sum);

  Attributes attributes_;
  const std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::atomic<const lci_allocator*> allocator_{nullptr};
  std::unique_ptr<Bootstrap> bootstrap_;
  uint32_t rank_ = 0, size_ = 0;  // the bootstrap's: asked for by every message
  Hosts hosts_;
  std::unique_ptr<Peers> peers_;  // hears of the transport
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Packets> packets_;
  std::unique_ptr<Targets> targets_;
  std::unique_ptr<RegionTable> regions_;
  RemoteTable remotes_;
  Contexts contexts_;
  std::optional<ChaosPlan> chaos_;
  const KeptBlocks::User keeps_blocks_{KeptBlocks::shared()};
  ReceivedMemory received_;  // may lie in kept blocks
  std::unique_ptr<Loans> loans_;
  std::optional<DeviceParts> device_parts_;
  std::mutex adding_device_;
  std::vector<std::unique_ptr<Device>> device_storage_;  // under that
  DeviceTable<Device> devices_;
  std::mutex engines_change_mutex_;  // opening and closing
  std::mutex creating_lane_;
  std::mutex lanes_mutex_;
  std::vector<std::unique_ptr<Lane>> retired_lanes_;  // operations on other devices may still name them
  std::unique_ptr<Completions> completions_;
  OwnerBarrier owner_barrier_;
  bool closed_ = false;
};

}  // namespace lci
