// SPDX-License-Identifier: Apache-2.0
// A call in parts: of the members of each host, then of one member of each host, its speaker, then of each host again.
// So what goes between hosts is what a group of speakers would send. Each part is a call of its own, by the algorithm
// that is chosen for its members. [COLLECTIVES]
#include <algorithm>
#include <memory>
#include <vector>

#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/tree.hpp"

namespace lci {

namespace {

using Part = std::shared_ptr<const Schedule>;

/// Members that make a part of the call.
struct Party {
  std::vector<uint32_t> members;  ///< Of the whole, in their order.
  uint32_t root = 0;              ///< By its place among them.

  uint32_t place_of(uint32_t member) const {
    return static_cast<uint32_t>(std::lower_bound(members.begin(), members.end(), member) - members.begin());
  }
  bool has(uint32_t member) const { return std::binary_search(members.begin(), members.end(), member); }
};

/// Where the memory of a part lies in that of the whole.
struct Places {
  Range in, out;
};

/// The root for its host, the lowest member for each other one.
bool speaks(const Shape& shape, uint32_t member) {
  const uint32_t host = shape.hosts[member];
  return member == (host == shape.hosts[shape.root] ? shape.root : host);
}

class Levels {
 public:
  Levels(const Shape& whole, Schedule& to) : whole_(whole), to_(to), hosts_(whole.size) {
    for (uint32_t member = 0; member < whole.size; ++member) {
      Party& host = hosts_[whole.hosts[member]];
      if (speaks(whole, member)) {
        host.root = static_cast<uint32_t>(host.members.size());
        speakers_.members.push_back(member);
      }
      host.members.push_back(member);
    }
    speakers_.root = speakers_.place_of(whole.root);
    std::erase_if(hosts_, [](const Party& host) { return host.members.empty(); });
  }

  /// The lowest member of its host.
  uint32_t first() const { return own_host().members.front(); }
  /// Elements that the members of each host bring.
  std::vector<uint64_t> counts() const {
    std::vector<uint64_t> counts;
    for (const Party& host : hosts_) counts.push_back(host.members.size() * whole_.count);
    return counts;
  }
  /// On its host.
  bool is_alone() const { return own_host().members.size() == 1; }
  /// Scratch that lasts over all parts. Before the first one.
  Range take(uint64_t bytes) {
    const Range piece = ScratchPieces(to_).take(bytes);
    scratch_ = to_.scratch();
    return piece;
  }

  /// @param make the schedule of a shape whose kind is open
  template <typename Make>
  void within_hosts(Make make, const Places& places = {}) {
    size_t rounds = 0;
    for (const Party& host : hosts_) rounds = std::max(rounds, make(shape_of(host, 0))->rounds());
    add(own_host(), make, places, rounds);
  }
  template <typename Make>
  void among_speakers(Make make, const Places& places = {}) {
    const size_t rounds = make(shape_of(speakers_, 0))->rounds();
    if (speakers_.has(whole_.own)) return add(speakers_, make, places, rounds);
    for (size_t i = 0; i < rounds; ++i) to_.end_round();
  }

 private:
  const Party& own_host() const {
    return *std::find_if(hosts_.begin(), hosts_.end(), [&](const Party& host) { return host.has(whole_.own); });
  }
  Shape shape_of(const Party& party, uint32_t place) const {
    Shape shape = whole_;
    shape.algorithm = LCI_ALGORITHM_AUTO;
    shape.root = party.root;
    shape.own = place;
    shape.size = static_cast<uint32_t>(party.members.size());
    shape.hosts = {};
    shape.apart = false;
    shape.near = whole_.near_on_hosts && &party != &speakers_;  // no part of them is one that goes over boards
    return shape;
  }
  /// All parties of a part take as many rounds, so that those that follow have equal numbers.
  template <typename Make>
  void add(const Party& party, Make make, const Places& places, size_t rounds) {
    const Part part = make(shape_of(party, party.place_of(whole_.own)));
    to_.take_scratch(std::max(to_.scratch(), scratch_ + part->scratch()));
    for (size_t i = 0; i < rounds; ++i) {
      if (i < part->rounds()) {
        for (const Action& action : part->round(i)) add_action(action, party, places);
      }
      to_.end_round();
    }
  }
  void add_action(Action action, const Party& party, const Places& places) {
    for (Range* range : {&action.to, &action.from, &action.right}) *range = moved(*range, places);
    if (action.is_message()) action.member = party.members[action.member];
    if (action.kind != Action::Kind::kCopy || action.to != action.from) to_.add(action);
  }
  Range moved(const Range& range, const Places& places) const {
    if (range.area == Area::kScratch) return {range.area, scratch_ + range.offset, range.bytes};
    return (range.area == Area::kIn ? places.in : places.out).part(range.offset, range.bytes);
  }

