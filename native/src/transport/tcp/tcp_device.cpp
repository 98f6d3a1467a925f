// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_device.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "host/socket.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace lci {
namespace {

/// What poll says of the door; other numbers are ranks.
constexpr uint32_t kDoor = UINT32_MAX;
/// ns: a rank is not there if it refuses so long; between calls; after the word that the other rank calls, at first and
/// when a link is mended.
constexpr uint64_t kPatience = 10'000'000'000, kCallAgain = 10'000'000, kCallAgainLater = 1'000'000'000,
                   kMendAgainLater = 50'000'000;
/// In sequence, ten seconds of them at least, until monitors are to find out who hangs up.
constexpr uint32_t kHangUpsToSuspect = 1000;
/// Calls in sequence that a rank which has left turns away, until it counts as over.
constexpr uint32_t kTurnedAway = 10;
/// ns, of the time between two looks for what is left of a rank that is gone: no more of it counts as waiting.
constexpr uint64_t kLook = 500'000'000;
constexpr int kEvents = 64;
/// ns: between looks for links that are stuck; how long one is before its system asks the other one, and before a rank
/// whose system does not answer is watched.
constexpr uint64_t kDoubtInterval = 100'000'000, kAsk = 400'000'000, kStuck = 1'000'000'000;

/// The rank has answered, or its system has for a while: a later fault is the first one again.
bool shows_life(const OutgoingCall& call, OutgoingCall::Answer answer) {
  switch (answer) {
    case OutgoingCall::Answer::kAccepted:
    case OutgoingCall::Answer::kDuplicate:
    case OutgoingCall::Answer::kFailed:
      return true;
    case OutgoingCall::Answer::kUnreached:
      return call.is_connected();
    default:
      return false;
  }
}

}  // namespace

TcpDevice::LinkCall::LinkCall(TcpTransport& transport, uint32_t device, uint32_t rank, const LinkProgress& progress)
    : OutgoingCall(transport.identity(), transport.address_of(rank), rank, device, progress) {
  if (socket() >= 0) stands_.emplace(transport.host(), rank);
}

TcpDevice::TcpDevice(TcpTransport& transport, uint32_t index)
    : transport_(transport), index_(index), poll_(epoll_create1(EPOLL_CLOEXEC)), peers_(transport.host().ranks()) {
  links_.reserve(peers_.size());
  quiet_.reserve(peers_.size());
  told_devices_ = transport.own().devices();
  if (poll_.get() < 0 || !watch(transport.door().descriptor(), kDoor, false)) throw std::bad_alloc();
}

bool TcpDevice::watch(int socket, uint32_t tag, bool edges) {
  epoll_event event{};
  event.events = edges ? EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET : uint32_t{EPOLLIN};
  event.data.u32 = tag;
  return epoll_ctl(poll_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

// --- opening

/// Null: there is no memory.
TcpLink* TcpDevice::link_to(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.link) {
    PeerMemory* mirror = nullptr;
    if (transport_.open(rank, &mirror) != LCI_DONE) return nullptr;
    peer.link = std::make_unique<TcpLink>(transport_.host(), index_, rank, static_cast<Mirror&>(*mirror), counters_);
    links_.push_back(rank);
  }
  return peer.link->prepare() ? peer.link.get() : nullptr;
}

void TcpDevice::open(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!transport_.reaches(rank) || peer.closed || left_ || transport_.is_gone(rank)) return;
  if (peer.link && (peer.link->is_open() || peer.link->has_ended() || peer.call || peer.call_again_ns != 0)) return;
  if (peer.link && peer.link->is_resting()) return;  // until there is something to say
  if (peer.link && peer.link->is_broken()) return begin_to_mend(rank);
  peer.call_again_ns = 1;  // at the next pump, if there is no memory now
  if (!link_to(rank)) throw std::bad_alloc();
  static_cast<void>(unless_no_memory([&] { call(rank); }));
}

