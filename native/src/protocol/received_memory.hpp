// SPDX-License-Identifier: Apache-2.0
// Memory for messages that are longer than the buffer of their receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "lci/lci.h"

namespace lci {

struct ArrivalBuffer;

/// Ends what nobody was given.
struct FreeReceived {
  void operator()(std::byte* bytes) const;
};
using ReceivedBytes = std::unique_ptr<std::byte, FreeReceived>;

/// The buffers that a runtime took for such messages, whoever has them now: those that nobody has freed by its end go
/// with it. Any thread. A lock is fine here: the messages are long.
class ReceivedMemory {
 public:
  ReceivedMemory() = default;
  ~ReceivedMemory();
  ReceivedMemory(const ReceivedMemory&) = delete;
  ReceivedMemory& operator=(const ReceivedMemory&) = delete;

  /// Null when there is no memory.
  ReceivedBytes take(uint32_t size, const lci_allocator* allocator);
  /// Frees @p bytes if they are one of these buffers.
  bool free(void* bytes);
  /// The buffer is being freed.
  void forget(ArrivalBuffer* buffer);

 private:
  std::mutex mutex_;
  std::unordered_set<ArrivalBuffer*> buffers_;
};

}  // namespace lci
