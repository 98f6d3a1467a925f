// SPDX-License-Identifier: Apache-2.0
// What a device keeps of a context that is on it. Touched only by the owner of the device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collective/agreement.hpp"
#include "collective/contexts.hpp"
#include "collective/room.hpp"
#include "collective/stall.hpp"
#include "protocol/collective_call.hpp"

namespace lci {

struct ContextMember {
  // Words that wait for room in the ring.
  static constexpr uint8_t kTellRoom = 1, kTellOpen = 2, kTellFailed = 4, kTellKnown = 8, kTellAsk = 16,
                           kTellAnswer = 32, kTellAgree = 64;

  /// Whether a message may be sent to it. One of which it is unsure is alone.
  bool may_send() const { return sure || !(asked || unknown); }

  SendWindow window;
  bool sure = false;     ///< A message has met the context there.
  bool asked = false;    ///< A message is out of which that is not sure.
  bool unknown = false;  ///< That one met none: nothing is sent until the member has opened it.
  bool opened = false;   ///< Which it has said before.
  bool left = false;     ///< It has left the job.
  uint8_t tell = 0;
  CollectiveFrame known;     ///< Its message that is to be confirmed.
  uint32_t asked_about = 0;  ///< Low bits of the call that it has asked about.
  ReceiveRoom room;
};

/// One that this member takes part in, or has heard of.
struct AgreementCall {
  AgreementCall(uint64_t of, uint32_t own, uint32_t size) : number(of), agreement(own, size) {}
  const uint64_t number;
  Agreement agreement;
  OpTarget target;
  std::byte* out = nullptr;
};

/// The last calls that needed no other member, since nothing was to travel: they were over before others, to whom they
/// may look different, could say anything.
class CallsAlone {
 public:
  void add(uint64_t sequence, const CallHeader& header) { last_[next_++ % kMost] = {sequence, header}; }
  const CallHeader* find(uint64_t sequence) const {
    for (const Entry& entry : last_) {
      if (entry.sequence == sequence) return &entry.header;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kMost = 64;  // as far as others may be behind
  struct Entry {
    uint64_t sequence = UINT64_MAX;
    CallHeader header;
  };
  std::array<Entry, kMost> last_;
  size_t next_ = 0;
};

struct ContextState {
  /// Calls that may be under way.
  static constexpr size_t kMostCalls = 64;

  explicit ContextState(std::shared_ptr<Context> of)
      : context(std::move(of)), members(std::make_unique<ContextMember[]>(context->group().size())) {
    calls.reserve(kMostCalls);
    spare.reserve(kMostCalls);
  }
  const Group& group() const { return context->group(); }
  CollectiveCall* find(uint64_t sequence) const {
    for (const auto& call : calls) {
      if (call->sequence == sequence) return call.get();
    }
    return nullptr;
  }
  /// Whether this call ends, or may not begin, since the context has failed.
  bool has_failed_at(uint64_t sequence) const { return failed && sequence >= failure.sequence; }

  const std::shared_ptr<Context> context;
  uint64_t next_sequence = 0;
  std::vector<std::unique_ptr<CollectiveCall>> calls;  ///< The oldest first.
  std::vector<std::unique_ptr<CollectiveCall>> spare;  ///< For later ones.
  CallsAlone alone;
  ScheduleCache schedules;
  KeptRequest request;
  bool near = false;  ///< All members are on one host, and read each other's memory.
  BoardTurns turns;
  Scratch scratch;  ///< Of the call that ended last.
  const std::unique_ptr<ContextMember[]> members;
  uint32_t held = 0;   ///< Messages that wait for their calls.
  uint32_t tells = 0;  ///< Members with words that wait.
  bool failed = false;
  FailureFrame failure;
  bool some_left = false;      ///< A member has left the job.
  uint64_t refused_batch = 0;  ///< The last batch in which a call was refused.
  uint64_t next_agreement = 0;
  bool agreeing = false;                                     ///< The one before has not ended here.
  bool overlooked = false;                                   ///< There was no memory to see what follows in them.
  std::array<std::unique_ptr<AgreementCall>, 2> agreements;  ///< The last ones, by the lowest bit of their number.
  StallWatch watch;
  std::unique_ptr<StallQuestion> question;  ///< Null: none is asked.

  std::unique_ptr<ContextState> next_in_table;
  bool busy = false;  ///< Is among those that have something to do.
  ContextState* next_busy = nullptr;
};

/// By id. Allocates nothing.
class ContextTable {
 public:
  ContextState* find(uint64_t id) const {
    for (ContextState* state = chains_[id % kChains].get(); state; state = state->next_in_table.get()) {
      if (state->context->id() == id) return state;
    }
    return nullptr;
  }
  ContextState& add(std::unique_ptr<ContextState> state) {
    std::unique_ptr<ContextState>& first = chains_[state->context->id() % kChains];
    state->next_in_table = std::move(first);
    first = std::move(state);
    return *first;
  }
  /// @p visit may add.
  template <typename F>
  void for_each(F visit) const {
    for (const auto& first : chains_) {
      for (ContextState* state = first.get(); state; state = state->next_in_table.get()) visit(*state);
    }
  }
  /// Drops those that @p which says true of.
  template <typename F>
  void drop_if(F which) {
    for (auto& first : chains_) {
      for (std::unique_ptr<ContextState>* link = &first; *link;) {
        if (which(**link)) {
          *link = std::move((*link)->next_in_table);
        } else {
          link = &(*link)->next_in_table;
        }
      }
    }
  }

 private:
  static constexpr size_t kChains = 64;
  std::array<std::unique_ptr<ContextState>, kChains> chains_;
};

}  // namespace lci
