// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lci/lci.h"

namespace lci {

/// kFenced: it may be there, but this rank counts as failed in the job, and is to have nothing to do with it any more.
/// No rank says that of another one.
enum class RankState : uint32_t { kJoining = 0, kActive = 1, kLeft = 2, kFailed = 3, kFenced = 4 };

/// What operations with a rank that is gone end with.
inline int error_of(RankState state) {
  switch (state) {
    case RankState::kLeft:
      return LCI_ERR_PEER_LEFT;
    case RankState::kFenced:
      return LCI_ERR_FENCED;
    default:
      return LCI_ERR_PEER_FAILED;
  }
}

/// The same in words, behind the rank's number.
inline const char* words_of(RankState state) {
  switch (state) {
    case RankState::kLeft:
      return "has left the job";
    case RankState::kFenced:
      return "is out of reach, because this rank counts as failed in the job";
    default:
      return "has failed";
  }
}

/// What the API calls it.
inline lci_peer_state peer_state_of(RankState state) {
  switch (state) {
    case RankState::kLeft:
      return LCI_PEER_LEFT;
    case RankState::kFailed:
      return LCI_PEER_FAILED;
    case RankState::kFenced:
      return LCI_PEER_FENCED;
    default:
      return LCI_PEER_ALIVE;
  }
}

}  // namespace lci
