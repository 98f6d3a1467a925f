// SPDX-License-Identifier: Apache-2.0
#include "collective/group.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "collective/id.hpp"

namespace lci {

int Group::check(uint32_t rank, uint32_t ranks, const uint32_t* members, uint32_t count) {
  if (count == 0) return fail(LCI_ERR_ARGUMENT, "create group: it has no members");
  std::vector<bool> seen(ranks);
  for (uint32_t i = 0; i < count; ++i) {
    if (members[i] >= ranks) {
      return fail(LCI_ERR_RANK, "create group: member %u is rank %u of a job of %u", i, members[i], ranks);
    }
    if (seen[members[i]]) return fail(LCI_ERR_ARGUMENT, "create group: rank %u is a member twice", members[i]);
    seen[members[i]] = true;
  }
  if (seen[rank]) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "create group: rank %u is no member; each member makes the group, and nobody else",
              rank);
}

namespace {

std::vector<uint32_t> hosts_of(const std::vector<uint32_t>& host_of, const uint32_t* members, uint32_t count) {
  std::vector<uint32_t> lowest(host_of.size(), Group::kNone), hosts(count);
  uint32_t different = 0;
  for (uint32_t member = 0; member < count; ++member) {
    uint32_t& first = lowest[host_of[members[member]]];
    if (first == Group::kNone) {
      first = member;
      ++different;
    }
    hosts[member] = first;
  }
  if (different == 1 || different == count) hosts.clear();
  return hosts;
}

}  // namespace

uint64_t Group::id_of(const uint32_t* members, uint32_t count, uint64_t key) {
  IdHash hash("group");
  hash.add(key);
  for (uint32_t i = 0; i < count; ++i) hash.add(members[i]);
  return hash.id();
}

Group::Group(Runtime& runtime, uint32_t rank, const std::vector<uint32_t>& host_of, const uint32_t* members,
             uint32_t count, uint64_t key)
    : runtime_(runtime),
      members_(members, members + count),
      by_rank_(host_of.size(), uint32_t{kNone}),
      hosts_(hosts_of(host_of, members, count)),
      key_(key),
      id_(id_of(members, count, key)),
      own_(static_cast<uint32_t>(std::find(members, members + count, rank) - members)) {
  for (uint32_t i = 0; i < count; ++i) by_rank_[members[i]] = i;
}

bool Group::is(const uint32_t* members, uint32_t count, uint64_t key) const {
  return key == key_ && std::equal(members, members + count, members_.begin(), members_.end());
}

}  // namespace lci
