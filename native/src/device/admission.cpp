// SPDX-License-Identifier: Apache-2.0
// Whether a key may send now: what was refused in this batch, its port, its place in the backlog. A refusal is
// remembered here, so that who was refused can be told when there is room. [V1-V3]
#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

OutKey& Device::out_key(Link& link, uint16_t target) {
  if (OutKey* key = link.out_keys.find(target)) return *key;
  OutKey& key = link.out_keys.add(target);
  key.target = target;
  if (target == kEngineTarget) key.announce_limit = engine_announcements();  // the default engine is always open
  return key;
}

/// What the receiver is ready to remember, split evenly: both sides know it without a message.
uint32_t Device::engine_announcements() const {
  return std::max(1u, parts_.attributes.announcements / parts_.ranks);
}

/// What this rank believes of a port or engine of others, by the hash of its name; 0 matches any.
uint32_t Device::sender_hash(uint16_t target) {
  if (target & kEngineTarget) return parts_.targets.target(target)->name_hash.load(std::memory_order_relaxed);
  const Port* port = parts_.targets.port(target);
  return port ? port->sender_hash.load(std::memory_order_relaxed) : 0;
}

int Device::refuse(Link* link, OutKey* key, int code) {
  if (key) {
    key->refused_batch = batch_;
    if (code == LCI_RETRY_NOCREDIT) key->refused = true;
  }
  if (code == LCI_RETRY_NOMEM) {
    link->full_batch = batch_;
    link->wants_room = true;
    counters.add(Metric::ring_full);
  } else if (code == LCI_RETRY_NOPACKET) {
    batch_refusal_ = code;
    wait_for_packets();
  }
  return code;
}

/// Refusals of this batch that a descriptor inherits without being attempted. [V1-V3]
int Device::refused_earlier(Link& link, const OutKey& key, bool reply) {
  if (key.refused_batch == batch_ && !reply) return LCI_RETRY_ORDER;
  if (batch_refusal_ != 0) return batch_refusal_;
  if (link.full_batch == batch_) return LCI_RETRY_NOMEM;
  return LCI_DONE;
}

/// Whether a message of this key may be attempted now.
int Device::admit(Link& link, OutKey& key, const lci_descriptor& op) {
  if (key.state == OutKey::State::kClosed || key.state == OutKey::State::kMismatch) {
    const bool closed = key.state == OutKey::State::kClosed;
    const int code = closed ? key.closed_as : int{LCI_ERR_PORT_MISMATCH};
    if (code == LCI_ERR_PEER_LEFT) return fail(code, "post: rank %u leaves, and has closed port %u", op.rank, op.port);
    if (op.op == LCI_OP_SEND) {
      return fail(code, "send: matching engine %u of rank %u %s", op.port, op.rank,
                  closed ? "was freed; it may be created again" : "has keys of another kind; make both sides the same");
    }
    return fail(code, "post: port %u of rank %u %s", op.port, op.rank,
                closed ? "is closed; it may open again" : "has another name there; give both sides the same");
  }
  // Replies go past what waits for credit, or two ranks could wait for each other.
  const bool reply = is_reply(op);
  int code = refused_earlier(link, key, reply);
  if (code == LCI_DONE && link.chaos) {
    code = link.chaos->refuse();
    if (code != LCI_DONE) {
      counters.add(Metric::chaos_refused);
      code = refuse(&link, &key, code);
      if (code == LCI_RETRY_NOCREDIT) chaos_refused_.emplace_back(&link, &key);
      unfinished_ = true;
    }
  }
  // Also behind one that this batch has put into the backlog: only who was refused so is told when it may go.
  const bool may_wait = code == LCI_DONE || code == LCI_RETRY_ORDER;
  if (may_wait && !reply && !backlog_.empty() && !backlog_.retrying() && backlog_.holds(op.rank)) {
    code = LCI_RETRY_BACKLOG;
    key.refused = true;
    key.refused_batch = batch_;
  }
  return code;
}

/// The same for what has no key: a put or get without signal.
int Device::admit_keyless(Link& link) {
  if (batch_refusal_ != 0) return batch_refusal_;
  if (link.full_batch == batch_) return LCI_RETRY_NOMEM;
  int code = link.chaos ? link.chaos->refuse() : LCI_DONE;
  if (code == LCI_DONE) return code;
  if (code == LCI_RETRY_NOCREDIT) code = LCI_RETRY_LOCK;  // nobody would say when there is credit
  counters.add(Metric::chaos_refused);
  unfinished_ = true;
  return refuse(&link, nullptr, code);
}

/// Credit that went out comes back as sends are matched; an announcement costs a packet and a way there and back. So a
/// key that ran dry waits for some passes before it announces: what is never matched gives no credit back. [X7]
bool Device::awaits_credit(Link& link, OutKey& key) {
  if (!(key.target & kEngineTarget) || key.state != OutKey::State::kLeased) return false;
  const uint64_t pass = counters.get(Metric::progress_calls);
  if (!key.dry) {
    key.dry = true;
    key.dry_since = pass;
    if (!key.dry_listed) dry_keys_.emplace_back(&link, &key);
    key.dry_listed = true;
    unfinished_ = true;
  }
  return pass - key.dry_since < kPatiencePasses;
}

}  // namespace lci
