// SPDX-License-Identifier: Apache-2.0
// A link over one TCP connection, between a device and the device of the same number of a peer.
//
// What has come is always read: windows see to it that there is room, so control never waits behind data. Each record
// reports what has come and what there is room for; a record for that alone is sent when the peer could have to wait
// for it.
//
// The owner of the device calls everything.
#pragma once

#include <cstdint>
#include <memory>

#include "host/file_descriptor.hpp"
#include "transport/tcp/inflow.hpp"
#include "transport/tcp/outflow.hpp"
#include "transport/tcp/tcp_host.hpp"

namespace lci {

class TcpLink final : private LinkEvents {
 public:
  TcpLink(TcpHost& host, uint32_t device, uint32_t rank, Mirror& mirror);

  uint32_t rank() const { return rank_; }
  bool is_open() const { return state_ == State::kOpen; }
  /// Nothing comes any more: the peer said so, or the connection is gone.
  bool has_ended() const { return state_ == State::kEnded; }
  /// Has what open() needs. False: there is no memory for it.
  bool prepare();
  /// From now on records go over @p socket.
  void open(FileDescriptor socket);
  int socket() const { return socket_.get(); }

  /// Makes records of what was published and sends as much as the system takes.
  void flush();
  /// What poll found.
  void wake(bool readable, bool writable, bool hung_up);
  /// A read would find something, as far as is known.
  bool is_readable() const { return state_ == State::kOpen && (readable_ || blocked_); }
  /// Reads what has come. True if messages have.
  bool read();
  /// The device has given something of the mirror back since settle().
  bool has_returned() const { return state_ == State::kOpen && in_.has_returned(); }
  /// Sends what was held up, gives back what the device has done with, and reports if it is time.
  /// @param last the device is about to sleep
  bool settle(bool last);
  /// The peer has acknowledged nothing for a second, and there is something to acknowledge. Asked now and then.
  bool is_stuck(uint64_t now);
  void provide_words(size_t count) { out_.provide_words(count); }
  void say(LinkWord word, uint32_t size, uint32_t aux, uint64_t arg) { out_.say(word, size, aux, arg); }

  /// The rank is known to be gone: reading ends where nothing is left. True: it has.
  bool finish(bool failed);
  /// All that was published has gone to the system.
  bool drained();
  /// See NetworkDevice.
  void mark(uint32_t position) { out_.mark(position); }
  bool holds_marked() { return state_ != State::kEnded && out_.holds_marked(); }
  /// Tells the peer that this rank ends, behind all that was sent.
  void leave(RankState state, uint64_t barriers);
  /// Whether the peer's system has everything, so that closing loses nothing.
  bool has_left();
  void close(bool at_once);

 private:
  enum class State { kCalling, kOpen, kEnded };

  bool record_came(const RecordHeader& header) override;
  bool word_came(LinkWord word, const FrameHeader& frame) override;
  void take();
  void send();
  void report(const Report& report);
  bool is_time_to_report(const Report& now, bool last) const;
  void end(RankState state, uint64_t barriers);
  void say_goodbye(RankState state, uint64_t barriers);
  void blame(const char* why);

  TcpHost& host_;
  const uint32_t device_, rank_;
  const LinkSizes sizes_;
  Outflow out_;
  Inflow in_;
  FileDescriptor socket_;
  State state_ = State::kCalling;
  bool leaving_ = false;  ///< The goodbye is the last record.
  bool readable_ = false, writable_ = false, hung_up_ = false;
  /// Has room for what is read at once, behind a frame that has not come whole.
  std::unique_ptr<std::byte[]> came_;
  size_t rest_ = 0;       ///< Bytes in it that were not taken.
  bool blocked_ = false;  ///< They have a whole frame, which waits for memory.
  Report told_;
  uint32_t told_packets_ = 0;
  uint32_t idle_ = 0;  ///< Passes without anything new.
  uint64_t seen_acknowledged_ = 0, seen_at_ns_ = 0;
};

}  // namespace lci
