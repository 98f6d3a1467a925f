// SPDX-License-Identifier: Apache-2.0
#include "protocol/admission.hpp"

#include "base/error.hpp"

namespace lci {
namespace {

/// Passes that a sender without credit waits for some before it announces.
constexpr uint64_t kPatiencePasses = 1024;

}  // namespace

int Admission::refuse(Link* link, OutKey* key, int code) {
  if (key) {
    key->refused_batch = batch_;
    if (code == LCI_RETRY_NOCREDIT) key->refused = true;
  }
  if (code == LCI_RETRY_NOMEM) {
    link->full_batch = batch_;
    link->wants_room = true;
    counters_.add(Metric::ring_full);
  } else if (code == LCI_RETRY_NOPACKET) {
    batch_refusal_ = code;
    wanted_.want();
  }
  return code;
}

/// Refusals of this batch that a descriptor inherits without being attempted. [V1-V3]
int Admission::refused_earlier(Link& link, const OutKey& key, bool reply) {
  if (key.refused_batch == batch_ && !reply) return LCI_RETRY_ORDER;
  if (batch_refusal_ != 0) return batch_refusal_;
  if (link.full_batch == batch_) return LCI_RETRY_NOMEM;
  return LCI_DONE;
}

int Admission::admit(Link& link, OutKey& key, const lci_descriptor& op) {
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
  if (code == LCI_DONE && link.awaits_device) code = refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (code == LCI_DONE && link.chaos) {
    code = link.chaos->refuse();
    if (code != LCI_DONE) {
      counters_.add(Metric::chaos_refused);
      code = refuse(&link, &key, code);
      if (code == LCI_RETRY_NOCREDIT) chaos_refused_.emplace_back(&link, &key);
      call_again();
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

int Admission::admit_keyless(Link& link) {
  if (batch_refusal_ != 0) return batch_refusal_;
  if (link.full_batch == batch_) return LCI_RETRY_NOMEM;
  if (link.awaits_device) return LCI_RETRY_NOCREDIT;  // the generation moves when there is one
  int code = link.chaos ? link.chaos->refuse() : LCI_DONE;
  if (code == LCI_DONE) return code;
  if (code == LCI_RETRY_NOCREDIT) code = LCI_RETRY_LOCK;  // nobody would say when there is credit
  counters_.add(Metric::chaos_refused);
  call_again();
  return refuse(&link, nullptr, code);
}

/// Credit that went out comes back as sends are matched; an announcement costs a packet and a way there and back. So a
/// key that ran dry waits for some passes before it announces: what is never matched gives no credit back. [X7]
bool Admission::awaits_credit(Link& link, OutKey& key) {
  if (!(key.target & kEngineTarget) || key.state != OutKey::State::kLeased) return false;
  const uint64_t pass = counters_.get(Metric::progress_calls);
  if (!key.dry) {
    key.dry = true;
    key.dry_since = pass;
    if (!key.dry_listed) dry_keys_.emplace_back(&link, &key);
    key.dry_listed = true;
    call_again();
  }
  return pass - key.dry_since < kPatiencePasses;
}

void Admission::heal_chaos() {
  for (auto& [link, key] : chaos_refused_) {
    if (key->refused) spending_.tell_writable(*link, *key);
  }
  chaos_refused_.clear();
}

void Admission::end_patience() {
  const uint64_t pass = counters_.get(Metric::progress_calls);
  std::erase_if(dry_keys_, [&](const auto& entry) {
    const auto& [link, key] = entry;
    if (key->dry && pass - key->dry_since < kPatiencePasses) return false;
    if (key->dry && key->refused) spending_.tell_writable(*link, *key);
    key->dry_listed = false;
    return true;
  });
  if (!dry_keys_.empty()) call_again();
}

}  // namespace lci
