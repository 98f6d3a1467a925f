// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_link.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/device_set.hpp"
#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "host/socket.hpp"

namespace lci {
namespace {

/// Bytes after which the peer is told that they have come: it keeps them until then.
constexpr uint64_t kUnreported = 64 << 10;
/// Passes in which nothing came before a report that the peer may wait for goes alone: an answer often follows at once,
/// and carries it.
constexpr uint32_t kIdlePasses = 16;
constexpr size_t kReadAtOnce = 128 << 10;
/// Reads of a rank that is gone before this one does something else: it may be there, and speak for ever.
constexpr int kReadsOfTheGone = 16;
/// Sealed pieces that do not open, with none that does between them, until the peer is blamed.
constexpr uint32_t kMostSpoiled = 3;

void reset_at_close(int socket) {
  const linger none{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

/// Also where the system does not say.
bool has_unread(int socket) {
  int unread = 0;
  return ioctl(socket, FIONREAD, &unread) != 0 || unread != 0;
}

}  // namespace

TcpLink::TcpLink(TcpHost& host, uint32_t device, uint32_t rank, Mirror& mirror, Counters& counters)
    : host_(host),
      counters_(counters),
      device_(device),
      rank_(rank),
      sizes_(host.sizes()),
      out_(host.memory(), device, rank, sizes_, counters),
      in_(mirror, device, host.own_rank(), sizes_, *this) {
  if (host.chaos() && host.chaos()->cut > 0) chaos_.emplace(*host.chaos(), host.own_rank(), device, rank);
}

bool TcpLink::prepare() {
  const size_t most_frame = sizeof(FrameHeader) + LCI_INLINE_MAX + sizes_.most_payload;
  return in_.open() && unless_no_memory([&] {
           if (!came_) came_.reset(new std::byte[kReadAtOnce + most_frame]);
           out_.bytes().provide(SendBuffer::kFirst);
         });
}

/// A call from before the last connection is stale, unless the peer cannot know of that.
bool TcpLink::needs(const LinkProgress& theirs) const {
  if (state_ == State::kEnded) return false;
  const bool knows = theirs.connections >= connections_;
  return knows || (answered_ && !heard_ && theirs.connections + 1 == connections_);
}

void TcpLink::open(Connection connection, const LinkProgress& peer, bool answered) {
  drop_connection();
  connection_ = std::move(connection);
  counters_.add(Metric::links_open);
  if (!out_.bytes().resume(peer.taken)) return blame("it has taken what was not sent");
  if (peer.connections <= connections_) return blame("it has lost count of connections");
  const bool broke = connections_ != 0 && state_ != State::kResting && !crossed_ && !used_up_;
  if (broke) host_.shared().add(Metric::links_resumed);
  connections_ = peer.connections;
  answered_ = answered;
  heard_ = hung_up_ = is_lost_ = shut_ = peer_rests_ = crossed_ = used_up_ = asks_ = false;
  proposed_ = UINT64_MAX;
  seen_at_ns_ = 0;
  seen_arrived_ = UINT64_MAX;
  become(State::kOpen);
  readable_ = writable_ = true;
  host_.memory().known_to(rank_).store(1, std::memory_order_seq_cst);
  if (leaving_) return;  // the goodbye is the last record
  report(in_.report());  // the peer learns what there is room for
}

void TcpLink::wake(bool readable, bool writable, bool hung_up) {
  readable_ |= readable || hung_up;
  writable_ |= writable;
  hung_up_ |= hung_up;
}

// --- towards the peer

void TcpLink::flush() {
  if (state_ != State::kOpen) return;
  const Report now = in_.report();
  if (!out_.take(now, static_cast<uint32_t>(host_.barriers()))) {
    if (!has_sent_all()) send();
    return;
  }
  told_ = now;
  told_packets_ = in_.packets_received();
  send();
}

void TcpLink::report(const Report& now) {
  if (out_.bytes().room() == 0) return;  // what the peer has not taken says as much
  const bool made = unless_no_memory([&] { out_.tell(now, static_cast<uint32_t>(host_.barriers())); });
  if (!made) return;
  told_ = now;
  told_packets_ = in_.packets_received();
  send();
}

/// What the system does not take goes when poll says so. That a connection is gone is for read() to find: it may have
/// something to read first.
void TcpLink::send() {
  while (writable_ && !has_sent_all()) {
    iovec parts[2];
    const int count = out_.bytes().unsent(parts);
    const ssize_t sent = connection_.send(parts, count);
    if (sent >= 0) {
      out_.bytes().count_sent(static_cast<uint64_t>(sent));
      counters_.add(Metric::net_bytes_sent, static_cast<uint64_t>(sent));
    } else if (errno != EINTR) {
      writable_ = false;
      if (errno != EAGAIN) readable_ = hung_up_ = is_lost_ = true;
    }
  }
}

bool TcpLink::is_time_to_report(const Report& now, bool last) const {
  const auto moved = [](uint32_t before, uint32_t after) { return after - before; };
  const uint32_t control = moved(told_.control_room, now.control_room), data = moved(told_.data_room, now.data_room);
  const uint32_t packets = moved(told_.packet_room, now.packet_room);
  if (now.received - told_.received >= kUnreported || control >= sizes_.control_slots / 2 ||
      data >= sizes_.data_slots / 2 || packets >= in_.packet_window() / 2) {
    return true;
  }
  const bool awaited = control != 0 || data != 0 || packets != 0 || in_.packets_received() != told_packets_;
  return awaited && (last || idle_ >= kIdlePasses);
}

bool TcpLink::settle(bool last) {
  if (state_ != State::kOpen) return false;
  // What comes back must find room to be said.
  if (unless_no_memory([&] { out_.provide_words(in_.announced()); })) {
    in_.collect([this](uint32_t packet) { out_.say(LinkWord::kPacketBack, 0, 0, packet); });
  }
  in_.widen(told_.data_room);  // before a flush tells the peer of more
  const uint64_t before = out_.bytes().sent();
  if (!out_.empty() || !has_sent_all()) flush();
  ++idle_;
  const Report now = in_.report();
  if (is_time_to_report(now, last)) report(now);
  const bool moved = out_.bytes().sent() != before;
  if (peer_rests_ && has_nothing_to_say()) rest();
  return moved;
}

/// Bytes that the peer's system has not acknowledged; it does so also with a record that only reports.
uint32_t TcpLink::held_by_system() const {
  int held = 0;
  return ioctl(connection_.socket(), SIOCOUTQ, &held) == 0 ? static_cast<uint32_t>(held) : 0;
}

/// Of sealed pieces more bytes go than are counted here, so that a few acknowledgements are missed.
bool TcpLink::was_acknowledged() {
  if (state_ != State::kOpen || !connection_.is_flushed()) return false;
  const uint64_t sent = out_.bytes().sent(), held = held_by_system();
  const uint64_t arrived = sent - std::min(sent, held);
  const bool more = seen_arrived_ != UINT64_MAX && arrived > seen_arrived_;
  seen_arrived_ = arrived;
  return more;
}

uint64_t TcpLink::stuck_ns(uint64_t now) {
  const uint64_t acknowledged = out_.bytes().acknowledged();
  const bool waits = state_ == State::kOpen && (out_.awaits_acknowledgement() || awaits_system());
  if (!waits || acknowledged != seen_acknowledged_ || seen_at_ns_ == 0) {
    seen_acknowledged_ = acknowledged;
    seen_at_ns_ = now;
  }
  return now - seen_at_ns_;
}

void TcpLink::ask(bool asks) {
  if (state_ != State::kOpen || asks == asks_) return;
  asks_ = asks;
  ask_every_second(connection_.socket(), asks);
}

// --- resting

/// And the peer has all that was said, so that nothing waits for the next connection.
bool TcpLink::has_nothing_to_say() {
  return out_.empty() && !out_.awaits_acknowledgement() && in_.announced() == 0 && rest_ == 0;
}

uint64_t TcpLink::quiet_ns(uint64_t now) {
  const uint64_t moved = in_.position() + out_.bytes().end();
  if (state_ != State::kOpen || moved != moved_ || !has_nothing_to_say()) {
    moved_ = moved;
    quiet_since_ns_ = now;
  }
  return now - quiet_since_ns_;
}

void TcpLink::propose_rest() {
  if (state_ != State::kOpen || !has_nothing_to_say()) return;
  out_.say(LinkWord::kRest, 0, 0, 0);
  flush();
  if (out_.empty()) proposed_ = out_.said();
}

void TcpLink::acknowledge() {
  if (state_ == State::kOpen && told_.received <= came_said_ && in_.position() > came_said_) report(in_.report());
}

void TcpLink::rest() {
  drop_connection();
  readable_ = writable_ = hung_up_ = peer_rests_ = false;
  become(State::kResting);
}

/// The peer may have agreed to a proposal, unless it acknowledges more. If nothing was said since, so does this side.
/// @param was_closed by the peer, behind all that it has said; else what it said may be lost
void TcpLink::lose_connection(bool was_closed) {
  const bool agreed = was_closed && !leaving_ && proposed_ == out_.said() && out_.empty() && rest_ == 0;
  crossed_ = may_have_crossed();
  agreed ? rest() : cut();
}

/// The peer has acknowledged nothing that was said since this side's proposal.
bool TcpLink::may_have_crossed() {
  return proposed_ != UINT64_MAX && out_.bytes().acknowledged() <= proposed_;
}

bool TcpLink::drained() {
  if (state_ == State::kEnded) return true;
  if (state_ == State::kResting) return out_.empty();
  // What a connection had when it broke may not have come.
  return out_.empty() && (state_ == State::kBroken ? !out_.awaits_acknowledgement() : has_sent_all());
}

// --- from the peer

bool TcpLink::read() {
  if (blocked_) {
    take();
    return in_.has_delivered();
  }
  if (state_ != State::kOpen) return false;
  const ssize_t came = receive();
  if (came > 0) {
    idle_ = spoiled_ = 0;
    heard_ = met_ = true;
    counters_.add(Metric::net_bytes_received, static_cast<uint64_t>(came));
    rest_ += static_cast<size_t>(came);
    take();
    if (state_ == State::kOpen && chaos_ && chaos_->cuts() && hears_nothing_more()) {
      host_.shared().add(Metric::chaos_cut);
      cut();
    }
  } else if (came < 0 && errno == EBADMSG) {
    lose_piece();
  } else if (came == 0 || (errno != EAGAIN && errno != EINTR)) {
    lose_connection(came == 0 && !is_lost_);
  } else if (errno == EAGAIN) {
    readable_ = false;
    hung_up_ = false;
    if (is_worn_out() && hears_nothing_more()) cut();
  }
  return in_.has_delivered();
}

/// Whoever is between the two can change bytes as easily as reset connections: the peer says them again over another
/// one. But a peer of which nothing comes whole any more is not waited for.
void TcpLink::lose_piece() {
  if (++spoiled_ == kMostSpoiled) return blame("they are not what it has sealed, three times in sequence");
  if (!std::exchange(has_warned_, true)) {
    LCI_LOG(
        host_.log(), LogLevel::kWarn, "tcp",
        "bytes of rank %u were changed on their way (device %u): they come again over another connection; said once",
        rank_, device_);
  }
  cut();
}

/// A cut loses bytes that the system has acknowledged and this link has not read, such as the goodbye of a peer that
/// leaves. So the system stops taking bytes before the last look.
bool TcpLink::hears_nothing_more() const {
  const int socket = connection_.socket();
  if (connection_.has_piece() || has_unread(socket) || !stop_hearing(socket)) return false;
  const bool has_more = has_unread(socket);
  if (has_more) hear_again(socket);
  return !has_more;
}

ssize_t TcpLink::receive() {
  const size_t most = std::max(chaos_ ? chaos_->shorten(kReadAtOnce) : kReadAtOnce, connection_.least_room());
  bool more = false;
  const ssize_t came = connection_.receive(came_.get() + rest_, most, &more);
  if (came > 0) readable_ = hung_up_ || more;
  return came;
}

void TcpLink::become(State state) {
  const auto stands = [](State each) { return each == State::kOpen || each == State::kBroken; };
  if (stands(state) != stands(state_)) host_.link_stands(rank_, stands(state));
  state_ = state;
}

/// Both sides are to learn of it at once.
void TcpLink::cut() {
  used_up_ = connection_.is_used_up();
  reset_at_close(connection_.socket());
  drop_connection();
  readable_ = writable_ = hung_up_ = false;
  become(State::kBroken);
}

/// Frames are taken up to one that has not come whole, or has no memory: it comes to the front.
void TcpLink::take() {
  size_t taken = 0;
  Inflow::Answer answer = Inflow::Answer::kNoMemory;
  static_cast<void>(unless_no_memory([&] { answer = in_.take(came_.get(), rest_, &taken); }));
  blocked_ = answer == Inflow::Answer::kNoMemory;
  if (answer == Inflow::Answer::kNonsense) return blame(in_.why());
  rest_ -= taken;
  std::memmove(came_.get(), came_.get() + taken, rest_);
}

bool TcpLink::record_came(const RecordHeader& header) {
  counters_.add(Metric::net_records_received);
  if (header.length != 0) {
    came_said_ = header.position;
    peer_rests_ = false;
  }
  host_.barriers_came(rank_, header.barriers);
  return out_.acknowledge(header.received) &&
         out_.accept_room({0, header.control_room, header.data_room, header.packet_room});
}

bool TcpLink::word_came(LinkWord word, const FrameHeader& frame) {
  const auto state = static_cast<RankState>(frame.size);
  const bool is_end = state == RankState::kLeft || state == RankState::kFailed;
  switch (word) {
    case LinkWord::kPacketBack:
      return out_.end_announcement(frame.arg);
    case LinkWord::kDevices:
      if (frame.arg == 0 || frame.arg > kMaxDevices) return false;
      host_.devices_came(rank_, static_cast<uint32_t>(frame.arg));
      return true;
    case LinkWord::kNotice:
      if (!is_end || frame.aux >= host_.ranks() || frame.aux == rank_) return false;
      // Of two that call each other dead one is believed.
      if (host_.has_failed(rank_)) return true;
      if (frame.aux == host_.own_rank()) {
        if (state == RankState::kFailed) host_.fenced(rank_);
        return true;
      }
      host_.barriers_came(frame.aux, uint64_t{frame.arg});
      host_.told_gone(frame.aux, state, rank_);
      return true;
    case LinkWord::kRest:
      peer_rests_ = true;
      return true;
    case LinkWord::kSpoken:
      return spoken_came(frame);
    case LinkWord::kEnd:
      if (!is_end) return false;
      end(state, frame.arg);
      return true;
  }
  return false;
}

bool TcpLink::spoken_came(const FrameHeader& frame) {
  if (frame.aux >= DeviceBits{}.size()) return false;
  for (uint64_t bits = frame.arg; bits != 0; bits &= bits - 1) {
    host_.spoken_came(rank_, 64 * frame.aux + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  return true;
}

void TcpLink::end(RankState state, uint64_t barriers) {
  become(State::kEnded);
  readable_ = blocked_ = false;
  host_.barriers_came(rank_, barriers);
  host_.gone(rank_, state);
}

/// The connection goes, so that the peer learns that it was cut off.
void TcpLink::blame(const char* why) {
  host_.shared().add(Metric::protocol_errors);
  fail(LCI_ERR_PROTOCOL, "rank %u sent bytes that make no sense: %s (device %u); it is treated as failed", rank_, why,
       device_);
  LCI_LOG(host_.log(), LogLevel::kError, "tcp", "%s", last_error());
  if (state_ != State::kEnded) end(RankState::kFailed, 0);
  close(true);
}

// --- the end

bool TcpLink::finish(bool failed, bool waits) {
  if (state_ == State::kCalling) return true;
  const bool was_open = is_open();
  readable_ = true;
  for (int reads = 0; is_readable() && reads < kReadsOfTheGone; ++reads) {
    read();
    if (blocked_) return false;
  }
  // Of one that has left a goodbye is on its way here, if its host is still there.
  if (state_ == State::kOpen && (failed ? waits && is_readable() : waits || is_readable())) return false;
  if (was_open && is_broken() && !failed && waits) return false;  // it is to be mended
  if (state_ != State::kEnded) end(RankState::kFailed, 0);
  return true;
}

/// With something left that windows hold back nothing is said: the peer sees a death, which is what it is.
void TcpLink::leave(RankState state, uint64_t barriers, bool reads) {
  if (state_ != State::kOpen && state_ != State::kBroken) return;
  if (reads) flush();
  const auto say_goodbye = [&] {
    out_.end_with(last_words(state, barriers), in_.report(), static_cast<uint32_t>(barriers));
  };
  leaving_ = state == RankState::kLeft && (!reads || out_.empty()) && unless_no_memory(say_goodbye);
  if (!leaving_) become(State::kEnded);
}

/// A device that reads the goodbye first is to know which others may have something of this rank left to read.
std::vector<FrameHeader> TcpLink::last_words(RankState state, uint64_t barriers) {
  DeviceBits spoken{};
  for (uint32_t device = 0; device < host_.memory().devices(); ++device) {
    const uint64_t offset = host_.memory().ring_pair_offset(device, rank_).load(std::memory_order_acquire);
    if (offset == 0) continue;
    // One that was only spoken to has rings as well.
    auto* const rings = reinterpret_cast<RingPair*>(host_.memory().at(offset));
    if (rings->was_used(sizes_.control_slots)) set_bit(spoken, device);
  }
  std::vector<FrameHeader> words;
  for (uint32_t i = 0; i < spoken.size(); ++i) {
    if (spoken[i] != 0) words.push_back({static_cast<uint8_t>(LinkWord::kSpoken), 0, 0, 0, i, 0, spoken[i]});
  }
  words.push_back({static_cast<uint8_t>(LinkWord::kEnd), 0, 0, static_cast<uint32_t>(state), 0, 0, barriers});
  return words;
}

bool TcpLink::has_left() {
  if (state_ == State::kBroken && leaving_) return false;
  if (!connection_.is_there()) return true;
  std::byte dropped[16 << 10];
  ssize_t came = 1;
  for (size_t all = 0; came > 0 && all < kReadAtOnce; all += static_cast<size_t>(came)) {
    came = recv(connection_.socket(), dropped, sizeof dropped, MSG_DONTWAIT);
  }
  // The peer has ended its side: it leaves too, or is dead, and reads no more; or it rests.
  crossed_ = came == 0 && leaving_ && may_have_crossed();
  if (came == 0 && !is_lost_ && !crossed_) return true;
  const bool goes_on = came > 0 || (came < 0 && (errno == EAGAIN || errno == EINTR));
  if (goes_on && !is_worn_out()) return has_sent_goodbye() && came < 0;
  if (leaving_) cut();
  return !leaving_;
}

bool TcpLink::has_sent_goodbye() {
  writable_ = true;
  send();
  if (!has_sent_all()) return false;
  if (leaving_ && !shut_) shutdown(connection_.socket(), SHUT_WR);
  shut_ = true;
  return !awaits_system();
}

void TcpLink::close(bool at_once) {
  if (!connection_.is_there()) return;
  if (at_once) reset_at_close(connection_.socket());
  drop_connection();
}

void TcpLink::drop_connection() {
  if (!connection_.is_there()) return;
  counters_.add(Metric::links_open, -1);
  connection_ = Connection();
}

}  // namespace lci
