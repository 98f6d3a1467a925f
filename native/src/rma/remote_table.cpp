// SPDX-License-Identifier: Apache-2.0
#include "rma/remote_table.hpp"

namespace lci {

bool RemoteTable::add(const Remote& remote, uint64_t* id) {
  std::lock_guard<std::mutex> guard(mutex_);
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else if (used_ < kMaxRemotes) {
    index = used_++;
  } else {
    return false;
  }
  Slot& slot = slots_[index];
  slot.rank_and_index.store(uint64_t{remote.rank} << 32 | remote.index, std::memory_order_release);
  slot.key.store(remote.key, std::memory_order_release);
  slot.size.store(remote.size, std::memory_order_release);
  slot.memory.store(remote.memory, std::memory_order_release);
  slot.shared_key.store(remote.shared_key, std::memory_order_release);
  if (++slot.generation == 0) ++slot.generation;
  *id = uint64_t{slot.generation} << 32 | index;
  slot.id.store(*id, std::memory_order_release);
  return true;
}

bool RemoteTable::find(uint64_t id, Remote* out) const {
  const auto index = static_cast<uint32_t>(id);
  if (id == 0 || index >= kMaxRemotes) return false;
  const Slot& slot = slots_[index];
  if (slot.id.load(std::memory_order_acquire) != id) return false;
  const uint64_t rank_and_index = slot.rank_and_index.load(std::memory_order_acquire);
  out->rank = static_cast<uint32_t>(rank_and_index >> 32);
  out->index = static_cast<uint32_t>(rank_and_index);
  out->key = slot.key.load(std::memory_order_acquire);
  out->size = slot.size.load(std::memory_order_acquire);
  out->memory = slot.memory.load(std::memory_order_acquire);
  out->shared_key = slot.shared_key.load(std::memory_order_acquire);
  return slot.id.load(std::memory_order_relaxed) == id;
}

bool RemoteTable::remove(uint64_t id) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto index = static_cast<uint32_t>(id);
  if (id == 0 || index >= used_ || slots_[index].id.load(std::memory_order_relaxed) != id) return false;
  slots_[index].id.store(0, std::memory_order_relaxed);
  free_.push_back(index);
  return true;
}

}  // namespace lci
