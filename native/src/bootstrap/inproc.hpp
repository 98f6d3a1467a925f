// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_INPROC_HPP_
#define LCI_BOOTSTRAP_INPROC_HPP_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/lci.h"

namespace lci {
class InprocRendezvous;
}

/**
 * A job whose ranks are runtimes of this process, shared by their threads and counted by reference: one reference for
 * the creator, one per open bootstrap.
 */
struct lci_inproc {
  explicit lci_inproc(uint32_t rank_count);
  ~lci_inproc();
  lci_inproc(const lci_inproc&) = delete;
  lci_inproc& operator=(const lci_inproc&) = delete;

  const uint32_t size;
  /// For the transport: objects that ranks share, one slot per rank, guarded by this mutex alone.
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> slots;

  std::atomic<uint32_t> references{1};
  /// Barriers and values; owned by the inproc bootstrap.
  const std::unique_ptr<lci::InprocRendezvous> rendezvous;
};

namespace lci {

/// A job of @p size ranks with one reference. LCI_ERR_ARGUMENT if @p size is 0 or above 2^30.
int create_inproc(uint32_t size, lci_inproc** out);
void retain_inproc(lci_inproc* job);
/// Drops a reference; null is allowed.
void release_inproc(lci_inproc* job);

}  // namespace lci

#endif  // LCI_BOOTSTRAP_INPROC_HPP_
