// SPDX-License-Identifier: Apache-2.0
#include "completion/queue.hpp"

#include "completion/array_queue.hpp"
#include "completion/lcrq.hpp"

namespace lci {

bool CompletionQueue::offers(QueueType type) {
  return type == QueueType::kArray || LCI_HAS_DOUBLE_WORD;
}

std::unique_ptr<CompletionQueue> CompletionQueue::create(QueueType type, uint32_t capacity) {
#if LCI_HAS_DOUBLE_WORD
  if (type == QueueType::kLcrq) return std::make_unique<Lcrq>();
#endif
  return std::make_unique<ArrayQueue>(capacity);
}

}  // namespace lci
