// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_INPROC_HPP_
#define LCI_BOOTSTRAP_INPROC_HPP_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci/lci.h"

namespace lci {
class InprocRendezvous;

/**
 * Objects that ranks give each other when they meet, for the transport. Each generation (by its job id) has its own,
 * for a rank may have closed and opened again before another one looks. What was given is kept until all ranks have it.
 */
class InprocMeetings {
 public:
  explicit InprocMeetings(uint32_t size) : size_(size) {}

  /// Before a barrier.
  void give(const std::string& generation, uint32_t rank, std::shared_ptr<void> object);
  /// After it, once. By rank; null where one has left without waiting for the others.
  std::vector<std::shared_ptr<void>> take(const std::string& generation, uint32_t rank);
  /// The rank closes. It takes along what it gave, unless it has met the others: they may not have looked yet.
  void leave(const std::string& generation, uint32_t rank);

 private:
  struct Meeting {
    std::vector<std::shared_ptr<void>> given;
    std::vector<bool> done;  ///< Has what was given, or left.
  };
  using Meetings = std::map<std::string, Meeting>;
  void finish(Meetings::iterator meeting, uint32_t rank);

  const uint32_t size_;
  std::mutex mutex_;
  Meetings meetings_;
};

}  // namespace lci

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
  lci::InprocMeetings meetings;
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
