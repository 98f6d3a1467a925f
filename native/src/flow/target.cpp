// SPDX-License-Identifier: Apache-2.0
#include "flow/target.hpp"

#include <algorithm>

#include "flow/work_list.hpp"

namespace lci {

uint32_t hash_name(const std::string& name) {
  if (name.empty()) return 0;
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash != 0 ? hash : 1;
}

void Target::add_key(InKey* key) {
  std::lock_guard<std::mutex> guard(mutex_);
  keys_.push_back(key);
}

void Target::wake_waiting() {
  std::lock_guard<std::mutex> guard(mutex_);
  for (InKey* key : keys_) {
    if (key->is_waiting.load(std::memory_order_relaxed)) key->work->request(*key);
  }
}

void Target::wake_all() {
  std::lock_guard<std::mutex> guard(mutex_);
  for (InKey* key : keys_) key->work->request(*key);
}

Credit Target::fair_share() const {
  const Credit leasable = capacity.leasable();
  const uint32_t sharers = std::max(1u, holders.load(std::memory_order_relaxed));
  return {leasable.messages / sharers, leasable.bytes / sharers};
}

void Target::recall_from_others(const InKey* asking) {
  std::lock_guard<std::mutex> guard(mutex_);
  for (InKey* key : keys_) {
    if (key == asking || key->recall_wanted.exchange(true, std::memory_order_acq_rel)) continue;
    key->work->request(*key);
  }
}

}  // namespace lci