void TcpDevice::call(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.link->prepare()) return;  // as long as there is no memory for what the other rank may send at once
  peer.call = std::make_unique<LinkCall>(transport_, index_, rank, peer.link->progress());
  const int socket = peer.call->socket();
  if (socket >= 0 && !watch(socket, rank, true)) {
    peer.call.reset();
    return;
  }
  // The other system may forget the connection before the rank has answered.
  if (socket >= 0) keep_alive(socket, transport_.patience().dead_ns);
  peer.call_again_ns = 0;
  go_on_calling(rank);
}

void TcpDevice::call_again(Peer& peer, uint64_t after_ns) {
  peer.call_again_ns = now_ns() + after_ns;
  peer.call.reset();
}

/// A rank that has left or died answers no more, and others may be about to say which. Of one that was there monitors
/// find out.
void TcpDevice::was_refused(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.link->progress().connections != 0) return call_again(peer, kCallAgain);
  if (peer.refused_since_ns == 0) peer.refused_since_ns = now_ns();
  if (now_ns() - peer.refused_since_ns >= kPatience) transport_.call_failed(rank, peer.call->why());
  call_again(peer, kCallAgain);
}

/// A rank does so that lacks something; for ever, another process that has its port.
void TcpDevice::was_hung_up_on(uint32_t rank) {
  Peer& peer = peers_[rank];
  peer.refused_since_ns = 0;
  peer.hang_ups = peer.call->is_connected() && !peer.call->has_proved() ? peer.hang_ups + 1 : 0;
  if (peer.hang_ups >= kHangUpsToSuspect) transport_.monitors().suspect(rank, Known::kNothing);
  call_again(peer, kCallAgain);
}

void TcpDevice::go_on_calling(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.call) {
    if (peer.link->is_broken() && peer.call_again_ns == 0) begin_to_mend(rank);
    if (peer.link->wakes() && peer.call_again_ns == 0) talk_again(rank);
    const bool is_wanted = !transport_.is_gone(rank) || awaits_rest(rank);
    if (peer.call_again_ns != 0 && is_wanted && now_ns() >= peer.call_again_ns) call(rank);
    return;
  }
  const OutgoingCall::Answer answer = peer.call->go_on();
  if (transport_.is_gone(rank)) return go_on_for_rest(peer, answer);
  if (answer != OutgoingCall::Answer::kWaiting && answer != OutgoingCall::Answer::kLater) peer.hang_ups = 0;
  if (shows_life(*peer.call, answer)) peer.refused_since_ns = 0;
  switch (answer) {
    case OutgoingCall::Answer::kWaiting:
      return;
    case OutgoingCall::Answer::kDuplicate:
      // Should the other one's call fail.
      return call_again(peer, peer.link->is_broken() ? kMendAgainLater : kCallAgainLater);
    case OutgoingCall::Answer::kFailed:
      transport_.fenced(rank);
      return call_again(peer, kCallAgain);
    case OutgoingCall::Answer::kLater:
      return was_hung_up_on(rank);
    case OutgoingCall::Answer::kRefused:
    case OutgoingCall::Answer::kUnreached:
      return was_refused(rank);
    case OutgoingCall::Answer::kAccepted:
      open_called(peer);
      return;
  }
}

/// A rank that has left answers until it has said all: one that turns calls away is over, or has nothing for this link.
void TcpDevice::go_on_for_rest(Peer& peer, OutgoingCall::Answer answer) {
  switch (answer) {
    case OutgoingCall::Answer::kWaiting:
      return;
    case OutgoingCall::Answer::kAccepted:
      peer.turned_away = 0;
      return open_called(peer);
    case OutgoingCall::Answer::kDuplicate:
      peer.turned_away = 0;
      return call_again(peer, kMendAgainLater);
    case OutgoingCall::Answer::kUnreached:
      return call_again(peer, kCallAgain);
    case OutgoingCall::Answer::kLater:
      // Else one of the two lacks something, or somebody between them hangs up.
      if (peer.call->has_proved()) ++peer.turned_away;
      return call_again(peer, kCallAgain);
    case OutgoingCall::Answer::kFailed:
    case OutgoingCall::Answer::kRefused:
      ++peer.turned_away;
      return call_again(peer, kCallAgain);
  }
}

