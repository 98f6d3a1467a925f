// SPDX-License-Identifier: Apache-2.0
// The two halves of a flow-control key (device, rank, port or engine): what the sender may still send, and what the
// receiver has promised. [X2-X4]
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "flow/capacity.hpp"
#include "flow/waiting_list.hpp"

namespace lci {

class Target;
class WorkList;
struct Link;

/// Sender's half. Touched only by the owner of the sending device.
struct OutKey {
  enum class State : uint8_t { kUnknown, kLeased, kUncredited, kClosed, kMismatch };
  State state = State::kUnknown;
  bool refused = false;  ///< Somebody was told nocredit and waits for WRITABLE.
  uint16_t target = 0;
  int closed_as = 0;            ///< Why it is closed: what its messages end with.
  uint32_t announced = 0;       ///< Announcements the receiver has not taken yet.
  uint32_t held_back = 0;       ///< Messages that nothing of the key may overtake, for they are still here.
  uint32_t announce_limit = 1;  ///< Ports have one slot; engines more once they are known to be open.
  uint32_t generation = 0;      ///< Of the receiver's port: the latest that a grant or refusal told.
  uint32_t recalled = 0;        ///< Credit of this one goes back until what is held back has gone; 0: of none.
  Credit credit;
  bool dry = false;            ///< Ran out of credit since the last grant,
  bool dry_listed = false;     ///< and is in the device's list of such keys.
  uint64_t dry_since = 0;      ///< The pass.
  uint64_t refused_batch = 0;  ///< Batch in which a descriptor of this key was refused. [V1]
  // Control that waits for ring space: unused credit on its way back.
  Credit give_back;
  uint32_t declined = 0;  ///< Requests that were discarded: so much room for replies goes back.
  bool queued = false;
  OutKey* next_queued = nullptr;
  WaitingList waiting;  ///< Operations of graphs that found no room.
};

/// A message that waits at its sender: announced without credit, or too large to be sent unasked.
struct Announcement {
  bool rendezvous;
  bool credited;  ///< A message credit was used (rendezvous only).
  bool counted;   ///< In InKey::unanswered.
  bool signal;    ///< Of a put or get.
  uint8_t policy;
  uint32_t size;
  uint32_t name_hash;
  uint64_t tag;
  uint64_t argument;  ///< Packet handle, or the sender's context.
  uint64_t match;     ///< Sends: the matching key. Active messages: where the reply goes, or 0.
};

/// Receiver's half. Touched only by the owner of the receiving device, but for the atomics.
struct InKey {
  Link* link = nullptr;
  WorkList* work = nullptr;  ///< Of the device.
  Target* target = nullptr;
  uint16_t number = 0;       ///< Target number as in MessageHeader.
  bool told_open = false;    ///< The sender has had a grant of this generation.
  bool reopened = false;     ///< The sender is to learn that the port is open again.
  bool counted = false;      ///< Counts among the target's lease holders.
  uint32_t generation = 0;   ///< Of the target when the lease was given.
  Credit goal;               ///< Size that the lease should have.
  Credit leased;             ///< At the sender, or on its way to or from it.
  uint32_t void_credit = 0;  ///< Messages that it may still claim by credit of earlier generations.
  Credit circulating;        ///< Everything taken from the target's capacity for this key: leased + stored + returned.
  Credit lent;               ///< What of it was taken as a lease. The rest was admitted, and goes back to the target.
  Credit grant;              ///< Credit to be sent, waiting for ring space.
  bool grant_open = false;   ///< Send a grant even if empty: it says that the port is open.
  uint16_t refuse = 0;       ///< Refusal to be sent, waiting for ring space: a code,
  uint32_t refuse_generation = 0;  ///< and of which generation of the target.
  bool recall = false;             ///< Recall to be sent, waiting for ring space.
  uint32_t to_come = 0;            ///< Messages that were admitted, and have not come,
  uint32_t short_to_come = 0;      ///< of these those of a packet at most,
  Credit to_come_room;             ///< and what they hold of `circulating`.
  std::deque<Announcement> waiting;
  bool queued = false;  ///< In the link's list of control to send.
  InKey* next_queued = nullptr;

  /// Messages and bytes that the user took or released. The owner of the device needs no read-modify-write for them.
  struct Returned {
    std::atomic<uint32_t> messages{0};
    std::atomic<uint64_t> bytes{0};
  };
  alignas(64) Returned returned_by_owner;  ///< Written by the owner alone.

  // Any thread: the same by others, and the request to look at the key again.
  Returned returned;
  std::atomic<uint32_t> return_threshold{1};  ///< Returned messages that are worth a look.
  std::atomic<uint64_t> byte_threshold{1};
  std::atomic<bool> recall_wanted{false};
  std::atomic<bool> is_waiting{false};  ///< Counted in Target::waiting_keys.
  std::atomic<bool> has_work{false};
  /// Announcements without credit that the sender has had no answer to: counted down before it gets one.
  std::atomic<uint32_t> unanswered{0};
  /// Generation of a freed engine whose announced rendezvous from this sender were dropped; 0: none.
  std::atomic<uint32_t> dropped_generation{0};
  InKey* next_work = nullptr;
};

}  // namespace lci
