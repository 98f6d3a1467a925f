// SPDX-License-Identifier: Apache-2.0
// Chaos: from a seed and its own clock (progress passes of the device), delays, reorders, refuses, shortens batches,
// stalls links and kills the rank. The n-th decision of a (link, class) depends on the seed alone. [area Z, 2B-59]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/lci.h"
#include "transport/shm/ring.hpp"

namespace lci {

class Device;
struct Channel;

/// The plan, parsed from attribute `chaos`:
/// "seed=7,delay=0.2,ticks=16,refuse=0.1,short=0.2,stall=1@1000x500,kill=2@5000".
class Chaos {
 public:
  /// Null in @p out for an empty text; LCI_ERR_ATTRIBUTE with what is allowed for nonsense.
  static int parse(const std::string& text, std::unique_ptr<Chaos>* out);

  uint64_t seed = 1;
  double delay = 0;  ///< Probability that a message is held back for 1..ticks passes; overtaking follows.
  uint32_t ticks = 16;
  double refuse = 0;        ///< Probability that a post is refused, each reason in turn by chance.
  double shorten = 0;       ///< Probability that a pass handles one message only.
  int64_t stall_rank = -1;  ///< From its stall_at-th message on, nothing reaches this rank for stall_ticks passes.
  uint64_t stall_at = 0;
  uint64_t stall_ticks = 0;
  int64_t kill_rank = -1;  ///< This rank's process kills itself at its kill_at-th message.
  uint64_t kill_at = 0;
};

/// Decisions and held messages of one link. Touched by the owner of the device.
class ChannelChaos {
 public:
  ChannelChaos(const Chaos& plan, uint32_t rank, uint32_t device, uint32_t peer);

  /// LCI_DONE, or the retry code with which this post is to be refused.
  int refuse();
  /// Takes the message to send it later; false: send it now.
  bool delay(bool control, const SlotHeader& header, const void* payload, uint32_t size, Device& device);
  /// One pass: sends what is due. True if anything went out.
  bool tick(Device& device, Channel& channel);
  void shorten(uint32_t* messages);
  bool pending() const { return !held_.empty(); }
  void drop() { held_.clear(); }

 private:
  struct Held {
    bool control;
    uint64_t due;
    SlotHeader header;
    uint32_t size;
    std::byte payload[LCI_INLINE_MAX];
  };
  struct Random {
    uint64_t state;
    uint64_t next();
    bool chance(double probability);
  };

  const Chaos& plan_;
  const uint32_t rank_, peer_;
  Random data_, control_, posts_, passes_;
  uint64_t now_ = 0;
  uint64_t messages_ = 0;
  uint64_t stalled_until_ = 0;
  std::vector<Held> held_;
};

}  // namespace lci
