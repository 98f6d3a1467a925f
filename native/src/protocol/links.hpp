// SPDX-License-Identifier: Apache-2.0
// The links of a device: one to each rank that it has talked to, what was written to them since the last doorbell, and
// which of them have something to read or to send. The owner of the device calls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/host.hpp"
#include "protocol/link.hpp"

namespace lci {

class NetworkDevice;

class Links {
 public:
  enum class Accepted { kNothing, kOpen, kNonsense };

  Links(ProtocolHost& host, Handed& handed);

  /// Null: there is none.
  Link* find(uint32_t rank) const { return links_[rank].get(); }
  bool has_failed(uint32_t rank) const { return links_[rank] && links_[rank]->failed; }
  template <typename F>
  void for_each(F visit) const {
    for (const auto& link : links_) {
      if (link) visit(*link);
    }
  }
  /// The link to send by, whose rings are cut when it is first used: it is open, or awaits a device of the peer. Null,
  /// and why, if the rank is gone or there is no memory.
  Link* open(uint32_t rank, int* error);
  /// That to a rank which is gone; it may never have spoken to this one.
  Link& of_gone(uint32_t rank);
  bool any_awaits_device() const { return !awaiting_.empty(); }
  /// Whether a peer has added a device that is awaited.
  bool may_meet_devices() const;
  /// Calls @p visit with each link that awaits a device no more.
  template <typename F>
  void meet_devices(F visit) {
    for (size_t i = 0; i < awaiting_.size();) {
      Link& link = *awaiting_[i];
      if (!link.failed && !has_device(link)) {
        ++i;
        continue;
      }
      awaiting_[i] = awaiting_.back();
      awaiting_.pop_back();
      link.awaits_device = false;
      if (!link.failed) visit(link);
    }
  }
  /// Takes up the rings to which the peer of a link writes, if it has made some.
  Accepted accept(Link& link);
  /// Whether a link that has rings has something in them, or in the one that follows that of data.
  bool has_message(Link& link) const {
    if (network_ && !link.data_in.has_message()) go_over(link);
    return link.data_in.has_message() || link.control_in.has_message();
  }
  /// How many can be read from.
  uint32_t readable() const { return readable_; }

  /// Whether a link has rings to send by: what a rank asks for may come before this one has any for it.
  bool open_out(Link& link);
  /// False: the ring has no room.
  bool emit_data(Link& link, const MessageHeader& header, const void* payload, uint32_t payload_size);
  bool emit_control(Link& link, const MessageHeader& header) { return emit_control(link, header, nullptr, 0, 0); }
  /// With a payload in its slots. @param kept slots that must be free beside it
  bool emit_control(Link& link, const MessageHeader& header, const void* payload, uint32_t payload_size, uint32_t kept);
  /// The next doorbell is for this one as well.
  void touch(Link& link) {
    if (link.touched) return;
    link.touched = true;
    touched_.push_back(&link);
  }
  bool any_touched() const { return !touched_.empty(); }
  /// Shows peers that poll what was written to them.
  void publish();
  /// Publishes, and rings the doorbells of all peers written to since the last call.
  void ring();
  /// Before long work: the peers written to begin meanwhile. Bytes for a network go together, later.
  void ring_early() {
    if (!network_) ring();
  }

  /// The part of them that goes over a network; null: none does.
  NetworkDevice* network() const { return network_; }

  /// Links that may hold messages; and those with streams or queued control.
  std::vector<Link*>& ready() { return ready_; }
  const std::vector<Link*>& ready() const { return ready_; }
  std::vector<Link*>& busy() { return busy_; }
  void make_ready(Link& link) {
    if (link.ready) return;
    link.ready = true;
    ready_.push_back(&link);
  }
  void make_busy(Link& link);

 private:
  Link& add(uint32_t rank, PeerMemory* peer);
  void go_over(Link& link) const;
  bool open_rings(Link& link, int* error);
  bool has_device(const Link& link) const { return link.peer->devices() > index_; }

  ProtocolHost& host_;
  const DeviceParts& parts_;
  const uint32_t index_;
  Handed& handed_;
  NetworkDevice* const network_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank; created when first used
  std::vector<Link*> ready_, touched_, busy_, awaiting_;
  uint32_t readable_ = 0;
};

}  // namespace lci
