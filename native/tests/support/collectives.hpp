// SPDX-License-Identifier: Apache-2.0
// Calls of groups with data, at each of their members, and what each of them must bring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/groups.hpp"

namespace lci_test {

/// A call as all members make it. Elements are 64-bit integers, and sums where it combines.
struct CollectiveCase {
  lci_collective_kind kind = LCI_COLLECTIVE_BARRIER;
  uint32_t algorithm = LCI_ALGORITHM_AUTO;
  uint32_t root = 0;
  uint64_t count = 0;
  bool listed = false;  ///< Blocks differ: member i has (i * 7 + count) mod (count + 3) elements.
  bool in_place = false;

  bool combines() const {
    return kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_ALLREDUCE || kind == LCI_COLLECTIVE_REDUCE_SCATTER ||
           kind == LCI_COLLECTIVE_SCAN || kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN;
  }
  bool has_root() const {
    return kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_GATHER ||
           kind == LCI_COLLECTIVE_SCATTER;
  }
  bool may_be_listed() const {
    return kind == LCI_COLLECTIVE_REDUCE_SCATTER || kind == LCI_COLLECTIVE_ALLGATHER || kind == LCI_COLLECTIVE_GATHER ||
           kind == LCI_COLLECTIVE_SCATTER || kind == LCI_COLLECTIVE_ALLTOALL;
  }
  bool may_be_in_place() const {
    return kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_ALLREDUCE || kind == LCI_COLLECTIVE_SCAN ||
           kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN || kind == LCI_COLLECTIVE_NEIGHBOURS ||
           (kind == LCI_COLLECTIVE_ALLTOALL && !listed);
  }
  std::string name() const {
    return "kind " + std::to_string(kind) + ", algorithm " + std::to_string(algorithm) + ", root " +
           std::to_string(root) + ", count " + std::to_string(count) + (listed ? ", listed" : "") +
           (in_place ? ", in place" : "");
  }
};

/// A call of one member: its memory, and what must be there in the end.
class MemberCall {
 public:
  MemberCall(const CollectiveCase& of, uint32_t own, uint32_t size, uint64_t seed)
      : of_(of), own_(own), size_(size), seed_(seed) {
    counts_ = counts();
    in_ = brought(own);
    expected_ = result();
    out_.assign(expected_.size(), kUntouched);
    if (of.kind == LCI_COLLECTIVE_BROADCAST && own == of.root) out_ = expected_;
    if (of.in_place && !out_.empty()) out_ = in_;
  }
  /// What is posted. It refers to this object.
  lci_collective call() {
    lci_collective made{};
    made.kind = of_.kind;
    made.algorithm = of_.algorithm;
    if (of_.kind == LCI_COLLECTIVE_BARRIER) return made;
    made.type = LCI_TYPE_I64;
    made.op = of_.combines() ? LCI_REDUCE_SUM : 0;
    made.root = of_.has_root() ? of_.root : 0;
    made.in = of_.in_place && !out_.empty() ? out_.data() : in_.data();
    made.out = out_.data();
    made.count = of_.listed && is_one_of_root() ? block(own_) : of_.count;
    made.counts = counts_.empty() ? nullptr : counts_.data();
    return made;
  }
  void expect_result() const {
    EXPECT_TRUE(out_ == expected_) << of_.name() << ", member " << own_ << " of " << size_ << ": first difference at "
                                   << std::mismatch(out_.begin(), out_.end(), expected_.begin()).first - out_.begin();
  }
  bool is_right() const { return out_ == expected_; }
  bool is_untouched() const {
    return std::all_of(out_.begin(), out_.end(), [](int64_t value) { return value == kUntouched; });
  }
  uint64_t bytes() const { return out_.size() * sizeof(int64_t); }
  const void* out() const { return out_.data(); }
  /// The memory is about to go: what writes it from now on writes what the sanitizers watch.
  void free_memory() {
    std::vector<int64_t>().swap(in_);
    std::vector<int64_t>().swap(out_);
  }

 private:
  static constexpr int64_t kUntouched = -7;

