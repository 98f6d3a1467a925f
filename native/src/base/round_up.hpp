// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lci {

constexpr uint64_t kPage = 4096;

constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace lci
