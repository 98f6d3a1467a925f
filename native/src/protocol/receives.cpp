// SPDX-License-Identifier: Apache-2.0
#include "protocol/receives.hpp"

#include <algorithm>
#include <cinttypes>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "protocol/handed.hpp"
#include "protocol/peer_bytes.hpp"
#include "protocol/user_buffer.hpp"

namespace lci {
namespace {

/// What a wildcard compares, whatever policy was asked for. [SS-12]
uint32_t receive_policy(const lci_descriptor& op) {
  const bool any_rank = op.rank == LCI_ANY_SOURCE, any_tag = op.tag == LCI_ANY_TAG;
  if (any_rank && any_tag) return LCI_POLICY_NONE;
  if (any_rank) return LCI_POLICY_TAG;
  if (any_tag) return LCI_POLICY_RANK;
  return op.policy;
}

/// The graph that posts with this target, or null.
const Completion* graph_of(const OpTarget& target) {
  const Completion* object = target.completion;
  return object && object->kind() == Completion::Kind::kGraph ? object : nullptr;
}

/// Everything but a stored payload.
void describe(UnexpectedSend& send, UnexpectedSend::Kind kind, InKey& key, uint32_t size, uint64_t tag) {
  send.kind = kind;
  send.credited = false;
  send.rank = key.link->rank;
  send.size = size;
  send.generation = key.generation;
  send.tag = tag;
  send.key = &key;
  send.argument = 0;
}

/// Takes the receives that wait for @p rank out of an engine.
void take_receives(const Engine& engine, uint32_t rank, TakenReceives* into) {
  struct Wanted {  // so small that the function that is made of it needs no memory
    uint32_t rank;
    TakenReceives& into;
  } wanted{rank, *into};
  engine.extract([&wanted](uint64_t, void* value, Side side) {
    auto* receive = static_cast<PostedReceive*>(value);
    if (side != Side::kReceive || receive->rank != wanted.rank) return false;
    wanted.into.add(*receive);
    return true;
  });
}

}  // namespace

/// Says which matcher a device uses for a scope, so that its engine is not emptied in between.
class Receives::Holding {
 public:
  Holding(std::atomic<const Matcher*>& word, const Engine& engine) : word_(word), matcher_(engine.matcher()) {
    while (engine.index != 0 && matcher_) {
      word_.store(matcher_, std::memory_order_seq_cst);
      const Matcher* current = engine.matcher();
      if (current == matcher_) break;
      matcher_ = current;
    }
    if (engine.index != 0 && !matcher_) word_.store(nullptr, std::memory_order_release);
  }
  ~Holding() {
    if (word_.load(std::memory_order_relaxed)) word_.store(nullptr, std::memory_order_release);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  /// Null: the engine is not open.
  const Matcher* matcher() const { return matcher_; }

 private:
  std::atomic<const Matcher*>& word_;
  const Matcher* matcher_;
};

void Receives::wait_until_not_holding(const Matcher* matcher) const {
  for (SpinWait wait; holding_.load(std::memory_order_seq_cst) == matcher;) wait.step();
}

bool Receives::match_key(const lci_descriptor& op, uint32_t rank, uint32_t policy, uint64_t* key) {
  const Engine& engine = parts_.targets.engine_at(op.port);
  const Holding holding(holding_, engine);  // the argument of make_key lives as long as the engine
  const Matcher* matcher = holding.matcher();
  if (!matcher) return false;  // freed meanwhile: insert() finds out
  *key = matcher->key(op, rank, policy);
  return matcher->keyed;
}

uint64_t Receives::match_of(Link& link, const MessageHeader& header) {
  if (!(header.flags & kFlagKeyed)) {
    const uint64_t tag = header.tag;
    return make_key(link.rank, tag, header.flags & kFlagPolicyMask);
  }
  return word_of(link, header);
}

/// Matches, or stores what @p make makes. False: the engine is not open, or has keys of the other kind than the sender
/// says: then @p match is nobody's. Else what it matches is in @p found, or null.
bool Receives::match_or_store(Engine& engine, uint64_t match, Side side, const ValueMaker& make, void** found,
                              std::optional<bool> keyed) {
  const Holding holding(holding_, engine);
  if (!holding.matcher()) return false;
  if (keyed && *keyed != holding.matcher()->keyed) return false;
  *found = holding.matcher()->entries->match_or_store(match, side, make);
  return true;
}

int Receives::post(const lci_descriptor& op, const OpTarget& target, lci_status* done) {
  Engine& engine = parts_.targets.engine_at(op.port);
  const auto nothing_comes = [&] {
    if (op.rank == LCI_ANY_SOURCE) return parts_.peers.is_fenced();
    if (!parts_.peers.all_read(op.rank)) return false;
    return !engine.keeps_left_behind();
  };
  PostedReceive receive{{},        target, reinterpret_cast<std::byte*>(op.u.ref.address), op.size, op.rank, op.tag, 0,
                        &pending_, nullptr};
  if ((op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_INLINE) receive.buffer = nullptr;
  if (op.flags & LCI_FLAG_LIST) {
    receive.buffer = nullptr;
    receive.parts = std::make_unique<Parts>(reinterpret_cast<const lci_buffer*>(op.u.ref.address), op.u.ref.count);
  } else if (receive.buffer) {
    receive.longest = op.u.ref.count;
  }
  match_key(op, op.rank, receive_policy(op), &receive.key);
  pending_.collect();
  std::unique_ptr<PostedReceive> stored;
  auto store = [&]() -> PostedReceive* {
    // Under the entries' lock: who ends the receives of a rank finds this one, or has been seen here.
    if (nothing_comes()) return nullptr;
    stored = pending_.take();
    *stored = std::move(receive);
    counters_.add(Metric::receives_pending);
    return stored.get();
  };
  void* found = nullptr;
  if (!match_or_store(engine, receive.key, Side::kReceive, ValueMaker(store), &found)) {
    return fail(LCI_ERR_ARGUMENT, "receive: matching engine %u was freed meanwhile (rank %u)", op.port, parts_.rank);
  }
  if (!found && !stored && op.rank != LCI_ANY_SOURCE) return parts_.peers.check(op.rank, "receive");
  if (!found && !stored) {
    return fail(LCI_ERR_FENCED, "receive: rank %u counts as failed in the job; nothing comes any more", parts_.rank);
  }
  if (!found) {
    // The engine has it, and it may be matched by now: what the table needs is not what the match needs.
    pending_.add(*stored.release(), {op.port, target.context, graph_of(target)});
    return LCI_POSTED;
  }
  return match_unexpected(receive, std::unique_ptr<UnexpectedSend>(static_cast<UnexpectedSend*>(found)), done);
}

int Receives::cancel(const lci_descriptor& op, const OpTarget& target) {
  const Engine* engine = parts_.targets.engine(op.port);
  if (!engine || !engine->matcher()) {
    return fail(LCI_ERR_ARGUMENT, "cancel: matching engine %u does not exist", op.port);
  }
  if (withdraw(op.port, op.tag, target)) return LCI_DONE;
  return fail(LCI_ERR_NOT_PENDING,
              "cancel: no receive with user_context %" PRIu64
              " waits at device %u, engine %u: it was matched (its own signal tells), has ended, or was posted on "
              "another device",
              op.tag, index_, op.port);
}

/// Ends an unmatched receive. False: there is none of that name.
bool Receives::withdraw(uint16_t engine, uint64_t context, const OpTarget& target) {
  const Engine* const of = parts_.targets.engine(engine);
  const Matcher* const matcher = of ? of->matcher() : nullptr;
  if (!matcher) return false;
  // Who takes it out of its engine ends it: this, or what matches it.
  PostedReceive* cancelled = pending_.find({engine, context, graph_of(target)}, [&](PostedReceive& receive) {
    return matcher->entries->remove(receive.key, &receive, Side::kReceive);
  });
  if (!cancelled) return false;
  counters_.add(Metric::receives_pending, -1);
  complete(cancelled->target, LCI_ERR_CANCELLED, cancelled->rank, cancelled->tag, cancelled->buffer, 0);
  end(*cancelled);
  return true;
}

/// One that is matched meanwhile ends as it would have.
bool Receives::carry_out_cancels() {
  WaitingOp* rest = std::exchange(cancels_, nullptr);
  if (!rest) return false;
  while (rest) {
    WaitingOp& op = *rest;
    const auto carry_out = [&] { withdraw(op.descriptor().port, op.target.context, op.target); };
    if (!unless_no_memory(carry_out)) {
      cancels_ = rest;  // nobody has added one: they come from other threads
      host_.call_again();
      break;
    }
    rest = op.next_cancel;
    op.cancel_ended();
  }
  return true;
}

void Receives::drop_cancels(const LaneView* lane) {
  for (WaitingOp* rest = std::exchange(cancels_, nullptr); rest;) {
    WaitingOp& op = *rest;
    rest = op.next_cancel;
    if (!lane || op.target.lane == lane) {
      op.cancel_ended();
    } else {
      cancel_later(op);
    }
  }
}

int Receives::finish(const PostedReceive& receive, uint32_t rank, uint64_t tag, const Payload& payload,
                     lci_status* done) {
  fill(lane(), receive.target, receive.buffer, receive.parts.get(), 0, payload,
       std::min(payload.size, receive.capacity));
  const bool truncated = payload.size > receive.capacity;
  const int code = truncated ? LCI_ERR_TRUNCATED : LCI_DONE;
  if (!done) {
    const uint32_t size = payload.size;
    complete(receive.target, code, rank, tag, receive.buffer, size);
    return code;
  }
  *done = {code, rank, tag, receive.buffer, payload.size, receive.target.context, 0, 0};
  if (code != LCI_DONE) {
    fail(code, "receive: the message of %u bytes from rank %u is longer than the buffer of %u; the rest was dropped",
         payload.size, rank, receive.capacity);
  }
  return code;
}

/// The message was there first. The key's device may belong to another thread: only its any-thread functions are used.
int Receives::match_unexpected(PostedReceive& receive, std::unique_ptr<UnexpectedSend> send, lci_status* done) {
  counters_.add(Metric::unexpected_stored, -1);
  const int code = finish_unexpected(receive, *send, done);
  send->long_data.reset();
  spare_sends_.give(std::move(send));
  return code;
}

int Receives::finish_unexpected(PostedReceive& receive, UnexpectedSend& send, lci_status* done) {
  InKey& key = *send.key;
  Link& link = *key.link;
  if (send.kind != UnexpectedSend::Kind::kStored) key.unanswered.fetch_sub(1, std::memory_order_relaxed);
  switch (send.kind) {
    case UnexpectedSend::Kind::kStored: {
      if (send.credited) grants_.release(key, send.generation, 1, send.size, link.device == &host_.device);
      return finish(receive, send.rank, send.tag, {nullptr, send.data(), send.size}, done);
    }
    case UnexpectedSend::Kind::kAnnounced: {
      const std::byte* bytes = packet_of(parts_.packets, link, send.argument, send.size);
      const int code = finish(receive, send.rank, send.tag, {nullptr, bytes, send.size}, done);
      packets_.return_packet_now(link, static_cast<uint32_t>(send.argument));
      return code;
    }
    default: {
      std::unique_ptr<ReceiveContext> context = std::move(send.matched);
      context->target = receive.target;
      context->link = &link;
      context->buffer = receive.buffer;
      if (receive.parts) context->parts = std::move(*receive.parts);
      context->capacity = receive.capacity;
      context->size = send.size;
      context->tag = send.tag;
      context->sender = send.argument;
      if (send.size > receive.capacity && send.size <= receive.longest) take_memory(*context);
      if (link.device == &host_.device) {
        streams_.add(std::move(context));
      } else if (!link.handed->add_rendezvous(std::move(context))) {
        complete(receive.target, LCI_ERR_CANCELLED, send.rank, send.tag, receive.buffer, 0);
      }
      return LCI_POSTED;
    }
  }
}

/// For a message that does not fit in the receive's buffer. Without memory it ends so when all of it has come.
void Receives::take_memory(ReceiveContext& context) {
  const auto size = static_cast<uint32_t>(context.size);
  context.memory = parts_.received.take(size, parts_.allocator.load(std::memory_order_acquire));
  context.no_memory = !context.memory;
  if (context.no_memory) return;
  context.posted_buffer = std::exchange(context.buffer, context.memory.get());
  context.capacity = size;
}

void Receives::handle_send(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, bool credited) {
  if (has_key_for_default_engine(header)) return protocol_error(link, "key for an engine without keys", header);
  bool stored = false;
  auto& engine = static_cast<Engine&>(*key.target);
  auto store = [&]() -> UnexpectedSend* {
    if (engine.floors.refuse(link.rank, header.tag)) return nullptr;
    std::unique_ptr<UnexpectedSend> send = spare_sends_.take();
    describe(*send, UnexpectedSend::Kind::kStored, key, header.size, header.tag);
    send->credited = credited;
    if (header.size > sizeof send->short_data) send->long_data.reset(new std::byte[header.size]);
    payload.copy(send->data());
    counters_.add(Metric::unexpected_stored);
    stored = true;
    return send.release();
  };
  void* found = nullptr;
  if (!match_or_store(engine, match_of(link, header), Side::kSend, ValueMaker(store), &found,
                      header.flags & kFlagKeyed)) {
    counters_.add(Metric::discarded);
    return;
  }
  if (!found && stored) {
    counters_.add(Metric::unexpected);
    return;
  }
  if (!found) {
    counters_.add(Metric::discarded);
    if (credited) grants_.release(key, key.generation, 1, header.size, true);
    return;
  }
  counters_.add(Metric::receives_pending, -1);
  auto& receive = *static_cast<PostedReceive*>(found);
  finish(receive, link.rank, header.tag, payload, nullptr);
  end(receive);
  if (credited) grants_.release(key, key.generation, 1, header.size, true);
}

bool Receives::match_announcement(InKey& key, const Announcement& announcement, MatchedAnnouncement* out) {
  const auto kind = announcement.rendezvous ? UnexpectedSend::Kind::kRendezvous : UnexpectedSend::Kind::kAnnounced;
  std::unique_ptr<UnexpectedSend> send = spare_sends_.take();
  describe(*send, kind, key, announcement.size, announcement.tag);
  send->argument = announcement.argument;
  if (announcement.rendezvous) send->matched = streams_.prepare(*key.link);
  auto& engine = static_cast<Engine&>(*key.target);
  bool refused = false;
  auto store = [&]() -> UnexpectedSend* {
    refused = engine.floors.refuse(send->rank, send->tag);
    if (refused) return nullptr;
    counters_.add(Metric::unexpected_stored);
    return send.get();
  };
  void* found = nullptr;
  if (!match_or_store(engine, announcement.match, Side::kSend, ValueMaker(store), &found,
                      announcement.policy & kFlagKeyed)) {
    return false;
  }
  if (refused) {
    drop(std::move(send), true);
    return true;
  }
  if (!announcement.rendezvous) {  // that one counts when it has come
    counters_.add(Metric::arrivals);
    counters_.add(Metric::arrival_bytes, announcement.size);
  }
  if (!found) {
    send.release();
    counters_.add(Metric::unexpected);
    return true;
  }
  counters_.add(Metric::receives_pending, -1);
  out->receive.reset(static_cast<PostedReceive*>(found));
  out->send = std::move(send);
  return true;
}

/// A send that nobody will receive. To its sender it is as one that was received: a long one comes, and goes nowhere.
void Receives::drop(std::unique_ptr<UnexpectedSend> send, bool by_owner) {
  InKey& key = *send->key;
  Link& link = *key.link;
  const bool own = by_owner && link.device == &host_.device;
  parts_.shared.add(Metric::discarded);
  if (send->kind == UnexpectedSend::Kind::kStored) {
    if (send->credited) grants_.release(key, send->generation, 1, send->size, own);
    return;
  }
  key.unanswered.fetch_sub(1, std::memory_order_relaxed);
  if (send->kind == UnexpectedSend::Kind::kAnnounced) {
    return packets_.return_packet_now(link, static_cast<uint32_t>(send->argument));
  }
  std::unique_ptr<ReceiveContext> context = std::move(send->matched);
  context->target.forgotten = true;
  context->link = &link;
  context->size = send->size;
  context->tag = send->tag;
  context->sender = send->argument;
  if (own) return streams_.add(std::move(context));
  static_cast<void>(link.handed->add_rendezvous(std::move(context)));  // not any more when the device ends
}

void Receives::drop_refused(uint32_t number) {
  Engine* const engine = parts_.targets.engine(number);
  if (!engine) return;
  UnexpectedSend* refused = nullptr;  // each leads to the next one: a list would need memory
  int64_t count = 0;
  auto refuse = [&](uint64_t, void* value, Side side) {
    if (side == Side::kReceive) return false;
    auto* const send = static_cast<UnexpectedSend*>(value);
    if (!engine->floors.refuse(send->rank, send->tag)) return false;
    send->next_refused = std::exchange(refused, send);
    ++count;
    return true;
  };
  engine->extract(std::ref(refuse));  // a copy would need some, too
  parts_.shared.add(Metric::unexpected_stored, -count);
  while (refused) {
    std::unique_ptr<UnexpectedSend> send(refused);
    refused = send->next_refused;
    drop(std::move(send), false);
  }
}

void Receives::receive_announced(MatchedAnnouncement matched) {
  counters_.add(Metric::unexpected_stored);  // for a moment
  match_unexpected(*matched.receive, std::move(matched.send), nullptr);
  end(*matched.receive.release());
}

/// A receive that was taken out of its engine, and was told. It may be of another device.
void Receives::end(PostedReceive& receive) {
  receive.parts.reset();
  PendingReceives& home = *receive.home;
  if (&home == &pending_) {
    pending_.end(receive);
  } else {
    home.give_back(receive);
  }
}

void Receives::drop_unmatched_rendezvous(uint32_t rank) {
  parts_.targets.for_each_engine([&](Engine& engine) {
    engine.extract([&](uint64_t, void* value, Side side) {
      if (side == Side::kReceive) return false;
      const auto* send = static_cast<const UnexpectedSend*>(value);
      if (send->rank != rank || send->kind != UnexpectedSend::Kind::kRendezvous) return false;
      parts_.shared.add(Metric::unexpected_stored, -1);
      counters_.add(Metric::discarded);
      delete send;
      return true;
    });
  });
}

void Receives::fail_receives(uint32_t rank, int code) {
  TakenReceives receives;
  parts_.targets.for_each_engine([&](Engine& engine) {
    if (!engine.keeps_left_behind()) take_receives(engine, rank, &receives);
  });
  end_all(receives, code);
}

void Receives::fail_receives_at(const Engine& late) {
  for (uint32_t rank = 0; rank < parts_.ranks; ++rank) {
    if (!parts_.peers.all_read(rank)) continue;
    // A device that has found this out since may have brought more; who ends that comes here again.
    if (late.keeps_left_behind()) return;
    TakenReceives receives;
    take_receives(late, rank, &receives);
    end_all(receives, error_of(parts_.peers.state(rank)));
  }
}

void Receives::cancel_all(int code) {
  parts_.targets.for_each_engine([&](Engine& engine) {
    TakenReceives receives;
    engine.extract([&](uint64_t, void* value, Side side) {
      if (side == Side::kReceive) {
        receives.add(*static_cast<PostedReceive*>(value));
      } else {
        delete static_cast<UnexpectedSend*>(value);
        parts_.shared.add(Metric::unexpected_stored, -1);
      }
      return true;
    });
    end_all(receives, code);
  });
}

void Receives::end_all(TakenReceives& receives, int code) {
  while (std::unique_ptr<PostedReceive> receive = receives.take_first()) {
    parts_.shared.add(Metric::receives_pending, -1);
    complete(receive->target, code, receive->rank, receive->tag, receive->buffer, 0);
    end(*receive.release());
  }
}

}  // namespace lci
