// SPDX-License-Identifier: Apache-2.0
// Ranks on several hosts: those of this host share memory, all others are reached over TCP. Each way tells which of its
// ranks are gone; the router tells the other way, so that a death goes over the network to other hosts and by the
// notice board to all of a host, whoever of them has a link. [NETWORK 3.5]
#pragma once

#include <mutex>
#include <vector>

#include "transport/shm/shm_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"
#include "transport/transport.hpp"

namespace lci {

class Router final : public Transport, private PeerEvents {
 public:
  explicit Router(const TransportParts& parts);

  int describe(TransportAddress* out) override;
  int meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) override;
  void leave(RankState state, uint64_t until_ns) override;
  NetworkDevice* attach(uint32_t device) override { return far_.attach(device); }
  int connect(uint64_t deadline_ns) override { return far_.connect(deadline_ns); }
  uint32_t most_lent(uint32_t wanted) const override { return far_.most_lent(wanted); }
  bool shares_addresses_with(uint32_t rank) const override { return near_.shares_addresses_with(rank); }
  bool has_spoken(uint32_t rank, uint32_t device) const override { return way_to(rank).has_spoken(rank, device); }
  void look(bool now) override;
  std::atomic<uint64_t>& barriers_completed(uint32_t rank) override { return way_to(rank).barriers_completed(rank); }
  void park_barrier() override { near_.park_barrier(); }
  /// Peers of this host ring as well.
  void sleep(ParkLine& line, uint64_t until_ns) override { far_.sleep(line, until_ns); }
  void wake_sleeper(const PeerMemory& memory, uint32_t slot) override { far_.wake_sleeper(memory, slot); }

 private:
  int map(uint32_t rank, PeerMemory** out) override;
  void gone(uint32_t rank, RankState state) override;
  void failed(uint32_t rank) override { events_.failed(rank); }
  void fenced(uint32_t by) override { events_.fenced(by); }
  void wake_devices() override { events_.wake_devices(); }
  Transport& way_to(uint32_t rank);
  const Transport& way_to(uint32_t rank) const;

  const Hosts& hosts_;
  PeerEvents& events_;
  ShmTransport near_;
  TcpTransport far_;
  std::mutex mapping_;
  std::mutex telling_;
  std::vector<bool> told_;  // under that: which ranks the events know to be gone
};

}  // namespace lci
