// SPDX-License-Identifier: Apache-2.0
// The completion objects of a runtime, by the numbers that descriptors carry. [B26]
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/growing_array.hpp"
#include "completion/completion.hpp"
#include "protocol/parts.hpp"

namespace lci {

/// Any thread may call anything.
class Completions {
 public:
  static constexpr uint32_t kMost = 65535;

  /// @param runtime that the objects say they are of
  Completions(const DeviceParts& parts, Runtime* runtime, CompletionOwner* owner)
      : parts_(parts), runtime_(runtime), owner_(owner) {}

  /// The number of the object, or 0 when there are as many as can be.
  uint32_t add(std::unique_ptr<Completion> completion);
  Completion* find(uint32_t id) { return table_.get(id); }
  /// Frees an object that nothing will signal; LCI_ERR_BUSY and why otherwise.
  int remove(Completion* completion);
  /// Adds the statuses that came into queues and left them; the shared counters have those of queues that were freed.
  void count_statuses(uint64_t* pushed, uint64_t* popped) const;

 private:
  bool wait_until_not_delivering(const Completion& completion) const;

  const DeviceParts& parts_;
  Runtime* const runtime_;
  CompletionOwner* const owner_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Completion>> completions_;
  GrowingArray<Completion*> table_;
  std::deque<uint32_t> free_;  // the one that is free longest first
};

}  // namespace lci
