// SPDX-License-Identifier: Apache-2.0
#include "transport/transport.hpp"

#include "transport/shm/shm_transport.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci {

Transport::Transport(uint32_t rank, uint32_t size)
    : rank_(rank), size_(size), mapped_(std::make_unique<std::atomic<PeerMemory*>[]>(size)) {}

int Transport::create(const TransportParts& parts, std::unique_ptr<Transport>* out) {
  if (parts.attributes.transport == TransportKind::kTcp) return TcpTransport::create(parts, out);
  return ShmTransport::create(parts, out);
}

void Transport::show(uint32_t rank, PeerMemory& memory) {
  memory.known_to(rank_).store(1, std::memory_order_seq_cst);
  mapped_[rank].store(&memory, std::memory_order_release);
  count_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<TransportInfo> list_transports() {
  return {{"shm", ShmTransport::availability()},
          {"tcp", TcpTransport::availability()},
          {"ofi", "not built in this version"},
          {"ibv", "not built in this version"}};
}

}  // namespace lci
