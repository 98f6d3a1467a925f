// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocols.hpp"

#include "base/no_memory.hpp"
#include "transport/network/network_device.hpp"

namespace lci {
namespace {

/// Slots of the ring that are for chunks while there are any.
constexpr uint32_t kStreamRoom = 8;

}  // namespace

Protocols::Protocols(const DeviceParts& parts, Device& device, uint32_t index, DeviceBell& bell)
    : host(parts, device, index),
      handed(host),
      links(host, handed),
      wanted(parts.packets, index),
      backlog(host, links),
      waiting(host, links),
      works(host, links),
      departures(host, links),
      barriers(host, links),
      spending(host, links, backlog),
      admission(host, links, backlog, spending, wanted),
      packets(host, links, wanted, departures, spending),
      replies(host, links, spending),
      grants(host, links, bell),
      delivery(host, links, grants, replies),
      regions(host, links),
      signals(host, links, spending, admission, wanted, packets),
      outgoing(host, links, wanted, departures, spending, admission, packets, signals, regions),
      incoming(host, links, grants, replies, delivery, signals),
      collectives(host, links, outgoing, incoming),
      receives(host, links, grants, packets, incoming),
      announcements(host, links, grants, replies, delivery, incoming, receives),
      put_get(host, links, handed, backlog, admission, signals, regions, outgoing, incoming),
      put_get_server(host, links, regions, outgoing),
      atomics(host, links, backlog, admission, regions, put_get),
      eager(host, links, backlog, departures, spending, admission, packets, replies, outgoing, receives),
      arrivals(host, links, {barriers, collectives}, spending, packets, replies, grants, delivery, outgoing, incoming,
               receives, announcements, {put_get_server, atomics}),
      fences(host, links, {backlog, waiting, departures, packets, signals, outgoing, incoming, atomics}) {}

/// Control traffic is never refused: each kind waits in a list that lies in what it belongs to, so nothing is allocated
/// for it. [X1]
bool Protocols::flush_control(Link& link) {
  bool moved = false;
  // What an engine has matched goes on when it is freed: a refusal ends what its sender has not been told of.
  if (link.refuses_engine && !incoming.flush_ready(link, &moved)) return moved;
  if (!grants.flush(link, &moved)) return moved;
  link.refuses_engine = false;
  // After credit, or whoever has waited for its turn alone asks once more.
  if (!spending.flush_returns(link, &moved) || !incoming.flush_ready(link, &moved)) return moved;
  if (!outgoing.flush_withdrawals(link, &moved)) return moved;
  if (!link.put_acks.empty()) moved |= put_get_server.flush_acks(link);
  if (!link.atomic_answers.empty()) moved |= atomics.flush_answers(link);
  if (!link.unknown.empty()) moved |= collectives.flush_unknown(link);
  if (!link.signals.empty()) moved |= signals.flush(link);
  return moved;
}

/// What is posted meanwhile leaves some room: who posts whenever there is any must not hold up what was accepted. [H8]
bool Protocols::stream(Link& link) {
  link.data_out.reserve(0);  // also when the last stream has ended elsewhere, by an error of its target
  if (link.failed || (link.streams.empty() && link.asks.empty())) return false;
  bool moved = !link.asks.empty() && incoming.flush_asks(link);
  moved |= outgoing.progress(link);
  const bool rest = !link.streams.empty() || !link.asks.empty();
  link.data_out.reserve(rest ? kStreamRoom : 0);
  return moved;
}

bool Protocols::drained() const {
  if (!backlog.empty() || !waiting.empty() || !works.empty() || !outgoing.drained() || !departures.drained() ||
      !collectives.drained() || delayed() || links.any_touched()) {
    return false;
  }
  bool rest = false;
  links.for_each([&](const Link& link) { rest |= !link.failed && (link.out_queued() || link.remote_operations != 0); });
  return !rest && (!links.network() || links.network()->drained());
}

bool Protocols::delayed() const {
  if (!host.parts.chaos) return false;
  bool pending = false;
  links.for_each([&](const Link& link) { pending |= link.chaos && link.chaos->pending(); });
  return pending;
}

/// Each is done once; one that finds no memory is begun anew in the next pass, and has ended nothing twice.
const std::array<Protocols::EndStep, 12> Protocols::kEndSteps = {
    [](Protocols& of, Link& link, RankState) {
      if (of.links.network()) of.links.network()->close(link.rank);
      of.packets.take_returned_packets(of.host.index);
      link.failed = true;
      link.drop_queues();
    },
    // Before its streams end: it takes back what they refer to.
    [](Protocols& of, Link& link, RankState state) { of.collectives.peer_gone(link.rank, state); },
    [](Protocols& of, Link& link, RankState state) { of.outgoing.peer_gone(link, error_of(state)); },
    [](Protocols& of, Link& link, RankState state) { of.departures.end(&link, error_of(state)); },
    [](Protocols& of, Link& link, RankState state) { of.incoming.peer_gone(link, error_of(state)); },
    [](Protocols& of, Link& link, RankState state) { of.atomics.peer_gone(link, error_of(state)); },
    [](Protocols& of, Link& link, RankState) { of.announcements.peer_gone(link); },
    [](Protocols& of, Link& link, RankState) {
      Spending::peer_gone(link);
      of.packets.reclaim_packets(link);
    },
    [](Protocols& of, Link& link, RankState state) { of.backlog.peer_gone(link.rank, error_of(state)); },
    [](Protocols& of, Link& link, RankState state) { of.end_receives(link.rank, state); },
    [](Protocols& of, Link& link, RankState state) {
      if (of.host.index == 0) of.barriers.peer_gone(link.rank, error_of(state));
    },
    [](Protocols& of, Link& link, RankState state) {
      if (LaneView* owner = of.host.lane()) {
        owner->peer_changed(&of.host.device, link.rank, peer_state_of(state), error_of(state));
      }
    }};

bool Protocols::peer_gone(Link& link, RankState state) {
  return unless_no_memory([&] {
    for (; link.ended_steps < kEndSteps.size(); ++link.ended_steps) kEndSteps[link.ended_steps](*this, link, state);
  });
}

void Protocols::end_receives(uint32_t rank, RankState state) {
  const DeviceParts& parts = host.parts;
  const int code = error_of(state);
  // By every device: one that felt the death later may have reserved room for a reply since the first one looked.
  parts.targets.forget_replies(rank);
  receives.drop_unmatched_rendezvous(rank);
  // A receive may be matched by what any device still has to read.
  const bool last = parts.peers.read_all_of(rank, host.index);
  if (last) receives.fail_receives(rank, code);
  if (state == RankState::kFenced) receives.fail_receives(LCI_ANY_SOURCE, code);
}

/// Ends what other threads have left and could not be taken for want of memory.
void Protocols::cancel_handed(int code) {
  Handed::Lists left = handed.take();
  while (const auto matched = left.rendezvous.take_first()) {
    host.complete(matched->target, code, matched->link->rank, matched->tag, matched->buffer_as_posted(), 0);
  }
  backlog.end_before(left.posts, code);
}

/// False: there is no memory for some of them, which were left again.
bool Protocols::take_declined(DeclinedRequests* first) {
  bool all = true;
  while (DeclinedRequests* const declined = first) {
    first = declined->next;  // now: when the count is taken another thread may leave it again
    const uint32_t count = declined->take();
    const auto tell = [&] { replies.decline(*links.find(declined->rank), declined->port, count); };
    if (unless_no_memory(tell)) continue;
    if (declined->add(count)) handed.add_declined(*declined);
    all = false;
  }
  return all;
}

void Protocols::cancel_all(int code) {
  cancel_handed(code);
  backlog.cancel_all(code);
  waiting.cancel_all(code);
  works.cancel_all(code);
  receives.drop_cancels(nullptr);
  collectives.cancel_all(code);  // as above
  outgoing.cancel_all(code);
  departures.end(nullptr, code);
  incoming.cancel_all(code);
  atomics.cancel_all(code);
  barriers.cancel_all(code);
  if (host.index == 0) receives.cancel_all(code);
}

void Protocols::lane_gone(const LaneView& lane) {
  const auto forget = [this](OpTarget& target) {
    target.forget();
    host.counters.add(Metric::signals_dropped);
  };
  const auto forget_gone = [&](OpTarget& target) {
    if (target.lane == &lane) forget(target);
  };
  handed.for_each([&](Queued& queued) { return backlog.goes_with(lane, queued, forget); },
                  [&](ReceiveContext& context) { forget_gone(context.target); });
  outgoing.lane_gone(lane, forget);
  departures.for_each_target(forget_gone);
  incoming.lane_gone(lane, forget);
  atomics.lane_gone(lane, forget);
  barriers.for_each_target(forget_gone);
  collectives.lane_gone(lane, forget);
  backlog.lane_gone(lane, forget);
  waiting.lane_gone(lane);
  works.lane_gone(lane);
  receives.lane_gone(lane, forget);
  receives.drop_cancels(&lane);
}

}  // namespace lci
