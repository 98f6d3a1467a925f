// SPDX-License-Identifier: Apache-2.0
// From a device to one of its peers: takes what the device has published in the rings of this rank's memory, and makes
// records of it. Packets go back to the device when the peer's link has them, as if the peer had given them back.
//
// The owner of the device calls everything.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include "base/counters.hpp"
#include "transport/memory/own_memory.hpp"
#include "transport/memory/ring_pair.hpp"
#include "transport/tcp/record.hpp"
#include "transport/tcp/send_buffer.hpp"

namespace lci {

/// What this side tells of the other direction in each record.
struct Report {
  uint64_t received = 0;
  uint32_t control_room = 0, data_room = 0, packet_room = 0;
};

class Outflow {
 public:
  Outflow(OwnMemory& memory, uint32_t device, uint32_t peer, const LinkSizes& sizes, Counters& counters);

  /// Makes records of what is published, as far as windows and buffer allow. True if there was something.
  bool take(const Report& report, uint32_t barriers);
  /// Makes a record that only reports.
  void tell(const Report& report, uint32_t barriers);
  /// Makes the last record, whatever the buffer holds.
  void end_with(const std::vector<FrameHeader>& frames, const Report& report, uint32_t barriers);
  /// Something that the link itself says goes with the next record.
  void say(LinkWord word, uint32_t size, uint32_t aux, uint64_t arg);

  /// Makes say() of @p count words free of failure.
  void provide_words(size_t count) { words_.reserve(words_.size() + count); }

  /// What the peer reports. False: it cannot be.
  bool acknowledge(uint64_t received);
  bool accept_room(const Report& room);
  /// The peer has done with an announcement. False: it is none.
  bool end_announcement(uint64_t packet);

  /// Nothing is published, and nothing is to be said.
  bool empty();
  /// Notes a position of the data ring, and whether something before it was not sent.
  void mark(uint32_t position) {
    marked_ = position;
    marked_end_ = UINT64_MAX;
  }
  bool holds_marked();
  /// The peer has not acknowledged all but reports.
  bool awaits_acknowledgement() const { return bytes_.acknowledged() < said_; }
  /// Where the last record ends that does more than report.
  uint64_t said() const { return said_; }
  SendBuffer& bytes() { return bytes_; }
  const SendBuffer& bytes() const { return bytes_; }

 private:
  struct Out {
    uint64_t end;  // in the stream of records
    uint32_t packet;
  };

  bool open_rings();
  bool has_something();
  bool may_send_control() const;
  bool may_send_data(const MessageHeader& header) const;
  void begin(const Report& report, uint32_t barriers);
  void end();
  bool put_next();
  void count_stall(bool waits, bool sent);
  void put(RingConsumer& ring, const MessageHeader& header, uint32_t in_slots);
  void give_back(const uint32_t* packets, size_t count);

  OwnMemory& memory_;
  const uint32_t device_, peer_;
  const LinkSizes sizes_;
  SendBuffer bytes_;
  uint64_t said_ = 0;
  RecordHeader record_{};
  bool open_ = false;
  RingConsumer control_, data_;
  Report room_;  // what the peer has room for
  uint32_t packets_sent_ = 0;
  uint32_t marked_ = 0;
  uint64_t marked_end_ = 0;  // of the records that hold what is before it, once they are made
  std::vector<FrameHeader> words_;
  std::deque<Out> out_;
  std::unordered_set<uint32_t> announced_;
  Counters& counters_;     // of the device
  uint32_t messages_ = 0;  // in the record, not counted yet
  bool waits_ = false;     // for the peer; that was counted
};

}  // namespace lci
