// SPDX-License-Identifier: Apache-2.0
// What attribute `chaos` says: how the transport is to be disturbed. The disturbing itself is in transport/chaos.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lci {

/// "seed=7,delay=0.2,ticks=16,refuse=0.1,short=0.2,cut=0.01,stall=1@1000x500,kill=2@5000".
struct ChaosPlan {
  /// What a text may have, for messages.
  static constexpr char kGrammar[] =
      "a list of seed=N, delay=P, ticks=N, refuse=P, short=P, cut=P, stall=RANK@MESSAGExTICKS, kill=RANK@MESSAGE (P "
      "from 0 to 1), or empty";

  /// Nothing if the text is none; an empty text is a plan that disturbs nothing.
  static std::optional<ChaosPlan> parse(std::string_view text);

  uint64_t seed = 1;
  double delay = 0;  ///< Probability that a message is held back for 1..ticks passes; overtaking follows.
  uint32_t ticks = 16;
  double refuse = 0;        ///< Probability that a post is refused, each reason in turn by chance.
  double shorten = 0;       ///< Probability that a pass handles one message only; with cut, that little is read.
  double cut = 0;           ///< Probability, at each read of a connection, that it is reset.
  int64_t stall_rank = -1;  ///< From its stall_at-th message on, nothing reaches this rank for stall_ticks passes.
  uint64_t stall_at = 0;
  uint64_t stall_ticks = 0;
  int64_t kill_rank = -1;  ///< This rank's process kills itself at its kill_at-th message.
  uint64_t kill_at = 0;
};

}  // namespace lci
