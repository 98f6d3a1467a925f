// SPDX-License-Identifier: Apache-2.0
#include "protocol/engine.hpp"

namespace lci {

void Engine::open(MatchingEngineType type, uint32_t buckets, Matcher matcher) {
  auto& entries = entries_[static_cast<size_t>(type)];
  if (!entries) entries = MatchingEngine::create(type, buckets, Values::kPlacedReceives);
  matcher.entries = entries.get();
  type_.store(type, std::memory_order_relaxed);
  matchers_.push_back(std::make_unique<const Matcher>(matcher));
  matcher_.store(matchers_.back().get(), std::memory_order_seq_cst);
  generation.fetch_add(1, std::memory_order_release);
  state.store(State::kOpen, std::memory_order_seq_cst);
}

const Matcher* Engine::close() {
  const Matcher* matcher = matcher_.exchange(nullptr, std::memory_order_seq_cst);
  closed_generation.store(generation.load(std::memory_order_relaxed), std::memory_order_release);
  state.store(State::kClosed, std::memory_order_seq_cst);
  return matcher;
}

}  // namespace lci
