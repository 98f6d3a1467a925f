// SPDX-License-Identifier: Apache-2.0
// A call of a context that this rank takes part in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collective/request.hpp"
#include "protocol/collective_board.hpp"
#include "protocol/contexts.hpp"

namespace lci {

struct ContextState;

struct CollectiveCall {
  /// What a message of the call says of it, if it has so many bytes.
  CallHeader header_of(uint64_t bytes) const {
    CallHeader said = header;
    if (pairwise) said.count = bytes / run.memory().element;
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
  BoardCall board;
  OpTarget target;
  void* out = nullptr;
  uint64_t out_bytes = 0;
  std::byte* stage = nullptr;  ///< A copy of what several members get, where they read it; null: there is none.
};

/// The call that was read last, so that the same one need not be read and chosen for again.
class KeptRequest {
 public:
  /// Lists of counts are the program's, and may have changed.
  bool is_of(const lci_descriptor& op) const {
    const auto& given = op.u.collective;
    const auto& before = of_.u.collective;
    return kept_ && op.port == of_.port && op.policy == of_.policy && op.rank == of_.rank && op.size == of_.size &&
           given.in == before.in && given.out == before.out && given.count == before.count && given.counts == 0;
  }
  void keep(const lci_descriptor& op) {
    of_ = op;
    kept_ = op.u.collective.counts == 0;
  }
  void forget() { kept_ = false; }

  CollectiveRequest read;

 private:
  bool kept_ = false;
  lci_descriptor of_{};
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