  bool is_one_of_root() const {
    return (of_.kind == LCI_COLLECTIVE_GATHER || of_.kind == LCI_COLLECTIVE_SCATTER) && own_ != of_.root;
  }
  uint64_t block(uint32_t member) const { return of_.listed ? (member * 7 + of_.count) % (of_.count + 3) : of_.count; }
  /// Of an alltoall: from one member to another.
  uint64_t pair(uint32_t from, uint32_t to) const {
    return of_.listed ? (from * 5 + to * 3 + of_.count / 2) % (of_.count + 2) : of_.count;
  }
  std::vector<uint32_t> neighbours(int side) const {
    std::vector<uint32_t> found;
    for (const uint32_t step : {1u, 2u}) {
      const uint32_t other = (own_ + (side > 0 ? step : size_ - step % size_)) % size_;
      if (other != own_ && std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
    }
    return found;
  }
  std::vector<uint64_t> counts() const {
    std::vector<uint64_t> made;
    if (of_.kind == LCI_COLLECTIVE_NEIGHBOURS) {
      for (const int side : {1, -1}) {
        const auto members = neighbours(side);
        made.push_back(members.size());
        made.insert(made.end(), members.begin(), members.end());
      }
    } else if (of_.listed && of_.kind == LCI_COLLECTIVE_ALLTOALL) {
      for (uint32_t i = 0; i < size_; ++i) made.push_back(pair(own_, i));
      for (uint32_t i = 0; i < size_; ++i) made.push_back(pair(i, own_));
    } else if (of_.listed && !is_one_of_root()) {
      for (uint32_t i = 0; i < size_; ++i) made.push_back(block(i));
    }
    return made;
  }

  int64_t value(uint32_t from, uint64_t index) const {
    return static_cast<int64_t>((seed_ + from) * 0x9E3779B97F4A7C15u + index * 0xC2B2AE3D27D4EB4Fu);
  }
  /// @p count elements of what a member brings, from @p first on.
  std::vector<int64_t> values(uint32_t from, uint64_t first, uint64_t count) const {
    std::vector<int64_t> made(count);
    for (uint64_t i = 0; i < count; ++i) made[i] = value(from, first + i);
    return made;
  }
  uint64_t before(uint32_t member) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < member; ++i) sum += block(i);
    return sum;
  }
  uint64_t before(uint32_t from, uint32_t to) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < to; ++i) sum += pair(from, i);
    return sum;
  }

  std::vector<int64_t> brought(uint32_t member) const {
    switch (of_.kind) {
      case LCI_COLLECTIVE_BARRIER:
      case LCI_COLLECTIVE_BROADCAST:
        return {};
      case LCI_COLLECTIVE_REDUCE_SCATTER:
        return values(member, 0, before(size_));
      case LCI_COLLECTIVE_SCATTER:
        return member == of_.root ? values(member, 0, before(size_)) : std::vector<int64_t>{};
      case LCI_COLLECTIVE_ALLTOALL:
        return values(member, 0, before(member, size_));
      case LCI_COLLECTIVE_NEIGHBOURS:
        return values(member, 0, neighbours(1).size() * of_.count);
      default:
        return values(member, 0, block(member));
    }
  }
  std::vector<int64_t> sum(uint32_t first, uint32_t end, uint64_t from, uint64_t count) const {
    std::vector<int64_t> made(count);
    for (uint32_t member = first; member < end; ++member) {
      for (uint64_t i = 0; i < count; ++i) {
        made[i] = static_cast<int64_t>(static_cast<uint64_t>(made[i]) + static_cast<uint64_t>(value(member, from + i)));
      }
    }
    return made;
  }
  static void append(std::vector<int64_t>* to, const std::vector<int64_t>& more) {
    to->insert(to->end(), more.begin(), more.end());
  }

  std::vector<int64_t> result() const {
    std::vector<int64_t> made;
    switch (of_.kind) {
      case LCI_COLLECTIVE_BARRIER:
      case LCI_COLLECTIVE_AGREE:  // it moves no data of the program
        return {};
      case LCI_COLLECTIVE_BROADCAST:
        return values(of_.root, 0, of_.count);
      case LCI_COLLECTIVE_REDUCE:
        return own_ == of_.root ? sum(0, size_, 0, of_.count) : made;
      case LCI_COLLECTIVE_ALLREDUCE:
        return sum(0, size_, 0, of_.count);
      case LCI_COLLECTIVE_REDUCE_SCATTER:
        return sum(0, size_, before(own_), block(own_));
      case LCI_COLLECTIVE_GATHER:
        if (own_ != of_.root) return {};
        [[fallthrough]];
      case LCI_COLLECTIVE_ALLGATHER:
        for (uint32_t i = 0; i < size_; ++i) append(&made, values(i, 0, block(i)));
        return made;
      case LCI_COLLECTIVE_SCATTER:
        return values(of_.root, before(own_), block(own_));
      case LCI_COLLECTIVE_ALLTOALL:
        for (uint32_t i = 0; i < size_; ++i) append(&made, values(i, before(i, own_), pair(i, own_)));
        return made;
      case LCI_COLLECTIVE_SCAN:
        return sum(0, own_ + 1, 0, of_.count);
      case LCI_COLLECTIVE_EXCLUSIVE_SCAN:
        if (own_ != 0) return sum(0, own_, 0, of_.count);
        return of_.in_place ? values(0, 0, of_.count) : std::vector<int64_t>(of_.count, kUntouched);
      case LCI_COLLECTIVE_NEIGHBOURS:
        for (const uint32_t from : neighbours(-1)) {
          const MemberCall other(of_, from, size_, seed_, 0);
          const auto to = other.neighbours(1);
          const auto place = static_cast<uint64_t>(std::find(to.begin(), to.end(), own_) - to.begin());
          append(&made, values(from, place * of_.count, of_.count));
        }
        return made;
    }
    return {};
  }
  /// One that is only asked.
  MemberCall(const CollectiveCase& of, uint32_t own, uint32_t size, uint64_t seed, int)
      : of_(of), own_(own), size_(size), seed_(seed) {}

  const CollectiveCase of_;
  const uint32_t own_, size_;
  const uint64_t seed_;
  std::vector<uint64_t> counts_;
  std::vector<int64_t> in_, out_, expected_;
};

