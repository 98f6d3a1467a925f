// SPDX-License-Identifier: Apache-2.0
#include "matching/matching_engine.hpp"

#include "matching/map_engine.hpp"
#include "matching/queue_engine.hpp"

namespace lci {

std::unique_ptr<MatchingEngine> MatchingEngine::create(MatchingEngineType type, uint32_t buckets, Values values) {
  if (type == MatchingEngineType::kQueue) return std::make_unique<QueueEngine>();
  return std::make_unique<MapEngine>(buckets, values);
}

}  // namespace lci
