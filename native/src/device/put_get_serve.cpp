// SPDX-License-Identifier: Apache-2.0
// Put and get through messages: what this rank does for its peers, and what their answers mean for its own. Every chunk
// of a put says where it goes and is checked by itself, so that a put needs no memory at its target; a get is a
// rendezvous whose receiver asked first, and whose chunks are checked as they are read.
#include <cstring>

#include "base/error.hpp"
#include "device/device.hpp"
#include "rma/copy_guard.hpp"

namespace lci {
namespace {

/// Answers that wait for room; who causes more of them does not read his own.
constexpr size_t kMaxPutAcks = 1u << 16;

}  // namespace

void Device::handle_put_data(Link& link, const MessageHeader& header, const RemoteAccess& access) {
  const std::byte* bytes = packet_of(link, header.arg, header.size);
  if (!bytes) return protocol_error(link, "put outside its memory", header);
  make_room(&link.put_acks);  // nothing may fail when the bytes are in their place
  links_.make_busy(link);
  int code;
  {
    const CopyGuard guard(copy_words());
    std::byte* to = nullptr;
    code = parts_.regions.resolve(access, header.size, &to);
    if (code == LCI_DONE && header.size != 0) std::memcpy(to, bytes, header.size);
  }
  counters.add(code == LCI_DONE ? Metric::rma_served : Metric::rma_refused, code == LCI_DONE ? header.size : 1);
  acknowledge(link, header, {header.tag, header.size, code});
}

void Device::acknowledge(Link& link, const MessageHeader& header, const PutAck& ack) {
  unfinished_ = true;
  if (!link.put_acks.empty()) {
    PutAck& last = link.put_acks.back();
    if (last.put == ack.put && last.code == ack.code) {
      last.bytes += ack.bytes;
      return;
    }
  }
  if (link.put_acks.size() == kMaxPutAcks) return protocol_error(link, "more puts than it hears of", header);
  link.put_acks.push_back(ack);
}

bool Device::flush_put_acks(Link& link) {
  bool moved = false;
  while (!link.put_acks.empty()) {
    const PutAck& ack = link.put_acks.back();
    const auto code = static_cast<uint32_t>(ack.code);
    if (!links_.emit_control(link, {MessageKind::kPutAck, 0, 0, 0, code, ack.put, ack.bytes})) return moved;
    link.put_acks.pop_back();
    moved = true;
  }
  return moved;
}

void Device::handle_put_ack(Link& link, const MessageHeader& header) {
  SendContext* put = sends_.find(header.tag);
  if (!put || put->link != &link || put->kind != SendContext::Kind::kPut) {
    counters.add(Metric::discarded);  // ended meanwhile: an error came first, or its lane went
    return;
  }
  const auto code = static_cast<int>(header.aux);
  if (header.arg > put->sent - put->acknowledged || (code != LCI_DONE && !is_error(code))) {
    return protocol_error(link, "answer to a put that was not sent", header);
  }
  put->acknowledged += header.arg;
  if (code == LCI_DONE && put->acknowledged != put->size) return;
  std::erase(link.streams, put);
  finish_send_context(*put, code);
}

void Device::handle_get(Link& link, const MessageHeader& header, const RemoteAccess& access) {
  if (header.tag == 0 || link.served_gets >= kMaxRemoteOperations) {
    return protocol_error(link, "get of nothing, or more than may be under way", header);
  }
  make_room(&link.streams);  // what finds no memory comes again: nothing may have changed
  make_room(&link.withdrawals);
  std::byte* from = nullptr;
  const int code = parts_.regions.resolve(access, header.tag, &from);
  if (code != LCI_DONE) {
    counters.add(Metric::rma_refused);
    ++link.served_gets;
    return withdraw(link, header.arg, code);
  }
  auto context = std::make_unique<SendContext>();
  SendContext& served = *context;
  served.kind = SendContext::Kind::kServedGet;
  served.link = &link;
  served.size = header.tag;
  served.access = access;
  served.receiver = header.arg;
  served.streaming = true;
  served.id = sends_.add(std::move(context));
  ++link.served_gets;
  counters.set(Metric::sends_pending, sends_live());
  link.streams.push_back(&served);
  links_.make_busy(link);
  unfinished_ = true;
}

/// The next chunk of a served get; its owner may have ended the region since the last one.
int Device::read_region(const SendContext& context, std::byte* to, uint32_t size) {
  RemoteAccess access = context.access;
  access.displacement += context.sent;
  const CopyGuard guard(copy_words());
  std::byte* from = nullptr;
  const int code = parts_.regions.resolve(access, size, &from);
  if (code == LCI_DONE) std::memcpy(to, from, size);
  counters.add(code == LCI_DONE ? Metric::rma_served : Metric::rma_refused, code == LCI_DONE ? size : 1);
  return code;
}

/// A put or get of ours has ended with @p code; returns the code that its user gets.
int Device::remote_ended(Link& link, const SignalRight& signal, int code) {
  --link.remote_operations;
  if (signal.kind == SignalRight::Kind::kNone) return code;
  const OutKey& key = out_key(link, signal.port);
  const OutKey::State state = key.state;
  if (code == LCI_DONE && state == OutKey::State::kClosed) code = key.closed_as;
  if (code == LCI_DONE && state == OutKey::State::kMismatch) code = LCI_ERR_PORT_MISMATCH;
  if (code != LCI_DONE) {
    give_up(link, signal);
    return code;
  }
  link.signals.push_back(signal);
  links_.make_busy(link);
  flush_signals(link);
  return code;
}

}  // namespace lci
