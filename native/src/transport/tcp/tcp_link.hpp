// SPDX-License-Identifier: Apache-2.0
// A link over one TCP connection, between a device and the device of the same number of a peer. A connection that
// breaks is no end: over the next one each side goes on with the byte that the other one has not got, so nothing is
// lost or doubled. Who is dead is found by monitors. [NETWORK 3.6]
//
// What has come is always read: windows see to it that there is room, so control never waits behind data. Each record
// reports what has come and what there is room for; a record for that alone is sent when the peer could have to wait
// for it.
//
// The owner of the device calls everything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/socket.hpp"
#include "transport/chaos/connection_chaos.hpp"
#include "transport/tcp/call_proof.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/inflow.hpp"
#include "transport/tcp/outflow.hpp"
#include "transport/tcp/tcp_host.hpp"

namespace lci {

class TcpLink final : private LinkEvents {
 public:
  /// @param counters of the device
  TcpLink(TcpHost& host, uint32_t device, uint32_t rank, Mirror& mirror, Counters& counters);

  uint32_t rank() const { return rank_; }
  bool is_open() const { return state_ == State::kOpen; }
  /// The peer has said something over it: it knows that there is a link.
  bool has_met() const { return met_; }
  /// Its connection is gone, and it waits for another one.
  bool is_broken() const { return state_ == State::kBroken; }
  /// Its connection was closed because neither side had anything to say.
  bool is_resting() const { return state_ == State::kResting; }
  /// It rests, and there is something to say now.
  bool wakes() { return is_resting() && !out_.empty(); }
  /// Nothing comes any more: the peer said so, or is gone.
  bool has_ended() const { return state_ == State::kEnded; }
  /// Has what open() needs. False: there is no memory for it.
  bool prepare();
  /// What a connection that is to be opened for it begins with.
  LinkProgress progress() const { return {connections_, in_.position() + rest_}; }
  /// Whether a call of the peer, which has come so far, is for a connection that this link needs: a peer may know that
  /// the present one is broken before this side does, or may never have heard that there is one.
  bool needs(const LinkProgress& theirs) const;
  /// From now on records go over @p connection, from the byte that the peer has not got.
  /// @param peer what that has taken; both sides give the connection this number
  /// @param answered the peer has called
  void open(Connection connection, const LinkProgress& peer, bool answered);

  /// Makes records of what was published and sends as much as the system takes.
  void flush();
  /// What poll found.
  void wake(bool readable, bool writable, bool hung_up);
  /// A read would find something, as far as is known.
  bool is_readable() const { return (state_ == State::kOpen && readable_) || blocked_; }
  /// Reads what has come. True if messages have.
  bool read();
  /// See NetworkDevice.
  bool take_wider(RingMemory* out) { return in_.take_wider(out); }
  /// The device has given something of the mirror back since settle().
  bool has_returned() const { return state_ == State::kOpen && in_.has_returned(); }
  /// Sends what was held up, gives back what the device has done with, and reports if it is time.
  /// @param last the device is about to sleep
  bool settle(bool last);
  /// For how long the peer has acknowledged nothing, although there was something to acknowledge. Asked now and then.
  uint64_t stuck_ns(uint64_t now);
  /// Its system is to ask the peer's whether it is there, also when there is nothing to send.
  void ask(bool asks);
  /// The peer's system does not answer, either. Of one whose program only does not look it does.
  bool is_unanswered() const { return state_ == State::kOpen && lci::is_unanswered(connection_.socket()); }
  /// The peer's system has acknowledged bytes of the connection since this was asked last.
  bool was_acknowledged();
  /// For how long nothing has gone, and all that was said has come. Asked now and then.
  uint64_t quiet_ns(uint64_t now);
  /// Proposes to the peer that the connection be closed. There must be room for a word.
  void propose_rest();
  /// Tells the peer that what it said has come, if no record has.
  void acknowledge();
  /// The connection goes; the link waits for another one.
  void cut();
  void provide_words(size_t count) { out_.provide_words(count); }
  void say(LinkWord word, uint32_t size, uint32_t aux, uint64_t arg) { out_.say(word, size, aux, arg); }

