// SPDX-License-Identifier: Apache-2.0
// Runs the schedules of all members of a group in memory, in any order of members and messages, and tells what rule one
// of them breaks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collective/schedule.hpp"

namespace lci_test {

using Bytes = std::vector<std::byte>;
using Schedules = std::vector<std::shared_ptr<const lci::Schedule>>;

/// What an operator makes of two elements. @p to is one of them, or neither.
struct Reduction {
  uint64_t element;
  void (*one)(std::byte* to, const std::byte* left, const std::byte* right);

  void operator()(std::byte* to, const std::byte* left, const std::byte* right, uint64_t bytes) const {
    for (uint64_t at = 0; at < bytes; at += element) one(to + at, left + at, right + at);
  }
};

/// The areas of a member, in one piece of memory. `in` and `out` may overlap; nothing else does.
class MemberMemory {
 public:
  struct Place {
    uint64_t at, bytes;
  };

  /// @p in_at, @p out_at: where they lie in a piece that has both
  MemberMemory(uint64_t in_at, uint64_t in_bytes, uint64_t out_at, uint64_t out_bytes, uint64_t scratch_bytes)
      : in_{kGuard + in_at, in_bytes}, out_{kGuard + out_at, out_bytes} {
    const uint64_t end = std::max(in_.at + in_bytes, out_.at + out_bytes);
    scratch_ = {end + kGuard, scratch_bytes};
    bytes_.resize(scratch_.at + scratch_bytes + kGuard, kUnused);
  }
  static MemberMemory apart(uint64_t in_bytes, uint64_t out_bytes, uint64_t scratch_bytes) {
    return {0, in_bytes, in_bytes + kGuard, out_bytes, scratch_bytes};
  }

  const Place& place(lci::Area area) const {
    return area == lci::Area::kIn ? in_ : area == lci::Area::kOut ? out_ : scratch_;
  }
  std::byte* at(const lci::Range& range) { return bytes_.data() + place(range.area).at + range.offset; }
  std::span<std::byte> area(lci::Area area) { return {bytes_.data() + place(area).at, place(area).bytes}; }
  /// Whether what belongs to no area is as it was.
  bool guards_hold() const {
    const uint64_t end = std::max(in_.at + in_.bytes, out_.at + out_.bytes);
    const auto unused = [&](uint64_t from, uint64_t to) {
      return std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(from), bytes_.begin() + static_cast<ptrdiff_t>(to),
                         [](std::byte byte) { return byte == kUnused; });
    };
    return unused(0, std::min(in_.at, out_.at)) && unused(end, scratch_.at) &&
           unused(scratch_.at + scratch_.bytes, bytes_.size());
  }

 private:
  static constexpr uint64_t kGuard = 16;
  static constexpr std::byte kUnused{0xA5};

  Place in_, out_, scratch_;
  Bytes bytes_;
};

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
