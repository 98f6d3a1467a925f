// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_MATCHING_QUEUE_ENGINE_HPP_
#define LCI_MATCHING_QUEUE_ENGINE_HPP_

#include <list>

#include "base/try_lock.hpp"
#include "matching/matching_engine.hpp"

namespace lci {

/// Two linear lists under one lock, for debugging and as the oracle of tests. [B19]
class QueueEngine final : public MatchingEngine {
 public:
  void* match_or_store(uint64_t key, Side side, const ValueMaker& make) override;
  bool remove(uint64_t key, void* value, Side side) override;
  void extract(const std::function<bool(uint64_t, void*, Side)>& take) override;
  size_t size() override;

 private:
  struct Entry {
    uint64_t key;
    void* value;
  };
  std::list<Entry>& stored(Side side) { return side == Side::kSend ? sends_ : receives_; }

  mutable TryLock lock_;
  std::list<Entry> sends_;
  std::list<Entry> receives_;
};

}  // namespace lci

#endif  // LCI_MATCHING_QUEUE_ENGINE_HPP_
