// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport_choice.hpp"

#include "lci/lci.h"

namespace lci {
namespace {

TransportKind kind_for(const Hosts& hosts, uint32_t ranks) {
  if (hosts.count() == 1) return TransportKind::kShm;
  return hosts.count() == ranks ? TransportKind::kTcp : TransportKind::kRouted;
}

}  // namespace

int choose_transport(Bootstrap& bootstrap, uint64_t deadline_ns, Attributes* attributes, Hosts* hosts) {
  TransportKind& kind = attributes->transport;
  const bool may_be_apart = bootstrap.spans_hosts() || attributes->ranks_per_host != 0;
  if (kind == TransportKind::kTcp) {
    *hosts = Hosts::each(bootstrap.size());
  } else if (kind == TransportKind::kShm || (kind == TransportKind::kAuto && !may_be_apart)) {
    *hosts = Hosts::one(bootstrap.size());
  } else if (const int code = Hosts::find(bootstrap, attributes->ranks_per_host, deadline_ns, hosts);
             code != LCI_DONE) {
    return code;
  }
  if (kind == TransportKind::kAuto) kind = kind_for(*hosts, bootstrap.size());
  if (kind != TransportKind::kShm) attributes->peer_memory = PeerMemoryMode::kRings;
  return LCI_DONE;
}

}  // namespace lci
