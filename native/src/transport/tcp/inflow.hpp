// SPDX-License-Identifier: Apache-2.0
// From one of its peers to a device: takes frames out of records, checks them, and writes them into the rings of the
// peer's mirror, with their payloads in packets of the mirror. What a device checks of a peer's message it checks
// afterwards, as it does of a peer that writes the rings itself.
//
// The owner of the device calls everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "transport/network/mirror.hpp"
#include "transport/tcp/outflow.hpp"
#include "transport/tcp/record.hpp"

namespace lci {

/// What a link hears besides messages. Each answers whether that can be true.
class LinkEvents {
 public:
  virtual bool record_came(const RecordHeader& header) = 0;
  virtual bool word_came(LinkWord word, const FrameHeader& frame) = 0;

 protected:
  ~LinkEvents() = default;
};

class Inflow {
 public:
  Inflow(Mirror& mirror, uint32_t device, uint32_t own_rank, const LinkSizes& sizes, LinkEvents& events);
  /// Cuts the rings. False: there is no memory for them.
  bool open();
  /// Goes over to a larger ring of data, if the peer has used up the room that it was told of, @p told, while the
  /// device takes what comes, and one may be had. What lies in the present one comes first.
  void widen(uint32_t told);
  /// The ring that follows the one which the device reads, if there is one; that one is empty, and its memory goes.
  bool take_wider(RingMemory* out);

  enum class Answer {
    kTaken,     ///< All whole frames were.
    kNoMemory,  ///< The next one waits for memory.
    kNonsense,  ///< why() says what.
  };
  /// Takes frames from the front of @p bytes. @param taken how many bytes it took
  Answer take(const std::byte* bytes, size_t size, size_t* taken);
  const char* why() const { return why_; }
  /// Whether messages have come since this was asked last.
  bool has_delivered() {
    const bool delivered = delivered_;
    delivered_ = false;
    return delivered;
  }

  /// Takes packets of the mirror that the device has done with: @p back is called with each announcement's packet, as
  /// its sender calls it.
  template <typename Back>
  void collect(Back back);
  bool has_returned() const { return !mirror_.header().device[device_].returned_packets.empty_for_parking(); }
  /// Announcements that the device has not done with.
  size_t announced() const { return announced_.size(); }
  /// Behind what was taken.
  uint64_t position() const { return position_; }
  /// What the peer may send, and what it has sent.
  Report report() const;
  uint32_t packet_window() const { return packet_window_; }
  /// Payloads that came in packets, since the first.
  uint32_t packets_received() const { return packets_received_; }

 private:
  void show();
  bool would_gain(uint32_t told);
  Answer take_header(const std::byte* bytes);
  Answer take_frame(const std::byte* bytes, size_t size, size_t* taken);
  Answer take_control(const MessageHeader& message, const std::byte* payload, uint32_t in_slots);
  Answer take_data(const MessageHeader& message, const std::byte* payload, uint32_t in_slots, uint32_t in_packet);
  Answer nonsense(const char* why) {
    why_ = why;
    return Answer::kNonsense;
  }
  uint32_t packet_for(const MessageHeader& message, const std::byte* payload, uint32_t size);
  void take_returned(uint32_t handle);

  Mirror& mirror_;
  const uint32_t device_, own_rank_;
  const LinkSizes sizes_;
  const uint32_t packet_window_;
  LinkEvents& events_;
  RingPair* rings_ = nullptr;
  uint64_t offset_ = 0;  // of those in the mirror, until they are shown
  RingProducer control_, data_;
  std::atomic<uint32_t>* data_head_ = nullptr;
  uint32_t data_slots_;
  RingMemory read_{};      // by the device
  RingMemory wider_{};     // and what follows that
  bool used_up_ = false;   // the peer has, all that it was told of, since the ring was new
  uint32_t left_ = 0;      // of the frames of the record
  uint64_t position_ = 0;  // of what was taken
  uint64_t received_ = 0;  // whole records
  uint32_t packets_received_ = 0, packets_returned_ = 0;
  uint32_t packets_ = 0, tokens_ = 0;  // that were cut
  std::vector<uint32_t> free_packets_, free_tokens_;
  std::unordered_map<uint32_t, uint32_t> announced_;  // by packet of the mirror, that of the sender
  std::vector<uint32_t> back_;
  bool delivered_ = false;
  const char* why_ = "";
};

template <typename Back>
void Inflow::collect(Back back) {
  ReturnedPackets& returned = mirror_.header().device[device_].returned_packets;
  if (returned.empty()) return;
  returned.take_all(
      UINT32_MAX,
      [&](uint32_t handle) -> const PacketHeader& {
        return *reinterpret_cast<PacketHeader*>(mirror_.at(uint64_t{handle} * kPacketUnit));
      },
      [&](uint32_t handle) {
        take_returned(handle);
        return ReturnedPackets::Answer::kTaken;
      });
  for (const uint32_t packet : back_) back(packet);
  back_.clear();
}

}  // namespace lci
