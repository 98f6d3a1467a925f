// SPDX-License-Identifier: Apache-2.0
// Which rule of schedule.hpp the schedules of a group break.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "support/schedule_memory.hpp"

namespace lci_test {

/// Looks at schedules without running them.
class ScheduleRules {
 public:
  ScheduleRules(const Schedules& schedules, const std::vector<MemberMemory>& memory, uint64_t element)
      : schedules_(schedules), memory_(memory), element_(element) {}

  /// The first rule that is broken; empty: none.
  std::string broken() const {
    for (uint32_t member = 0; member < schedules_.size(); ++member) {
      const lci::Schedule& schedule = *schedules_[member];
      if (schedule.rounds() > lci::Schedule::kMostRounds) return "too many rounds";
      size_t seen = 0;
      for (size_t round = 0; round < schedule.rounds(); ++round) {
        seen += schedule.round(round).size();
        const std::string why = round_broken(member, schedule.round(round));
        if (!why.empty()) return "member " + std::to_string(member) + ", round " + std::to_string(round) + ": " + why;
      }
      if (seen != schedule.actions().size()) return "member " + std::to_string(member) + ": the last round has no end";
    }
    return messages() == messages_expected() ? "" : "what is sent is not what is received";
  }

 private:
  using Kind = lci::Action::Kind;
  /// Sender, receiver, round, bytes.
  using Message = std::tuple<uint32_t, uint32_t, size_t, uint64_t>;

  std::string round_broken(uint32_t member, std::span<const lci::Action> actions) const {
    std::set<uint32_t> to, from;
    bool messages_over = false;
    for (const lci::Action& action : actions) {
      if (!action.is_message()) messages_over = true;
      if (action.is_message() && messages_over) return "a message after a copy";
      if (!is_inside(member, action)) return "outside its area";
      if (action.kind != Kind::kSend && action.to.area == lci::Area::kIn) return "writes what the program brings";
      if (!action.is_message() && !is_sound(member, action)) return "operands that overlap, or differ in size";
      if (!action.is_message()) continue;
      if (action.member >= schedules_.size() || action.member == member) return "a message to nobody";
      if (!(action.kind == Kind::kSend ? to : from).insert(action.member).second) return "two messages with one member";
    }
    return overlapping(member, actions) ? "receives into what is under way" : "";
  }
  bool is_inside(uint32_t member, const lci::Action& action) const {
    for (const lci::Range& range : {action.to, action.from, action.right}) {
      if (range.offset + range.bytes > memory_[member].place(range.area).bytes) return false;
    }
    return true;
  }
  bool is_sound(uint32_t member, const lci::Action& action) const {
    if (action.to.bytes != action.from.bytes) return false;
    if (!same(member, action.to, action.from) && overlap(member, action.to, action.from)) return false;
    if (action.kind == Kind::kCopy) return true;
    if (action.to.bytes != action.right.bytes || action.to.bytes % element_ != 0) return false;
    return same(member, action.to, action.right) || !overlap(member, action.to, action.right);
  }
  bool overlapping(uint32_t member, std::span<const lci::Action> actions) const {
    for (const lci::Action& one : actions) {
      if (one.kind != Kind::kReceive) continue;
      for (const lci::Action& other : actions) {
        if (&one == &other || !other.is_message()) continue;
        if (overlap(member, one.to, other.kind == Kind::kSend ? other.from : other.to)) return true;
      }
    }
    return false;
  }
  uint64_t begin(uint32_t member, const lci::Range& range) const {
    return memory_[member].place(range.area).at + range.offset;
  }
  bool same(uint32_t member, const lci::Range& one, const lci::Range& other) const {
    return begin(member, one) == begin(member, other) && one.bytes == other.bytes;
  }
  bool overlap(uint32_t member, const lci::Range& one, const lci::Range& other) const {
    const uint64_t a = begin(member, one), b = begin(member, other);
    return one.bytes != 0 && other.bytes != 0 && a < b + other.bytes && b < a + one.bytes;
  }

  template <typename F>
  void for_messages(Kind kind, F use) const {
    for (uint32_t member = 0; member < schedules_.size(); ++member) {
      for (size_t round = 0; round < schedules_[member]->rounds(); ++round) {
        for (const lci::Action& action : schedules_[member]->round(round)) {
          if (action.kind == kind) use(member, round, action);
        }
      }
    }
  }
  std::set<Message> messages() const {
    std::set<Message> sent;
    for_messages(Kind::kSend, [&](uint32_t member, size_t round, const lci::Action& action) {
      sent.insert({member, action.member, round, action.from.bytes});
    });
    return sent;
  }
  std::set<Message> messages_expected() const {
    std::set<Message> received;
    for_messages(Kind::kReceive, [&](uint32_t member, size_t round, const lci::Action& action) {
      received.insert({action.member, member, round, action.to.bytes});
    });
    return received;
  }

  const Schedules& schedules_;
  const std::vector<MemberMemory>& memory_;
  const uint64_t element_;
};

}  // namespace lci_test
