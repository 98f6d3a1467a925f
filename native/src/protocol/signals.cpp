// SPDX-License-Identifier: Apache-2.0
#include "protocol/signals.hpp"

#include <vector>

#include "base/no_memory.hpp"

namespace lci {

/// Takes what one signal costs from its key: a credit, or the key's announcement slot. False: there is none.
bool Signals::claim(OutKey& key, SignalRight* right) {
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

int Signals::take_right(Link& link, const lci_descriptor& op, bool now, SignalRight* out) {
  OutKey& key = spending_.out_key(link, op.port);
  parts_.targets.port(op.port);  // which emit() looks at, when nothing may fail any more
  const int code = admission_.admit(link, key, op);
  if (code != LCI_DONE) return code;
  if (now && !link.data_out.has_room(1)) return admission_.refuse(&link, &key, LCI_RETRY_NOMEM);
  out->port = op.port;
  out->tag = static_cast<uint16_t>(op.tag);
  if (!claim(key, out)) return admission_.refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!now || out->kind != SignalRight::Kind::kAnnouncement) return LCI_DONE;
  out->packet = packets_.take_packet(link, 0);
  if (out->packet != 0) return LCI_DONE;
  give_up(link, *out);
  return admission_.refuse(&link, &key, LCI_RETRY_NOPACKET);
}

void Signals::give_up(Link& link, const SignalRight& right) {
  if (right.kind == SignalRight::Kind::kNone) return;
  OutKey& key = spending_.out_key(link, right.port);
  if (right.kind == SignalRight::Kind::kCredit && right.generation == key.generation) ++key.credit.messages;
  if (right.kind == SignalRight::Kind::kAnnouncement && key.announced != 0) --key.announced;
  if (right.packet != 0) packets_.return_unused(right.packet);
  if (key.refused) spending_.tell_writable(link, key);
}

bool Signals::emit(Link& link, SignalRight& right) {
  OutKey& key = spending_.out_key(link, right.port);
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
  if (right.packet == 0) right.packet = packets_.take_packet(link, 0);
  if (right.packet == 0) {
    wanted_.want();
    return false;
  }
  packets_.announce(link, right.packet, key);
  const Port* port = parts_.targets.port(right.port);
  const uint32_t name_hash = port ? port->sender_hash.load(std::memory_order_relaxed) : 0;
  counters_.add(Metric::announcements);
  return links_.emit_data(
      link, {MessageKind::kAnnounce, kFlagSignal, right.port, 0, name_hash, right.tag, right.packet}, nullptr, 0);
}

/// One that finds no memory waits: those that have gone must not go once more.
bool Signals::flush(Link& link) {
  const auto goes = [&](SignalRight& right) {
    const OutKey::State state = spending_.out_key(link, right.port).state;
    if (state == OutKey::State::kClosed || state == OutKey::State::kMismatch) {
      counters_.add(Metric::discarded);  // the operation ended with done before the port closed
      give_up(link, right);
      return true;
    }
    return emit(link, right);
  };
  const size_t sent = std::erase_if(link.signals, [&](SignalRight& right) {
    bool gone = false;
    return unless_no_memory([&] { gone = goes(right); }) && gone;
  });
  if (!link.signals.empty()) call_again();
  return sent != 0;
}

void Signals::mark() {
  links_.for_each([](Link& link) { link.signals_marked = link.signals_numbered; });
}

bool Signals::holds_marked() const {
  bool holds = false;
  links_.for_each(
      [&](const Link& link) { holds |= !link.signals.empty() && link.signals.front().number <= link.signals_marked; });
  return holds;
}

int Signals::operation_ended(Link& link, const SignalRight& signal, int code) {
  --link.remote_operations;
  if (signal.kind == SignalRight::Kind::kNone) return code;
  const OutKey& key = spending_.out_key(link, signal.port);
  const OutKey::State state = key.state;
  if (code == LCI_DONE && state == OutKey::State::kClosed) code = key.closed_as;
  if (code == LCI_DONE && state == OutKey::State::kMismatch) code = LCI_ERR_PORT_MISMATCH;
  if (code != LCI_DONE) {
    give_up(link, signal);
    return code;
  }
  link.signals.push_back(signal);
  link.signals.back().number = ++link.signals_numbered;
  links_.make_busy(link);
  flush(link);
  return code;
}

}  // namespace lci
