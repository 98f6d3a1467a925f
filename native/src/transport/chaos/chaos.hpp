// SPDX-License-Identifier: Apache-2.0
// Chaos: from a seed and its own clock (progress passes of the device), delays, reorders, refuses, shortens batches,
// stalls links and kills the rank. The n-th decision of a (link, class) depends on the seed alone. [area Z, 2B-59]
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/chaos_plan.hpp"
#include "base/counters.hpp"
#include "lci/lci.h"
#include "transport/chaos/chaos_stream.hpp"
#include "transport/memory/ring.hpp"

namespace lci {

/// Decisions and held messages of one link. Touched by the owner of the device.
class LinkChaos {
 public:
  LinkChaos(const ChaosPlan& plan, uint32_t rank, uint32_t device, uint32_t peer, Counters& counters);

  /// LCI_DONE, or the retry code with which this post is to be refused.
  int refuse();
  /// Takes the message to send it later; false: send it now.
  bool delay(bool control, const MessageHeader& header, const void* payload, uint32_t size);
  /// One pass: writes what is due into the rings of the link. True if anything was written.
  bool tick(RingProducer& control, RingProducer& data);
  void shorten(uint32_t* messages);
  bool pending() const { return !held_.empty(); }
  /// Notes what data it holds back, and whether some of that is left.
  void mark() { marked_ = messages_; }
  bool holds_marked() const {
    return std::any_of(held_.begin(), held_.end(),
                       [this](const Held& held) { return !held.control && held.number <= marked_; });
  }
  void drop() { held_.clear(); }

 private:
  struct Held {
    bool control;
    uint64_t due;
    MessageHeader header;
    uint32_t size;
    uint64_t number;
    std::byte payload[LCI_INLINE_MAX];
  };

  const ChaosPlan& plan_;
  Counters& counters_;  ///< Of the device.
  const uint32_t rank_, peer_;
  ChaosStream data_, control_, posts_, passes_;
  uint64_t now_ = 0;
  uint64_t messages_ = 0;
  uint64_t marked_ = 0;
  uint64_t stalled_until_ = 0;
  std::vector<Held> held_;
};

}  // namespace lci
