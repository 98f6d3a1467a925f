// SPDX-License-Identifier: Apache-2.0
// What the links of a rank share, and whom they tell. Any thread may call anything.
#pragma once

#include <cstdint>

#include "base/chaos_plan.hpp"
#include "base/counters.hpp"
#include "base/log.hpp"
#include "peer/rank_state.hpp"
#include "transport/memory/own_memory.hpp"
#include "transport/tcp/record.hpp"

namespace lci {

class TcpHost {
 public:
  virtual OwnMemory& memory() = 0;
  virtual uint32_t own_rank() const = 0;
  virtual uint32_t ranks() const = 0;
  virtual const LinkSizes& sizes() const = 0;
  virtual Log& log() = 0;
  virtual SharedCounters& shared() = 0;
  /// Null: none.
  virtual const ChaosPlan* chaos() const = 0;
  /// How many barriers this rank has completed.
  virtual uint64_t barriers() = 0;
  /// A peer has completed so many at least; or by the low bits of the number.
  virtual void barriers_came(uint32_t rank, uint64_t completed) = 0;
  virtual void barriers_came(uint32_t rank, uint32_t low_bits) = 0;
  /// A link to a rank has come to stand, or does so no more. While it stands, also between two connections, the rank's
  /// own goodbye comes over it, behind all else. A call that the rank may have accepted counts as one.
  virtual void link_stands(uint32_t rank, bool stands) = 0;
  /// A rank is gone, by its own word.
  virtual void gone(uint32_t rank, RankState state) = 0;
  /// A rank is gone, by the word of rank @p by.
  virtual void told_gone(uint32_t rank, RankState state, uint32_t by) = 0;
  /// Whether a rank counts as failed: its word counts no more.
  virtual bool has_failed(uint32_t rank) = 0;
  /// A peer says that this rank has failed.
  virtual void fenced(uint32_t by) = 0;
  /// A peer, which leaves, has spoken to that device of this rank.
  virtual void spoken_came(uint32_t rank, uint32_t device) = 0;
  /// A peer has so many devices.
  virtual void devices_came(uint32_t rank, uint32_t devices) = 0;

 protected:
  ~TcpHost() = default;
};

/// While it exists, a link to a rank counts as standing.
class StandingLink {
 public:
  StandingLink(TcpHost& host, uint32_t rank) : host_(host), rank_(rank) { host_.link_stands(rank_, true); }
  ~StandingLink() { host_.link_stands(rank_, false); }
  StandingLink(const StandingLink&) = delete;
  StandingLink& operator=(const StandingLink&) = delete;

 private:
  TcpHost& host_;
  const uint32_t rank_;
};

}  // namespace lci
