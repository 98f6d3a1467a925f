// SPDX-License-Identifier: Apache-2.0
// Watches one rank of another host: a connection over which nothing goes but one word at its end. The two systems keep
// it alive, so a process that is stopped or busy lives, and a host that has vanished does not answer any more. A
// connection that breaks is opened anew: only who refuses, or stays silent, is dead. [NETWORK 3.6]
//
// By one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/device_set.hpp"
#include "peer/rank_state.hpp"
#include "transport/tcp/outgoing_call.hpp"

namespace lci {

/// How long ranks may be silent: attributes net_dead_ms and net_reconnect_ms, in nanoseconds.
struct Patience {
  uint64_t dead_ns, reconnect_ns;
};

/// What is known of a rank before a monitor has reached it.
enum class Known : uint8_t {
  kNothing,     ///< It may have left.
  kWasThere,    ///< A connection to it has just broken.
  kHostSilent,  ///< Another rank of its host has been silent for too long.
};

/// The device, in a call, of a connection that is none of a device.
inline constexpr uint32_t kMonitorDevice = kMaxDevices;

/// What a rank says over each of these connections when it ends, and over one of its own when it stops watching.
struct MonitorGoodbye {
  uint64_t magic;
  uint64_t barriers;  ///< That it has completed.
  uint32_t state;     ///< A RankState: kActive if it only stops watching.
  uint32_t reserved;
  Digest proof;  ///< That it is the rank's, and of this connection.
};

/// A connection that has been accepted.
class MonitorLine {
 public:
  /// @param binding of its call, in which this rank was @p side
  MonitorLine(FileDescriptor socket, const Patience& patience, const Digest& binding, CallSide side);
  enum class Heard {
    kNothing,
    kGoodbye,
    kUnwatched,  ///< The other one does not watch this one any more.
    kEnd,
    kSilence,  ///< The other system has not answered for too long, so that this one has given up.
  };
  /// What has come.
  Heard hear();
  RankState state() const { return static_cast<RankState>(goodbye_.state); }
  uint64_t barriers() const { return goodbye_.barriers; }
  void say_goodbye(RankState state, uint64_t barriers);

 private:
  bool is_sensible() const;
  static Digest prove(const MonitorGoodbye& goodbye, const Digest& key);
  FileDescriptor socket_;
  const Digest key_of_this_, key_of_other_;
  MonitorGoodbye goodbye_{};
  size_t came_ = 0;  // bytes of it
};

class Monitor {
 public:
  /// @param known whoever may have left is given more time
  Monitor(const CallIdentity& self, const TcpAddress& address, uint32_t rank, const Patience& patience,
          Known known = Known::kNothing);
  void learn(Known known);
  /// Another rank of its host has answered: that is not silent.
  void host_answers() { is_host_silent_ = false; }
  /// By other connections it was there at @p at.
  void seen_alive(uint64_t at);
  /// The one that it has a line to hears that it is not watched any more. Nothing may follow.
  void release() { line_->say_goodbye(RankState::kActive, 0); }

  uint32_t rank() const { return rank_; }
  enum class Finding {
    kNothing,
    kGone,
    kFenced,  ///< It says that this rank has failed.
    kSilent,  ///< Its host does not answer. Whether it is gone is about to be found.
  };
  /// Goes on, as far as it can.
  Finding look(uint64_t now);
  /// Of a rank that is gone: how, how many barriers it said that it had completed, and, of one that has failed without
  /// a word, what shows that.
  RankState state() const { return state_; }
  uint64_t barriers() const { return barriers_; }
  const std::string& why() const { return why_; }
  /// It failed because nothing there answers, not even to refuse.
  bool is_silent() const { return state_ == RankState::kFailed && !line_ && refusals_ == 0; }
  /// The connection, while there is one.
  MonitorLine* line() { return line_ ? &*line_ : nullptr; }
  const MonitorLine* line() const { return line_ ? &*line_ : nullptr; }

 private:
  Finding listen(uint64_t now);
  Finding call(uint64_t now);
  Finding hung_up(uint64_t now);
  Finding judge_silence(uint64_t now);
  void leave_out_unseen(uint64_t now);
  void call_again(uint64_t at) {
    call_.reset();
    next_call_ns_ = at;
  }
  Finding failed();

  const CallIdentity& self_;
  const TcpAddress& address_;
  const uint32_t rank_;
  const Patience patience_;
  std::optional<OutgoingCall> call_;
  std::optional<MonitorLine> line_;
  bool was_there_ = false, is_host_silent_ = false;  // it is given less time
  bool reached_ = false;                             // so whoever refuses there is not it
  uint64_t looked_ns_ = 0, called_ns_ = 0;
  uint64_t silent_since_ns_ = 0;  // 0: it has answered
  uint64_t next_call_ns_ = 0;
  uint32_t refusals_ = 0, hang_ups_ = 0;
  RankState state_ = RankState::kActive;
  uint64_t barriers_ = 0;
  std::string why_;
};

}  // namespace lci
