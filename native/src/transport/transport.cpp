// SPDX-License-Identifier: Apache-2.0
#include "transport/transport.hpp"

#include "transport/router.hpp"
#include "transport/shm/shm_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci {

Transport::Transport(const TransportParts& parts)
    : rank_(parts.bootstrap.rank()),
      size_(parts.bootstrap.size()),
      arena_(parts.arena),
      own_(arena_.get()),
      boards_(*own_),
      mapped_(std::make_unique<std::atomic<PeerMemory*>[]>(size_)) {}

int Transport::create(TransportParts parts, std::unique_ptr<Transport>* out) {
  const Attributes& attributes = parts.attributes;
  const int code = Arena::create(attributes.arena_bytes, attributes.memory_limit_bytes, parts.bootstrap.rank(),
                                 parts.bootstrap.size(), attributes.devices, &parts.arena);
  if (code != LCI_DONE) return code;
  switch (attributes.transport) {
    case TransportKind::kTcp:
      *out = std::make_unique<TcpTransport>(parts);
      break;
    case TransportKind::kRouted:
      *out = std::make_unique<Router>(parts);
      break;
    default:
      *out = std::make_unique<ShmTransport>(parts);
  }
  return LCI_DONE;
}

void Transport::show(uint32_t rank, PeerMemory& memory) {
  memory.known_to(rank_).store(1, std::memory_order_seq_cst);
  mapped_[rank].store(&memory, std::memory_order_release);
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool Transport::has_spoken(uint32_t rank, uint32_t device) const {
  PeerMemory* const memory = mapped(rank);
  return memory && memory->ring_pair_offset(device, rank_).load(std::memory_order_acquire) != 0;
}

std::vector<TransportInfo> list_transports() {
  return {{"shm", ShmTransport::availability()},
          {"tcp", TcpTransport::availability()},
          {"ofi", "not built in this version"},
          {"ibv", "not built in this version"}};
}

}  // namespace lci
