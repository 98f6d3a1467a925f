// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lci {

enum class RankState : uint32_t { kJoining = 0, kActive = 1, kLeft = 2, kFailed = 3 };

}  // namespace lci
