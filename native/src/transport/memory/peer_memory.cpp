// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/peer_memory.hpp"

#include <algorithm>

#include "base/round_up.hpp"
#include "lci/lci.h"

namespace lci {

MemoryLayout::MemoryLayout(uint32_t size) {
  directory = round_up(sizeof(MemoryHeader), 64);
  directory_stride = size * sizeof(uint64_t);
  summary = round_up(directory + kMaxDevices * directory_stride, 64);
  summary_stride = round_up(size, 64);
  known = summary + kMaxDevices * summary_stride;
  end = round_up(known + summary_stride, kPage);
}

void PeerMemory::introduce(uint32_t rank, uint32_t ranks, uint32_t devices) {
  MemoryHeader& own = header();
  own.magic = kMemoryMagic;
  own.abi = LCI_ABI_VERSION;
  own.rank = rank;
  own.size = ranks;
  own.devices = devices;
  own.reserve = reserve_;
  show_devices(devices);
}

uint32_t PeerMemory::devices() {
  const uint32_t told = header().devices_now.load(std::memory_order_seq_cst);
  uint32_t found = devices_.load(std::memory_order_relaxed);
  if (told > kMaxDevices) return found;
  while (told > found && !devices_.compare_exchange_weak(found, told, std::memory_order_relaxed)) {
  }
  return std::max(told, found);
}

}  // namespace lci
