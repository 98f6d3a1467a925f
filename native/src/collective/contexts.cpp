// SPDX-License-Identifier: Apache-2.0
#include "collective/contexts.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "collective/id.hpp"

namespace lci {
namespace {

/// Each life of a context has an id of its own: what is still under way of the one before reaches none.
uint64_t id_of(uint64_t group, uint64_t key, uint32_t device, uint64_t lives) {
  IdHash hash("context");
  hash.add(group);
  hash.add(key);
  hash.add(device);
  hash.add(lives);
  return hash.id();
}

}  // namespace

int Contexts::open_group(Runtime& runtime, uint32_t rank, const std::vector<uint32_t>& host_of, const uint32_t* members,
                         uint32_t count, uint64_t key, Group** out) {
  const auto ranks = static_cast<uint32_t>(host_of.size());
  if (const int code = Group::check(rank, ranks, members, count); code != LCI_DONE) return code;
  const std::lock_guard<std::mutex> guard(mutex_);
  for (GroupEntry& entry : groups_) {
    if (!entry.group->is(members, count, key)) continue;
    ++entry.handles;
    *out = entry.group.get();
    return LCI_DONE;
  }
  groups_.push_back({std::make_shared<Group>(runtime, rank, host_of, members, count, key), 1});
  *out = groups_.back().group.get();
  return LCI_DONE;
}

/// Its contexts go on.
void Contexts::close_group(Group& group) {
  const std::lock_guard<std::mutex> guard(mutex_);
  GroupEntry* const entry = find(group);
  if (!entry || --entry->handles != 0) return;
  groups_.erase(groups_.begin() + (entry - groups_.data()));
}

Contexts::GroupEntry* Contexts::find(const Group& group) {
  const auto entry = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const GroupEntry& other) { return other.group.get() == &group; });
  return entry == groups_.end() ? nullptr : &*entry;
}

Contexts::Entry* Contexts::find(const Name& name) {
  const auto entry = contexts_.find(name);
  return entry == contexts_.end() || !entry->second.context ? nullptr : &entry->second;
}

int Contexts::make(Group& group, const Name& name, std::shared_ptr<Context>* out) {
  if (live_ == kMost) return fail(LCI_ERR_EXHAUSTED, "create context: a rank has %zu at most; free some", kMost);
  Entry& entry = contexts_[name];
  entry.context = std::make_shared<Context>(group.shared_from_this(), name.key,
                                            id_of(name.group, name.key, name.device, entry.lives), name.device);
  entry.handles = 1;
  ++live_;
  *out = entry.context;
  return LCI_DONE;
}

/// It could not be adopted.
void Contexts::take_back(const Name& name) {
  Entry* const entry = find(name);
  if (!entry) return;
  entry->context.reset();
  --live_;
  if (entry->lives == 0) contexts_.erase(name);
}

size_t Contexts::known() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return contexts_.size();
}

int Contexts::close(Context& context, Again again, bool* closed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  *closed = false;
  const Name name{context.group().id(), context.key(), context.device()};
  Entry& entry = *find(name);
  if (entry.handles > 1) {
    --entry.handles;
    return LCI_DONE;
  }
  if (context.has_calls()) return fail(LCI_ERR_BUSY, "free context: calls of it are under way");
  context.close();
  entry.context.reset();
  entry.handles = 0;
  ++entry.lives;
  --live_;
  if (again == Again::kNever) contexts_.erase(name);
  *closed = true;
  return LCI_DONE;
}

}  // namespace lci
