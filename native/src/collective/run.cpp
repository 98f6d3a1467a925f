// SPDX-License-Identifier: Apache-2.0
#include "collective/run.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lci {

void ScheduleRun::begin(std::shared_ptr<const Schedule> schedule, const CallMemory& memory, void* owner,
                        Scratch* scratch) {
  size_t widest = 0;
  for (size_t i = 0; i < schedule->rounds(); ++i) widest = std::max(widest, schedule->round(i).size());
  messages_.reserve(widest);
  const uint64_t needed = schedule->scratch();
  if (scratch && needed != 0 && scratch->bytes >= needed) {
    scratch_ = std::exchange(*scratch, {});
  } else if (needed != 0) {
    scratch_ = {needed, std::make_unique_for_overwrite<std::byte[]>(needed)};
  }
  schedule_ = std::move(schedule);
  memory_ = memory;
  owner_ = owner;
  round_ = 0;
  enter_round();
}

void ScheduleRun::begin_without_messages(const CallMemory& memory) {
  static const Schedule one_round = [] {
    Schedule made;
    made.end_round();
    return made;
  }();
  schedule_ = {std::shared_ptr<const Schedule>(), &one_round};  // counted by nobody
  memory_ = memory;
  round_ = 0;
}

void ScheduleRun::end(Scratch* scratch) {
  schedule_.reset();
  memory_ = {};
  actions_ = {};
  messages_.clear();
  count_ = waiting_ = next_work_ = 0;
  if (!scratch_.memory) return;
  const bool kept = scratch && scratch_.bytes > scratch->bytes && scratch_.bytes <= Scratch::kMostKept;
  if (kept) *scratch = std::move(scratch_);
  scratch_ = {};
}

void ScheduleRun::enter_round() {
  next_work_ = 0;
  worked_ = 0;
  count_ = 0;
  waiting_ = 0;
  messages_.clear();
  if (over()) return;
  actions_ = schedule_->round(round_);
  while (count_ < actions_.size() && actions_[count_].is_message()) ++count_;
  messages_.resize(count_);
  for (Message& message : messages_) message.owner = owner_;
  waiting_ = count_;
  next_work_ = count_;
}

bool ScheduleRun::is_ready() const {
  if (over()) return false;
  for (uint32_t i = 0; i < count_; ++i) {
    if (has_to_leave(i) || has_to_move(i)) return true;
  }
  return messages_through();
}

const std::byte* ScheduleRun::at(const Range& range) const {
  const std::byte* const area = range.area == Area::kIn    ? memory_.in
                                : range.area == Area::kOut ? memory_.out
                                                           : scratch_.memory.get();
  return range.bytes == 0 ? area : area + range.offset;
}

void ScheduleRun::settle(Message& message, const Action& action) {
  const bool own_through = sends_own(action) ? message.left_ && !message.unsure_ : message.came_;
  if (message.done_ || !own_through || (is_long(action) && !message.moved_)) return;
  message.done_ = true;
  --waiting_;
}

void ScheduleRun::left(uint32_t index, bool sure) {
  Message& message = messages_[index];
  message.left_ = true;
  message.unsure_ = !sure;
  settle(message, action(index));
}

void ScheduleRun::confirmed(uint32_t index) {
  messages_[index].unsure_ = false;
  settle(messages_[index], action(index));
}

void ScheduleRun::repeat(uint32_t index) {
  messages_[index].unsure_ = false;
  messages_[index].left_ = false;
}

uint32_t ScheduleRun::find_unsure(uint32_t member, bool place) const {
  const auto kind = place ? Action::Kind::kReceive : Action::Kind::kSend;
  for (uint32_t i = 0; i < count_; ++i) {
    const Action& action = actions_[i];
    if (action.kind == kind && action.member == member && is_long(action) == place && messages_[i].unsure_) return i;
  }
  return kNone;
}

const Action* ScheduleRun::find_awaiting(size_t round, uint32_t member, bool place) const {
  if (round >= schedule_->rounds()) return nullptr;
  const auto kind = place ? Action::Kind::kSend : Action::Kind::kReceive;
  for (const Action& action : schedule_->round(round)) {
    if (!action.is_message()) break;
    if (action.kind == kind && action.member == member && is_long(action) == place) return &action;
  }
  return nullptr;
}

void ScheduleRun::came(uint32_t index) {
  messages_[index].came_ = true;
  settle(messages_[index], action(index));
}

void ScheduleRun::moved(uint32_t index) {
  messages_[index].moved_ = true;
  settle(messages_[index], action(index));
}

uint64_t ScheduleRun::bytes_expected(size_t round, uint32_t member, bool place) const {
  if (round >= schedule_->rounds()) return 0;
  const auto kind = place ? Action::Kind::kSend : Action::Kind::kReceive;
  for (const Action& action : schedule_->round(round)) {
    if (action.kind == kind && action.member == member) return bytes_of(action);
  }
  return 0;
}

/// What it does not know of a message that has left does not count: the member may have met it.
bool ScheduleRun::misses_now(uint32_t member) const {
  for (uint32_t i = 0; i < count_; ++i) {
    const Message& message = messages_[i];
    if (actions_[i].member != member || message.done_) continue;
    if (actions_[i].kind != Action::Kind::kSend || is_long(actions_[i]) || !message.left_) return true;
  }
  return false;
}

bool ScheduleRun::work() {
  uint64_t budget = kWorkStep;
  for (; next_work_ < actions_.size(); ++next_work_) {
    const Action& action = actions_[next_work_];
    while (worked_ < action.to.bytes) {
      if (budget == 0) return false;
      budget -= do_part(action, budget);
    }
    worked_ = 0;
  }
  ++round_;
  enter_round();
  return true;
}

/// @return bytes that it has written
uint64_t ScheduleRun::do_part(const Action& action, uint64_t most) {
  const uint64_t left = action.to.bytes - worked_;
  std::byte* const target = to(action.to) + worked_;
  const std::byte* const from = at(action.from) + worked_;
  uint64_t size = std::min(left, most);
  if (action.kind == Action::Kind::kReduce) {
    size = std::min(left, std::max(memory_.element, size / memory_.element * memory_.element));
    memory_.kernel(target, from, at(action.right) + worked_, size / memory_.element);
  } else if (target == from) {
    size = left;
  } else {
    std::memcpy(target, from, size);
  }
  worked_ += size;
  return std::min(size, most);
}

}  // namespace lci
