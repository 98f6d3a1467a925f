// SPDX-License-Identifier: Apache-2.0
// A group: ranks of the job in an order that all of them give alike. Its members have the numbers 0 to n-1. Nothing of
// it changes, so any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace lci {

class Runtime;

/// Contexts keep it, also when it has no handle any more.
class Group : public std::enable_shared_from_this<Group> {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// LCI_DONE, or why these are no members: see lci_group_create().
  static int check(uint32_t rank, uint32_t ranks, const uint32_t* members, uint32_t count);
  /// What each of them computes from the same arguments.
  static uint64_t id_of(const uint32_t* members, uint32_t count, uint64_t key);

  /// @param host_of the lowest rank on the host of each rank
  Group(Runtime& runtime, uint32_t rank, const std::vector<uint32_t>& host_of, const uint32_t* members, uint32_t count,
        uint64_t key);

  Runtime& runtime() const { return runtime_; }
  uint64_t id() const { return id_; }
  uint64_t key() const { return key_; }
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  /// This rank's number.
  uint32_t own() const { return own_; }
  /// The rank of a member.
  uint32_t rank_of(uint32_t member) const { return members_[member]; }
  /// The number of a rank; kNone: it is no member.
  uint32_t member_of(uint32_t rank) const { return by_rank_[rank]; }
  /// The lowest member on the host of each; empty if none share one, or all do.
  const std::vector<uint32_t>& hosts() const { return hosts_; }
  bool is(const uint32_t* members, uint32_t count, uint64_t key) const;

 private:
  Runtime& runtime_;
  const std::vector<uint32_t> members_;
  std::vector<uint32_t> by_rank_, hosts_;
  const uint64_t key_, id_;
  const uint32_t own_;
};

}  // namespace lci
