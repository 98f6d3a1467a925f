// SPDX-License-Identifier: Apache-2.0
// Which ranks of other hosts this one watches: the next two that are there, those to which something is under way that
// is not acknowledged, and, over the same kind of connection, those that watch it. So a death is found whichever device
// is progressed, or whether any rank talks to the dead. [NETWORK 3.6]
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
  bool reaches(uint32_t rank) const { return reached_[rank].load(std::memory_order_acquire); }
  /// This rank ends: those that are connected hear so.
  void leave(RankState state, uint64_t barriers);

 private:
  struct Watcher {  // a rank that watches this one
    uint32_t rank;
    MonitorLine line;
  };

  void choose();
  void watch(uint32_t rank, Known known);
  void watch_host_of(uint32_t rank);
  void answer_callers();
  void look_at_watched(uint64_t now);
  void look_at_watchers();

  TcpTransport& transport_;
  const Patience patience_;
  struct Suspicion {
    std::atomic<bool> waits{false}, was_there{false};
  };
  const std::unique_ptr<Suspicion[]> suspected_;        // by rank
  const std::unique_ptr<std::atomic<bool>[]> reached_;  // by rank
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> next_look_ns_{0};
  TryLock looking_;  // guards what follows
  std::list<Monitor> watched_;
  std::list<Watcher> watchers_;
  std::vector<Caller> callers_;
  size_t chosen_without_ = SIZE_MAX;  // of those who are gone, so many were known
};

}  // namespace lci
