// SPDX-License-Identifier: Apache-2.0
// What the core remembers of operations that are under way.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "completion/completion.hpp"
#include "flow/capacity.hpp"
#include "lci/lci.h"
#include "matching/matching_engine.hpp"
#include "protocol/lane_view.hpp"
#include "protocol/outstanding.hpp"
#include "protocol/received_memory.hpp"
#include "wire/parts.hpp"
#include "wire/remote_access.hpp"

namespace lci {

class Device;
class PendingReceives;
struct Link;
struct InKey;
class Engine;

/// Who is told when an operation ends.
struct OpTarget {
  Completion* completion = nullptr;  ///< Signalled if given,
  LaneView* lane = nullptr;          ///< else this lane records it.
  uint64_t context = 0;
  bool forgotten = false;              ///< Nobody is told.
  Outstanding* outstanding = nullptr;  ///< Operations of the device it was posted on that have not ended.

  /// The operation may be answered with posted. Ends by release(), or by its signal. False: the completion object has
  /// no place for the signal.
  [[nodiscard]] bool hold() const {
    if (completion && !completion->hold()) return false;
    if (outstanding) outstanding->begin();
    return true;
  }
  /// The same by who holds the device it is posted on.
  [[nodiscard]] bool hold_by_owner() const {
    if (completion && !completion->hold()) return false;
    if (outstanding) outstanding->begin_by_owner();
    return true;
  }
  void release() const {
    if (completion) completion->forget_held();
    ended();
  }
  /// After the signal: whoever sees the count sees what the signal did.
  void ended() const {
    if (outstanding) outstanding->end();
  }
  /// The same by who holds the device with this count.
  void ended_by(Outstanding& own) const {
    if (outstanding == &own) {
      own.end_by_owner();
    } else {
      ended();
    }
  }
  void forget() {
    release();
    *this = {};
    forgotten = true;
  }
};

/// Objects by index and generation: ids that travel to peers and come back are checked before use. No id is 0.
template <typename T>
class SlotTable {
 public:
  /// @param generation the first one of every slot
  explicit SlotTable(uint32_t generation = 1) : first_generation_(generation) {}

