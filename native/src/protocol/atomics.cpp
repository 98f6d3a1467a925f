// SPDX-License-Identifier: Apache-2.0
#include "protocol/atomics.hpp"

#include <cinttypes>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "protocol/checks.hpp"
#include "rma/atomic_step.hpp"

namespace lci {
namespace {

AtomicStep step_of(const lci_descriptor& op) {
  return {op.policy, op.u.atomic.operand, op.u.atomic.expected};
}

}  // namespace

int Atomics::post(const lci_descriptor& op, const OpTarget& target, lci_status* done) {
  int code = check_atomic(parts_, index_, op);
  RemotePart word{};
  word.displacement = op.u.atomic.displacement;
  word.size = kAtomicWord;
  if (code == LCI_DONE) code = find_part(parts_, op, op.u.atomic.remote, &word);
  if (code == LCI_DONE) code = parts_.peers.check(op.rank, name_of(op));
  if (code != LCI_DONE) return code;
  const bool at_hand = put_get_.copies_at_hand() && word.remote.memory;
  code = at_hand ? apply(op, word, target, done) : ask(op, word, target);
  const bool may_wait = is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !backlog_.retrying();
  return may_wait ? backlog_.add(op, nullptr, target) : code;
}

/// By an instruction of this rank. The region may end at any time: so it is looked at within the guard.
int Atomics::apply(const lci_descriptor& op, const RemotePart& word, const OpTarget& target, lci_status* done) {
  std::byte* const at = word.remote.memory + word.displacement;
  if (!AtomicStep::fits(at)) {
    return fail(LCI_ERR_ARGUMENT, "atomic: the region of rank %u does not start at a multiple of 8 bytes", op.rank);
  }
  uint64_t before = 0;
  bool ended = false;
  {
    const CopyGuard guard(regions_.copy_words());
    ended = has_ended(word.remote);
    if (!ended) before = step_of(op).apply(at);
  }
  if (ended) return region_ended(op);
  counters_.add(Metric::rma_copied, kAtomicWord);
  *done = {LCI_DONE, op.rank, before, nullptr, kAtomicWord, target.context, 0, 0};
  return LCI_DONE;
}

/// By an instruction of the owner.
int Atomics::ask(const lci_descriptor& op, const RemotePart& word, const OpTarget& target) {
  if (!target.completion && !target.lane) {
    return fail(LCI_ERR_ARGUMENT, "atomic: needs a completion object: the memory of rank %u is not at hand", op.rank);
  }
  int code = LCI_DONE;
  Link* link = links_.open(op.rank, &code);
  if (!link) return code;
  if (has_ended(word.remote)) return region_ended(op);
  if (!link->may_put_and_get()) {
    link->wants_remote = true;
    return LCI_RETRY_PENDING;
  }
  code = admission_.admit_keyless(*link);
  if (code != LCI_DONE) return code;
  if (!link->data_out.has_room(1)) return admission_.refuse(link, nullptr, LCI_RETRY_NOMEM);
  const uint64_t id = asked_.add(std::make_unique<Asked>(Asked{target, link}));
  const AtomicAccess access{{word.remote.key, word.displacement, word.remote.index, 0}, op.u.atomic.operand};
  try {
    links_.emit_data(*link, {MessageKind::kAtomic, 0, 0, 0, op.policy, id, op.u.atomic.expected}, &access,
                     sizeof access);
  } catch (const std::bad_alloc&) {
    asked_.remove(id);
    throw;
  }
  ++link->remote_operations;
  counters_.add(Metric::rma_streamed, kAtomicWord);
  return LCI_POSTED;
}

void Atomics::handle_answer(Link& link, const MessageHeader& header) {
  const auto code = static_cast<int>(header.aux);
  if (code != LCI_DONE && !is_error(code))
    return protocol_error(link, "answer to an atomic operation with no code", header);
  const Asked* asked = asked_.find(header.tag);
  if (asked && asked->link == &link) return finish(header.tag, code, header.arg);
  counters_.add(Metric::discarded);  // it was answered before, or never asked for: nobody waits for it
}

void Atomics::finish(uint64_t id, int code, uint64_t before) {
  const auto asked = asked_.remove(id);
  --asked->link->remote_operations;
  complete(asked->target, code, asked->link->rank, code == LCI_DONE ? before : 0, nullptr, kAtomicWord);
}

void Atomics::serve(Link& link, const MessageHeader& header, const AtomicAccess& access) {
  const AtomicStep step{header.aux, access.operand, header.arg};
  if (!step.known()) return protocol_error(link, "unknown atomic operation", header);
  if (link.atomic_answers.size() >= kMaxRemoteOperations) {
    return protocol_error(link, "more atomic operations than may be under way", header);
  }
  make_room(&link.atomic_answers);  // nothing may fail when the word has changed: the message would come again
  AtomicAnswer answer{header.tag, 0, LCI_DONE};
  answer.code = regions_.apply(access.access, step, &answer.before);
  link.atomic_answers.push_back(answer);
  links_.make_busy(link);
  call_again();
}

bool Atomics::flush_answers(Link& link) {
  bool moved = false;
  while (!link.atomic_answers.empty()) {
    const AtomicAnswer& answer = link.atomic_answers.back();
    const auto code = static_cast<uint32_t>(answer.code);
    const MessageHeader header{MessageKind::kAtomicAnswer, 0, 0, 0, code, answer.operation, answer.before};
    if (!links_.emit_control(link, header)) return moved;
    link.atomic_answers.pop_back();
    moved = true;
  }
  return moved;
}

void Atomics::peer_gone(Link& link, int code) {
  asked_.for_each([&](uint64_t id, Asked& asked) {
    if (asked.link == &link) finish(id, code, 0);
  });
}

void Atomics::cancel_all(int code) {
  asked_.for_each([&](uint64_t id, Asked&) { finish(id, code, 0); });
}

}  // namespace lci
