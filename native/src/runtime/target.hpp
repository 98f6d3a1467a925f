// SPDX-License-Identifier: Apache-2.0
// What a message can be addressed to: a port, or a matching engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "completion/completion.hpp"
#include "flow/keys.hpp"
#include "flow/reply_rooms.hpp"

namespace lci {

class Inbox;
class Lane;
struct PortParts;

/// Which part of a port, of how many.
struct Part {
  uint32_t index;
  uint32_t count;
};

/// FNV-1a; 0 stands for "no name given" and matches any.
uint32_t hash_name(const std::string& name);

class Target {
 public:
  enum class State : uint32_t { kNever, kOpen, kClosed };
  virtual ~Target() = default;

  bool is_open() const { return state.load(std::memory_order_acquire) == State::kOpen; }
  /// Keys that have room coming are looked at again by their devices. Any thread.
  void wake_waiting();
  /// The port opened or closed: every key is looked at. Any thread.
  void wake_all();
  /// Credit of @p generation that no key holds any more. Any thread.
  void give(Credit credit, uint32_t generation_of_credit) {
    capacity.give(credit, generation_of_credit);
    if (waiting_keys.load(std::memory_order_relaxed) != 0) wake_waiting();
  }
  void add_key(InKey* key);
  /// Each lease holder's fair part of what leases may take.
  Credit fair_share() const;
  /// Asks the other holders to give unused credit back. Any thread.
  void recall_from_others(const InKey* asking);

  std::atomic<State> state{State::kNever};
  std::atomic<uint32_t> generation{0};         ///< Counts openings.
  std::atomic<uint32_t> closed_generation{0};  ///< The last one that ended.
  /// What senders are told of a closed one: LCI_ERR_PORT_CLOSED, or LCI_ERR_PEER_LEFT if it ends with its rank. Whoever
  /// sees the state kClosed sees it.
  std::atomic<int> closed_as{LCI_ERR_PORT_CLOSED};
  std::atomic<uint32_t> holders{0};
  std::atomic<uint32_t> waiting_keys{0};  ///< Keys with an announcement that found no room.
  std::atomic<uint32_t> left_behind{0};   ///< Announced messages of ranks that are gone, which wait here.
  std::atomic<uint32_t> name_hash{0};     ///< Of an engine: whose keys it has; see sender_hash().
  /// Whether senders need credit. Who acquires what an opening says of it sees that the one before has ended.
  std::atomic<bool> credited{true};
  Capacity capacity;

 private:
  std::mutex mutex_;  // keys join once per (device, rank); walked on open, close, recall and shortage
  std::vector<InKey*> keys_;
};

class Port final : public Target {
 public:
  ~Port() override { delete replies_.load(std::memory_order_relaxed); }
  /// Null while nobody asks for replies here, or answers a peer's port of this number. Any thread.
  ReplyRooms* replies() const { return replies_.load(std::memory_order_acquire); }
  ReplyRooms& make_replies(uint32_t ranks);
  /// Under the lock of the runtime's ports. Who opens or closes wakes the keys afterwards.
  void open(const std::string& given_name, Completion* object, Inbox* first, uint32_t messages, uint64_t bytes);
  void close(int told);

  uint32_t number = 0;
  std::string name;
  std::atomic<Completion*> completion{nullptr};  ///< Null for a lane inbox.
  /// Who sees a new one sees its home_lane, or a later one. Null again before it is freed.
  std::atomic<Inbox*> inbox{nullptr};
  /// Whose thread alone frees the inbox, and takes from it; null if the port has parts.
  std::atomic<const Lane*> home_lane{nullptr};
  std::shared_ptr<PortParts> forming;    ///< Parts that wait for the others. Under the lock of the runtime's ports.
  std::atomic<uint32_t> sender_hash{0};  ///< Name under which this rank sends to the port.
  /// The last opening (see generation) whose object had no room for an arrival: told once.
  std::atomic<uint32_t> told_overrun{0};

 private:
  std::atomic<ReplyRooms*> replies_{nullptr};
};

}  // namespace lci
