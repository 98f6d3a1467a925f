// SPDX-License-Identifier: Apache-2.0
// What others say of a rank, and is not believed at once. Of one that has left, while it can still say so itself, over
// a link behind all that it has sent. Of a rank of this host whose process lives, as far as this host can see, what
// ranks of other hosts say: if a host is cut off in one direction alone, those who hear nothing of it any more say of
// each of its ranks that it has failed, and the others there hear that. So a word is believed only when its speaker has
// lived for as long as it takes to find out that it is not to be reached. [NETWORK 3.6]
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/no_memory.hpp"
#include "peer/rank_state.hpp"

namespace lci {

/// Any thread may call anything.
class Hearsay {
 public:
  struct Word {
    uint32_t speaker, rank;
    RankState state;
    uint64_t due_ns;
  };

  /// False: there is no memory to keep it.
  bool add(const Word& word) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto said = [&](const Word& each) { return each.speaker == word.speaker && each.rank == word.rank; };
    if (std::any_of(words_.begin(), words_.end(), said)) return true;
    if (!unless_no_memory([&] { words_.push_back(word); })) return false;
    waits_.store(true, std::memory_order_release);
    return true;
  }

  /// Whether somebody has said that a rank leaves, and that waits.
  bool has_departure(uint32_t rank) {
    if (!waits_.load(std::memory_order_acquire)) return false;
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::any_of(words_.begin(), words_.end(),
                       [rank](const Word& word) { return word.rank == rank && word.state == RankState::kLeft; });
  }

  /// What was said of a rank's leaving is due: it does not say so itself any more.
  void hurry_departure(uint32_t rank) {
    if (!waits_.load(std::memory_order_acquire)) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    for (Word& word : words_) {
      if (word.rank == rank && word.state == RankState::kLeft) word.due_ns = 0;
    }
  }

  /// What was said of the leaving of any rank is due.
  void hurry_departures() {
    if (!waits_.load(std::memory_order_acquire)) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    for (Word& word : words_) {
      if (word.state == RankState::kLeft) word.due_ns = 0;
    }
  }

  /// Takes those out that are due at @p now.
  std::vector<Word> take_due(uint64_t now) {
    if (!waits_.load(std::memory_order_acquire)) return {};
    const std::lock_guard<std::mutex> guard(mutex_);
    std::vector<Word> due;
    std::copy_if(words_.begin(), words_.end(), std::back_inserter(due),
                 [now](const Word& word) { return word.due_ns <= now; });
    std::erase_if(words_, [now](const Word& word) { return word.due_ns <= now; });
    waits_.store(!words_.empty(), std::memory_order_relaxed);
    return due;
  }

 private:
  std::mutex mutex_;
  std::vector<Word> words_;  // under that
  std::atomic<bool> waits_{false};
};

}  // namespace lci
