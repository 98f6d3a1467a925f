// SPDX-License-Identifier: Apache-2.0
// What ends when a peer dies or leaves: everything bound to it, and nothing else. [area L, X4]
#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {
namespace {

using Receives = std::vector<std::unique_ptr<PostedReceive>>;

int code_of(RankState state) {
  return state == RankState::kLeft ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED;
}

/// Takes the receives that wait for @p rank out of an engine.
void take_receives(const Engine& engine, uint32_t rank, Receives* into) {
  engine.extract([&](uint64_t, void* value, Side side) {
    auto* receive = static_cast<PostedReceive*>(value);
    if (side != Side::kReceive || receive->rank != rank) return false;
    into->emplace_back(receive);
    return true;
  });
}

}  // namespace

Device::Device(Runtime& runtime, const DeviceParts& parts, uint32_t index)
    : runtime_(runtime),
      parts_(parts),
      index_(index),
      links_(parts, *this, index, counters),
      departures_(parts.packets, *this),
      barriers_(parts, links_, counters, *this),
      backlog_(parts, index, counters, *this) {}

Device::~Device() = default;

bool Device::look_for_failures() {
  const uint32_t epoch = parts_.peers.epoch();
  if (epoch == seen_epoch_) return false;
  bool all = true;
  bool moved = fail_links(RankState::kFailed, &all);  // first: others may have left because of them
  moved |= fail_links(RankState::kLeft, &all);
  if (all) seen_epoch_ = epoch;
  return moved;
}

/// Fails the links to all ranks in @p state; @p all becomes false if one still has messages to read.
bool Device::fail_links(RankState state, bool* all) {
  bool moved = false;
  for (uint32_t rank = 0; rank < parts_.ranks; ++rank) {
    if (parts_.peers.state(rank) != state) continue;
    Link& link = links_.of_gone(rank);
    if (link.failed) {
      moved |= reclaim_packets(link);
      continue;
    }
    if (!link.in_open && accept_link(link)) links_.make_ready(link);
    // What it sent before the end is delivered first.
    if (link.in_open && !link.broken && (link.data_in.has_message() || link.control_in.has_message())) {
      links_.make_ready(link);
      unfinished_ = true;
      *all = false;
      continue;
    }
    fail_link(link, state);
    moved = true;
  }
  return moved;
}

void Device::fail_link(Link& link, RankState state) {
  const uint32_t rank = link.rank;
  const int code = code_of(state);
  take_returned_packets(index_);
  link.failed = true;
  link.streams.clear();
  link.queued_ready.clear();
  link.withdrawals.clear();
  link.put_acks.clear();
  link.signals.clear();
  link.asks.clear();
  link.queued_control = nullptr;
  link.queued_returns = nullptr;
  if (link.chaos) link.chaos->drop();
  sends_.for_each([&](uint64_t, SendContext& context) {
    if (context.link == &link) finish_send_context(context, code);
  });
  departures_.end(&link, code);
  receives_.for_each([&](uint64_t id, ReceiveContext& context) {
    if (context.link == &link) finish_receive_context(id, code);
  });
  link.in_keys.for_each([&](InKey& key) {
    key.queued = false;
    key.grant = {};
    Credit back = key.leased;
    for (auto announcement = key.waiting.begin(); announcement != key.waiting.end();) {
      if (!announcement->rendezvous) {
        ++announcement;
        continue;
      }
      if (announcement->credited) ++back.messages;
      announcement = key.waiting.erase(announcement);
      counters.add(Metric::discarded);
    }
    const auto left_behind = static_cast<uint32_t>(key.waiting.size());
    key.target->left_behind.fetch_add(left_behind, std::memory_order_relaxed);
    if (key.target->credited) {
      key.leased = {};
      key.goal = {};
      key.circulating.messages -= back.messages;
      key.circulating.bytes -= back.bytes;
      if (key.counted) key.target->holders.fetch_sub(1, std::memory_order_relaxed);
      key.counted = false;
      key.target->give(back, key.generation);
    }
    set_thresholds(key);
    work_.request(key);
  });
  link.out_keys.for_each([](OutKey& key) {
    key.queued = false;
    key.credit = key.give_back = {};
  });
  reclaim_packets(link);
  backlog_.peer_gone(rank, code);
  // By every device: one that felt the death later may have reserved room for a reply since the first one looked.
  parts_.targets.forget_replies(rank);
  drop_unmatched_rendezvous(rank);
  // A receive may be matched by what any device still has to read.
  const bool last = parts_.peers.read_all_of(rank, index_);
  if (last) fail_receives(rank, code);
  if (index_ == 0) barriers_.peer_gone(rank, code);
  if (LaneView* owner = lane())
    owner->peer_changed(this, rank, state == RankState::kLeft ? LCI_PEER_LEFT : LCI_PEER_FAILED, code);
}

