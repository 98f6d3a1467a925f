// SPDX-License-Identifier: Apache-2.0
#include "peer/hosts.hpp"

#include <cstring>
#include <numeric>

#include "base/error.hpp"

namespace lci {
namespace {

constexpr char kPlaceKey[] = "place";

}  // namespace

Hosts Hosts::each(uint32_t ranks) {
  std::vector<uint32_t> host_of(ranks);
  std::iota(host_of.begin(), host_of.end(), 0u);
  return Hosts(std::move(host_of));
}

Hosts Hosts::of(const std::vector<HostPlace>& places) {
  Hosts hosts = each(static_cast<uint32_t>(places.size()));
  for (uint32_t rank = 0; rank < places.size(); ++rank) {
    const HostPlace& place = places[rank];
    const bool known = place.boot[0] != '\0' && place.network != 0 && place.processes != 0;
    for (uint32_t other = 0; known && other < rank; ++other) {
      if (std::memcmp(&places[other], &place, sizeof place) != 0) continue;
      hosts.host_of_[rank] = other;
      break;
    }
  }
  return hosts;
}

int Hosts::find(Bootstrap& bootstrap, uint32_t ranks_per_host, uint64_t deadline_ns, Hosts* out) {
  const HostPlace own = place_of_this_process(ranks_per_host == 0 ? 0 : 1 + bootstrap.rank() / ranks_per_host);
  int code = bootstrap.publish(kPlaceKey, &own, sizeof own);
  if (code == LCI_DONE) code = bootstrap.barrier(deadline_ns);
  std::vector<HostPlace> places(bootstrap.size());
  std::vector<uint8_t> bytes;
  for (uint32_t rank = 0; code == LCI_DONE && rank < bootstrap.size(); ++rank) {
    code = bootstrap.get(rank, kPlaceKey, &bytes);
    if (code != LCI_DONE) break;
    if (bytes.size() != sizeof(HostPlace)) {
      return blame(rank, fail(LCI_ERR_BOOTSTRAP,
                              "create runtime: what rank %u said of where it is makes no sense; give "
                              "all ranks the same library",
                              rank));
    }
    std::memcpy(&places[rank], bytes.data(), sizeof(HostPlace));
  }
  if (code == LCI_DONE) *out = of(places);
  return code;
}

std::vector<uint32_t> Hosts::ranks_at(uint32_t rank) const {
  std::vector<uint32_t> ranks;
  for (uint32_t other = 0; other < host_of_.size(); ++other) {
    if (share(rank, other)) ranks.push_back(other);
  }
  return ranks;
}

uint32_t Hosts::count() const {
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < host_of_.size(); ++rank) count += host_of_[rank] == rank;
  return count;
}

}  // namespace lci
