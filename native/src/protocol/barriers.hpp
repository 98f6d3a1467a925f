// SPDX-License-Identifier: Apache-2.0
// Dissemination barrier: in round k every rank tells the rank 2^k after it, and waits for the one 2^k before. Barriers
// are numbered by posting order; several may be under way. It is control traffic: never refused.
#pragma once

#include <cstdint>
#include <map>

#include "protocol/protocol.hpp"

namespace lci {

/// The barriers of a rank, which are its device 0's. The owner of that device calls.
class Barriers final : public Protocol {
 public:
  Barriers(ProtocolHost& host, Links& links);

  bool empty() const { return barriers_.empty(); }
  int post(const OpTarget& target);
  void handle(Link& link, const MessageHeader& header);
  /// Goes on with all of them. True if anything moved.
  bool progress();
  /// A rank is gone, and with it the barriers that it has not completed.
  void peer_gone(uint32_t rank, int code);
  void cancel_all(int code);
  /// Calls @p visit with the target of each.
  template <typename F>
  void for_each_target(F visit) {
    for (auto& entry : barriers_) visit(entry.second.target);
  }

 private:
  /// One that this rank takes part in, or has heard of.
  struct Barrier {
    OpTarget target;
    bool entered = false;
    uint32_t round = 0;
    bool sent = false;
    uint64_t arrived = 0;    // bit per round
    bool abandoned = false;  // its user was told of an error; it goes on for the others
  };

  bool tell(uint64_t sequence, Barrier& barrier);
  void finish(uint64_t sequence, int code, uint32_t rank);
  bool has_told(uint32_t rank, const Barrier& barrier) const;

  const uint32_t rounds_;
  std::map<uint64_t, Barrier> barriers_;
  uint64_t next_ = 0;
};

}  // namespace lci
