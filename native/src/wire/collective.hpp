// SPDX-License-Identifier: Apache-2.0
// What members of a group say to each other of a context: MessageKind::kCollective. Context id in `arg`; sequence and
// segment in `tag`; step, word and flags in `aux`; `size` bytes of payload lie in the slots. [COLLECTIVES]
#pragma once

#include <cstddef>
#include <cstdint>

#include "lci/lci.h"
#include "wire/message.hpp"

namespace lci {

/// What all members of a call must say alike. It fills the first slot of a message.
struct CallHeader {
  uint8_t kind = 0;
  uint8_t op = 0;
  uint8_t type = 0;
  uint8_t algorithm = 0;
  uint32_t root = 0;
  uint64_t segment_bytes = 0;
  uint64_t count = 0;
  uint64_t hash = 0;
  friend bool operator==(const CallHeader&, const CallHeader&) = default;
};
static_assert(sizeof(CallHeader) == 32);

enum class CollectiveWord : uint8_t {
  kMessage = 1,  ///< Of a call. Takes room that the receiver has for its sender.
  kRoom = 2,     ///< `segment` messages were used: there is room for as many more.
  kUnknown = 3,  ///< The message with this sequence, segment and step met no context, and was dropped.
  kOpen = 4,     ///< The context is there: what met none may come again.
  kFailed = 5,   ///< Payload: FailureFrame.
  kKnown = 6,    ///< The message with this sequence, segment and step, whose sender was unsure, met its context.
  kAsk = 7,      ///< Its sender waits for long in the call with this sequence. Payload: CallHeader.
  kAgree = 9,    ///< Of the agreement with this number. `step` is an Agreement::Message::Kind; payload: AgreeFrame.
  kAnswer = 8    ///< To that. `step` is a CallProgress; payload: numbers (32 bits) of members that are waited for.
};

/// What an agreement says: a value, and behind it a bit for each member that is dead.
struct AgreeFrame {
  uint64_t value = 0;
  uint8_t dead[LCI_MAX_AGREE / 8] = {};
};
static_assert(sizeof(AgreeFrame) <= LCI_INLINE_MAX);
/// Bytes of it that travel.
inline constexpr uint32_t agree_bytes(uint32_t members) {
  return static_cast<uint32_t>(sizeof(uint64_t)) + (members + 7) / 8;
}

/// How far a member is in a call.
enum class CallProgress : uint16_t { kAbsent = 0, kEntered = 1, kOver = 2 };
/// Members that an answer names at most.
inline constexpr uint32_t kMostNamed = 40;

/// Segments of messages. A payload follows the header of its call,
inline constexpr uint32_t kPayloadSegment = 0;
/// or is asked for: behind the header is the id (64 bits) of the place where the sender of this message awaits it.
inline constexpr uint32_t kPlaceSegment = 1;

/// Message: its payload begins with the header of the call.
inline constexpr uint8_t kFlagFirst = 1;
/// Message: its sender does not know whether the receiver has the context, and waits for kKnown or kUnknown.
inline constexpr uint8_t kFlagUnsure = 2;

struct CollectiveFrame {
  CollectiveWord word = CollectiveWord::kMessage;
  uint8_t flags = 0;
  uint16_t step = 0;
  uint32_t sequence = 0;  ///< Low bits.
  uint32_t segment = 0;
};

inline MessageHeader to_header(uint64_t context, const CollectiveFrame& frame, uint32_t size) {
  const uint32_t aux = frame.step | uint32_t{static_cast<uint8_t>(frame.word)} << 16 | uint32_t{frame.flags} << 24;
  return {MessageKind::kCollective, 0, 0, size, aux, frame.sequence | uint64_t{frame.segment} << 32, context};
}
inline CollectiveFrame to_collective(const MessageHeader& header) {
  return {static_cast<CollectiveWord>(static_cast<uint8_t>(header.aux >> 16)), static_cast<uint8_t>(header.aux >> 24),
          static_cast<uint16_t>(header.aux), static_cast<uint32_t>(header.tag),
          static_cast<uint32_t>(header.tag >> 32)};
}

/// Why calls of a context end.
struct FailureFrame {
  uint64_t sequence = 0;  ///< This call and all later ones.
  uint32_t code = 0;
  uint32_t rank = 0;       ///< Whose fault it is: of the job.
  uint32_t cause = 0;      ///< LCI_ERR_COLLECTIVE: the code that the member gave.
  uint32_t ranks[2] = {};  ///< LCI_ERR_MISMATCH: the two that differ,
  uint32_t reserved = 0;
  CallHeader calls[2] = {};  ///< and what each of them said.
};
static_assert(sizeof(FailureFrame) == 96);
/// Bytes that travel where nothing differs.
inline constexpr uint32_t kShortFailure = offsetof(FailureFrame, calls);

}  // namespace lci
