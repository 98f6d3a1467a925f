// SPDX-License-Identifier: Apache-2.0
// Runs the schedules of all members of a group in memory, in any order of members and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/schedule_rules.hpp"

namespace lci_test {

/// Runs them. The bytes of a message are read some time in its sender's round, and written some time in its receiver's,
/// so members are rounds apart.
class Simulation {
 public:
  Simulation(const Schedules& schedules, std::vector<MemberMemory>& memory, const Reduction& reduction, uint64_t seed)
      : schedules_(schedules), memory_(memory), reduction_(reduction), random_(seed), members_(schedules.size()) {}

  /// What went wrong; empty: nothing.
  std::string run() {
    std::string broken = ScheduleRules(schedules_, memory_, reduction_.element).broken();
    if (!broken.empty()) return broken;
    for (uint32_t member = 0; member < members_.size(); ++member) enter(member);
    while (!ready_.empty()) step(take());
    for (uint32_t member = 0; member < members_.size(); ++member) {
      if (members_[member].round < schedules_[member]->rounds()) {
        return "member " + std::to_string(member) + " waits in round " + std::to_string(members_[member].round);
      }
      if (!memory_[member].guards_hold()) return "member " + std::to_string(member) + " writes beside its areas";
    }
    return "";
  }

 private:
  using Kind = lci::Action::Kind;
  /// Sender, receiver, round.
  using Name = std::tuple<uint32_t, uint32_t, size_t>;
  struct Member {
    size_t round = 0;
    size_t missing = 0;  // messages of its round
  };
  struct Event {
    uint32_t member;
    const lci::Action* action;
  };

  /// Its round, and those after it while they have no messages.
  void enter(uint32_t member) {
    Member& state = members_[member];
    const lci::Schedule& schedule = *schedules_[member];
    while (state.round < schedule.rounds()) {
      for (const lci::Action& action : schedule.round(state.round)) {
        if (!action.is_message()) continue;
        ++state.missing;
        begin(member, action);
      }
      if (state.missing != 0) return;
      finish_round(member);
    }
  }
  void begin(uint32_t member, const lci::Action& action) {
    if (action.kind == Kind::kSend) return ready_.push_back({member, &action});
    // From now on it may be written at any time.
    std::memset(memory_[member].at(action.to), 0xEE, action.to.bytes);
    const Name name{action.member, member, members_[member].round};
    if (mail_.contains(name)) {
      ready_.push_back({member, &action});
    } else {
      waiting_[name] = &action;
    }
  }
  void step(Event event) {
    Member& state = members_[event.member];
    if (event.action->kind == Kind::kSend) {
      const Name name{event.member, event.action->member, state.round};
      const std::byte* const from = memory_[event.member].at(event.action->from);
      mail_[name].assign(from, from + event.action->from.bytes);
      const auto waiting = waiting_.find(name);
      if (waiting != waiting_.end()) ready_.push_back({event.action->member, waiting->second});
    } else {
      const Bytes& bytes = mail_[{event.action->member, event.member, state.round}];
      if (!bytes.empty()) std::memcpy(memory_[event.member].at(event.action->to), bytes.data(), bytes.size());
    }
    if (--state.missing != 0) return;
    finish_round(event.member);
    enter(event.member);
  }
  void finish_round(uint32_t member) {
    MemberMemory& memory = memory_[member];
    for (const lci::Action& action : schedules_[member]->round(members_[member].round)) {
      if (action.kind == Kind::kCopy) std::memmove(memory.at(action.to), memory.at(action.from), action.to.bytes);
      if (action.kind != Kind::kReduce) continue;
      reduction_(memory.at(action.to), memory.at(action.from), memory.at(action.right), action.to.bytes);
    }
    ++members_[member].round;
  }
  /// Often the last one: then a member runs ahead as far as it can.
  Event take() {
    std::swap(ready_.back(), ready_[random_() % 4 == 0 ? random_() % ready_.size() : ready_.size() - 1]);
    const Event event = ready_.back();
    ready_.pop_back();
    return event;
  }

  const Schedules& schedules_;
  std::vector<MemberMemory>& memory_;
  const Reduction& reduction_;
  std::mt19937_64 random_;
  std::vector<Member> members_;
  std::vector<Event> ready_;
  std::map<Name, Bytes> mail_;
  std::map<Name, const lci::Action*> waiting_;
};

}  // namespace lci_test
