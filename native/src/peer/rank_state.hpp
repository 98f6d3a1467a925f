// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lci/lci.h"

namespace lci {

enum class RankState : uint32_t { kJoining = 0, kActive = 1, kLeft = 2, kFailed = 3 };

/// What operations with a rank that is gone end with.
inline int error_of(RankState state) {
  return state == RankState::kLeft ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED;
}

}  // namespace lci
