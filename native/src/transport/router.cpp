// SPDX-License-Identifier: Apache-2.0
#include "transport/router.hpp"

#include <cstring>
#include <utility>

#include "lci/lci.h"

namespace lci {
namespace {

/// In the address that travels, that of the network is behind that of the host.
constexpr size_t kFarAddress = 128;
static_assert(sizeof(HostAddress) <= kFarAddress);
static_assert(sizeof(TcpAddress) <= sizeof(TransportAddress) - kFarAddress);

TransportParts with_events(const TransportParts& parts, PeerEvents& events) {
  return {parts.attributes, parts.bootstrap, parts.job,   events,     parts.log,
          parts.shared,     parts.hosts,     parts.chaos, parts.arena};
}

void raise_to(std::atomic<uint64_t>& word, uint64_t value) {
  uint64_t before = word.load(std::memory_order_relaxed);
  while (before < value && !word.compare_exchange_weak(before, value, std::memory_order_release)) {
  }
}

}  // namespace

Router::Router(const TransportParts& parts)
    : Transport(parts),
      hosts_(parts.hosts),
      events_(parts.events),
      near_(with_events(parts, *this)),
      far_(with_events(parts, *this)),
      told_(size_) {
  near_.wake_by(far_.bells());
}

const Transport& Router::way_to(uint32_t rank) const {
  if (hosts_.share(rank_, rank)) return near_;
  return far_;
}

Transport& Router::way_to(uint32_t rank) {
  return const_cast<Transport&>(std::as_const(*this).way_to(rank));
}

int Router::describe(TransportAddress* out) {
  TransportAddress far{};
  int code = near_.describe(out);
  if (code == LCI_DONE) code = far_.describe(&far);
  std::memcpy(out->bytes + kFarAddress, far.bytes, sizeof(TcpAddress));
  return code;
}

int Router::meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) {
  int code = near_.meet(profiles, deadline_ns);
  if (code != LCI_DONE) return code;
  far_.count_barriers_at(near_.barriers_completed(rank_));
  std::vector<Profile> far = profiles;
  for (Profile& profile : far)
    std::memmove(profile.address.bytes, profile.address.bytes + kFarAddress, sizeof(TcpAddress));
  code = far_.meet(far, deadline_ns);
  if (code == LCI_DONE) show(rank_, *own_);
  return code;
}

void Router::leave(RankState state, uint64_t until_ns) {
  near_.leave(state, until_ns);
  far_.leave(state, until_ns);
}

int Router::map(uint32_t rank, PeerMemory** out) {
  const std::lock_guard<std::mutex> guard(mapping_);
  const int code = way_to(rank).open(rank, out);
  if (code == LCI_DONE && !mapped(rank)) show(rank, **out);
  return code;
}

void Router::look(bool now) {
  near_.look(now);
  far_.look(now);
}

/// By either way, within its look: the notice board has ranks of all hosts, too.
void Router::gone(uint32_t rank, RankState state) {
  // Which is no news of that rank: one of this host lives, and may look at this rank's memory.
  if (state == RankState::kFenced) {
    if (!hosts_.share(rank_, rank)) events_.gone(rank, state);
    return;
  }
  const std::lock_guard<std::mutex> guard(telling_);
  if (told_[rank]) return;
  // What a link says of a rank of this host is believed, but its process may live, and look at this rank's memory,
  // until it is found to have ended here. One that leaves says so here itself, after it has said so to other hosts.
  if (hosts_.share(rank_, rank) && near_.told_state(rank) == RankState::kActive) {
    if (state == RankState::kFailed) events_.failed(rank);
    return;
  }
  // It tells its own host first: what it has sent here may still come.
  if (state == RankState::kLeft && !hosts_.share(rank_, rank) && !far_.is_gone(rank)) return far_.hear_departure(rank);
  told_[rank] = true;
  std::atomic<uint64_t>& here = near_.barriers_completed(rank);
  raise_to(here, far_.barriers_completed(rank).load(std::memory_order_acquire));
  far_.hear(rank, state, here.load(std::memory_order_acquire));
  near_.tell(rank, state);
  events_.gone(rank, state);
}

}  // namespace lci
