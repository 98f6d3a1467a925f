// SPDX-License-Identifier: Apache-2.0
// What one member does in a call, in rounds. Those of all members together are an algorithm. A schedule knows no
// addresses: it is made of numbers alone, is the same for all calls of one shape, and nothing of it changes.
//
// In a round all messages are under way together; when all of them are there, its copies and reductions are done in
// their order, and the next round begins. Between two members at most one message goes each way in a round; it is named
// by the number of its sender's round, which is that of its receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lci {

/// Memory of a member: what it brings, what it gets, and what the core takes for the call.
enum class Area : uint8_t { kIn, kOut, kScratch };

struct Range {
  Area area = Area::kScratch;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  /// The bytes from @p from on.
  Range part(uint64_t from, uint64_t size) const { return {area, offset + from, size}; }
  bool operator==(const Range&) const = default;
};

struct Action {
  enum class Kind : uint8_t { kSend, kReceive, kCopy, kReduce };
  Kind kind;
  uint32_t member = 0;  ///< Send, receive: the other one.
  Range to;             ///< All but send.
  Range from;           ///< All but receive. Reduce: the left operand, which is that of the lower members,
  Range right;          ///< and the right one. `to` may be one of them.

  bool is_message() const { return kind == Kind::kSend || kind == Kind::kReceive; }
};

class Schedule {
 public:
  /// Rounds of a schedule: their numbers travel in 16 bits.
  static constexpr size_t kMostRounds = 1u << 16;

  // --- how it is made: messages of a round first, then its copies and reductions
  /// Also of no bytes: then the message says that it is sent.
  void send(uint32_t member, Range from) { actions_.push_back({Action::Kind::kSend, member, {}, from, {}}); }
  void receive(uint32_t member, Range to) { actions_.push_back({Action::Kind::kReceive, member, to, {}, {}}); }
  void copy(Range to, Range from) { actions_.push_back({Action::Kind::kCopy, 0, to, from, {}}); }
  void reduce(Range to, Range left, Range right) { actions_.push_back({Action::Kind::kReduce, 0, to, left, right}); }
  void add(const Action& action) { actions_.push_back(action); }
  /// Also of a round in which this member does nothing, so that its numbers are those of the others.
  void end_round() { ends_.push_back(static_cast<uint32_t>(actions_.size())); }
  /// Bytes of its own that a call takes.
  void take_scratch(uint64_t bytes) { scratch_ = bytes; }

  // --- what it says
  size_t rounds() const { return ends_.size(); }
  std::span<const Action> round(size_t index) const {
    const uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return {actions_.data() + begin, ends_[index] - begin};
  }
  std::span<const Action> actions() const { return actions_; }
  uint64_t scratch() const { return scratch_; }

 private:
  std::vector<Action> actions_;
  std::vector<uint32_t> ends_;
  uint64_t scratch_ = 0;
};

}  // namespace lci
