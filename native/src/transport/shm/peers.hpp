// SPDX-License-Identifier: Apache-2.0
// Meeting the other ranks of this host: every rank gets every arena, and a way to see that a process has died.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "transport/shm/arena.hpp"

namespace lci {

struct Peers {
  Peers() = default;
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  std::vector<std::shared_ptr<Arena>> arenas;  ///< By rank; our own included.
  std::vector<int> pidfds;                     ///< By rank; -1 where the process is our own.
};

/// Exchanges arenas: by descriptors over abstract sockets named by the job id (secret and user checked), or, for ranks
/// of one process, by reference. Collective; LCI_ERR_TIMEOUT names the ranks that did not come.
int meet_peers(Bootstrap& bootstrap, lci_inproc* job, uint32_t devices, std::shared_ptr<Arena> own,
               uint64_t deadline_ns, Peers* out);

}  // namespace lci
