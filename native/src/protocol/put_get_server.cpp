// SPDX-License-Identifier: Apache-2.0
#include "protocol/put_get_server.hpp"

#include <utility>

#include "protocol/peer_bytes.hpp"

namespace lci {
namespace {

/// Answers that wait for room; who causes more of them does not read his own.
constexpr size_t kMaxPutAcks = 1u << 16;

}  // namespace

void PutGetServer::handle_put(Link& link, const MessageHeader& header, const RemoteAccess& access) {
  const std::byte* bytes = packet_of(parts_.packets, link, header.arg, header.size);
  if (!bytes) return protocol_error(link, "put outside its memory", header);
  make_room(&link.put_acks);  // nothing may fail when the bytes are in their place
  links_.make_busy(link);
  const int code = regions_.write(access, bytes, header.size);
  acknowledge(link, header, {header.tag, header.size, code});
}

void PutGetServer::acknowledge(Link& link, const MessageHeader& header, const PutAck& ack) {
  call_again();
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

bool PutGetServer::flush_acks(Link& link) {
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

void PutGetServer::handle_get(Link& link, const MessageHeader& header, const RemoteAccess& access) {
  if (header.tag == 0 || link.served_gets >= kMaxRemoteOperations) {
    return protocol_error(link, "get of nothing, or more than may be under way", header);
  }
  make_room(&link.withdrawals);  // what finds no memory comes again: nothing may have changed
  const int code = regions_.check(access, header.tag);
  if (code != LCI_DONE) {
    counters_.add(Metric::rma_refused);
    ++link.served_gets;
    return streams_.withdraw(link, header.arg, code);
  }
  auto served = std::make_unique<SendContext>();
  served->kind = SendContext::Kind::kServedGet;
  served->link = &link;
  served->size = header.tag;
  served->access = access;
  served->receiver = header.arg;
  served->streaming = true;
  streams_.serve_get(std::move(served));
}

}  // namespace lci
