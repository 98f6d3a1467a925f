// SPDX-License-Identifier: Apache-2.0
// The ports and matching engines of this rank, by number. [B20, B25, 2B-42]
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/device_bell.hpp"
#include "base/device_table.hpp"
#include "lci/lci.h"
#include "protocol/engine.hpp"
#include "protocol/port.hpp"

namespace lci {

/// Any thread may call anything; add() by one thread at a time. Ports and engines stay, once they were named, until
/// the runtime goes.
class Targets {
 public:
  Targets(uint32_t rank, uint32_t ranks);
  /// The next device: it may wait for room for replies.
  void add(DeviceBell& device) { devices_.add(device); }

  /// The port, created if it was never named; null if the number is out of range.
  Port* port(uint32_t number);
  /// No port is opened meanwhile.
  template <typename F>
  void for_each_port(F visit) {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    for (auto& port : port_storage_) visit(*port);
  }
  /// The engine, created if it was never named; null if the number is out of range.
  Engine* engine(uint32_t number) { return number > LCI_MAX_ENGINE ? nullptr : &engine_at(number); }
  /// The same of a number that was checked.
  Engine& engine_at(uint32_t number) {
    Engine* const known = engines_[number].load(std::memory_order_acquire);
    return known ? *known : add_engine(number);
  }
  /// Null for numbers that no honest peer sends.
  Target* target(uint16_t number);
  template <typename F>
  void for_each_engine(F visit) {
    for (auto& known : engines_) {
      if (Engine* engine = known.load(std::memory_order_acquire)) visit(*engine);
    }
  }

  /// @param inbox instead of @p completion, of the lane @p home
  int open_port(uint32_t number, const char* name, Completion* completion, InboxView* inbox, const LaneView* home,
                uint32_t messages, uint64_t bytes);
  int close_port(uint32_t number, int told = LCI_ERR_PORT_CLOSED);
  int name_port(uint32_t number, const char* name);
  /// Held while a port is opened, or its parts change.
  std::mutex& opening_ports() { return ports_mutex_; }

  /// Sets room for replies of @p bytes aside at a port; see lci_port_reply_room().
  int add_reply_room(uint32_t number, uint32_t count, uint32_t bytes, uint8_t* out_id);
  /// The port at which a request with this id reserves room; null if there is none.
  Port* reply_port(uint8_t id) const {
    return id <= LCI_MAX_REPLY_ROOM ? reply_ports_[id].load(std::memory_order_acquire) : nullptr;
  }
  /// A reply was taken.
  void give_reply_room(Port& port) {
    port.replies()->give_back();
    tell_reply_room(*port.replies());
  }
  /// Room for replies may have come: those who were refused are told.
  void tell_reply_room(ReplyRooms& rooms);
  /// The peer is gone: no reply of it is waited for.
  void forget_replies(uint32_t rank);

 private:
  Engine& add_engine(uint32_t number);

  const uint32_t rank_, ranks_;
  DeviceTable<DeviceBell> devices_;
  std::mutex ports_mutex_;
  const std::unique_ptr<std::atomic<Port*>[]> ports_;
  std::vector<std::unique_ptr<Port>> port_storage_;
  std::array<std::atomic<Port*>, LCI_MAX_REPLY_ROOM + 1> reply_ports_{};  // 0 is none
  std::mutex engines_mutex_;
  std::array<std::atomic<Engine*>, LCI_MAX_ENGINE + 1> engines_{};
  std::vector<std::unique_ptr<Engine>> engine_storage_;
};

}  // namespace lci
