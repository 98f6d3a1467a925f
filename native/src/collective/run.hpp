// SPDX-License-Identifier: Apache-2.0
// Where a member is in the schedule of a call. It knows its memory, and no links: who does tells it what has left and
// what has come.
//
// A payload that fits goes along with the header of its message. A longer one moves when its receiver has said where
// to: the receiver of it sends a message, too, its place, and the sender waits for that. So of each action there may be
// a message of this member that has to leave, one of the other that has to come, and bytes that have to move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collective/schedule.hpp"
#include "lci/lci.h"
#include "reduce/kernels.hpp"
#include "wire/collective.hpp"

namespace lci {

/// Longest payload that goes along with a header.
inline constexpr uint64_t kMostInline = LCI_INLINE_MAX - sizeof(CallHeader);

inline bool is_long(const Action& action) {
  return (action.kind == Action::Kind::kSend ? action.from : action.to).bytes > kMostInline;
}
inline uint64_t bytes_of(const Action& action) {
  return (action.kind == Action::Kind::kSend ? action.from : action.to).bytes;
}

/// Memory that the core takes for a call. What is in it means nothing.
struct Scratch {
  /// More is not kept from one call to the next.
  static constexpr uint64_t kMostKept = 1 << 20;
  uint64_t bytes = 0;
  std::unique_ptr<std::byte[]> memory;
};

/// What a member brings and gets in a call, and how it combines it.
struct CallMemory {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  ReduceKernel kernel = nullptr;
  uint64_t element = 0;  ///< Bytes.
};

class ScheduleRun {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// Bytes that one step of work writes.
  static constexpr uint64_t kWorkStep = 256 << 10;

  /// Of a message action of the round.
  class Message {
   public:
    // What has happened.
    bool has_left() const { return left_; }
    bool is_unsure() const { return unsure_; }
    bool has_come() const { return came_; }
    bool has_moved() const { return moved_; }
    uint64_t transfer = 0;  ///< Under way, with this id; 0: none is.
    uint64_t place = 0;     ///< Long send, when it has come: the receiver's.
    void* owner = nullptr;  ///< Whoever runs the schedule sets it, and finds it here.

   private:
    friend class ScheduleRun;
    bool left_ = false, unsure_ = false, came_ = false, moved_ = false, done_ = false;
  };

  /// From the start. May throw std::bad_alloc, and has changed nothing of weight then.
  /// @param scratch memory of a call before, which is used if it is enough
  void begin(std::shared_ptr<const Schedule> schedule, const CallMemory& memory, void* owner,
             Scratch* scratch = nullptr);
  /// Of one round, in which nothing is sent: work() ends it when its caller says so.
  void begin_without_messages(const CallMemory& memory);
  /// It needs its schedule and its memory no more. @p scratch gets its own if that is more, and not too much.
  void end(Scratch* scratch = nullptr);

  bool over() const { return round_ == schedule_->rounds(); }
  uint32_t round() const { return static_cast<uint32_t>(round_); }
  /// Messages of this round.
  uint32_t count() const { return count_; }
  const Action& action(uint32_t index) const { return actions_[index]; }
  Message& message(uint32_t index) { return messages_[index]; }
  const Message& message(uint32_t index) const { return messages_[index]; }
  /// All messages of the round are through; its work may be left.
  bool messages_through() const { return waiting_ == 0; }
  uint32_t waiting() const { return waiting_; }
  /// Whether it can go on without anything that has to come.
  bool is_ready() const;

  const CallMemory& memory() const { return memory_; }
  const std::byte* at(const Range& range) const;
  std::byte* to(const Range& range) { return const_cast<std::byte*>(at(range)); }

  // --- messages of this member
  /// Whether the action has a message of this member that has to leave now.
  bool has_to_leave(uint32_t index) const { return sends_own(action(index)) && !messages_[index].left_; }
  /// A long payload may move now: the receiver has said where to.
  bool has_to_move(uint32_t index) const {
    const Message& message = messages_[index];
    return message.place != 0 && message.transfer == 0 && !message.moved_;
  }
  /// @param sure the receiver has the context: else it has to be confirmed
  void left(uint32_t index, bool sure);
  void confirmed(uint32_t index);
  /// Its receiver did not have the context.
  void repeat(uint32_t index);
  /// The one that a member has to confirm, or did not take; kNone: there is none of this round. @p place: it names one
  uint32_t find_unsure(uint32_t member, bool place) const;

  // --- messages of others
  /// The action of a round that awaits a message of a member; null: none does. @p place: the message names one
  const Action* find_awaiting(size_t round, uint32_t member, bool place) const;
  /// Its place in this round.
  uint32_t index_of(const Action& action) const { return static_cast<uint32_t>(&action - actions_.data()); }
  void came(uint32_t index);
  /// The bytes of a long payload are where they belong, or have left.
  void moved(uint32_t index);

  /// Bytes that a member sends to this one in a round, or gets if it names a place; 0: there is no such message.
  uint64_t bytes_expected(size_t round, uint32_t member, bool place) const;
  /// Calls @p visit with each member that this round waits for.
  template <typename F>
  void for_each_awaited(F visit) const {
    for (uint32_t i = 0; i < count_; ++i) {
      if (!messages_[i].done_) visit(actions_[i].member);
    }
  }
  /// Whether something with this member is left to do. @p has_come(round, place) says of a later round whether its
  /// message is there.
  template <typename F>
  bool misses(uint32_t member, F has_come) const;

  // --- copies and reductions
  /// Does a step of them, and begins the next round when all are done. False: it is still the same round.
  bool work();

 private:
  static bool sends_own(const Action& action) { return (action.kind == Action::Kind::kSend) != is_long(action); }
  void enter_round();
  void settle(Message& message, const Action& action);
  bool misses_now(uint32_t member) const;
  uint64_t do_part(const Action& action, uint64_t most);

  std::shared_ptr<const Schedule> schedule_;
  CallMemory memory_;
  Scratch scratch_;
  std::vector<Message> messages_;
  void* owner_ = nullptr;
  size_t round_ = 0;
  std::span<const Action> actions_;  // of the round
  uint32_t count_ = 0;
  uint32_t waiting_ = 0;    // messages of the round that are not through
  uint32_t next_work_ = 0;  // among the actions
  uint64_t worked_ = 0;     // bytes of it
};

template <typename F>
bool ScheduleRun::misses(uint32_t member, F has_come) const {
  if (over()) return false;
  if (misses_now(member)) return true;
  for (size_t i = round_ + 1; i < schedule_->rounds(); ++i) {
    for (const Action& action : schedule_->round(i)) {
      if (!action.is_message()) break;
      if (action.member != member) continue;
      if (action.kind == Action::Kind::kSend || is_long(action) || !has_come(i)) return true;
    }
  }
  return false;
}

}  // namespace lci
