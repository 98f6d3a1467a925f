// SPDX-License-Identifier: Apache-2.0
// Send-receive: matching of sends that arrive with receives that are posted. [area C, 1.B matching]
#include "base/error.hpp"
#include "device/device.hpp"
#include "lane/lane.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

uint64_t receive_key(const lci_descriptor& op) {
  uint32_t policy = op.policy;
  const bool any_rank = op.rank == LCI_ANY_SOURCE, any_tag = op.tag == LCI_ANY_TAG;
  if (any_rank && any_tag) {
    policy = LCI_POLICY_NONE;
  } else if (any_rank) {
    policy = LCI_POLICY_TAG;
  } else if (any_tag) {
    policy = LCI_POLICY_RANK;
  }
  return make_key(op.rank, op.tag, policy);
}

}  // namespace

int Device::post_receive(const lci_descriptor& op, const OpTarget& target, lci_status* done) {
  if (op.rank != LCI_ANY_SOURCE && channels_[op.rank] && channels_[op.rank]->failed) {
    int error = LCI_DONE;
    open_channel(op.rank, &error);
    return error;
  }
  auto receive = std::make_unique<PostedReceive>();
  *receive = {target, reinterpret_cast<std::byte*>(op.u.ref.address), op.size, op.rank, op.tag, receive_key(op), this};
  if ((op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_INLINE) receive->buffer = nullptr;
  runtime_.shared.add(Metric::receives_pending);
  void* found = runtime_.engine(op.port).matching->insert(receive->key, receive.get(), Side::kReceive);
  if (!found) {
    receive.release();  // the engine has it
    return LCI_POSTED;
  }
  runtime_.shared.add(Metric::receives_pending, -1);
  return match_unexpected(std::move(receive), std::unique_ptr<UnexpectedSend>(static_cast<UnexpectedSend*>(found)),
                          done);
}

/// Writes into the buffer of a receive. Who posted it may be another lane, which may go at any time.
void Device::fill(const OpTarget& target, std::byte* to, const std::byte* from, uint32_t size) {
  if (size == 0) return;
  if (!target.lane || target.lane == lane()) {
    std::memcpy(to, from, size);
  } else {
    target.lane->write_unless_retired([&] { std::memcpy(to, from, size); });
  }
}

int Device::finish_receive(PostedReceive& receive, uint32_t rank, uint64_t tag, uint32_t size, const std::byte* from,
                           lci_status* done) {
  fill(receive.target, receive.buffer, from, std::min(size, receive.capacity));
  const int code = size > receive.capacity ? LCI_ERR_TRUNCATED : LCI_DONE;
  if (!done) {
    complete(receive.target, code, rank, tag, receive.buffer, size);
    return code;
  }
  *done = {code, rank, tag, receive.buffer, size, receive.target.context, 0, 0};
  if (code != LCI_DONE) {
    fail(code, "receive: the message of %u bytes from rank %u is longer than the buffer of %u; the rest was dropped",
         size, rank, receive.capacity);
  }
  return code;
}

/// The message was there first. The key's device may belong to another thread: only its any-thread functions are used.
int Device::match_unexpected(std::unique_ptr<PostedReceive> receive, std::unique_ptr<UnexpectedSend> send,
                             lci_status* done) {
  InKey& key = *send->key;
  Channel& channel = *key.channel;
  Device& home = *channel.device;
  runtime_.shared.add(Metric::unexpected_stored, -1);
  switch (send->kind) {
    case UnexpectedSend::Kind::kStored: {
      if (send->credited) home.release(key, 1, 1, send->size, false);
      return finish_receive(*receive, send->rank, send->tag, send->size, send->data(), done);
    }
    case UnexpectedSend::Kind::kAnnounced: {
      const std::byte* bytes = packet_of(channel, send->argument, send->size);
      const int code = finish_receive(*receive, send->rank, send->tag, send->size, bytes, done);
      home.return_packet_now(channel, static_cast<uint32_t>(send->argument));
      return code;
    }
    default: {
      auto context = std::make_unique<ReceiveContext>();
      context->target = receive->target;
      context->channel = &channel;
      context->buffer = receive->buffer;
      context->capacity = receive->capacity;
      context->size = send->size;
      context->tag = send->tag;
      context->sender = send->argument;
      if (&home == this) {
        add_receive_context(std::move(context));
      } else {
        home.start_rendezvous(std::move(context));
      }
      return LCI_POSTED;
    }
  }
}

void Device::handle_send(Channel& channel, InKey& key, const SlotHeader& header, const Payload& payload,
                         bool credited) {
  const uint64_t match = make_key(channel.rank, header.tag, header.flags & kFlagPolicyMask);
  std::unique_ptr<UnexpectedSend> send(new UnexpectedSend{
      UnexpectedSend::Kind::kStored, credited, channel.rank, header.size, header.tag, &key, 0, {}, {}});
  if (header.size > sizeof(send->short_data)) send->long_data.reset(new std::byte[header.size]);
  if (header.size != 0) payload.copy(send->data());
  MatchingEngine& matching = *static_cast<Engine&>(*key.target).matching;
  runtime_.shared.add(Metric::unexpected_stored);
  void* found = matching.insert(match, send.get(), Side::kSend);
  if (!found) {
    send.release();
    counters.add(Metric::unexpected);
    return;
  }
  runtime_.shared.add(Metric::unexpected_stored, -1);
  runtime_.shared.add(Metric::receives_pending, -1);
  std::unique_ptr<PostedReceive> receive(static_cast<PostedReceive*>(found));
  finish_receive(*receive, channel.rank, header.tag, header.size, send->data(), nullptr);
  if (credited) release(key, key.generation, 1, header.size, false);
}

/// A send that waits at its sender: without credit, or too large. It may be matched by a receive on any device.
void Device::handle_send_announcement(Channel& channel, InKey& key, const SlotHeader& header) {
  const bool rendezvous = header.kind == Message::kRendezvous;
  const uint64_t match = make_key(channel.rank, header.tag, header.flags & kFlagPolicyMask);
  const auto kind = rendezvous ? UnexpectedSend::Kind::kRendezvous : UnexpectedSend::Kind::kAnnounced;
  std::unique_ptr<UnexpectedSend> send(
      new UnexpectedSend{kind, false, channel.rank, header.size, header.tag, &key, header.arg, {}, {}});
  counters.add(Metric::pulls);
  grow_lease(key);
  set_thresholds(key);
  MatchingEngine& matching = *static_cast<Engine&>(*key.target).matching;
  runtime_.shared.add(Metric::unexpected_stored);
  void* found = matching.insert(match, send.get(), Side::kSend);
  if (!found) {
    send.release();
    counters.add(Metric::unexpected);
    return;
  }
  runtime_.shared.add(Metric::receives_pending, -1);
  std::unique_ptr<PostedReceive> receive(static_cast<PostedReceive*>(found));
  match_unexpected(std::move(receive), std::move(send), nullptr);
}

int Device::cancel_receive(const lci_descriptor& op) {
  if (op.port >= runtime_.engines())
    return fail(LCI_ERR_ARGUMENT, "cancel: matching engine %u does not exist", op.port);
  std::unique_ptr<PostedReceive> cancelled;
  runtime_.engine(op.port).matching->extract([&](uint64_t, void* value, Side side) {
    auto* receive = static_cast<PostedReceive*>(value);
    if (cancelled || side != Side::kReceive || receive->device != this || receive->target.context != op.tag)
      return false;
    cancelled.reset(receive);
    return true;
  });
  if (!cancelled) return LCI_RETRY;  // matched already, or never posted: its own completion tells
  runtime_.shared.add(Metric::receives_pending, -1);
  complete(cancelled->target, LCI_ERR_CANCELLED, cancelled->rank, cancelled->tag, cancelled->buffer, 0);
  return LCI_DONE;
}

}  // namespace lci
