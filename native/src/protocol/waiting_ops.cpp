// SPDX-License-Identifier: Apache-2.0
#include "protocol/waiting_ops.hpp"

namespace lci {

WaitingList& WaitingOps::list_of(const lci_descriptor& op) {
  Link* const link = op.rank < parts_.ranks && op.op != LCI_OP_RECV ? links_.find(op.rank) : nullptr;
  if (!link || op.op == LCI_OP_BARRIER || op.op == LCI_OP_COLLECTIVE) return of_device_;
  const bool message = op.op == LCI_OP_AM || op.op == LCI_OP_SEND;
  const auto target = static_cast<uint16_t>(op.op == LCI_OP_AM ? op.port : kEngineTarget | op.port);
  OutKey* const key = message ? link->out_keys.find(target) : nullptr;
  return key ? key->waiting : link->waiting;
}

void WaitingOps::enlist(WaitingList& list) {
  if (list.listed) return;
  list.listed = true;
  list.next_list = first_list_;
  first_list_ = &list;
}

WaitingOp& WaitingOps::take_first(WaitingList& list) {
  WaitingOp& op = *list.first;
  list.first = op.next_waiting;
  if (!list.first) list.last = nullptr;
  return op;
}

void WaitingOps::put_first(WaitingList& list, WaitingOp& op) {
  op.next_waiting = list.first;
  list.first = &op;
  if (!list.last) list.last = &op;
}

void WaitingOps::put_last(WaitingList& list, WaitingOp& op) {
  op.next_waiting = nullptr;
  (list.last ? list.last->next_waiting : list.first) = &op;
  list.last = &op;
}

void WaitingOps::join(WaitingOp& op) {
  WaitingList& list = list_of(op.descriptor());
  op.number = ++joined_;
  put_last(list, op);
  ++count_;
  enlist(list);
  if (op.is_given_up()) give_up_some();
}

/// What its posting has answered in the end. Afterwards the operation may be gone, or wait anew.
void WaitingOps::posted(const WaitingOp& op, int code, lci_status& done) {
  if (is_posted(code)) return;
  done.code = is_done(code) ? int{LCI_DONE} : code;
  if (op.target.completion->signal(done) != LCI_DONE) counters_.add(Metric::discarded);
}

/// Takes those out, as a chain, that @p which says true of.
template <typename Which>
WaitingOp* WaitingOps::take_out(Which which) {
  WaitingOp* taken = nullptr;
  WaitingOp** end = &taken;
  WaitingList* rest = std::exchange(first_list_, nullptr);
  while (rest) {
    WaitingList& list = *rest;
    rest = list.next_list;
    WaitingOp* op = std::exchange(list.first, nullptr);
    list.last = nullptr;
    while (op) {
      WaitingOp* const next = std::exchange(op->next_waiting, nullptr);
      if (which(*op)) {
        *end = op;
        end = &op->next_waiting;
        --count_;
      } else {
        put_last(list, *op);
      }
      op = next;
    }
    list.listed = false;
    if (list.first) enlist(list);
  }
  return taken;
}

void WaitingOps::end(WaitingOp* taken, int code) {
  while (taken) {
    WaitingOp& op = *taken;
    taken = op.next_waiting;
    lci_status status = done_status(op.descriptor(), op.target);
    status.size = 0;
    posted(op, code, status);
  }
}

void WaitingOps::end_given_up() {
  if (!some_given_up()) return;  // every pass looks: no read-modify-write then
  if (!some_given_up_.exchange(false, std::memory_order_seq_cst)) return;
  end(take_out([](const WaitingOp& op) { return op.is_given_up(); }), LCI_ERR_CANCELLED);
}

bool WaitingOps::holds_marked() const {
  for (const WaitingList* list = first_list_; list; list = list->next_list) {
    if (list->first->number <= marked_) return true;
  }
  return false;
}

void WaitingOps::cancel_all(int code) {
  end(take_out([](const WaitingOp&) { return true; }), code);
}

void WaitingOps::lane_gone(const LaneView& lane) {
  take_out([&](const WaitingOp& op) { return op.target.lane == &lane; });
}

}  // namespace lci
