// SPDX-License-Identifier: Apache-2.0
// Why a call does not go on: its member asks those that it waits for, then those that they wait for, each once, one
// after the other. [COLLECTIVES]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci {

class StallQuestion {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  StallQuestion(uint64_t sequence, uint32_t own, uint32_t size) : sequence_(sequence), known_(size) {
    known_[own] = true;
  }

  uint64_t sequence() const { return sequence_; }
  /// A member is to be asked, if it was not. False: there is no such member.
  bool add(uint32_t member) {
    if (member >= known_.size()) return false;
    if (!known_[member]) to_ask_.push_back(member);
    known_[member] = true;
    return true;
  }
  /// Whose answer is awaited.
  uint32_t asked() const { return next_ < to_ask_.size() ? to_ask_[next_] : kNobody; }
  void has_entered() { ++next_; }
  void is_absent() { absent_.push_back(to_ask_[next_++]); }
  void is_silent() {
    if (asked() != kNobody) silent_.push_back(to_ask_[next_++]);
  }

  const std::vector<uint32_t>& absent() const { return absent_; }
  const std::vector<uint32_t>& silent() const { return silent_; }

 private:
  const uint64_t sequence_;
  std::vector<bool> known_;
  std::vector<uint32_t> to_ask_, absent_, silent_;
  size_t next_ = 0;
};

/// Whether the oldest call of a context has moved since it was last looked at.
class StallWatch {
 public:
  /// How far it was then.
  struct Mark {
    uint64_t sequence;
    uint32_t round;
    uint32_t waiting;
    bool operator==(const Mark&) const = default;
  };
  /// @return for how long it has not moved, in the units of @p now
  uint64_t look(const Mark& mark, uint64_t now) {
    if (!seen_ || mark != mark_) {
      mark_ = mark;
      since_ = now;
      seen_ = true;
    }
    return now - since_;
  }

  uint64_t next_question = 0;  ///< Not before then.
  uint64_t answer_until = 0;   ///< Else the member counts as silent.

 private:
  Mark mark_{};
  uint64_t since_ = 0;
  bool seen_ = false;
};

}  // namespace lci
