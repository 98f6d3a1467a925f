// SPDX-License-Identifier: Apache-2.0
// The signal of a put or get: a message without payload, under the credit of its port. The right to send it is taken
// when the operation is accepted, and used when the data is in place: nothing is written for a signal that is refused.
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

/// Takes what one signal costs from its key: a credit, or the key's announcement slot. False: there is none.
bool Device::claim(OutKey& key, SignalRight* right) {
  if (key.held_back != 0) return false;
  if (key.state == OutKey::State::kUncredited) {
    right->kind = SignalRight::Kind::kUncredited;
  } else if (key.state == OutKey::State::kLeased && key.credit.messages != 0) {
    --key.credit.messages;
    right->kind = SignalRight::Kind::kCredit;
  } else if (key.announced < key.announce_limit) {
    ++key.announced;
    right->kind = SignalRight::Kind::kAnnouncement;
  } else {
    return false;
  }
  right->generation = key.generation;
  return true;
}

/// @param now the signal follows at once: then everything that it needs is taken here, and emit_signal() succeeds.
int Device::take_signal_right(Link& link, const lci_descriptor& op, bool now, SignalRight* out) {
  OutKey& key = out_key(link, op.port);
  const int code = admit(link, key, op);
  if (code != LCI_DONE) return code;
  if (now && !link.data_out.has_room(1)) return refuse(&link, &key, LCI_RETRY_NOMEM);
  out->port = op.port;
  out->tag = static_cast<uint16_t>(op.tag);
  if (!claim(key, out)) return refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!now || out->kind != SignalRight::Kind::kAnnouncement) return LCI_DONE;
  out->packet = take_packet(link, 0);
  if (out->packet != 0) return LCI_DONE;
  give_up(link, *out);
  return refuse(&link, &key, LCI_RETRY_NOPACKET);
}

/// The signal will not be sent.
void Device::give_up(Link& link, const SignalRight& right) {
  if (right.kind == SignalRight::Kind::kNone) return;
  OutKey& key = out_key(link, right.port);
  if (right.kind == SignalRight::Kind::kCredit && right.generation == key.generation) ++key.credit.messages;
  if (right.kind == SignalRight::Kind::kAnnouncement && key.announced != 0) --key.announced;
  if (right.packet != 0) return_unused(right.packet);
  if (key.refused) tell_writable(link, key);
}

/// False: no room now. @p right may change: that to a port that was opened again since is void, and is taken anew, for
/// what is behind it now may need credit, or none. An announcement is of no opening.
bool Device::emit_signal(Link& link, SignalRight& right) {
  OutKey& key = out_key(link, right.port);
  if (!link.data_out.has_room(1)) {
    link.wants_room = true;
    return false;
  }
  const bool of_opening = right.kind != SignalRight::Kind::kAnnouncement;
  if (of_opening && right.generation != key.generation && !claim(key, &right)) return false;
  if (right.kind != SignalRight::Kind::kAnnouncement) {
    const bool credited = right.kind == SignalRight::Kind::kCredit;
    const auto flags = static_cast<uint8_t>(kFlagSignal | (credited ? kFlagCredited : 0));
    return links_.emit_data(link, {MessageKind::kAmInline, flags, right.port, 0, key.generation, right.tag, 0}, nullptr,
                            0);
  }
  if (right.packet == 0) right.packet = take_packet(link, 0);
  if (right.packet == 0) {
    wait_for_packets();
    return false;
  }
  parts_.packets.state(right.packet).announced = &key;
  const Port* port = parts_.targets.port(right.port);
  const uint32_t name_hash = port ? port->sender_hash.load(std::memory_order_relaxed) : 0;
  counters.add(Metric::announcements);
  return links_.emit_data(
      link, {MessageKind::kAnnounce, kFlagSignal, right.port, 0, name_hash, right.tag, right.packet}, nullptr, 0);
}

/// Signals whose data is in place; one that has to wait does not hold up another.
bool Device::flush_signals(Link& link) {
  const size_t sent = std::erase_if(link.signals, [&](SignalRight& right) {
    const OutKey::State state = out_key(link, right.port).state;
    if (state == OutKey::State::kClosed || state == OutKey::State::kMismatch) {
      counters.add(Metric::discarded);  // the operation ended with done before the port closed
      give_up(link, right);
      return true;
    }
    return emit_signal(link, right);
  });
  unfinished_ = unfinished_ || !link.signals.empty();
  return sent != 0;
}

}  // namespace lci
