// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_SYNCHRONIZER_HPP_
#define LCI_COMPLETION_SYNCHRONIZER_HPP_

#include <atomic>
#include <cstdint>
#include <memory>

#include "completion/completion.hpp"

namespace lci {

/**
 * Fires after `threshold` signals; one test per firing takes the statuses, which resets it. [E2, E4]
 *
 * Threshold 1: one state word, empty -> writing -> ready -> taking -> empty. Threshold k: `arrived_` hands out the
 * entries of a fixed array by fetch-and-add, `written_` counts filled ones; the test that swaps `written_` from k to
 * "taking" is the winner [SS-43]. The reset is published after the copy, so that no new signal can touch statuses that
 * are being read [SS-42].
 *
 * Memory order: filling is published by release (state, written_) and acquired by the winner; the reset is a release
 * (state, arrived_) that the next signal acquires.
 *
 * A signal beyond the threshold is refused and changes nothing that was stored; the next test reports it once, before
 * the firing itself is handed out. [SS-41]
 */
class Synchronizer final : public Completion {
 public:
  /// @param threshold at least 1
  explicit Synchronizer(uint32_t threshold);
  /// Frees the arrivals that nobody took.
  ~Synchronizer() override;

  /// LCI_ERR_OVERRUN when `threshold` signals wait already.
  int signal(const lci_status& status) override;
  bool stores() const override { return true; }

  /// LCI_DONE for exactly one caller per firing, with `threshold` statuses in order of arrival (@p out may be null);
  /// LCI_ERR_OVERRUN once after refused signals; else LCI_RETRY.
  int test(lci_status* out);
  uint32_t threshold() const { return threshold_; }

 private:
  enum State : uint32_t { kEmpty, kWriting, kReady, kTaking };

  int signal_one(const lci_status& status);
  int signal_many(const lci_status& status);
  bool take_one(lci_status* out);
  bool take_many(lci_status* out);
  int overrun();

  const uint32_t threshold_;
  const std::unique_ptr<lci_status[]> statuses_;
  std::atomic<uint32_t> state_{kEmpty};
  std::atomic<uint64_t> arrived_{0};
  std::atomic<uint64_t> written_{0};
  std::atomic<bool> overrun_{false};
};

}  // namespace lci

#endif  // LCI_COMPLETION_SYNCHRONIZER_HPP_
