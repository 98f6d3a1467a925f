// SPDX-License-Identifier: Apache-2.0
#include "protocol/received_memory.hpp"

#include <utility>

#include "base/no_memory.hpp"
#include "protocol/arrival_buffer.hpp"

namespace lci {

void FreeReceived::operator()(std::byte* bytes) const {
  ArrivalBuffer::destroy(ArrivalBuffer::of(bytes));
}

ReceivedMemory::~ReceivedMemory() {
  for (ArrivalBuffer* buffer : std::exchange(buffers_, {})) {
    buffer->received = nullptr;
    ArrivalBuffer::destroy(buffer);
  }
}

ReceivedBytes ReceivedMemory::take(uint32_t size, const lci_allocator* allocator) {
  ArrivalBuffer* buffer = ArrivalBuffer::try_create(size, allocator);
  if (!buffer) return nullptr;
  ReceivedBytes bytes(buffer->bytes());
  const bool noted = unless_no_memory([&] {
    std::lock_guard<std::mutex> guard(mutex_);
    buffers_.insert(buffer);
  });
  if (!noted) return nullptr;
  buffer->received = this;
  return bytes;
}

bool ReceivedMemory::free(void* bytes) {
  ArrivalBuffer* const buffer = ArrivalBuffer::of(bytes);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    if (buffers_.erase(buffer) == 0) return false;
  }
  buffer->received = nullptr;
  ArrivalBuffer::destroy(buffer);
  return true;
}

void ReceivedMemory::forget(ArrivalBuffer* buffer) {
  std::lock_guard<std::mutex> guard(mutex_);
  buffers_.erase(buffer);
}

}  // namespace lci
