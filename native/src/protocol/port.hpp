// SPDX-License-Identifier: Apache-2.0
// Where active messages go.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "completion/completion.hpp"
#include "flow/reply_rooms.hpp"
#include "flow/target.hpp"

namespace lci {

class InboxView;
class LaneView;
struct PortParts;

/// Which part of a port, of how many.
struct Part {
  uint32_t index;
  uint32_t count;
};

class Port final : public Target {
 public:
  ~Port() override { delete replies_.load(std::memory_order_relaxed); }
  /// Null while nobody asks for replies here, or answers a peer's port of this number. Any thread.
  ReplyRooms* replies() const { return replies_.load(std::memory_order_acquire); }
  ReplyRooms& make_replies(uint32_t ranks);
  /// Under the lock of the runtime's ports. Who opens or closes wakes the keys afterwards.
  /// @param home see home_lane
  void open(const std::string& given_name, Completion* object, InboxView* first, const LaneView* home,
            uint32_t messages, uint64_t bytes);
  void close(int told);

  uint32_t number = 0;
  std::string name;
  std::atomic<Completion*> completion{nullptr};  ///< Null for a lane inbox.
  /// Who sees a new one sees its home_lane, or a later one. Null again before it is freed.
  std::atomic<InboxView*> inbox{nullptr};
  /// Whose thread alone frees the inbox, and takes from it; null if the port has parts.
  std::atomic<const LaneView*> home_lane{nullptr};
  std::shared_ptr<PortParts> forming;    ///< Parts that wait for the others. Under the lock of the runtime's ports.
  std::atomic<uint32_t> sender_hash{0};  ///< Name under which this rank sends to the port.
  /// The last opening (see generation) whose object had no room for an arrival: told once.
  std::atomic<uint32_t> told_overrun{0};

 private:
  std::atomic<ReplyRooms*> replies_{nullptr};
};

}  // namespace lci
