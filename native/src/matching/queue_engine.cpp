// SPDX-License-Identifier: Apache-2.0
#include "matching/queue_engine.hpp"

#include <algorithm>
#include <mutex>

namespace lci {

void* QueueEngine::match_or_store(uint64_t key, Side side, const ValueMaker& make) {
  const std::lock_guard<TryLock> guard(lock_);
  auto& others = stored(side == Side::kSend ? Side::kReceive : Side::kSend);
  const auto match = std::find_if(others.begin(), others.end(), [&](const Entry& entry) { return entry.key == key; });
  if (match == others.end()) {
    std::list<Entry> entry{{key, nullptr}};  // first: what was made is to be stored
    entry.back().value = make();
    if (entry.back().value != nullptr) stored(side).splice(stored(side).end(), entry);
    return nullptr;
  }
  void* matched = match->value;
  others.erase(match);
  return matched;
}

bool QueueEngine::remove(uint64_t key, void* value, Side side) {
  const std::lock_guard<TryLock> guard(lock_);
  auto& entries = stored(side);
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.key == key && entry.value == value; });
  if (found == entries.end()) return false;
  entries.erase(found);
  return true;
}

void QueueEngine::extract(const std::function<bool(uint64_t, void*, Side)>& take) {
  const std::lock_guard<TryLock> guard(lock_);
  for (const Side side : {Side::kSend, Side::kReceive}) {
    count_walked(stored(side).size());
    stored(side).remove_if([&](const Entry& entry) { return take(entry.key, entry.value, side); });
  }
}

size_t QueueEngine::size() {
  const std::lock_guard<TryLock> guard(lock_);
  return sends_.size() + receives_.size();
}

}  // namespace lci