void TcpDevice::open_called(Peer& peer) {
  stop_keeping_alive(peer.call->socket());
  const CallVerdict verdict = peer.call->verdict();
  const Digest binding = peer.call->binding();
  const SealKeys keys{key_of(binding, CallSide::kCaller, verdict), key_of(binding, CallSide::kAnswerer, verdict)};
  peer.link->open(Connection(peer.call->take_socket(), transport_.crypto(), keys), {verdict.connections, verdict.taken},
                  false);
  peer.call.reset();
}

/// Both ranks call, and the link goes on where it was.
void TcpDevice::begin_to_mend(uint32_t rank) {
  if (transport_.is_gone(rank)) return;
  Peer& peer = peers_[rank];
  peer.call_again_ns = 1;
  peer.refused_since_ns = 0;
  transport_.monitors().suspect(rank, Known::kWasThere);
}

/// The rank of a link that rests may have left meanwhile, or died: monitors find out.
void TcpDevice::talk_again(uint32_t rank) {
  if (transport_.is_gone(rank)) return;
  peers_[rank].call_again_ns = 1;
  transport_.monitors().suspect(rank, Known::kNothing);
}

/// The answer goes to those who call. Of two calls that meet, the higher rank's is a duplicate, unless the lower one's
/// was refused: the lower one decides. False: it waits.
bool TcpDevice::answer(Caller& caller) {
  Peer& peer = peers_[caller.rank];
  const bool stays = !left_ || (peer.link && peer.link->is_leaving());
  const bool says_its_rest = transport_.is_gone(caller.rank) && !is_over(caller.rank);
  if (!(says_its_rest || transport_.welcomes(caller)) || peer.closed || !stays) return true;
  const bool mine_stands = peer.call && peer.refused_since_ns == 0 && transport_.host().own_rank() < caller.rank;
  if (mine_stands || (peer.link && !peer.link->needs(caller.progress))) {
    send_verdict(caller.socket.get(), {CallVerdict::kDuplicate}, caller.binding);
    return true;
  }
  return accept(caller);
}

bool TcpDevice::accept(Caller& caller) {
  Peer& peer = peers_[caller.rank];
  TcpLink* const link = link_to(caller.rank);
  if (!link) return false;
  // Whoever is turned away here hangs up, and calls again.
  if (!watch(caller.socket.get(), caller.rank, true)) return true;
  if (link->is_open()) link->cut();
  const uint32_t number = std::max(link->progress().connections, caller.progress.connections) + 1;
  const CallVerdict verdict{CallVerdict::kAccepted, number, link->progress().taken};
  const SealKeys keys{key_of(caller.binding, CallSide::kAnswerer, verdict),
                      key_of(caller.binding, CallSide::kCaller, verdict)};
  Connection connection(std::move(caller.socket), transport_.crypto(), keys);
  if (!send_verdict(connection.socket(), verdict, caller.binding)) return true;
  peer.call.reset();
  peer.call_again_ns = peer.refused_since_ns = peer.turned_away = 0;
  link->open(std::move(connection), {number, caller.progress.taken}, true);
  return true;
}

/// A link that is new knows nothing of what was told before, nor does one that rests of what is found meanwhile.
void TcpDevice::greet(Peer& peer) {
  if (peer.link->is_resting()) peer.greeted = false;
  if (peer.greeted || !peer.link->is_open()) return;
  TcpLink& link = *peer.link;
  link.provide_words(told_gone_ + 1);
  link.say(LinkWord::kDevices, 0, 0, transport_.own().devices());
  for (size_t i = 0; i < told_gone_; ++i) {
    const TcpTransport::Gone gone = transport_.gone_at(i);
    if (gone.rank != link.rank() && gone.state != RankState::kFenced) {
      link.say(LinkWord::kNotice, static_cast<uint32_t>(gone.state), gone.rank,
               transport_.barriers_completed(gone.rank).load(std::memory_order_acquire));
    }
  }
  peer.greeted = true;
}

