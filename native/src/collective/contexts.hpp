// SPDX-License-Identifier: Apache-2.0
// The groups and contexts of a rank. Making one takes no communication: equal arguments give the same object here, and
// the same id on every member. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "collective/context.hpp"
#include "lci/lci.h"

namespace lci {

class Contexts {
 public:
  /// Contexts that a rank may have at a time.
  static constexpr size_t kMost = 1024;

  /// See lci_group_create().
  /// @param host_of the lowest rank on the host of each rank
  int open_group(Runtime& runtime, uint32_t rank, const std::vector<uint32_t>& host_of, const uint32_t* members,
                 uint32_t count, uint64_t key, Group** out);
  void close_group(Group& group);

  /// See lci_context_create(). @p adopt is called with a new context, which exists when it answers LCI_DONE.
  template <typename Adopt>
  int open(Group& group, uint64_t key, uint32_t device, Adopt adopt, Context** out) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const Name name{group.id(), key, device};
    if (Entry* const entry = find(name)) {
      ++entry->handles;
      *out = entry->context.get();
      return LCI_DONE;
    }
    std::shared_ptr<Context> context;
    int code = make(group, name, &context);
    if (code == LCI_DONE) code = adopt(context);
    if (code != LCI_DONE) {
      take_back(name);
      return code;
    }
    *out = context.get();
    return LCI_DONE;
  }
  /// Whether a context of the same arguments may be made later. It is another one, so the lives before it count.
  enum class Again : uint8_t { kMayCome, kNever };
  /// LCI_ERR_BUSY: calls are under way. @p closed says whether nobody holds it any more.
  int close(Context& context, Again again, bool* closed);
  /// How many are known: those that are open, and those that may come again.
  size_t known();

 private:
  struct Name {
    uint64_t group, key;
    uint32_t device;
    auto operator<=>(const Name&) const = default;
  };
  struct Entry {
    std::shared_ptr<Context> context;  // null: closed
    uint32_t handles = 0;
    uint64_t lives = 0;  // how often it was closed
  };
  struct GroupEntry {
    std::shared_ptr<Group> group;
    uint32_t handles;
  };

  Entry* find(const Name& name);
  int make(Group& group, const Name& name, std::shared_ptr<Context>* out);
  void take_back(const Name& name);
  GroupEntry* find(const Group& group);

  std::mutex mutex_;
  std::vector<GroupEntry> groups_;
  std::map<Name, Entry> contexts_;
  size_t live_ = 0;
};

}  // namespace lci
