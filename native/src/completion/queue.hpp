// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_QUEUE_HPP_
#define LCI_COMPLETION_QUEUE_HPP_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/attributes.hpp"
#include "completion/completion.hpp"

namespace lci {

/// Completion queue, multi-producer, multi-consumer; statuses of one producer keep their order for one consumer. [E6]
class CompletionQueue : public Completion {
 public:
  /// Whether this processor has what the type needs.
  static bool offers(QueueType type);
  /// @param type one that is offered
  /// @param capacity most statuses of an array, at least 1; the linked rings have no bound
  static std::unique_ptr<CompletionQueue> create(QueueType type, uint32_t capacity);

  bool stores() const override { return true; }

  /// LCI_DONE and a status, or LCI_RETRY. Never waits.
  virtual int pop(lci_status* out) = 0;
  /// Statuses that ever came and went; exact when quiet. [M1]
  virtual uint64_t pushed() const = 0;
  virtual uint64_t popped() const = 0;
  /// Statuses pushed and not popped; exact when quiet.
  uint64_t length() const {
    const uint64_t gone = popped();
    const uint64_t come = pushed();
    return come > gone ? std::min<uint64_t>(come - gone, capacity()) : 0;
  }
  QueueType type() const { return type_; }
  /// UINT32_MAX: only memory bounds it.
  virtual uint32_t capacity() const = 0;

  /// Up to @p count; returns how many. [E10]
  uint32_t pop_many(lci_status* out, uint32_t count) {
    uint32_t popped = 0;
    while (popped < count && pop(out + popped) == LCI_DONE) ++popped;
    return popped;
  }

 protected:
  explicit CompletionQueue(QueueType type) : Completion(Kind::kQueue, type == QueueType::kArray), type_(type) {}

 private:
  const QueueType type_;
};

}  // namespace lci

#endif  // LCI_COMPLETION_QUEUE_HPP_
