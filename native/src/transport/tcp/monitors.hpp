// SPDX-License-Identifier: Apache-2.0
// Which ranks of other hosts this one watches: the next two that are there, for a while those to which something is
// under way that is not acknowledged, and, over the same kind of connection, those that watch it. So a death is found
// whichever device is progressed, or whether any rank talks to the dead. [NETWORK 3.6]
//
// Any thread may call anything; one looks at a time, and others pass by.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/try_lock.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/monitor.hpp"

namespace lci {

class TcpTransport;

class Monitors {
 public:
  static constexpr uint64_t kLookInterval = 20'000'000;  // ns

  Monitors(TcpTransport& transport, const Patience& patience);

  /// From now on there is somebody to watch.
  void start() { started_.store(true, std::memory_order_release); }
  /// Every so often; with @p now at once.
  void look(bool now);
  const Patience& patience() const { return patience_; }
  /// A rank is to be watched: it does not answer, or what is known of it is a reason.
  void suspect(uint32_t rank, Known known);
  /// Whether there is a connection that shows the rank to be there.
  bool reaches(uint32_t rank) const { return sight_of(rank) == Sight::kReached; }
  /// Whether the rank is watched, and does not answer.
  bool misses(uint32_t rank) const { return sight_of(rank) == Sight::kMissed; }
  /// One that is missed has acknowledged something over a link at @p at: it is there.
  void seen_alive(uint32_t rank, uint64_t at) { alive_ns_[rank].store(at, std::memory_order_relaxed); }
  /// This rank ends: those that are connected hear so.
  void leave(RankState state, uint64_t barriers);

 private:
  struct Watcher {  // a rank that watches this one
    uint32_t rank;
    MonitorLine line;
  };

  enum class Sight : uint8_t { kUnwatched, kMissed, kReached };
  struct Watched {
    Monitor monitor;
    bool is_neighbour = false;
    uint64_t until_ns = 0;  // another one is released then
  };

  Sight sight_of(uint32_t rank) const { return sights_[rank].load(std::memory_order_acquire); }
  void choose(uint64_t now);
  void watch_neighbours(uint64_t now);
  Watched* watch(uint32_t rank, Known known, uint64_t now);
  void watch_host_of(uint32_t rank, uint64_t now);
  void heard_from_host_of(uint32_t rank);
  void release_unneeded(uint64_t now);
  void look_at(Monitor& monitor, uint64_t now);
  void answer_callers();
  void look_at_watched(uint64_t now);
  void look_at_watchers(uint64_t now);

  TcpTransport& transport_;
  const Patience patience_;
  struct Suspicion {
    std::atomic<bool> waits{false}, was_there{false};
  };
  const std::unique_ptr<Suspicion[]> suspected_;             // by rank
  const std::unique_ptr<std::atomic<Sight>[]> sights_;       // by rank
  const std::unique_ptr<std::atomic<uint64_t>[]> alive_ns_;  // by rank
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> next_look_ns_{0};
  TryLock looking_;  // guards what follows
  std::list<Watched> watched_;
  std::list<Watcher> watchers_;
  std::vector<Caller> callers_;
  size_t chosen_without_ = SIZE_MAX;  // of those who are gone, so many were known
};

}  // namespace lci
