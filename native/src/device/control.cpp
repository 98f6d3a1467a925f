// SPDX-License-Identifier: Apache-2.0
// Control traffic that waits for room in the control ring. It is never refused: each kind waits in a list that lies in
// what it belongs to, so nothing is allocated for it. [X1]
#include "device/device.hpp"

namespace lci {

/// Tells senders of large messages that there is a place for them. False: there is no room for all.
bool Device::flush_ready(Link& link, bool* moved) {
  while (!link.queued_ready.empty()) {
    const uint64_t id = link.queued_ready.back();
    if (ReceiveContext* context = receives_.find(id)) {
      const MessageHeader header{MessageKind::kReady, 0, 0, 0, 0, id, context->sender};
      if (!links_.emit_control(link, header)) return false;
      context->ready_sent = true;
    }
    link.queued_ready.pop_back();
    *moved = true;
  }
  return true;
}

bool Device::flush_control(Link& link) {
  bool moved = false;
  while (InKey* key = link.queued_control) {
    bool all = true;
    if (key->refuse != 0) {
      // What an engine has matched goes on when it is freed: a refusal ends what its sender has not been told of.
      const bool engine = key->number & kEngineTarget;
      if (engine && !flush_ready(link, &moved)) return moved;
      const MessageHeader header{MessageKind::kRefuse, 0, key->number, 0, key->refuse, key->refuse_generation, 0};
      if ((all = links_.emit_control(link, header))) key->refuse = 0;
    }
    if (all && (key->grant_open || key->grant.messages != 0 || key->grant.bytes != 0)) {
      const uint8_t flags = key->target->credited ? 0 : kFlagUncredited;
      const MessageHeader header{MessageKind::kGrant,
                                 flags,
                                 key->number,
                                 key->grant.messages,
                                 key->target->name_hash.load(std::memory_order_relaxed),
                                 key->generation,
                                 key->grant.bytes};
      if ((all = links_.emit_control(link, header))) {
        key->grant = {};
        key->grant_open = false;
        counters.add(Metric::grants);
      }
    }
    if (all && key->recall) {
      const MessageHeader header{MessageKind::kRecall, 0, key->number, 0, 0, key->generation, 0};
      if ((all = links_.emit_control(link, header))) {
        key->recall = false;
        counters.add(Metric::recalls);
      }
    }
    if (!all) return moved;
    link.queued_control = key->next_queued;
    key->queued = false;
    moved = true;
  }
  while (OutKey* key = link.queued_returns) {
    const MessageHeader header{MessageKind::kReturn, 0, key->target, key->give_back.messages, 0, key->generation,
                               key->give_back.bytes};
    if (!links_.emit_control(link, header)) return moved;
    key->give_back = {};
    if (key->declined != 0) {
      if (!links_.emit_control(link, {MessageKind::kReturn, kFlagReply, key->target, key->declined, 0, 0, 0}))
        return moved;
      key->declined = 0;
    }
    key->queued = false;
    link.queued_returns = key->next_queued;
    counters.add(Metric::returns);
    moved = true;
  }
  if (!flush_ready(link, &moved)) return moved;
  while (!link.withdrawals.empty()) {
    const auto [receiver, code] = link.withdrawals.back();
    if (!links_.emit_control(link, {MessageKind::kWithdraw, 0, 0, 0, static_cast<uint32_t>(code), receiver, 0}))
      return moved;
    if (code != 0) --link.served_gets;
    link.withdrawals.pop_back();
    moved = true;
  }
  if (!link.put_acks.empty()) moved |= flush_put_acks(link);
  if (!link.signals.empty()) moved |= flush_signals(link);
  return moved;
}

}  // namespace lci
