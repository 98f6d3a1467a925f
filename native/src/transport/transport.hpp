// SPDX-License-Identifier: Apache-2.0
// How this rank reaches the others of its job: their memory, whether they are there, and how one that sleeps is woken.
// What a device writes and reads of a short message needs no call of it: see PeerMemory. [ADR 0010]
//
// Any thread may call anything. Memory orders: the pointer to a peer's memory is published by a release and read with
// acquire; it stays as long as the transport. Before anything is done with a peer's memory its owner can see that this
// rank has mapped it (PeerMemory::known_to, seq_cst).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/chaos_plan.hpp"
#include "base/counters.hpp"
#include "base/fences.hpp"
#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "peer/hosts.hpp"
#include "peer/profile.hpp"
#include "peer/rank_state.hpp"
#include "transport/memory/boards.hpp"
#include "transport/memory/own_memory.hpp"

namespace lci {

class Arena;
class NetworkDevice;

/// What a transport tells its rank.
class PeerEvents {
 public:
  /// A rank has left or died; all that it had sent can be read. By one thread at a time, within Transport::look().
  virtual void gone(uint32_t rank, RankState state) = 0;
  /// A rank is to be treated as failed, and may not have ended: gone() says so when it has.
  virtual void failed(uint32_t rank) = 0;
  /// Rank @p by has said that this rank counts as failed: it is to have nothing to do with any rank any more. As
  /// gone().
  virtual void fenced(uint32_t by) = 0;
  /// Devices are to look at their links in a pass. Any thread.
  virtual void wake_devices() = 0;

 protected:
  ~PeerEvents() = default;
};

/// What a transport is made of; it all stays as long as the transport.
struct TransportParts {
  const Attributes& attributes;
  Bootstrap& bootstrap;  ///< It has brought the rank up.
  lci_inproc* job;       ///< That of an inproc job, else null.
  PeerEvents& events;
  Log& log;
  SharedCounters& shared;
  const Hosts& hosts;            ///< Who shares memory with whom.
  const ChaosPlan* chaos;        ///< Null: none.
  std::shared_ptr<Arena> arena;  ///< This rank's memory, made by Transport::create().
};

class Transport {
 public:
  /// The transport that the attributes name. The rank's own memory is there afterwards. LCI_ERR_NO_MEMORY.
  static int create(TransportParts parts, std::unique_ptr<Transport>* out);
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // --- joining and leaving
  /// Before the profiles are exchanged: how this rank can be met.
  virtual int describe(TransportAddress* out) = 0;
  /// After it. Collective; it is joined by all or by none. LCI_ERR_TIMEOUT names the ranks that did not come,
  /// LCI_ERR_PEER_FAILED one that has died.
  virtual int meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) = 0;
  /// Tells those that have met this rank that it has left, or failed. Nothing if none can have. What devices have sent
  /// over a network may take until @p until_ns to be out of this process.
  virtual void leave(RankState state, uint64_t until_ns) = 0;
  /// The links of a device over a network; null where no peer is reached so. They stay as long as the transport.
  virtual NetworkDevice* attach(uint32_t device) {
    (void)device;
    return nullptr;
  }
  /// When the devices are there: opens the links that a rank has whatever is posted. Collective; errors as of meet().
  virtual int connect(uint64_t deadline_ns) {
    (void)deadline_ns;
    return LCI_DONE;
  }
  /// How many packets of a peer users may keep, if @p wanted are.
  virtual uint32_t most_lent(uint32_t wanted) const { return wanted; }

  // --- memory
  OwnMemory& own() const { return *own_; }
  /// The memory of a rank, if it is mapped.
  PeerMemory* mapped(uint32_t rank) const { return mapped_[rank].load(std::memory_order_acquire); }
  /// The same, mapped if need be. LCI_ERR_NO_MEMORY: another time, perhaps; LCI_ERR_PROTOCOL: it is none.
  int open(uint32_t rank, PeerMemory** out) {
    *out = mapped(rank);
    return *out ? LCI_DONE : map(rank, out);
  }
  /// How many ranks' memories are mapped, this rank's own included.
  uint32_t count_mapped() const { return count_.load(std::memory_order_relaxed); }
  /// Boards of this rank, which those of its host read.
  Boards& boards() { return boards_; }
  /// Whether the rank is a runtime of this process that shares its objects with this one: its addresses are ours.
  /// Runtimes that met as processes do not, also where they are in one process.
  virtual bool shares_addresses_with(uint32_t rank) const = 0;

  /// Whether a rank, which is gone, had sent something to that device of this one, as far as is known.
  virtual bool has_spoken(uint32_t rank, uint32_t device) const;

  // --- who is there
  /// Tells the events of ranks that have gone since. At most every 20 ms it looks by itself, with @p now at once;
  /// what others have found it tells at every call.
  virtual void look(bool now) = 0;
  /// How many barriers a rank has completed; written by that rank alone. It can be read when the rank is gone.
  virtual std::atomic<uint64_t>& barriers_completed(uint32_t rank) = 0;

  // --- sleeping and waking
  /// Makes what was stored before visible to peers before their park words are read. Free where parkers pay.
  void publication_fence() const {
    if (!parkers_pay_) fence_seq_cst();
  }
  /// The parker's side of it, between its announcement and its last look for work.
  virtual void park_barrier() = 0;
  bool parkers_pay() const { return parkers_pay_; }
  /// Sleeps until the word of @p line is 0, or the clock is at @p until_ns; by the lane whose line it is.
  virtual void sleep(ParkLine& line, uint64_t until_ns) = 0;
  /// Wakes the lane with park line @p slot of a rank, if it sleeps or is about to.
  void wake(const PeerMemory& memory, uint32_t slot) {
    std::atomic<uint32_t>& word = memory.header().park[slot].word;
    if (word.load(std::memory_order_relaxed) == 0) return;
    if (word.exchange(0, std::memory_order_acq_rel) != 0) wake_sleeper(memory, slot);
  }
  /// The same by a device of the lane.
  void wake_owner(const PeerMemory& memory, uint32_t device) {
    const uint32_t slot = memory.header().device[device].park_slot.load(std::memory_order_relaxed);
    if (slot < kMaxDevices) wake(memory, slot);
  }

  /// Tells a device of a peer that it is to look at this rank.
  void ring(PeerMemory& memory, uint32_t device) {
    memory.summary(device)[rank_].store(1, std::memory_order_release);
    fence_seq_cst();
    wake_owner(memory, device);
  }

 protected:
  explicit Transport(const TransportParts& parts);
  virtual int map(uint32_t rank, PeerMemory** out) = 0;
  virtual void wake_sleeper(const PeerMemory& memory, uint32_t slot) = 0;
  /// From now on mapped() answers with @p memory. Once for each rank.
  void show(uint32_t rank, PeerMemory& memory);

  const uint32_t rank_, size_;
  const std::shared_ptr<Arena> arena_;
  OwnMemory* const own_;
  bool parkers_pay_ = false;

 private:
  Boards boards_;
  const std::unique_ptr<std::atomic<PeerMemory*>[]> mapped_;
  std::atomic<uint32_t> count_{0};
};

/// What this build and this machine offer: a name, and whether it can be used or why not.
struct TransportInfo {
  std::string name, availability;
};
std::vector<TransportInfo> list_transports();

}  // namespace lci