/// Drops the announced sends of @p rank: the payload went with it.
void Device::drop_unmatched_rendezvous(uint32_t rank) {
  parts_.targets.for_each_engine([&](Engine& engine) {
    engine.extract([&](uint64_t, void* value, Side side) {
      if (side == Side::kReceive) return false;
      const auto* send = static_cast<const UnexpectedSend*>(value);
      if (send->rank != rank || send->kind != UnexpectedSend::Kind::kRendezvous) return false;
      parts_.shared.add(Metric::unexpected_stored, -1);
      counters.add(Metric::discarded);
      delete send;
      return true;
    });
  });
}

/// Ends the receives that wait for @p rank, on whatever device they were posted. Those of an engine for which announced
/// sends still wait are ended when these are there.
void Device::fail_receives(uint32_t rank, int code) {
  Receives receives;
  parts_.targets.for_each_engine([&](Engine& engine) {
    if (!engine.keeps_left_behind()) take_receives(engine, rank, &receives);
  });
  end_receives(std::move(receives), code);
}

/// What the gone had announced to @p late before it was created has come to it.
void Device::fail_receives_at(const Engine& late) {
  for (uint32_t rank = 0; rank < parts_.ranks; ++rank) {
    if (!parts_.peers.all_read(rank)) continue;
    // A device that has found this out since may have brought more; who ends that comes here again.
    if (late.keeps_left_behind()) return;
    Receives receives;
    take_receives(late, rank, &receives);
    end_receives(std::move(receives), code_of(parts_.peers.state(rank)));
  }
}

void Device::end_receives(Receives receives, int code) {
  for (auto& receive : receives) {
    parts_.shared.add(Metric::receives_pending, -1);
    complete(receive->target, code, receive->rank, receive->tag, receive->buffer, 0);
    end_receive(std::move(receive));
  }
}

void Device::stop_accepting() {
  std::lock_guard<TryLock> guard(handed_lock_);
  ended_ = true;
}

void Device::cancel_all(int code) {
  stop_accepting();
  take_handed();
  backlog_.cancel_all(code);
  sends_.for_each([&](uint64_t, SendContext& context) { finish_send_context(context, code); });
  departures_.end(nullptr, code);
  receives_.for_each([&](uint64_t id, ReceiveContext&) { finish_receive_context(id, code); });
  barriers_.cancel_all(code);
  if (index_ != 0) return;
  parts_.targets.for_each_engine([&](Engine& engine) {
    Receives receives;
    engine.extract([&](uint64_t, void* value, Side side) {
      if (side == Side::kReceive) {
        receives.emplace_back(static_cast<PostedReceive*>(value));
      } else {
        delete static_cast<UnexpectedSend*>(value);
        parts_.shared.add(Metric::unexpected_stored, -1);
      }
      return true;
    });
    end_receives(std::move(receives), code);
  });
}

void Device::forget(const LaneView& gone) {
  take_handed();
  auto forget = [this](OpTarget& target) {
    target.forget();
    counters.add(Metric::signals_dropped);
  };
  sends_.for_each([&](uint64_t, SendContext& context) {
    if (context.target.lane != &gone) return;
    forget(context.target);
    abandon(context);
  });
  counters.set(Metric::sends_pending, sends_live());
  const auto forget_gone = [&](OpTarget& target) {
    if (target.lane == &gone) forget(target);
  };
  departures_.for_each_target(forget_gone);
  receives_.for_each([&](uint64_t, ReceiveContext& context) {
    if (context.target.lane != &gone) return;
    forget(context.target);
    // The peer goes on sending, or waits to be told that it may: the place is kept, without the buffer and the signal
    // of who has gone.
    context.buffer = nullptr;
    context.capacity = 0;
    context.ranges.clear();
    give_up(*context.link, context.signal);
    context.signal = {};
  });
  barriers_.for_each_target(forget_gone);
  backlog_.lane_gone(gone, forget);
  parts_.targets.for_each_engine([&](Engine& engine) {
    engine.extract([&](uint64_t, void* value, Side side) {
      auto* receive = static_cast<PostedReceive*>(value);
      if (side != Side::kReceive || receive->target.lane != &gone) return false;
      parts_.shared.add(Metric::receives_pending, -1);
      forget(receive->target);
      end_receive(std::unique_ptr<PostedReceive>(receive));
      return true;
    });
  });
}

}  // namespace lci
