// SPDX-License-Identifier: Apache-2.0
// Chaos below a link over a network: from the seed, connections are reset, and little is read at a time. [area Z,
// 2B-59]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/chaos_plan.hpp"
#include "transport/chaos/chaos_stream.hpp"

namespace lci {

/// Decisions for the connections of one link. Touched by the owner of the device.
class ConnectionChaos {
 public:
  ConnectionChaos(const ChaosPlan& plan, uint32_t rank, uint32_t device, uint32_t peer)
      : plan_(plan), reads_(plan.seed, rank, device, peer, 5), cuts_(plan.seed, rank, device, peer, 6) {}

  /// How much is to be read, of @p most bytes.
  size_t shorten(size_t most) {
    return reads_.chance(plan_.shorten) ? std::min<size_t>(most, 1 + reads_.next() % kFew) : most;
  }
  /// Asked after each read that found something: whether the connection is to be reset.
  bool cuts() { return cuts_.chance(plan_.cut); }

 private:
  static constexpr uint64_t kFew = 200;  // bytes: the middle of a header as well as of a payload

  const ChaosPlan& plan_;
  ChaosStream reads_, cuts_;
};

}  // namespace lci
