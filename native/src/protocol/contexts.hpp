// SPDX-License-Identifier: Apache-2.0
// What the core remembers of operations that are under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "completion/completion.hpp"
#include "lci/lci.h"

namespace lci {

class Lane;
class Device;
struct Channel;
struct InKey;
class Engine;

/// Who is told when an operation ends.
struct OpTarget {
  Completion* completion = nullptr;  ///< Signalled if given,
  Lane* lane = nullptr;              ///< else this lane records it.
  uint64_t context = 0;
  bool forgotten = false;  ///< Nobody is told.

  void forget() {
    if (completion) completion->forget_held();
    *this = {};
    forgotten = true;
  }
};

/// Objects by index and generation: ids that travel to peers and come back are checked before use.
template <typename T>
class SlotTable {
 public:
  uint64_t add(std::unique_ptr<T> object) {
    uint32_t index;
    if (free_.empty()) {
      index = static_cast<uint32_t>(slots_.size());
      slots_.push_back({});
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].object = std::move(object);
    ++live_;
    return uint64_t{slots_[index].generation} << 32 | index;
  }
  T* find(uint64_t id) {
    const auto index = static_cast<uint32_t>(id);
    if (index >= slots_.size() || slots_[index].generation != id >> 32) return nullptr;
    return slots_[index].object.get();
  }
  std::unique_ptr<T> remove(uint64_t id) {
    const auto index = static_cast<uint32_t>(id);
    ++slots_[index].generation;
    free_.push_back(index);
    --live_;
    return std::move(slots_[index].object);
  }
  /// Calls @p visit(id, object) for each; it may remove the object it is shown.
  template <typename F>
  void for_each(F visit) {
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].object) visit(uint64_t{slots_[i].generation} << 32 | i, *slots_[i].object);
    }
  }
  size_t live() const { return live_; }

 private:
  struct Entry {
    std::unique_ptr<T> object;
    uint32_t generation = 1;
  };
  std::vector<Entry> slots_;
  std::vector<uint32_t> free_;
  size_t live_ = 0;
};

/// A rendezvous seen from its sender: announced, then streamed in chunks through packets.
struct SendContext {
  OpTarget target;
  Channel* channel = nullptr;
  const std::byte* data = nullptr;
  std::vector<std::byte> owned;  ///< Payload copied for the backlog; else empty.
  uint32_t size = 0;
  uint32_t sent = 0;
  uint16_t number = 0;  ///< Target number.
  uint64_t tag = 0;
  uint64_t id = 0;
  uint64_t receiver = 0;  ///< Receiver's context once it is ready.
  bool streaming = false;
  bool credited = false;
  bool abandoned = false;  ///< Its lane went: it only waits to tell the receiver.
  uint64_t generation = 0;
};

/// A rendezvous seen from its receiver.
struct ReceiveContext {
  OpTarget target;  ///< Of a matched receive.
  Channel* channel = nullptr;
  InKey* key = nullptr;         ///< Of an active message: delivered to the key's port.
  std::byte* buffer = nullptr;  ///< The user's, or (active message) an ArrivalBuffer's bytes.
  uint32_t capacity = 0;        ///< Bytes that fit in buffer.
  uint32_t size = 0;
  uint32_t received = 0;
  uint32_t charge_messages = 0;
  uint64_t charge_bytes = 0;
  uint32_t generation = 0;  ///< Of the port when admitted.
  uint64_t tag = 0;
  uint64_t sender = 0;  ///< Sender's context.
  uint64_t id = 0;
  bool ready_sent = false;
};

/// What lies in a matching engine.
struct PostedReceive {
  OpTarget target;
  std::byte* buffer;
  uint32_t capacity;
  uint32_t rank;  ///< As posted: LCI_ANY_SOURCE or a rank.
  uint64_t tag;
  uint64_t key;
  Device* device;
};

struct UnexpectedSend {
  enum class Kind : uint8_t { kStored, kAnnounced, kRendezvous };
  Kind kind;
  bool credited;
  uint32_t rank;
  uint32_t size;
  uint64_t tag;
  InKey* key;
  uint64_t argument;  ///< Packet handle, or the sender's context.
  // A stored payload: here when it is short, which saves an allocation.
  std::unique_ptr<std::byte[]> long_data;
  std::byte short_data[40] = {};

  std::byte* data() { return size <= sizeof(short_data) ? short_data : long_data.get(); }
};

}  // namespace lci
