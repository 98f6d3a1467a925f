// SPDX-License-Identifier: Apache-2.0
#include "protocol/long_works.hpp"

namespace lci {

void LongWorks::join(LongWork& work) {
  work.next_work = nullptr;
  (last_ ? last_->next_work : first_) = &work;
  last_ = &work;
}

LongWork& LongWorks::take_first() {
  LongWork& work = *first_;
  first_ = work.next_work;
  if (!first_) last_ = nullptr;
  return work;
}

/// Afterwards it may be gone, or have come anew.
void LongWorks::end(const LongWork& work, int code) {
  if (work.target.completion->signal(work.ended(code)) != LCI_DONE) counters_.add(Metric::discarded);
}

bool LongWorks::progress() {
  if (empty()) return false;
  const bool given_up = first_->is_given_up();
  if (given_up || first_->step()) end(take_first(), given_up ? LCI_ERR_CANCELLED : LCI_DONE);
  if (!empty()) call_again();
  return true;
}

void LongWorks::cancel_all(int code) {
  while (!empty()) end(take_first(), code);
}

void LongWorks::lane_gone(const LaneView& lane) {
  LongWork* rest = std::exchange(first_, nullptr);
  last_ = nullptr;
  while (rest) {
    LongWork& work = *rest;
    rest = work.next_work;
    if (work.target.lane != &lane) join(work);
  }
}

}  // namespace lci
