// SPDX-License-Identifier: Apache-2.0
// Where the other ranks call this one: one listener for all of its devices. Strangers are let in when they have proved
// that they have the job's secret; until then there are few of them, each has few bytes, and none stays long.
//
// Any thread may call anything. visit() is done by one at a time; others pass by. Connections for a device wait for its
// owner in a list under a short lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/device_set.hpp"
#include "base/log.hpp"
#include "base/try_lock.hpp"
#include "transport/tcp/call_proof.hpp"
#include "transport/tcp/tcp_address.hpp"
#include "transport/transport.hpp"

namespace lci {

/// A connection of a rank that has proved itself; it waits for the verdict.
struct Caller {
  uint32_t rank;
  LinkProgress progress;
  FileDescriptor socket;
  Digest binding;
};

class Door {
 public:
  Door(const CallIdentity& identity, PeerEvents& events, Log& log, SharedCounters& shared)
      : identity_(identity), events_(events), log_(log), shared_(shared) {}

  /// Listens at @p host, and fills @p address with where.
  int open(const std::string& host, TcpAddress* address);
  /// The incarnations of all ranks, by rank. Before the first visit.
  void expect(std::vector<uint64_t> incarnations) { incarnations_ = std::move(incarnations); }
  /// Readable when somebody is there.
  int descriptor() const { return poll_.get(); }

  /// Goes on with everybody who is there.
  void visit();
  bool has_callers(uint32_t device) const { return calls_[device].waiting.load(std::memory_order_acquire); }
  /// Appends those who have proved themselves and want device @p device.
  void take_callers(uint32_t device, std::vector<Caller>* out);
  /// Nobody is let in any more.
  void close();

 private:
  struct Stranger {
    FileDescriptor socket;
    uint64_t until_ns;
    std::string address;
    bool challenged;
    size_t bytes;  // of what is read now
    CallHello hello;
    CallChallenge challenge;
    Digest proof;
  };
  struct Calls {
    std::vector<Caller> callers;
    std::atomic<bool> waiting{false};
  };
  using Strangers = std::deque<std::unique_ptr<Stranger>>;

  void go_on_with_all();
  void let_in();
  void make_room();
  FileDescriptor accept_next(SocketAddress* from);
  bool go_on(Stranger& stranger);
  bool read_all(Stranger& stranger, void* to, size_t size, bool* gone);
  bool answer(Stranger& stranger);
  void hand_over(Stranger& stranger);
  bool refuse(const Stranger& stranger, const char* why);

  const CallIdentity& identity_;
  PeerEvents& events_;
  Log& log_;
  SharedCounters& shared_;
  std::vector<uint64_t> incarnations_;
  TryLock visiting_;  // guards what follows, but for the calls
  FileDescriptor listener_, poll_;
  FileDescriptor spare_;           // given up to turn away a caller for whom there is none
  Strangers strangers_;            // the oldest first
  std::set<std::string> refused_;  // a line was written of each
  std::mutex calls_mutex_;
  std::array<Calls, kMaxDevices + 1> calls_;  // by device; the last ones are those of monitors
};

}  // namespace lci
