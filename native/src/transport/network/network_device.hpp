// SPDX-License-Identifier: Apache-2.0
// The links of one device over a network. Each plays a peer towards the device, over a mirror of the peer's memory: it
// takes what the device has written for the peer out of the rings, and puts what comes into the mirror. [ADR 0010]
//
// The owner of the device calls everything, but counters(), which any thread may call.
#pragma once

#include <cstdint>

#include "base/counters.hpp"
#include "peer/rank_state.hpp"
#include "transport/memory/ring.hpp"

namespace lci {

class NetworkDevice {
 public:
  /// There is to be a link to a rank: it is opened without waiting, unless it is there or the rank is gone.
  virtual void open(uint32_t rank) = 0;
  /// Of a rank whose ring of data was read to its end: the ring that follows it, if there is one. From then on the
  /// rank's messages come there.
  virtual bool take_wider(uint32_t rank, RingMemory* out) = 0;
  /// Sends what was published in the rings to a rank, as far as its windows go. The rest goes at a later pump.
  virtual void flush(uint32_t rank) = 0;
  /// Puts what has come into the mirrors, and sends what was held up. True if anything moved.
  virtual bool pump() = 0;
  /// Its lane is about to sleep, see Transport::sleep(): peers learn what they may wait for. Until awake().
  virtual void prepare_to_sleep() = 0;
  virtual void awake() = 0;
  /// Whether a pump would find something that has come to this process already.
  virtual bool has_work() const = 0;
  /// All that was published for ranks that are there has left this process.
  virtual bool drained() const = 0;
  /// Notes where the ring of data to a rank ends now, and whether something before that has not left this process.
  virtual void mark(uint32_t rank, uint32_t position) = 0;
  virtual bool holds_marked(uint32_t rank) = 0;
  /// Of a rank that is gone: whether all that it had sent is in its mirror.
  virtual bool has_read_all(uint32_t rank) = 0;
  /// The device has done with a rank that is gone.
  virtual void close(uint32_t rank) = 0;
  /// This rank leaves: each peer reads so behind all that was sent to it. Nothing is sent or read afterwards.
  virtual void leave(RankState state) = 0;
  /// What its links have counted.
  virtual const Counters& counters() const = 0;

 protected:
  ~NetworkDevice() = default;
};

}  // namespace lci
