// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport_choice.hpp"

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

TransportKind kind_for(const Hosts& hosts, uint32_t ranks) {
  if (hosts.count() == 1) return TransportKind::kShm;
  return hosts.count() == ranks ? TransportKind::kTcp : TransportKind::kRouted;
}

/// LCI_ERR_BOOTSTRAP unless all ranks are on the host of rank @p own.
int check_all_here(const Hosts& hosts, uint32_t own) {
  if (hosts.count() == 1) return LCI_DONE;
  uint32_t rank = 0;
  while (hosts.share(own, rank)) ++rank;
  return blame(rank, fail(LCI_ERR_BOOTSTRAP,
                          "create runtime: rank %u is on another host than rank %u, or in another namespace of it, and "
                          "attribute transport is shm; start all on one host, or leave it at auto",
                          rank, own));
}

}  // namespace

int choose_transport(Bootstrap& bootstrap, uint64_t deadline_ns, Attributes* attributes, Hosts* hosts) {
  TransportKind& kind = attributes->transport;
  const bool may_be_apart =
      bootstrap.spans_hosts() || attributes->ranks_per_host != 0 || kind == TransportKind::kRouted;
  int code = LCI_DONE;
  if (kind == TransportKind::kTcp) {
    *hosts = Hosts::each(bootstrap.size());
  } else if (may_be_apart) {
    code = Hosts::find(bootstrap, attributes->ranks_per_host, deadline_ns, hosts);
  } else {
    *hosts = Hosts::one(bootstrap.size());
  }
  if (code == LCI_DONE && kind == TransportKind::kShm) code = check_all_here(*hosts, bootstrap.rank());
  if (code != LCI_DONE) return code;
  if (kind == TransportKind::kAuto) kind = kind_for(*hosts, bootstrap.size());
  if (kind == TransportKind::kTcp) attributes->peer_memory = PeerMemoryMode::kRings;
  return LCI_DONE;
}

}  // namespace lci
