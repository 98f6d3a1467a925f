// SPDX-License-Identifier: Apache-2.0
// A call of a context that this rank takes part in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collective/request.hpp"
#include "protocol/contexts.hpp"

namespace lci {

struct ContextState;

struct CollectiveCall {
  /// What a message of the call says of it.
  CallHeader header_of(const Action& action) const {
    CallHeader said = header;
    if (pairwise) said.count = bytes_of(action);
    return said;
  }
  /// Whether a member may say this in some message.
  bool agrees(CallHeader theirs) const {
    if (pairwise) theirs.count = header.count;
    return theirs == header;
  }

  ContextState* state = nullptr;
  uint64_t sequence = 0;
  CallHeader header;
  bool pairwise = false;
  ScheduleRun run;
  OpTarget target;
  void* out = nullptr;
  uint64_t out_bytes = 0;
};

/// Schedules of the calls that were made last: those of equal calls of a member are equal.
class ScheduleCache {
 public:
  static constexpr size_t kMost = 64;
  /// Actions of one that is kept.
  static constexpr size_t kMostActions = 512;

  std::shared_ptr<const Schedule> get(const Shape& shape) {
    if (!shape.counts.empty()) return make_schedule(shape);
    const Key key = key_of(shape);
    Entry* oldest = entries_.data();
    for (Entry& entry : entries_) {
      if (entry.schedule && entry.key == key) {
        entry.used = ++uses_;
        return entry.schedule;
      }
      if (entry.used < oldest->used) oldest = &entry;
    }
    std::shared_ptr<const Schedule> made = make_schedule(shape);
    if (made->actions().size() <= kMostActions) *oldest = {key, made, ++uses_};
    return made;
  }

 private:
  struct Key {
    uint8_t kind, algorithm;
    bool apart;
    uint32_t root;
    uint64_t element, count, segment_bytes;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key{};
    std::shared_ptr<const Schedule> schedule;
    uint64_t used = 0;
  };
  static Key key_of(const Shape& shape) {
    return {shape.kind, shape.algorithm, shape.apart, shape.root, shape.element, shape.count, shape.segment_bytes};
  }

  std::array<Entry, kMost> entries_;
  uint64_t uses_ = 0;
};

}  // namespace lci
