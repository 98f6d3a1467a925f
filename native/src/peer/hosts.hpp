// SPDX-License-Identifier: Apache-2.0
// Which ranks of a job are on one host, that is, can share memory: one system, one network, one namespace of processes,
// one user. Ranks are known by numbers, a host by the lowest rank that is on it. [NETWORK 3.5]
#pragma once

#include <cstdint>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "host/place.hpp"

namespace lci {

class Hosts {
 public:
  /// All ranks on one.
  static Hosts one(uint32_t ranks) { return Hosts(std::vector<uint32_t>(ranks, 0)); }
  /// Each on its own.
  static Hosts each(uint32_t ranks);
  /// From the places of all ranks.
  static Hosts of(const std::vector<HostPlace>& places);
  /// Asks all ranks where they are; those of @p ranks_per_host ranks in sequence, unless it is 0, count as on another
  /// host. Collective. LCI_ERR_TIMEOUT, LCI_ERR_PEER_FAILED, LCI_ERR_BOOTSTRAP.
  static int find(Bootstrap& bootstrap, uint32_t ranks_per_host, uint64_t deadline_ns, Hosts* out);

  /// No ranks.
  Hosts() = default;

  /// The lowest rank on the host of each.
  const std::vector<uint32_t>& lowest() const { return host_of_; }
  bool share(uint32_t one, uint32_t other) const { return host_of_[one] == host_of_[other]; }
  /// The ranks on the host of @p rank, in their order.
  std::vector<uint32_t> ranks_at(uint32_t rank) const;
  uint32_t count() const;

 private:
  explicit Hosts(std::vector<uint32_t> host_of) : host_of_(std::move(host_of)) {}
  std::vector<uint32_t> host_of_;  // the lowest rank of the host, by rank
};

}  // namespace lci
