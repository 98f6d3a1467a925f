// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/monitor.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "host/socket.hpp"

namespace lci {
namespace {

constexpr uint64_t kGoodbyeMagic = 0x657962646f6f674cull;
constexpr uint64_t kAskAgain = 20'000'000;  // ns
constexpr uint32_t kRefusals = 3;           // in sequence: nobody is there
/// In sequence, a minute of them at least: a rank that lacks something would have found it.
constexpr uint32_t kHangUps = 3000;
/// ns: a program that has not looked for longer has not called, either. So much of it counts as silence, or a program
/// that always looks so seldom would find no death.
constexpr uint64_t kUnseen = 100'000'000;
constexpr uint64_t kMillisecond = 1'000'000;

}  // namespace

MonitorLine::MonitorLine(FileDescriptor socket, const Patience& patience, const Digest& binding, CallSide side)
    : socket_(std::move(socket)),
      key_of_this_(key_of(binding, side, {})),
      key_of_other_(key_of(binding, side == CallSide::kCaller ? CallSide::kAnswerer : CallSide::kCaller, {})) {
  keep_alive(socket_.get(), patience.dead_ns);
}

MonitorLine::Heard MonitorLine::hear() {
  const Moved moved =
      receive_some(socket_.get(), reinterpret_cast<std::byte*>(&goodbye_) + came_, sizeof goodbye_ - came_);
  came_ += moved.bytes;
  if (came_ == sizeof goodbye_) {
    if (!is_sensible()) return Heard::kEnd;
    return state() == RankState::kActive ? Heard::kUnwatched : Heard::kGoodbye;
  }
  if (!moved.ended) return Heard::kNothing;
  const bool silent = moved.error == ETIMEDOUT || moved.error == EHOSTUNREACH || moved.error == ENETUNREACH;
  return silent ? Heard::kSilence : Heard::kEnd;
}

bool MonitorLine::is_sensible() const {
  const bool is_end = state() == RankState::kLeft || state() == RankState::kFailed;
  return goodbye_.magic == kGoodbyeMagic && (is_end || state() == RankState::kActive) &&
         equal_in_constant_time(goodbye_.proof, prove(goodbye_, key_of_other_));
}

Digest MonitorLine::prove(const MonitorGoodbye& goodbye, const Digest& key) {
  HmacSha256 code(key.bytes.data(), key.bytes.size());
  code.update(&goodbye, offsetof(MonitorGoodbye, proof));
  return code.finish();
}

/// There is always room for it: nothing else was said.
void MonitorLine::say_goodbye(RankState state, uint64_t barriers) {
  MonitorGoodbye goodbye{kGoodbyeMagic, barriers, static_cast<uint32_t>(state), 0, {}};
  goodbye.proof = prove(goodbye, key_of_this_);
  send_some(socket_.get(), &goodbye, sizeof goodbye);
  ::shutdown(socket_.get(), SHUT_WR);
}

Monitor::Monitor(const CallIdentity& self, const TcpAddress& address, uint32_t rank, const Patience& patience,
                 Known known)
    : self_(self), address_(address), rank_(rank), patience_(patience) {
  learn(known);
}

void Monitor::learn(Known known) {
  was_there_ |= known == Known::kWasThere;
  is_host_silent_ |= known == Known::kHostSilent;
}

void Monitor::seen_alive(uint64_t at) {
  if (silent_since_ns_ == 0 || at <= silent_since_ns_) return;
  silent_since_ns_ = at;
  hang_ups_ = 0;
}

Monitor::Finding Monitor::look(uint64_t now) {
  if (state_ != RankState::kActive) return Finding::kNothing;  // it has been said
  const Finding finding = line_ ? listen(now) : call(now);
  looked_ns_ = now;
  return finding;
}

Monitor::Finding Monitor::listen(uint64_t now) {
  const MonitorLine::Heard heard = line_->hear();
  switch (heard) {
    case MonitorLine::Heard::kNothing:
      return Finding::kNothing;
    case MonitorLine::Heard::kGoodbye:
      state_ = line_->state();
      barriers_ = line_->barriers();
      why_ = "it said so";
      return Finding::kGone;
    default:
      line_.reset();
      silent_since_ns_ = now;
      refusals_ = hang_ups_ = 0;
      why_.clear();
      call_again(now);
  }
  return heard == MonitorLine::Heard::kSilence ? Finding::kSilent : Finding::kNothing;
}

Monitor::Finding Monitor::call(uint64_t now) {
  if (silent_since_ns_ == 0) silent_since_ns_ = now;
  if (!call_) {
    if (now < next_call_ns_) return judge_silence(now);
    leave_out_unseen(now);
    call_.emplace(self_, address_, rank_, kMonitorDevice);
    called_ns_ = now;
    if (call_->socket() >= 0) keep_alive(call_->socket(), patience_.dead_ns);
  }
  const OutgoingCall::Answer answer = call_->go_on();
  if (answer != OutgoingCall::Answer::kWaiting && answer != OutgoingCall::Answer::kLater) hang_ups_ = 0;
  switch (answer) {
    case OutgoingCall::Answer::kAccepted:
      line_.emplace(call_->take_socket(), patience_, call_->binding(), CallSide::kCaller);
      call_.reset();
      was_there_ = reached_ = true;
      silent_since_ns_ = 0;
      return Finding::kNothing;
    case OutgoingCall::Answer::kWaiting:
      // Its system answers: whether the process does is its own affair, it may be stopped.
      if (call_->is_connected()) silent_since_ns_ = now;
      // The first packet may be lost, and the system is slow to send another one.
      if (!call_->is_connected() && now - called_ns_ >= patience_.reconnect_ns / 3) call_again(now);
      return judge_silence(now);
    case OutgoingCall::Answer::kRefused: {
      // One that was never reached may have left, and others are about to say so, unless somebody else answers there.
      const bool is_gone = (reached_ || call_->is_connected()) && ++refusals_ >= kRefusals;
      why_ = call_->why();
      call_again(now + kAskAgain);
      return is_gone ? failed() : judge_silence(now);
    }
    case OutgoingCall::Answer::kUnreached: {
      const bool fell_silent = call_->is_connected();
      leave_out_unseen(now);  // it may have ended soon after the last look
      call_again(now + kAskAgain);
      if (!fell_silent) return judge_silence(now);
      was_there_ = true;
      return Finding::kSilent;
    }
    case OutgoingCall::Answer::kFailed:
      call_again(now + kAskAgain);
      return Finding::kFenced;
    default:
      return hung_up(now);
  }
}

/// Between two looks without a call nobody was asked for most of that time.
void Monitor::leave_out_unseen(uint64_t now) {
  if (now - looked_ns_ <= kUnseen) return;
  silent_since_ns_ = std::min(now, silent_since_ns_ + (now - looked_ns_ - kUnseen));
}

/// This process lacks something, or the other one does: that is no silence. But who hangs up for ever before it has
/// proved itself is another process, which has the rank's port.
Monitor::Finding Monitor::hung_up(uint64_t now) {
  if (call_->socket() < 0 || call_->is_connected()) silent_since_ns_ = now;
  hang_ups_ = call_->is_connected() && !call_->has_proved() ? hang_ups_ + 1 : 0;
  call_again(now + kAskAgain);
  if (hang_ups_ < kHangUps) return Finding::kNothing;
  ++refusals_;
  why_ = "whoever answers there hangs up";
  return failed();
}

Monitor::Finding Monitor::judge_silence(uint64_t now) {
  const bool is_short = was_there_ || is_host_silent_;
  const uint64_t longest = is_short ? patience_.reconnect_ns : patience_.dead_ns + patience_.reconnect_ns;
  if (now - silent_since_ns_ < longest) return Finding::kNothing;
  if (why_.empty()) why_ = "no answer for " + std::to_string(longest / kMillisecond) + " ms";
  return failed();
}

Monitor::Finding Monitor::failed() {
  call_.reset();
  state_ = RankState::kFailed;
  return Finding::kGone;
}

}  // namespace lci
