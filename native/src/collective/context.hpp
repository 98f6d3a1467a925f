// SPDX-License-Identifier: Apache-2.0
// A context: an order of calls of a group, with numbers of its own, on one device. What programs hold of it; the rest
// is the device's.
//
// Memory orders: any thread may call anything. A failure is published by a release and read with acquire; it stays as
// long as the context. The count of calls under way is written by the owner of the device, and goes down by a release
// before the call is signalled, so a thread that has seen the signal may close the context.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "collective/group.hpp"
#include "lci/lci.h"
#include "wire/collective.hpp"

namespace lci {

class Context {
 public:
  Context(std::shared_ptr<const Group> group, uint64_t key, uint64_t id, uint32_t device)
      : group_(std::move(group)), key_(key), id_(id), device_(device) {}

  const Group& group() const { return *group_; }
  uint64_t key() const { return key_; }
  uint64_t id() const { return id_; }
  uint32_t device() const { return device_; }

  /// Calls that have not ended.
  bool has_calls() const { return calls_.load(std::memory_order_acquire) != 0; }
  /// By the owner of the device, who alone writes the count.
  void call_began() { calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void call_ended() { calls_.store(calls_.load(std::memory_order_relaxed) - 1, std::memory_order_release); }

  /// No program holds it any more: its device drops it.
  void close() { closed_.store(true, std::memory_order_release); }
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }

  /// The program gives it up, for this reason. The first one counts.
  void revoke(uint32_t cause) {
    uint32_t none = 0;
    revoked_.compare_exchange_strong(none, cause, std::memory_order_acq_rel);
  }
  /// 0: it has not.
  uint32_t revoked() const { return revoked_.load(std::memory_order_acquire); }

  /// Null: it has not failed.
  const FailureFrame* failure() const { return failure_.load(std::memory_order_acquire); }
  /// By the owner of the device: the first one, which is shown to programs.
  void show_failure(const FailureFrame& failure) {
    if (failure_.load(std::memory_order_relaxed)) return;
    shown_ = failure;
    failure_.store(&shown_, std::memory_order_release);
  }

  /// What its barriers say of themselves. Tests only: other values, as of another sort of call.
  CallHeader barrier{.kind = LCI_COLLECTIVE_BARRIER};

 private:
  const std::shared_ptr<const Group> group_;
  const uint64_t key_, id_;
  const uint32_t device_;
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> revoked_{0};
  FailureFrame shown_;
  std::atomic<const FailureFrame*> failure_{nullptr};
};

}  // namespace lci
