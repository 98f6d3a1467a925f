// SPDX-License-Identifier: Apache-2.0
// The ranks of one host, in shared memory: each has an arena, which the others map at first talk, from a descriptor
// that they have since they joined. Nothing of the owner is needed for it, be it stopped, gone or dead.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/try_lock.hpp"
#include "transport/network/lane_bells.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/host_address.hpp"
#include "transport/shm/liveness.hpp"
#include "transport/shm/meeting.hpp"
#include "transport/transport.hpp"

namespace lci {

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportParts& parts);
  /// Whether this machine has what is needed, or what it lacks.
  static std::string availability();

  int describe(TransportAddress* out) override;
  int meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) override;
  void leave(RankState state, uint64_t until_ns) override;
  void look(bool now) override;
  std::atomic<uint64_t>& barriers_completed(uint32_t rank) override { return met_.board->barriers_completed(rank); }
  bool shares_addresses_with(uint32_t rank) const override {
    return rank == rank_ || (in_process_ && hosts_.share(rank_, rank));
  }
  void park_barrier() override;
  void sleep(ParkLine& line, uint64_t until_ns) override;
  void wake_sleeper(const PeerMemory& memory, uint32_t slot) override;

  // For who routes
  /// Lanes of this job sleep on descriptors: they are woken by @p bells.
  void wake_by(LaneBells& bells) { bells_ = &bells; }
  RankState told_state(uint32_t rank) const { return met_.board->state(rank); }
  bool has_met() const { return met_.board && met_.arenas[rank_]; }
  /// A rank, be it of another host, is gone: those of this host hear of it.
  void tell(uint32_t rank, RankState state);

 private:
  int map(uint32_t rank, PeerMemory** out) override;
  int map_arena(uint32_t rank);
  void ring_peers();
  void read_notices();

  const uint32_t devices_;
  const bool uses_membarrier_;
  PeerEvents& events_;
  const Hosts& hosts_;
  const bool in_process_;
  LaneBells* bells_ = nullptr;
  HostAddress address_{};
  Meeting meeting_;
  std::vector<uint64_t> reserves_;  // what each rank said that its arena may grow to
  std::mutex mutex_;                // of mapping, which is rare
  Met met_;

  TryLock looking_;  // guards what follows, but for the atomics
  std::unique_ptr<Liveness> liveness_;
  std::vector<bool> told_;  // which ranks the events know to be gone
  std::atomic<uint64_t> next_look_{0};
  std::atomic<uint32_t> seen_notices_{0};
};

}  // namespace lci
