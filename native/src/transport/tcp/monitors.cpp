// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/monitors.hpp"

#include <algorithm>
#include <mutex>

#include "base/clock.hpp"
#include "base/no_memory.hpp"
#include "host/socket.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci {

Monitors::Monitors(TcpTransport& transport, const Patience& patience)
    : transport_(transport),
      patience_(patience),
      suspected_(std::make_unique<Suspicion[]>(transport.host().ranks())),
      sights_(std::make_unique<std::atomic<Sight>[]>(transport.host().ranks())),
      alive_ns_(std::make_unique<std::atomic<uint64_t>[]>(transport.host().ranks())) {}

void Monitors::suspect(uint32_t rank, Known known) {
  if (known == Known::kWasThere) suspected_[rank].was_there.store(true, std::memory_order_relaxed);
  suspected_[rank].waits.store(true, std::memory_order_release);
}

void Monitors::look(bool now) {
  if (!started_.load(std::memory_order_acquire)) return;
  const uint64_t time = coarse_now_ns();
  if (!now && time < next_look_ns_.load(std::memory_order_relaxed)) return;
  TryLockGuard guard(looking_);
  if (!guard || !started_.load(std::memory_order_relaxed)) return;
  next_look_ns_.store(time + kLookInterval, std::memory_order_relaxed);
  // What finds no memory goes on at the next look.
  static_cast<void>(unless_no_memory([&] {
    choose(time);
    transport_.door().visit();
    answer_callers();
    look_at_watched(time);
    look_at_watchers(time);
    release_unneeded(time);
  }));
}

/// Others take the place of those that are gone.
void Monitors::choose(uint64_t now) {
  const size_t gone = transport_.count_gone();
  if (chosen_without_ != gone) {
    const auto is_gone = [this](uint32_t rank) { return transport_.is_gone(rank); };
    watched_.remove_if([&](const Watched& watched) { return is_gone(watched.monitor.rank()); });
    watchers_.remove_if([&](const Watcher& watcher) { return is_gone(watcher.rank); });
    watch_neighbours(now);
    chosen_without_ = gone;
  }
  for (uint32_t rank = 0; rank < transport_.host().ranks(); ++rank) {
    Suspicion& suspicion = suspected_[rank];
    if (!suspicion.waits.load(std::memory_order_acquire)) continue;
    suspicion.waits.store(false);
    const Known known = suspicion.was_there.exchange(false) ? Known::kWasThere : Known::kNothing;
    if (!unless_no_memory([&] { watch(rank, known, now); })) suspect(rank, known);
  }
}

void Monitors::watch_neighbours(uint64_t now) {
  for (const uint32_t rank : transport_.neighbours_of(transport_.host().own_rank())) {
    if (Watched* const watched = watch(rank, Known::kNothing, now)) watched->is_neighbour = true;
  }
}

/// Null: nothing is to be found of it.
Monitors::Watched* Monitors::watch(uint32_t rank, Known known, uint64_t now) {
  if (transport_.is_gone(rank) || !transport_.reaches(rank)) return nullptr;
  auto watched = std::find_if(watched_.begin(), watched_.end(),
                              [rank](const Watched& each) { return each.monitor.rank() == rank; });
  if (watched == watched_.end()) {
    watched_.push_back({Monitor(transport_.identity(), transport_.address_of(rank), rank, patience_, known)});
    watched = std::prev(watched_.end());
    sights_[rank].store(Sight::kMissed, std::memory_order_release);
  } else {
    watched->monitor.learn(known);
  }
  watched->until_ns = now + patience_.dead_ns + patience_.reconnect_ns;
  return &*watched;
}

/// Else each rank would watch each other one in the end. A call whose rank does not answer yet goes on.
void Monitors::release_unneeded(uint64_t now) {
  watched_.remove_if([&](Watched& watched) {
    if (watched.is_neighbour || now < watched.until_ns || !watched.monitor.line()) return false;
    watched.monitor.release();
    sights_[watched.monitor.rank()].store(Sight::kUnwatched, std::memory_order_release);
    return true;
  });
}

