// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/peer_memory.hpp"

namespace lci {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

MemoryLayout::MemoryLayout(uint32_t size, uint32_t devices) {
  directory = round_up(sizeof(MemoryHeader), 64);
  summary = round_up(directory + uint64_t{devices} * size * sizeof(uint64_t), 64);
  summary_stride = round_up(size, 64);
  known = summary + devices * summary_stride;
  end = round_up(known + summary_stride, 4096);
}

}  // namespace lci