void TcpDevice::take_callers() {
  if (transport_.door().has_callers(index_)) transport_.door().take_callers(index_, &callers_);
  for (size_t i = 0; i < callers_.size();) {
    if (answer(callers_[i])) {
      callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

/// Others take the place of those that are gone: what is found goes by these links to each rank.
void TcpDevice::call_neighbours() {
  const size_t gone = transport_.count_gone();
  if (called_without_ == gone) return;
  for (const uint32_t rank : transport_.neighbours_of(transport_.host().own_rank())) {
    open(rank);
    const Peer& peer = peers_[rank];
    if (peer.link && peer.link->is_resting() && !peer.call && peer.call_again_ns == 0) talk_again(rank);
  }
  called_without_ = gone;
}

std::vector<uint32_t> TcpDevice::neighbours() const {
  const uint32_t own = transport_.host().own_rank();
  std::vector<uint32_t> all = transport_.neighbours_of(own);
  for (uint32_t rank = 0; rank < transport_.host().ranks(); ++rank) {
    const std::vector<uint32_t> theirs = transport_.neighbours_of(rank);
    if (rank != own && std::find(theirs.begin(), theirs.end(), own) != theirs.end()) all.push_back(rank);
  }
  return all;
}

// --- one pass

bool TcpDevice::pump() {
  if (left_) return false;
  bool moved = false;
  // What finds no memory goes on in the next pass.
  static_cast<void>(unless_no_memory([&] {
    if (index_ == 0) call_neighbours();
    poll();
    for (size_t i = 0; i < links_.size(); ++i) go_on_calling(links_[i]);
    take_callers();
    for (const uint32_t rank : links_) greet(peers_[rank]);
    tell_news();
  }));
  moved |= read_links();
  for (const uint32_t rank : links_) moved |= peers_[rank].link->settle(false);
  if (const uint64_t now = coarse_now_ns(); now >= next_doubts_ns_) doubt(now);
  return moved;
}

void TcpDevice::doubt(uint64_t now) {
  next_doubts_ns_ = now + kDoubtInterval;
  for (const uint32_t rank : links_) doubt_link(rank, now);
  if (transport_.idle_ns() != 0 || transport_.most_links() != 0) rest_quiet_links(now);
}

/// Its rank is watched for as long as it waits for something, unless the rank's system answers: then it is slow, or
/// stopped, and if its process ends, so does the connection.
void TcpDevice::doubt_link(uint32_t rank, uint64_t now) {
  const Peer& peer = peers_[rank];
  TcpLink& link = *peer.link;
  Monitors& monitors = transport_.monitors();
  const uint64_t stuck = link.stuck_ns(now);
  const bool calls_again = link.has_met() && !link.has_ended() && (peer.call || peer.call_again_ns != 0);
  link.ask(stuck >= kAsk);
  const bool is_silent = stuck >= kStuck && link.is_unanswered();
  if (is_silent || calls_again) monitors.suspect(rank, Known::kNothing);
  // The rank answers: the connection is what is lost.
  if (is_silent && stuck >= transport_.patience().dead_ns && monitors.reaches(rank)) return link.cut();
  if (monitors.misses(rank) && link.was_acknowledged()) monitors.seen_alive(rank, now);
}

/// Those that were quiet for long, and the quietest beyond a bound.
void TcpDevice::rest_quiet_links(uint64_t now) {
  const uint64_t idle = transport_.idle_ns() == 0 ? UINT64_MAX : transport_.idle_ns();
  size_t open = 0;
  quiet_.clear();
  for (const uint32_t rank : links_) {
    TcpLink& link = *peers_[rank].link;
    link.acknowledge();
    const uint64_t quiet = link.quiet_ns(now);
    if (link.is_open()) ++open;
    if (quiet == 0 || is_kept(rank)) continue;
    quiet_.push_back({quiet, rank});
  }
  std::sort(quiet_.begin(), quiet_.end(), std::greater<>());
  const size_t most = most_links();
  for (const auto& [quiet, rank] : quiet_) {
    if (quiet < idle && open <= most) break;
    TcpLink& link = *peers_[rank].link;
    if (unless_no_memory([&] { link.provide_words(1); })) link.propose_rest();
    --open;
  }
}

/// A device's share of them.
size_t TcpDevice::most_links() const {
  if (transport_.most_links() == 0) return SIZE_MAX;
  return std::max(1u, transport_.most_links() / transport_.own().devices());
}

/// What one of two neighbours finds the other one is to hear at once.
bool TcpDevice::is_kept(uint32_t rank) const {
  if (index_ != 0) return false;
  const auto has = [this](uint32_t one, uint32_t other) {
    const std::vector<uint32_t> neighbours = transport_.neighbours_of(one);
    return std::find(neighbours.begin(), neighbours.end(), other) != neighbours.end();
  };
  const uint32_t own = transport_.host().own_rank();
  return has(own, rank) || has(rank, own);
}

void TcpDevice::poll() {
  epoll_event events[kEvents];
  const int count = epoll_wait(poll_.get(), events, kEvents, 0);
  bool at_the_door = false;
  for (int i = 0; i < count; ++i) {
    const uint32_t rank = events[i].data.u32, what = events[i].events;
    if (rank == kDoor) {
      at_the_door = true;
    } else if (peers_[rank].link) {
      peers_[rank].link->wake(what & EPOLLIN, what & EPOLLOUT, what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
    }
  }
  if (at_the_door) transport_.door().visit();  // may find no memory: after what is told once
}

bool TcpDevice::read_links() {
  bool moved = false;
  for (const uint32_t rank : links_) {
    TcpLink& link = *peers_[rank].link;
    if (!link.is_readable() || !link.read()) continue;
    transport_.own().summary(index_)[rank].store(1, std::memory_order_release);
    moved = true;
  }
  return moved;
}

/// One that was not greeted hears all of it then.
bool TcpDevice::hears_news(uint32_t rank) const {
  return peers_[rank].greeted && !peers_[rank].link->has_ended() && !peers_[rank].link->is_resting();
}

/// What this rank has learned, or done, goes to all that it has links to.
void TcpDevice::tell_news() {
  const size_t known = transport_.count_gone();
  const uint32_t devices = transport_.own().devices();
  if (told_gone_ == known && told_devices_ == devices) return;
  for (const uint32_t rank : links_) peers_[rank].link->provide_words(known - told_gone_ + 1);  // all or none
  for (; told_gone_ < known; ++told_gone_) {
    const TcpTransport::Gone gone = transport_.gone_at(told_gone_);
    const uint64_t barriers = transport_.barriers_completed(gone.rank).load(std::memory_order_acquire);
    for (const uint32_t rank : links_) {
      if (rank != gone.rank && gone.state != RankState::kFenced && hears_news(rank)) {
        peers_[rank].link->say(LinkWord::kNotice, static_cast<uint32_t>(gone.state), gone.rank, barriers);
      }
    }
  }
  if (told_devices_ == devices) return;
  told_devices_ = devices;
  for (const uint32_t rank : links_) {
    if (hears_news(rank)) peers_[rank].link->say(LinkWord::kDevices, 0, 0, devices);
  }
}

bool TcpDevice::take_wider(uint32_t rank, RingMemory* out) {
  return peers_[rank].link && peers_[rank].link->take_wider(out);
}

void TcpDevice::flush(uint32_t rank) {
  if (peers_[rank].link && !left_) peers_[rank].link->flush();
}

bool TcpDevice::has_work() const {
  if (left_) return false;
  if (transport_.door().has_callers(index_) || transport_.count_gone() != told_gone_ || transport_.has_news() ||
      transport_.own().devices() != told_devices_) {
    return true;
  }
  return std::any_of(links_.begin(), links_.end(), [this](uint32_t rank) {
    const Peer& peer = peers_[rank];
    const bool is_to_call = peer.link->wakes() && !peer.call && peer.call_again_ns == 0 && !transport_.is_gone(rank);
    return peer.link->is_readable() || peer.link->has_returned() || is_to_call;
  });
}

void TcpDevice::prepare_to_sleep() {
  sleeps_ = true;
  if (left_) return;
  for (const uint32_t rank : links_) peers_[rank].link->settle(true);
}

// --- the end

bool TcpDevice::drained() const {
  return std::all_of(links_.begin(), links_.end(),
                     [this](uint32_t rank) { return transport_.is_gone(rank) || peers_[rank].link->drained(); });
}

void TcpDevice::mark(uint32_t rank, uint32_t position) {
  if (peers_[rank].link) peers_[rank].link->mark(position);
}

bool TcpDevice::holds_marked(uint32_t rank) {
  return peers_[rank].link && !transport_.is_gone(rank) && peers_[rank].link->holds_marked();
}

/// Of a rank that is gone: nothing comes over its link any more. One that has left, as the link of another device was
/// told, says the rest of what it had over this one, its goodbye last; it is there until that has come.
bool TcpDevice::is_over(uint32_t rank) {
  const Peer& peer = peers_[rank];
  if (!peer.link || peer.link->has_ended() || transport_.state_of(rank) != RankState::kLeft) return true;
  return peer.turned_away >= kTurnedAway || !has_time(peer);
}

bool TcpDevice::has_time(const Peer& peer) const {
  const Patience& patience = transport_.patience();
  return peer.waited_ns < patience.dead_ns + patience.reconnect_ns;
}

/// It is to come over another connection. A call that the rank may have accepted is one.
bool TcpDevice::awaits_rest(uint32_t rank) {
  const Peer& peer = peers_[rank];
  if (!transport_.is_gone(rank) || is_over(rank)) return false;
  return peer.link->is_broken() || peer.call || peer.call_again_ns != 0;
}

/// Time in which nobody looked does not count: what has come meanwhile may not have been read. One that has failed is
/// not given more time by what it says: it may be there, and speak for ever.
void TcpDevice::look_for_rest(uint32_t rank) {
  Peer& peer = peers_[rank];
  const uint64_t now = now_ns(), taken = peer.link->progress().taken;
  if (peer.looked_ns != 0) peer.waited_ns += std::min(now - peer.looked_ns, kLook);
  const bool goes_on = taken != peer.taken || (!left_ && peer.link->is_readable());
  if (goes_on && transport_.state_of(rank) == RankState::kLeft) peer.waited_ns = 0;
  peer.looked_ns = now;
  peer.taken = taken;
  if (peer.link->is_broken() && !peer.call && peer.call_again_ns == 0) peer.call_again_ns = 1;
}

bool TcpDevice::has_read_all(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.link || left_) return true;
  look_for_rest(rank);
  if (awaits_rest(rank)) return false;
  peer.call.reset();
  peer.call_again_ns = 0;
  const bool failed = transport_.state_of(rank) != RankState::kLeft;
  const bool all = peer.link->finish(failed, has_time(peer));
  transport_.own().summary(index_)[rank].store(1, std::memory_order_release);
  return all;
}

void TcpDevice::close(uint32_t rank) {
  Peer& peer = peers_[rank];
  peer.closed = true;
  peer.call.reset();
  peer.call_again_ns = 0;
  if (!peer.link) return;
  peer.link->close(transport_.state_of(rank) != RankState::kLeft);
  peer.link.reset();
  std::erase(links_, rank);
}

void TcpDevice::leave(RankState state) {
  for (const uint32_t rank : links_) {
    Peer& peer = peers_[rank];
    const bool reads = !transport_.is_gone(rank);
    if (reads || !is_over(rank)) peer.link->leave(state, transport_.host().barriers(), reads);
    if (!peer.link->is_leaving()) peer.call.reset();
  }
  left_ = true;
}

bool TcpDevice::finish(bool at_once) {
  bool all = true;
  static_cast<void>(unless_no_memory([this] {
    poll();
    for (const uint32_t rank : links_) {
      if (transport_.is_gone(rank)) look_for_rest(rank);
      if (peers_[rank].link->is_leaving() && peers_[rank].link->is_broken()) go_on_calling(rank);
    }
    take_callers();
  }));
  for (const uint32_t rank : links_) {
    const bool left = (transport_.is_gone(rank) && is_over(rank)) || peers_[rank].link->has_left();
    all = all && left;
    if (left || at_once) peers_[rank].link->close(at_once);
  }
  return all;
}

}  // namespace lci
