// SPDX-License-Identifier: Apache-2.0
// What ranks say to each other: the kinds of messages, and the header that each one has.
#pragma once

#include <cstdint>

namespace lci {

/// What a message is. Data may be refused at the sender; control is always drained and never refused. [X1]
enum class MessageKind : uint8_t {
  kNone = 0,
  // data
  kAmInline = 1,        ///< Active message, payload in the slots.
  kAmPacket = 2,        ///< Active message, payload in the sender's packet `arg`.
  kSendInline = 3,      ///< Matched send, payload in the slots; with a user's key that is `arg`.
  kSendPacket = 4,      ///< Matched send, payload in packet `arg`.
  kAnnounce = 5,        ///< Message without credit: payload waits in packet `arg`. [X3]
  kRendezvous = 6,      ///< Request to send `size` bytes; `arg` is the sender's context.
  kRendezvousData = 7,  ///< Chunk in packet `arg` for the receiver's context `tag`; payload: offset.
  kPutData = 8,         ///< Chunk in packet `arg` of the sender's put `tag`; payload: RemoteAccess.
  kGet = 9,             ///< Asks for `tag` bytes, as rendezvous data for context `arg`; payload: RemoteAccess.
  kAtomic = 10,         ///< Asks for atomic operation `tag` of sort `aux`, with `arg` expected; payload: AtomicAccess.
  // control
  kReady = 16,     ///< Ready to receive: `arg` sender's context, `tag` receiver's context.
  kGrant = 17,     ///< Credit: `size` messages, `arg` bytes, `aux` name hash.
  kRecall = 18,    ///< Give unused credit back.
  kReturn = 19,    ///< Unused credit: `size` messages, `arg` bytes.
  kRefuse = 20,    ///< Port closed or mismatched: `aux` is the code.
  kBarrier = 21,   ///< Barrier `tag`, round `aux`.
  kWithdraw = 22,  ///< Nothing more comes for the receiver's context `tag`: the sender has given up; `aux`: why, or 0.
  kPutAck = 23,    ///< Of put `tag`: `arg` bytes were written, or `aux` says why not.
  kAtomicAnswer =
      24,           ///< Answers atomic operation `tag`: `arg` is the value before, or `aux` says why nothing changed.
  kCollective = 25  ///< Of a context of a group: see wire/collective.hpp.
};

/// Header of a message: 28 bytes after `seq`.
struct MessageHeader {
  MessageKind kind;
  uint8_t flags;
  uint16_t target;  ///< Port number, or kEngineTarget | engine.
  uint32_t size;
  uint32_t aux;
  uint64_t tag;
  uint64_t arg;
};

inline constexpr uint8_t kFlagPolicyMask = 3;  ///< Matching policy of a send.
inline constexpr uint8_t kFlagCredited = 4;    ///< The message used a credit.
inline constexpr uint8_t kFlagUncredited = 8;  ///< Grant: the port stores nothing, no credit is needed.
inline constexpr uint8_t kFlagKeyed = 16;      ///< Send with a user's key, as payload of the slot if `arg` is taken.
inline constexpr uint8_t kFlagSignal = 32;     ///< Active message: the signal of a put or get, without a buffer.
inline constexpr uint8_t kFlagAsks = 64;       ///< Active message: carries, as a key would be, where its reply goes.
inline constexpr uint8_t kFlagReply = 128;     ///< Active message: goes into the room that a request reserved for it.
inline constexpr uint8_t kFlagsWithWord = kFlagKeyed | kFlagAsks;
inline constexpr uint16_t kEngineTarget = 0x8000;
/// In `arg`, beside the handle of a packet: the payload lies elsewhere in the sender's arena, and the packet says
/// where.
inline constexpr uint64_t kInPlace = uint64_t{1} << 63;

}  // namespace lci