  /// Afterwards add() needs no memory once.
  void make_room() {
    if (!free_.empty() || slots_.size() < slots_.capacity()) return;
    free_.reserve(std::max<size_t>(16, 2 * slots_.size()));  // so that remove() needs no memory
    slots_.reserve(free_.capacity());
  }
  uint64_t add(std::unique_ptr<T> object) {
    make_room();
    uint32_t index;
    if (free_.empty()) {
      index = static_cast<uint32_t>(slots_.size());
      slots_.push_back({nullptr, first_generation_});
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
    if (++slots_[index].generation == 0) slots_[index].generation = 1;
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

  /// Notes which objects there are of those that @p counts says true of, to await their end whatever is added later.
  template <typename F>
  void mark(F counts) {
    std::vector<uint64_t> ids;
    ids.reserve(live_);
    for_each([&](uint64_t id, const T& object) {
      if (counts(object)) ids.push_back(id);
    });
    marked_ = std::move(ids);
  }
  /// Whether one of them is left that still counts. What has ended is looked at once.
  template <typename F>
  bool holds_marked(F counts) {
    for (; !marked_.empty(); marked_.pop_back()) {
      const T* const object = find(marked_.back());
      if (object && counts(*object)) return true;
    }
    return false;
  }

 private:
  struct Entry {
    std::unique_ptr<T> object;
    uint32_t generation;
  };
  const uint32_t first_generation_;
  std::vector<Entry> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint64_t> marked_;
  size_t live_ = 0;
};

/// An operation whose signal waits for its packets to come back from the receiver. [C9]
struct Departure {
  OpTarget target;  ///< Of a rendezvous: when all its packets have left.
  Link* link = nullptr;
  uint64_t tag = 0;
  void* buffer = nullptr;
  uint64_t size = 0;
  uint32_t packets = 0;
  bool all_sent = false;
};

/// The right to signal a port when data is in place: taken from its key when the operation is accepted. [2B-4]
struct SignalRight {
  enum class Kind : uint8_t { kNone, kCredit, kUncredited, kAnnouncement };
  Kind kind = Kind::kNone;
  uint16_t port = 0;
  uint16_t tag = 0;
  uint32_t generation = 0;  ///< Of the port, when the credit was taken.
  uint32_t packet = 0;      ///< For the announcement, where it is taken already.
  uint64_t number = 0;      ///< Among those of its link that had to wait for the end of their operation.
};

inline bool is_remote(const lci_descriptor& op) {
  return op.op == LCI_OP_PUT || op.op == LCI_OP_GET;
}

/// Bytes that an operation moves. A put or get of a list has no displacement: there it notes its bytes when they are
/// measured.
inline uint64_t bytes_of(const lci_descriptor& op) {
  if (!is_remote(op)) return op.size;
  if (op.flags & LCI_FLAG_LIST) return op.u.ref.displacement;
  return op.size == 0 ? op.u.ref.count : op.size;
}

/// Whether an operation answers a request.
inline bool is_reply(const lci_descriptor& op) {
  return op.op == LCI_OP_AM && (op.policy & LCI_AM_REPLY);
}

/// What the caller of a post learns of an operation, other than a receive, that is done.
inline lci_status done_status(const lci_descriptor& op, const OpTarget& target) {
  const bool buffer = (op.flags & (LCI_FLAG_PAYLOAD_MASK | LCI_FLAG_LIST)) == LCI_FLAG_BUFFER;
  void* const memory = buffer ? reinterpret_cast<void*>(op.u.ref.address) : nullptr;
  return {LCI_DONE, op.rank, op.tag, memory, bytes_of(op), target.context, 0, 0};
}

/// Entries that a descriptor takes: an inline payload continues in the following ones, that of a put begins there.
inline uint32_t entries_of(const lci_descriptor& op) {
  const bool payload = op.op == LCI_OP_AM || op.op == LCI_OP_SEND || op.op == LCI_OP_PUT;
  if (!payload || (op.flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_INLINE || op.size > LCI_INLINE_MAX) return 1;
  const auto first = static_cast<uint32_t>(op.op == LCI_OP_PUT ? 0 : sizeof op.u.inline_payload);
  return op.size <= first ? 1 : 1 + (op.size - first + 63) / 64;
}

/// A range here and the one of a peer's region that it goes to or comes from.
struct RemoteRange {
  std::byte* local = nullptr;
  uint64_t size = 0;
  RemoteAccess access;
};

/// What is streamed in chunks through packets: a rendezvous (announced first), a put, what a peer gets from us.
struct SendContext {
  enum class Kind : uint8_t { kRendezvous, kPut, kServedGet };
  Kind kind = Kind::kRendezvous;
  OpTarget target;
  Link* link = nullptr;
  const std::byte* data = nullptr;
  std::vector<std::byte> owned;  ///< Payload copied from where it could not stay; else empty.
  uint64_t size = 0;
  uint64_t sent = 0;
  uint16_t number = 0;           ///< Target number.
  uint32_t port_generation = 0;  ///< What the sender knew of it.
  uint64_t tag = 0;
  uint64_t id = 0;
  uint64_t receiver = 0;  ///< Receiver's context once it is ready.
  bool streaming = false;
  bool credited = false;
  bool network = false;   ///< Signalled when its packets are back: `departure`, from the first one on.
  uint64_t in_place = 0;  ///< So many bytes from the start are read where they lie: so, too, when those are back. [G3]
  uint64_t departure = 0;
  bool packed = false;              ///< `data` lies in a packet of this device, not where it was posted;
  uint32_t packet = 0;              ///< this one, until it is sent.
  bool holds_back = false;          ///< Nothing of its key overtakes it.
  Parts parts;                      ///< Where the bytes are if not at `data`.
  bool abandoned = false;           ///< Its lane went: it only waits to tell the receiver.
  RemoteAccess access;              ///< Served get: our region.
  std::vector<RemoteRange> ranges;  ///< Put: what has not been sent; the last one comes first.
  uint64_t acknowledged = 0;        ///< Put: bytes that the target has.
  SignalRight signal;
  uint64_t generation = 0;

  /// Whether its next chunk is.
  bool next_in_place() const { return sent < in_place; }
  /// As posted, for the status.
  void* buffer() const { return packed ? nullptr : const_cast<std::byte*>(data); }
};

/// A rendezvous seen from its receiver, or a get seen from its initiator.
struct ReceiveContext {
  OpTarget target;  ///< Of a matched receive.
  Link* link = nullptr;
  InKey* key = nullptr;         ///< Of an active message: delivered to the key's port.
  std::byte* buffer = nullptr;  ///< The user's, or (active message) an ArrivalBuffer's bytes.
  Parts parts;                  ///< Where the bytes go if not to `buffer`.
  uint64_t capacity = 0;        ///< Bytes that fit in buffer.
  uint64_t size = 0;
  uint64_t received = 0;
  uint32_t charge_messages = 0;
  uint64_t charge_bytes = 0;
  Credit taken;                   ///< When it was admitted: room of a message that is to come.
  uint64_t uncredited_bytes = 0;  ///< Its part of Link::uncredited_bytes.
  uint32_t generation = 0;        ///< Of the port when admitted.
  uint64_t tag = 0;
  uint64_t request = 0;  ///< Of an active message: where its reply goes, or 0.
  uint64_t sender = 0;   ///< Sender's context.
  uint64_t id = 0;
  bool ready_sent = false;
  bool is_get = false;
  RemoteAccess access;              ///< Get: the peer's range that fills `buffer` now.
  std::vector<RemoteRange> ranges;  ///< Get of a list: what is asked for after that; the last one comes first.
  void* posted_buffer = nullptr;    ///< Get, and receive with memory of its own: for the status.
  uint64_t posted_size = 0;
  SignalRight signal;
  ReceivedBytes memory;    ///< Where the bytes go if they are too many for the buffer of the receive.
  bool no_memory = false;  ///< There should be some, and is none.
  std::unique_ptr<ReceiveContext> next_handed;  ///< See MatchedReceives.

  /// The buffer that the status of a receive names which has not ended well.
  void* buffer_as_posted() const { return memory ? posted_buffer : buffer; }
};

/// What lies in a matching engine.
struct PostedReceive {
  /// What a cancel names it by, besides its device.
  struct Name {
    uint16_t engine;
    uint64_t context;
    const Completion* graph;  ///< The one that posted it, whose contexts may equal those of others; or null.
    bool operator==(const Name&) const = default;
  };
  /// Its device's, see PendingReceives. Assigning a receive leaves it alone.
  struct TableEntry {
    TableEntry() = default;
    TableEntry(TableEntry&&) noexcept {}
    TableEntry& operator=(TableEntry&&) noexcept { return *this; }

    Name name{};
    PostedReceive* next = nullptr;
    PostedReceive** link = nullptr;          ///< What leads to it; null: it is in no table.
    PostedReceive* next_returned = nullptr;  ///< Of those that are in no engine any more.
  };

  Place place;  ///< First: the engine's, see Values::kPlacedReceives.
  OpTarget target;
  std::byte* buffer;
  uint32_t capacity;
  uint32_t rank;  ///< As posted: LCI_ANY_SOURCE or a rank.
  uint64_t tag;
  uint64_t key;
  PendingReceives* home;
  std::unique_ptr<Parts> parts;  ///< Where the bytes go if not to `buffer`.
  TableEntry entry{};
  /// Memory of its own is taken for a message that does not fit in its buffer and is not longer. Behind what is looked
  /// at for each message.
  uint64_t longest = 0;
};

struct UnexpectedSend {
  enum class Kind : uint8_t { kStored, kAnnounced, kRendezvous };
  Kind kind;
  bool credited;
  uint32_t rank;
  uint32_t size;
  uint32_t generation;  ///< Of the engine, when the credit was spent.
  uint64_t tag;
  InKey* key;
  uint64_t argument;  ///< Packet handle, or the sender's context.
  /// For what a rendezvous becomes when it is matched: there is no way back then.
  std::unique_ptr<ReceiveContext> matched;
  UnexpectedSend* next_refused = nullptr;  ///< See Receives::drop_refused().
  // A stored payload: here when it came inline, which saves an allocation.
  std::unique_ptr<std::byte[]> long_data;
  std::byte short_data[LCI_INLINE_MAX];

  std::byte* data() { return size <= sizeof(short_data) ? short_data : long_data.get(); }
};

/// An announced send and the receive that waited for it; or neither.
struct MatchedAnnouncement {
  std::unique_ptr<UnexpectedSend> send;
  std::unique_ptr<PostedReceive> receive;
};

}  // namespace lci