  /// The rank is known to be gone: reads what is left. True: that was all.
  /// @param waits for more: of one that has left, though nothing comes now; of one that has failed, if it is there
  bool finish(bool failed, bool waits);
  /// All that was published has gone to the system.
  bool drained();
  /// See NetworkDevice.
  void mark(uint32_t position) { out_.mark(position); }
  bool holds_marked() { return state_ != State::kEnded && (out_.holds_marked() || !connection_.is_flushed()); }
  /// Tells the peer that this rank ends, behind all that was sent. @param reads the peer; false: it has left, and waits
  /// for the goodbye alone
  void leave(RankState state, uint64_t barriers, bool reads);
  bool is_leaving() const { return leaving_; }
  /// After leave(): whether the peer's system has everything, so that closing loses nothing. False also while the
  /// connection is broken, and the peer has not opened another one.
  bool has_left();
  void close(bool at_once);

 private:
  enum class State { kCalling, kOpen, kBroken, kResting, kEnded };

  bool record_came(const RecordHeader& header) override;
  bool word_came(LinkWord word, const FrameHeader& frame) override;
  bool spoken_came(const FrameHeader& frame);
  void become(State state);
  void take();
  ssize_t receive();
  bool hears_nothing_more() const;
  void send();
  void report(const Report& report);
  bool is_time_to_report(const Report& now, bool last) const;
  void lose_connection(bool was_closed);
  void lose_piece();
  bool may_have_crossed();
  bool has_nothing_to_say();
  void rest();
  void end(RankState state, uint64_t barriers);
  std::vector<FrameHeader> last_words(RankState state, uint64_t barriers);
  bool has_sent_goodbye();
  bool awaits_system() const { return held_by_system() != 0; }
  uint32_t held_by_system() const;
  /// What is left to say needs other keys.
  bool is_worn_out() const { return connection_.is_spent() && !out_.bytes().all_sent(); }
  bool has_sent_all() const { return out_.bytes().all_sent() && connection_.is_flushed(); }
  void blame(const char* why);
  void drop_connection();

  TcpHost& host_;
  Counters& counters_;
  const uint32_t device_, rank_;
  const LinkSizes sizes_;
  Outflow out_;
  Inflow in_;
  std::optional<ConnectionChaos> chaos_;
  Connection connection_;
  State state_ = State::kCalling;
  uint32_t connections_ = 0;  ///< The number of the present one, or of the last.
  bool answered_ = false;     ///< The present one was opened by the peer.
  bool heard_ = false;        ///< Something has come over it, so the peer knows of it.
  bool met_ = false;          ///< Or over one before it.
  bool leaving_ = false;      ///< The goodbye is the last record; nothing that comes is taken any more.
  bool shut_ = false;         ///< And the present connection has all of it.
  bool readable_ = false, writable_ = false, hung_up_ = false;
  uint32_t spoiled_ = 0;     ///< Pieces that did not open, since one has.
  bool has_warned_ = false;  ///< Of such a piece.
  bool is_lost_ = false;     ///< A send has found so, and reading finds no more than an end.
  /// Has room for what is read at once, behind a frame that has not come whole.
  std::unique_ptr<std::byte[]> came_;
  size_t rest_ = 0;       ///< Bytes in it that were not taken.
  bool blocked_ = false;  ///< They have a whole frame, which waits for memory.
  Report told_;
  uint32_t told_packets_ = 0;
  uint32_t idle_ = 0;  ///< Passes without anything new.
  uint64_t seen_acknowledged_ = 0, seen_at_ns_ = 0;
  bool asks_ = false;                   // over this connection
  uint64_t seen_arrived_ = UINT64_MAX;  // of what was sent over this connection; this: not yet
  uint64_t came_said_ = 0;              // where the peer's last record begins that does more than report
  bool peer_rests_ = false;             // which was a proposal
  uint64_t proposed_ = UINT64_MAX;      // what was said when this side made its own over this connection
  bool used_up_ = false;                // the last connection ended with its keys
  bool crossed_ = false;                // the connection ended while what was said since was on its way
  uint64_t moved_ = 0, quiet_since_ns_ = 0;
};

}  // namespace lci