  const Shape& whole_;
  Schedule& to_;
  uint64_t scratch_ = 0;  // where that of parts begins
  std::vector<Party> hosts_;
  Party speakers_;
};

/// A call of this kind, by any algorithm.
auto call_of(uint8_t kind) {
  return [kind](Shape shape) -> Part {
    shape.kind = kind;
    choose_algorithm(&shape);
    return make_schedule(shape);
  };
}

/// Up a tree of empty messages: all members are there when the root has its last one.
Part report(const Shape& shape) {
  const auto to = std::make_shared<Schedule>();
  const uint32_t own = own_place(shape);
  for (uint32_t span = 1; span < shape.size; span *= 2) {
    if (own % (2 * span) == span) to->send(member_at(shape, own - span), {});
    if (own % (2 * span) == 0 && own + span < shape.size) to->receive(member_at(shape, own + span), {});
    to->end_round();
  }
  return to;
}

/// And down again.
Part release(const Shape& shape) {
  const auto to = std::make_shared<Schedule>();
  const uint32_t own = own_place(shape);
  for (uint32_t span = widest_span(shape, 2); span > 0 && shape.size > 1; span /= 2) {
    if (own % (2 * span) == span) to->receive(member_at(shape, own - span), {});
    if (own % (2 * span) == 0 && own + span < shape.size) to->send(member_at(shape, own + span), {});
    to->end_round();
  }
  return to;
}

Range whole_block(const Shape& shape, Area area) {
  return {area, 0, block_bytes(shape)};
}

}  // namespace

void barrier_hierarchical(const Shape& shape, Schedule& to) {
  Levels levels(shape, to);
  levels.within_hosts(report);
  levels.among_speakers(call_of(LCI_COLLECTIVE_BARRIER));
  levels.within_hosts(release);
}

void broadcast_hierarchical(const Shape& shape, Schedule& to) {
  const Places places{{}, whole_block(shape, Area::kOut)};
  Levels levels(shape, to);
  levels.among_speakers(call_of(LCI_COLLECTIVE_BROADCAST), places);
  levels.within_hosts(call_of(LCI_COLLECTIVE_BROADCAST), places);
}

// What a host has is in the memory of its speaker: in `out` if that is the root, which alone has it.
void reduce_hierarchical(const Shape& shape, Schedule& to) {
  const Range in = whole_block(shape, Area::kIn), out = whole_block(shape, Area::kOut);
  Levels levels(shape, to);
  Range held = in;
  if (!levels.is_alone() && speaks(shape, shape.own)) held = shape.own == shape.root ? out : levels.take(in.bytes);
  levels.within_hosts(call_of(LCI_COLLECTIVE_REDUCE), {in, held});
  levels.among_speakers(call_of(LCI_COLLECTIVE_REDUCE), {held, out});
}

void allreduce_hierarchical(const Shape& shape, Schedule& to) {
  const Range in = whole_block(shape, Area::kIn), out = whole_block(shape, Area::kOut);
  Levels levels(shape, to);
  const Range held = levels.is_alone() ? in : out;
  levels.within_hosts(call_of(LCI_COLLECTIVE_REDUCE), {in, held});
  levels.among_speakers(call_of(LCI_COLLECTIVE_ALLREDUCE), {held, out});
  levels.within_hosts(call_of(LCI_COLLECTIVE_BROADCAST), {out, out});
}

// The members of a host follow each other, and so do their blocks.
void allgather_hierarchical(const Shape& shape, Schedule& to) {
  Levels levels(shape, to);
  const std::vector<uint64_t> counts = levels.counts();
  const Range in = whole_block(shape, Area::kIn), out{Area::kOut, 0, shape.size * in.bytes};
  const Range of_host = out.part(levels.first() * in.bytes, out.bytes);
  const auto gather_hosts = [&](Shape part) {
    part.counts = counts;
    return call_of(LCI_COLLECTIVE_ALLGATHER)(part);
  };
  const auto broadcast_all = [&](Shape part) {
    part.count = shape.size * shape.count;
    return call_of(LCI_COLLECTIVE_BROADCAST)(part);
  };
  levels.within_hosts(call_of(LCI_COLLECTIVE_GATHER), {in, of_host});
  levels.among_speakers(gather_hosts, {of_host, out});
  levels.within_hosts(broadcast_all, {out, out});
}

}  // namespace lci