void Monitors::answer_callers() {
  if (transport_.door().has_callers(kMonitorDevice)) transport_.door().take_callers(kMonitorDevice, &callers_);
  while (!callers_.empty()) {
    Caller caller = std::move(callers_.back());
    callers_.pop_back();
    if (!transport_.welcomes(caller)) continue;
    watchers_.remove_if([&](const Watcher& watcher) { return watcher.rank == caller.rank; });  // it calls anew
    if (!send_verdict(caller.socket.get(), {CallVerdict::kAccepted}, caller.binding)) continue;
    watchers_.push_back(
        {caller.rank, MonitorLine(std::move(caller.socket), patience_, caller.binding, CallSide::kAnswerer)});
  }
}

void Monitors::look_at_watched(uint64_t now) {
  for (Watched& watched : watched_) look_at(watched.monitor, now);
}

void Monitors::look_at(Monitor& monitor, uint64_t now) {
  const uint32_t rank = monitor.rank();
  monitor.seen_alive(alive_ns_[rank].load(std::memory_order_relaxed));
  const Monitor::Finding finding = monitor.look(now);
  if (monitor.line() && !reaches(rank)) heard_from_host_of(rank);
  sights_[rank].store(monitor.line() ? Sight::kReached : Sight::kMissed, std::memory_order_release);
  switch (finding) {
    case Monitor::Finding::kNothing:
      break;
    case Monitor::Finding::kFenced:
      transport_.fenced(rank);
      break;
    case Monitor::Finding::kSilent:
      watch_host_of(rank, now);
      break;
    case Monitor::Finding::kGone:
      if (monitor.line()) {
        transport_.hear(rank, monitor.state(), monitor.barriers());
      } else {
        transport_.call_failed(rank, monitor.why().c_str());
        if (monitor.is_silent()) watch_host_of(rank, now);
      }
      break;
  }
}

/// Its host may be gone: each rank of it is to be found before those that wait for it lose patience.
void Monitors::watch_host_of(uint32_t rank, uint64_t now) {
  for (const uint32_t other : transport_.hosts().ranks_at(rank)) watch(other, Known::kHostSilent, now);
}

void Monitors::heard_from_host_of(uint32_t rank) {
  for (Watched& watched : watched_) {
    if (transport_.hosts().share(rank, watched.monitor.rank())) watched.monitor.host_answers();
  }
}

/// A connection that another rank opened has ended: what that means is found by a call of our own.
void Monitors::look_at_watchers(uint64_t now) {
  watchers_.remove_if([this, now](Watcher& watcher) {
    switch (watcher.line.hear()) {
      case MonitorLine::Heard::kNothing:
        return false;
      case MonitorLine::Heard::kGoodbye:
        transport_.hear(watcher.rank, watcher.line.state(), watcher.line.barriers());
        return true;
      case MonitorLine::Heard::kUnwatched:
        return true;
      case MonitorLine::Heard::kSilence:
        watch_host_of(watcher.rank, now);
        [[fallthrough]];
      case MonitorLine::Heard::kEnd:
        suspect(watcher.rank, Known::kWasThere);
        return true;
    }
    return false;
  });
}

void Monitors::leave(RankState state, uint64_t barriers) {
  const std::lock_guard<TryLock> guard(looking_);
  started_.store(false, std::memory_order_relaxed);
  static_cast<void>(unless_no_memory([this] { answer_callers(); }));
  for (Watched& watched : watched_) {
    Monitor& monitor = watched.monitor;
    if (!monitor.line()) monitor.look(coarse_now_ns());  // its verdict may be there
    if (MonitorLine* line = monitor.line()) line->say_goodbye(state, barriers);
  }
  for (Watcher& watcher : watchers_) watcher.line.say_goodbye(state, barriers);
}

}  // namespace lci
