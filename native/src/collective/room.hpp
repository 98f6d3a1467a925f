// SPDX-License-Identifier: Apache-2.0
// Room for messages of members that are ahead of this one. A receiver has kRoomMessages places for each member; the
// sender counts them, and the receiver says when it has used some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/lci.h"
#include "wire/collective.hpp"

namespace lci {

inline constexpr uint32_t kRoomMessages = 16;
/// Once the sender can have so few places left, it is told of every one that was used.
inline constexpr uint32_t kFewPlaces = kRoomMessages / 2;

/// The sender's count of the places of one member.
class SendWindow {
 public:
  /// The last place is for the oldest call: others cannot fill the room while that one needs it.
  bool has_room(bool oldest) const { return left_ >= (oldest ? 1u : 2u); }
  void take() { --left_; }
  /// False: more than were taken.
  bool give_back(uint32_t places) {
    if (places > kRoomMessages - left_) return false;
    left_ += places;
    return true;
  }
  uint32_t left() const { return left_; }

 private:
  uint32_t left_ = kRoomMessages;
};

/// A message that waits for its call.
struct HeldMessage {
  CollectiveFrame frame;
  bool used = false;
  uint32_t size = 0;
  std::byte payload[LCI_INLINE_MAX];
};

/// The places for one member that sends.
class ReceiveRoom {
 public:
  /// False: the member has sent more than there is room for.
  bool has_room() const { return held_ + owed_ < kRoomMessages; }
  /// Keeps a message; there is room. False: the same one is here.
  bool hold(const CollectiveFrame& frame, const void* payload, uint32_t size) {
    HeldMessage* free = nullptr;
    for (HeldMessage& held : messages_) {
      if (held.used && is_named(held.frame, frame)) return false;
      if (!held.used && !free) free = &held;
    }
    free->frame = frame;
    free->size = size;
    free->used = true;
    if (size != 0) std::memcpy(free->payload, payload, size);
    ++held_;
    return true;
  }
  /// Calls @p look with each message for the call with these low bits.
  template <typename F>
  void for_each(uint32_t sequence, F look) const {
    if (held_ == 0) return;
    for (const HeldMessage& held : messages_) {
      if (held.used && held.frame.sequence == sequence) look(held);
    }
  }
  /// Null, or the message with this name.
  const HeldMessage* find(const CollectiveFrame& name) const {
    if (held_ == 0) return nullptr;
    for (const HeldMessage& held : messages_) {
      if (held.used && is_named(held.frame, name)) return &held;
    }
    return nullptr;
  }
  /// That which find() has found is used.
  void take(const HeldMessage& held) {
    messages_[&held - messages_].used = false;
    --held_;
    use_one();
  }
  /// Messages for calls that @p over says true of are used up.
  template <typename F>
  void drop(F over) {
    for (HeldMessage& held : messages_) {
      if (!held.used || !over(held.frame.sequence)) continue;
      held.used = false;
      --held_;
      use_one();
    }
  }
  /// A message was used at once.
  void use_one() { ++owed_; }
  /// How many places the member is to be told of now; 0: none yet.
  uint32_t due() const { return held_ + owed_ >= kFewPlaces ? owed_ : 0; }
  void told(uint32_t places) { owed_ -= places; }
  uint32_t held() const { return held_; }

 private:
  static bool is_named(const CollectiveFrame& frame, const CollectiveFrame& name) {
    return frame.sequence == name.sequence && frame.step == name.step && frame.segment == name.segment;
  }

  uint32_t held_ = 0;
  uint32_t owed_ = 0;  // used, and the member does not know
  HeldMessage messages_[kRoomMessages];
};

}  // namespace lci
