// SPDX-License-Identifier: Apache-2.0
#include "pool/packet_pools.hpp"

namespace lci {

PacketPools::PacketPools(ChunkSource& source, uint32_t packet_size, uint32_t chunk, uint32_t max, uint32_t deques)
    : source_(source) {
  pools_[0] = std::make_unique<PacketPool>(source, packet_size, chunk, max, deques);
  count_.store(1, std::memory_order_release);
  provide(deques);
}

void PacketPools::provide(uint32_t deques) {
  const std::lock_guard<std::mutex> guard(adding_);
  for (uint32_t number = 0; number < count(); ++number) {
    while (pools_[number]->deques() < deques) pools_[number]->add_deque();
  }
  for (; deques_ < deques; ++deques_) bind(deques_, 0);
}

uint32_t PacketPools::add(uint32_t chunk, uint32_t max) {
  const std::lock_guard<std::mutex> guard(adding_);
  const uint32_t number = count();
  if (number == kMost) return 0;
  pools_[number] = std::make_unique<PacketPool>(source_, packet_size(), chunk, max, deques_);
  count_.store(number + 1, std::memory_order_release);
  return number;
}

bool PacketPools::bind(uint32_t deque, uint32_t number) {
  if (number >= count()) return false;
  bound_[deque].store(pools_[number].get(), std::memory_order_release);
  return true;
}

/// Of a packet that is one of ours.
PacketPool& PacketPools::owner(uint32_t handle) const {
  uint32_t number = count() - 1;
  while (number > 0 && !pools_[number]->owns(handle)) --number;
  return *pools_[number];
}

void PacketPools::put_many(uint32_t deque, const uint32_t* handles, uint32_t n, End end) {
  if (count() == 1) return pools_[0]->put_many(deque, handles, n, end);
  for (uint32_t i = 0; i < n; ++i) owner(handles[i]).put_many(deque, &handles[i], 1, end);
}

bool PacketPools::owns(uint32_t handle) const {
  for (uint32_t number = 0; number < count(); ++number) {
    if (pools_[number]->owns(handle)) return true;
  }
  return false;
}

uint32_t PacketPools::capacity() const {
  uint32_t sum = 0;
  for (uint32_t number = 0; number < count(); ++number) sum += pools_[number]->capacity();
  return sum;
}

uint32_t PacketPools::free_count() const {
  uint32_t sum = 0;
  for (uint32_t number = 0; number < count(); ++number) sum += pools_[number]->free_count();
  return sum;
}

uint32_t PacketPools::free_in(uint32_t deque) const {
  uint32_t sum = 0;
  for (uint32_t number = 0; number < count(); ++number) sum += pools_[number]->free_in(deque);
  return sum;
}

PacketPoolCounters PacketPools::counters_of(uint32_t deque) const {
  PacketPoolCounters sum;
  for (uint32_t number = 0; number < count(); ++number) sum += pools_[number]->counters_of(deque);
  return sum;
}

}  // namespace lci
