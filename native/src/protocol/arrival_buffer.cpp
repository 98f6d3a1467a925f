// SPDX-License-Identifier: Apache-2.0
#include "protocol/arrival_buffer.hpp"

#include <cstdlib>
#include <new>

#include "protocol/kept_blocks.hpp"

namespace lci {

ArrivalBuffer* ArrivalBuffer::try_create(uint32_t size, const lci_allocator* allocator) {
  const size_t bytes = sizeof(ArrivalBuffer) + size;
  const bool keepable = !allocator && bytes >= KeptBlocks::kLeast && bytes <= KeptBlocks::kMostBytes;
  size_t room = 0;
  void* memory = keepable    ? KeptBlocks::shared().take(bytes, &room)
                 : allocator ? allocator->allocate(bytes, allocator->argument)
                             : std::malloc(bytes);
  if (!memory) return nullptr;
  auto* buffer = new (memory) ArrivalBuffer{};
  buffer->allocator = allocator;
  buffer->room = static_cast<uint32_t>(room);
  return buffer;
}

ArrivalBuffer* ArrivalBuffer::create(uint32_t size, const lci_allocator* allocator) {
  ArrivalBuffer* buffer = try_create(size, allocator);
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

void ArrivalBuffer::destroy(ArrivalBuffer* buffer) {
  if (buffer->received) buffer->received->forget(buffer);
  const lci_allocator* allocator = buffer->allocator;
  if (buffer->room != 0) {
    KeptBlocks::shared().put_back(buffer, buffer->room);
  } else if (allocator) {
    allocator->deallocate(buffer, allocator->argument);
  } else {
    std::free(buffer);
  }
}

}  // namespace lci