inline constexpr lci_collective_kind kCollectiveKinds[] = {
    LCI_COLLECTIVE_BARRIER,        LCI_COLLECTIVE_BROADCAST, LCI_COLLECTIVE_REDUCE,         LCI_COLLECTIVE_ALLREDUCE,
    LCI_COLLECTIVE_REDUCE_SCATTER, LCI_COLLECTIVE_ALLGATHER, LCI_COLLECTIVE_GATHER,         LCI_COLLECTIVE_SCATTER,
    LCI_COLLECTIVE_ALLTOALL,       LCI_COLLECTIVE_SCAN,      LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_COLLECTIVE_NEIGHBOURS};

/// A call as any of its members may make it.
inline CollectiveCase any_case(std::mt19937_64& random, uint32_t size, const std::vector<uint64_t>& counts) {
  CollectiveCase made;
  made.kind = kCollectiveKinds[random() % std::size(kCollectiveKinds)];
  if (made.kind != LCI_COLLECTIVE_BARRIER) made.count = counts[random() % counts.size()];
  if (made.has_root()) made.root = static_cast<uint32_t>(random() % size);
  made.listed = made.may_be_listed() && random() % 2 == 0;
  made.in_place = made.may_be_in_place() && random() % 3 == 0;
  return made;
}

/// Of those that hosts make within each, and between them.
inline CollectiveCase any_over_hosts(std::mt19937_64& random, uint32_t size, const std::vector<uint64_t>& counts) {
  CollectiveCase made;
  do {
    made = any_case(random, size, counts);
  } while (made.listed || (made.kind > LCI_COLLECTIVE_ALLREDUCE && made.kind != LCI_COLLECTIVE_ALLGATHER));
  made.algorithm = LCI_ALGORITHM_HIERARCHICAL;
  return made;
}

/// Calls of all members of a context, several under way, checked when they end.
class CollectiveCalls {
 public:
  CollectiveCalls(Job& job, GroupContext& group) : job_(job), group_(group), members_(group.members.size()) {}

  /// Each member is to make this call, next.
  void add(const CollectiveCase& of) {
    for (uint32_t i = 0; i < members_.size(); ++i) {
      members_[i].push_back(std::make_unique<MemberCall>(of, i, static_cast<uint32_t>(members_.size()), seed_));
    }
    ++seed_;
  }
  /// Posts the next call of a member. LCI_POSTED, or the answer.
  int post(uint32_t member) {
    auto& of = group_.members[member];
    const lci_collective call = members_[member][of.posted]->call();
    const int code = lci_post_collective(of.context, &call, of.ended, of.posted);
    if (code == LCI_POSTED) ++of.posted;
    return code;
  }
  int post_until_taken(uint32_t member) {
    int code = LCI_RETRY;
    EXPECT_TRUE(until(job_, [&] {
      look();
      code = post(member);
      return !is_retry(code);
    }));
    return code;
  }
  /// Nobody makes the call that was added last.
  void take_back() {
    for (auto& member : members_) member.pop_back();
  }
  bool has_more(uint32_t member) const { return group_.members[member].posted < members_[member].size(); }
  MemberCall& call(uint32_t member, uint64_t number) { return *members_[member][number]; }

  /// All of them, at most @p most of a member under way, in an order that @p random chooses.
  void run(uint64_t most, std::mt19937_64& random) {
    for (const lci::test::Deadline deadline(60); !deadline.passed();) {
      const auto index = static_cast<uint32_t>(random() % members_.size());
      auto& of = group_.members[index];
      if (has_more(index) && of.posted - of.ends.size() < most) {
        const int code = post(index);
        ASSERT_TRUE(code == LCI_POSTED || is_retry(code)) << code << lci_last_error();
      }
      lci_progress(job_.device(of.rank));
      look();
      const auto is_over = [&](const auto& member) {
        return member.ends.size() == members_[static_cast<size_t>(&member - group_.members.data())].size();
      };
      if (std::all_of(group_.members.begin(), group_.members.end(), is_over)) return;
    }
    FAIL() << "not all calls have ended";
  }
  /// Takes what has ended, and looks at it.
  void look() {
    for (uint32_t i = 0; i < members_.size(); ++i) {
      auto& of = group_.members[i];
      lci_status status{};
      while (lci_queue_pop(of.ended, &status) == LCI_DONE) {
        of.ends.push_back(status);
        if (status.code != LCI_DONE) continue;
        const MemberCall& call = *members_[i][status.user_context];
        call.expect_result();
        EXPECT_EQ(call.bytes(), status.size);
        EXPECT_TRUE(call.bytes() == 0 || call.out() == status.buffer);
      }
    }
  }

 private:
  Job& job_;
  GroupContext& group_;
  std::vector<std::vector<std::unique_ptr<MemberCall>>> members_;
  uint64_t seed_ = 1;
};

}  // namespace lci_test
