// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_link.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/no_memory.hpp"

namespace lci {
namespace {

/// Bytes after which the peer is told that they have come: it keeps them until then.
constexpr uint64_t kUnreported = 64 << 10;
/// Passes in which nothing came before a report that the peer may wait for goes alone: an answer often follows at once,
/// and carries it.
constexpr uint32_t kPatience = 16;
constexpr size_t kReadAtOnce = 128 << 10;
constexpr uint64_t kStuck = 1'000'000'000;  // ns

}  // namespace

TcpLink::TcpLink(TcpHost& host, uint32_t device, uint32_t rank, Mirror& mirror)
    : host_(host),
      device_(device),
      rank_(rank),
      sizes_(host.sizes()),
      out_(host.memory(), device, rank, sizes_),
      in_(mirror, device, host.own_rank(), sizes_, *this) {}

bool TcpLink::prepare() {
  const size_t most_frame = sizeof(FrameHeader) + LCI_INLINE_MAX + sizes_.most_payload;
  return in_.open() && unless_no_memory([&] {
           if (!came_) came_.reset(new std::byte[kReadAtOnce + most_frame]);
           out_.bytes().provide(SendBuffer::kFirst);
         });
}

void TcpLink::open(FileDescriptor socket) {
  socket_ = std::move(socket);
  state_ = State::kOpen;
  readable_ = writable_ = true;
  host_.memory().known_to(rank_).store(1, std::memory_order_seq_cst);
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
    if (!out_.bytes().all_sent()) send();
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
  while (writable_ && !out_.bytes().all_sent()) {
    iovec parts[2];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(out_.bytes().unsent(parts));
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      out_.bytes().count_sent(static_cast<uint64_t>(sent));
    } else if (errno != EINTR) {
      writable_ = false;
      if (errno != EAGAIN) readable_ = hung_up_ = true;
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
  return awaited && (last || idle_ >= kPatience);
}

bool TcpLink::settle(bool last) {
  if (state_ != State::kOpen) return false;
  // What comes back must find room to be said.
  if (unless_no_memory([&] { out_.provide_words(in_.announced()); })) {
    in_.collect([this](uint32_t packet) { out_.say(LinkWord::kPacketBack, 0, 0, packet); });
  }
  const uint64_t before = out_.bytes().sent();
  if (!out_.empty() || !out_.bytes().all_sent()) flush();
  ++idle_;
  const Report now = in_.report();
  if (is_time_to_report(now, last)) report(now);
  return out_.bytes().sent() != before;
}

bool TcpLink::is_stuck(uint64_t now) {
  const uint64_t acknowledged = out_.bytes().acknowledged();
  const bool waits = state_ == State::kOpen && out_.awaits_acknowledgement();
  if (!waits || acknowledged != seen_acknowledged_ || seen_at_ns_ == 0) {
    seen_acknowledged_ = acknowledged;
    seen_at_ns_ = now;
  }
  return now - seen_at_ns_ >= kStuck;
}

bool TcpLink::drained() {
  return state_ == State::kEnded || (out_.empty() && out_.bytes().all_sent());
}

// --- from the peer

bool TcpLink::read() {
  if (state_ != State::kOpen) return false;
  if (blocked_) {
    take();
    return in_.has_delivered();
  }
  const ssize_t came = recv(socket_.get(), came_.get() + rest_, kReadAtOnce, MSG_DONTWAIT);
  if (came > 0) {
    idle_ = 0;
    readable_ = hung_up_ || static_cast<size_t>(came) == kReadAtOnce;
    rest_ += static_cast<size_t>(came);
    take();
  } else if (came == 0 || (errno != EAGAIN && errno != EINTR)) {
    end(RankState::kFailed, 0);  // who leaves says so
  } else if (errno == EAGAIN) {
    readable_ = false;
    hung_up_ = false;
  }
  return in_.has_delivered();
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
      if (frame.aux == host_.own_rank()) return true;
      host_.barriers_came(frame.aux, uint64_t{frame.arg});
      host_.gone(frame.aux, state);
      return true;
    case LinkWord::kEnd:
      if (!is_end) return false;
      end(state, frame.arg);
      return true;
  }
  return false;
}

void TcpLink::end(RankState state, uint64_t barriers) {
  state_ = State::kEnded;
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

bool TcpLink::finish(bool failed) {
  if (state_ == State::kCalling) return true;
  while (state_ == State::kOpen) {
    readable_ = true;
    read();
    if (state_ == State::kOpen && !readable_) {
      if (!failed) return false;  // it has left, and its goodbye is on its way here
      end(RankState::kFailed, 0);
    }
    if (blocked_) return false;
  }
  return true;
}

/// With something left that windows hold back nothing is said: the peer sees a death, which is what it is.
void TcpLink::leave(RankState state, uint64_t barriers) {
  if (state_ != State::kOpen) return;
  flush();
  state_ = State::kEnded;
  if (state == RankState::kLeft && out_.empty()) say_goodbye(state, barriers);
}

void TcpLink::say_goodbye(RankState state, uint64_t barriers) {
  const FrameHeader goodbye{static_cast<uint8_t>(LinkWord::kEnd), 0, 0, static_cast<uint32_t>(state), 0, 0, barriers};
  leaving_ = unless_no_memory([&] { out_.end_with(goodbye, in_.report(), static_cast<uint32_t>(barriers)); });
  send();
}

bool TcpLink::has_left() {
  if (socket_.get() < 0) return true;
  std::byte dropped[4096];
  ssize_t came = 1;
  while (came > 0) came = recv(socket_.get(), dropped, sizeof dropped, MSG_DONTWAIT);
  // The connection is gone, or the peer has ended its side: it leaves too, or is dead, and reads no more.
  if (came == 0 || (errno != EAGAIN && errno != EINTR)) return true;
  writable_ = true;
  send();
  if (!out_.bytes().all_sent()) return false;
  if (leaving_) shutdown(socket_.get(), SHUT_WR);
  leaving_ = false;
  int unsent = 0;
  return ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

void TcpLink::close(bool at_once) {
  if (socket_.get() < 0) return;
  if (at_once) {
    const linger none{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }
  socket_ = FileDescriptor();
}

}  // namespace lci
