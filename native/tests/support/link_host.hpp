// SPDX-License-Identifier: Apache-2.0
// What a link needs of its rank, one of two, and what it tells that.
#pragma once

#include <memory>
#include <vector>

#include "base/attributes.hpp"
#include "lci/lci.h"
#include "transport/memory/ring_pair.hpp"
#include "transport/network/mirror.hpp"
#include "transport/shm/arena.hpp"
#include "transport/tcp/tcp_host.hpp"

namespace lci_test {

class LinkHost : public lci::TcpHost {
 public:
  LinkHost(uint32_t rank, const lci::LinkSizes& sizes) : rank_(rank), sizes_(sizes) {
    lci::Attributes attributes;
    attributes.log_outfile = "none";
    is_made_ = log_.open(attributes, rank, 1) == LCI_DONE &&
               lci::Arena::create(kReserve, 0, rank, 2, 1, &arena_) == LCI_DONE &&
               lci::Mirror::create(kReserve, 1 - rank, 2, 1, &mirror_) == LCI_DONE;
    if (!is_made_) return;
    const uint64_t offset = arena_->allocate(lci::RingPair::bytes(sizes.control_slots, sizes.data_slots));
    auto* rings = new (arena_->at(offset)) lci::RingPair;
    control = lci::RingProducer(rings->control(sizes.control_slots));
    data = lci::RingProducer(rings->data(sizes.control_slots, sizes.data_slots));
    arena_->ring_pair_offset(0, 1 - rank).store(offset);
  }
  bool is_made() const { return is_made_; }

  lci::OwnMemory& memory() override { return *arena_; }
  uint32_t own_rank() const override { return rank_; }
  uint32_t ranks() const override { return 2; }
  const lci::LinkSizes& sizes() const override { return sizes_; }
  lci::Log& log() override { return log_; }
  lci::SharedCounters& shared() override { return shared_; }
  const lci::ChaosPlan* chaos() const override { return nullptr; }
  uint64_t barriers() override { return 0; }
  void barriers_came(uint32_t, uint64_t) override {}
  void barriers_came(uint32_t, uint32_t) override {}
  void link_stands(uint32_t, bool) override {}
  void gone(uint32_t, lci::RankState state) override { ends.push_back(state); }
  void told_gone(uint32_t, lci::RankState state, uint32_t) override { ends.push_back(state); }
  bool has_failed(uint32_t) override { return other_has_failed; }
  void fenced(uint32_t by) override { fenced_by.push_back(by); }
  void devices_came(uint32_t, uint32_t) override {}
  void spoken_came(uint32_t, uint32_t device) override { spoken.push_back(device); }

  lci::Mirror& mirror() { return *mirror_; }
  /// Whether the other rank's messages have rings; and those.
  bool hears() const { return mirror_->ring_pair_offset(0, rank_).load() != 0; }
  lci::RingPair& rings_of_other() {
    return *reinterpret_cast<lci::RingPair*>(mirror_->at(mirror_->ring_pair_offset(0, rank_).load()));
  }

  /// The rings in which the device of this rank writes.
  lci::RingProducer control, data;
  lci::Counters counters;
  std::vector<lci::RankState> ends;
  std::vector<uint32_t> fenced_by, spoken;
  bool other_has_failed = false;

 private:
  static constexpr uint64_t kReserve = 16 << 20;
  const uint32_t rank_;
  const lci::LinkSizes sizes_;
  bool is_made_ = false;
  lci::Log log_;
  lci::SharedCounters shared_;
  std::shared_ptr<lci::Arena> arena_;
  std::unique_ptr<lci::Mirror> mirror_;
};

}  // namespace lci_test
