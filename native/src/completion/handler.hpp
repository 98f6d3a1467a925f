// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_HANDLER_HPP_
#define LCI_COMPLETION_HANDLER_HPP_

#include <atomic>
#include <cstdint>

#include "completion/completion.hpp"

namespace lci {

/**
 * Calls a native function in the thread that signals, possibly concurrently with itself. An exception ends at this
 * boundary: it is counted and answered as an error, and the caller's batch goes on. [E11, SS-46]
 */
class Handler final : public Completion {
 public:
  /// @param function not null
  Handler(lci_handler_fn function, void* argument)
      : Completion(Kind::kHandler), function_(function), argument_(argument) {}

  int signal(const lci_status& status) override;
  bool stores() const override { return false; }

  /// How many calls ended by an exception.
  uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

 private:
  const lci_handler_fn function_;
  void* const argument_;
  std::atomic<uint64_t> exceptions_{0};
};

}  // namespace lci

#endif  // LCI_COMPLETION_HANDLER_HPP_
