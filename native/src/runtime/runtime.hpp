// SPDX-License-Identifier: Apache-2.0
// A rank of a job: its arena, its peers' arenas, devices, ports, engines and completion objects. No process-global
// state: several runtimes live side by side. [A2, A3]
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/fences.hpp"
#include "bootstrap/bootstrap.hpp"
#include "device/device.hpp"
#include "pool/packet_pool.hpp"
#include "runtime/counters.hpp"
#include "runtime/target.hpp"
#include "transport/chaos/chaos.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/peers.hpp"

namespace lci {

class Lane;

/// What the owner of a packet knows of it; private memory.
struct PacketState {
  uint32_t rank;      ///< Peer that reads it.
  uint16_t device;    ///< Device that sent it, plus one; 0 when not out.
  OutKey* announced;  ///< Key whose announcement it carries, if any.
};

class Runtime {
 public:
  static int create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out);
  ~Runtime();
  /// Leaves the job: gracefully within @p timeout_ns, or at once with 0.
  void close(uint64_t timeout_ns);

  const Attributes& attributes() const { return attributes_; }
  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  const char* bootstrap_name() const { return bootstrap_->name(); }
  Arena& arena() { return *arena_; }
  Arena& peer_arena(uint32_t rank) { return *peers_.arenas[rank]; }
  PacketPool& pool() { return *pool_; }
  PacketState& packet_state(uint32_t handle) { return packet_states_[handle / (pool_->packet_size() / kPacketUnit)]; }
  uint32_t max_eager() const { return pool_->packet_size() - kPacketPayloadOffset; }
  Device& device(uint32_t index) { return *devices_[index]; }
  uint32_t devices() const { return static_cast<uint32_t>(devices_.size()); }
  Engine& engine(uint32_t index) { return *engines_[index]; }
  uint32_t engines() const { return static_cast<uint32_t>(engines_.size()); }
  const Chaos* chaos() const { return chaos_.get(); }

  // ports
  int open_port(uint32_t number, const char* name, Completion* completion, Inbox* inbox, uint32_t messages,
                uint64_t bytes);
  int close_port(uint32_t number);
  int name_port(uint32_t number, const char* name);
  /// The port, created if it was never named; null if the number is out of range.
  Port* port(uint32_t number);
  /// What a message can be addressed to; null for numbers no honest peer sends.
  Target* target(uint16_t number);

  // completion objects
  uint32_t add_completion(std::unique_ptr<Completion> completion);
  Completion* completion(uint32_t id);
  int remove_completion(Completion* completion);

  // peers
  RankState peer_state(uint32_t rank) const { return peer_states_[rank].load(std::memory_order_acquire); }
  uint32_t peer_epoch() const { return peer_epoch_.load(std::memory_order_acquire); }
  /// Reads what peers say of themselves and whether their processes live, at most every 20 ms. Any thread.
  void look_at_peers(bool now);
  /// Marks a peer as gone, once. Any thread.
  void peer_gone(uint32_t rank, RankState state);

  /// Makes what was stored before visible to peers before their park words are read. Free when all ranks take part in
  /// expedited barriers.
  void publication_fence() const {
    if (!parkers_pay_) fence_seq_cst();
  }
  /// Parker's side.
  void park_barrier() const;
  bool parkers_pay() const { return parkers_pay_; }
  void wake_device(uint32_t rank, uint32_t device);

  /// Takes a lane that its loop has freed. Any thread.
  void retire_lane(std::unique_ptr<Lane> lane);

  // packets: any thread
  std::atomic<uint32_t> packet_waiters{0};  ///< Bit per device that was refused a packet.
  void wake_packet_waiters();

  SharedCounters shared;
  uint32_t snapshot(uint64_t* out, uint32_t count);
  bool closed() const { return closed_; }
  /// Java looks at the arena: its range stays mapped. [V15]
  void keep_ranges() { arena_->keep_range(); }

 private:
  Runtime() = default;
  int start(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank);
  void announce_state(RankState state);
  uint64_t credits_out();

  Attributes attributes_;
  std::unique_ptr<Bootstrap> bootstrap_;
  uint32_t rank_ = 0, size_ = 0;  // the bootstrap's: asked for by every message
  std::shared_ptr<Arena> arena_;
  Peers peers_;
  std::unique_ptr<PacketPool> pool_;
  struct FreeDeleter {
    void operator()(void* p) const { ::free(p); }
  };
  std::unique_ptr<PacketState[], FreeDeleter> packet_states_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::unique_ptr<Chaos> chaos_;
  std::mutex ports_mutex_;
  std::unique_ptr<std::atomic<Port*>[]> ports_;
  std::vector<std::unique_ptr<Port>> port_storage_;
  std::mutex lanes_mutex_;
  std::vector<std::unique_ptr<Lane>> retired_lanes_;  // operations on other devices may still name them
  std::mutex completions_mutex_;
  std::vector<std::unique_ptr<Completion>> completions_;
  std::unique_ptr<std::atomic<Completion*>[]> completion_table_;
  uint32_t completion_count_ = 0;
  std::vector<uint32_t> free_completions_;
  std::unique_ptr<std::atomic<RankState>[]> peer_states_;
  std::atomic<uint32_t> peer_epoch_{0};
  TryLock looking_;
  std::atomic<uint64_t> next_look_{0};
  bool parkers_pay_ = false;
  bool closed_ = false;
};

}  // namespace lci
