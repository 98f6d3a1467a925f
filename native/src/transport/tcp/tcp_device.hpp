// SPDX-License-Identifier: Apache-2.0
// The TCP links of one device. Whoever talks first calls; if both ranks do, the call of the lower one stands, by the
// decision of the lower one's device alone.
//
// The owner of the device calls everything, but finish() and ready(): see there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transport/network/network_device.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/outgoing_call.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace lci {

class TcpTransport;

class TcpDevice final : public NetworkDevice {
 public:
  TcpDevice(TcpTransport& transport, uint32_t index);

  void open(uint32_t rank) override;
  bool take_wider(uint32_t rank, RingMemory* out) override;
  void flush(uint32_t rank) override;
  bool pump() override;
  void prepare_to_sleep() override;
  void awake() override { sleeps_ = false; }
  bool has_work() const override;
  bool drained() const override;
  void mark(uint32_t rank, uint32_t position) override;
  bool holds_marked(uint32_t rank) override;
  bool has_read_all(uint32_t rank) override;
  void close(uint32_t rank) override;
  void leave(RankState state) override;
  const Counters& counters() const override { return counters_; }

  /// Ranks that device 0 is to have a link to whatever is posted: those that it calls, and those that call it.
  std::vector<uint32_t> neighbours() const;
  bool is_linked_to(uint32_t rank) const { return peers_[rank].link && peers_[rank].link->has_met(); }
  /// Whether the lane that calls has this device, and is about to sleep.
  bool sleeps() const { return sleeps_.load(std::memory_order_relaxed); }
  /// Readable when something has come.
  int descriptor() const { return poll_.get(); }
  /// After leave(): closes what has reached the peers' systems. True: all of it.
  bool finish(bool at_once);

 private:
  /// The rank may have accepted it and sent something since, so a link counts as standing.
  class LinkCall : public OutgoingCall {
   public:
    LinkCall(TcpTransport& transport, uint32_t device, uint32_t rank, const LinkProgress& progress);

   private:
    std::optional<StandingLink> stands_;
  };
  struct Peer {
    std::unique_ptr<TcpLink> link;
    std::unique_ptr<LinkCall> call;
    uint64_t call_again_ns = 0;     // 0: no call is wanted, or one is under way
    uint64_t refused_since_ns = 0;  // 0: it was not
    uint32_t hang_ups = 0;          // in sequence, before it had proved itself
    uint64_t looked_ns = 0;         // for what is left of one that is gone; 0: it is not
    uint64_t waited_ns = 0;         // with looks, since something has come
    uint64_t taken = 0;             // until the last look
    uint32_t turned_away = 0;       // calls in sequence for it
    bool greeted = false;
    bool closed = false;
  };

  TcpLink* link_to(uint32_t rank);
  void call(uint32_t rank);
  void call_neighbours();
  void take_callers();
  bool answer(Caller& caller);
  bool accept(Caller& caller);
  void go_on_calling(uint32_t rank);
  void go_on_for_rest(Peer& peer, OutgoingCall::Answer answer);
  void begin_to_mend(uint32_t rank);
  void open_called(Peer& peer);
  static void call_again(Peer& peer, uint64_t after_ns);
  void was_refused(uint32_t rank);
  bool is_over(uint32_t rank);
  bool has_time(const Peer& peer) const;
  bool awaits_rest(uint32_t rank);
  void look_for_rest(uint32_t rank);
  void was_hung_up_on(uint32_t rank);
  bool watch(int socket, uint32_t tag, bool edges);
  void poll();
  bool read_links();
  void tell_news();
  bool hears_news(uint32_t rank) const;
  void doubt(uint64_t now);
  void doubt_link(uint32_t rank, uint64_t now);
  void rest_quiet_links(uint64_t now);
  size_t most_links() const;
  bool is_kept(uint32_t rank) const;
  void talk_again(uint32_t rank);
  void greet(Peer& peer);

  TcpTransport& transport_;
  const uint32_t index_;
  FileDescriptor poll_;
  Counters counters_;
  std::vector<Peer> peers_;                           // by rank
  std::vector<uint32_t> links_;                       // ranks with a link
  std::vector<std::pair<uint64_t, uint32_t>> quiet_;  // for so long, and which
  std::vector<Caller> callers_;                       // who wait for an answer
  size_t told_gone_ = 0;
  uint32_t told_devices_ = 0;
  size_t called_without_ = SIZE_MAX;  // neighbours: of those who are gone, so many were known
  uint64_t next_doubts_ns_ = 0;
  bool left_ = false;
  std::atomic<bool> sleeps_{false};  // lanes that sleep look at those of other lanes
};

}  // namespace lci
