// SPDX-License-Identifier: Apache-2.0
#include "graph/run_numbers.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lci {
namespace {

/// Makes @p word at least @p value; @p none is below all.
void raise_to(std::atomic<uint64_t>& word, uint64_t value, uint64_t none) {
  uint64_t before = word.load(std::memory_order_seq_cst);
  while ((before == none || before < value) && !word.compare_exchange_weak(before, value, std::memory_order_seq_cst)) {
  }
}

}  // namespace

RunNumbers::RunNumbers() {
  for (auto& number : open_) number.store(kNone, std::memory_order_relaxed);
}

int RunNumbers::next(uint32_t graph, const uint64_t* given, uint64_t* number) const {
  if (floors_.too_far.load(std::memory_order_acquire)) {
    return fail(LCI_ERR_OVERRUN, "start graph %u: a rank sent for a run more than %lu ahead, which was dropped", graph,
                kMostRunsApart);
  }
  if (!given && apart_ && needs_number_.load(std::memory_order_acquire)) {
    return fail(
        LCI_ERR_RUN_NUMBER,
        "start graph %u: a run up to %lu has failed, so other ranks may be in another one; agree with them on a "
        "number",
        graph, last_);
  }
  *number = given ? *given : any_ ? last_ + 1 : 1;
  if (!any_) return LCI_DONE;
  // As far from each other as tags tell apart, also from the earliest run that is under way.
  uint64_t first = last_;
  if (apart_) {
    for (const auto& open : open_) first = std::min(first, open.load(std::memory_order_seq_cst));
  }
  if (*number > last_ && *number - first <= kMostRunsApart) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "start graph %u: after run %lu the next number is %lu to %lu, not %lu", graph, last_,
              last_ + 1, first + kMostRunsApart, *number);
}

bool RunNumbers::begin(uint32_t instance, uint64_t number, bool given) {
  any_ = true;
  last_ = number;
  if (!apart_) return false;
  if (given) needs_number_.store(false, std::memory_order_release);
  open_[instance].store(number, std::memory_order_seq_cst);
  highest_.store(number, std::memory_order_seq_cst);
  return raise() || given;
}

bool RunNumbers::failed(uint32_t instance) {
  if (!apart_) return false;
  needs_number_.store(true, std::memory_order_release);
  const uint64_t number = open_[instance].load(std::memory_order_seq_cst);
  if (number != kNone) raise_to(stale_, number + 1, 0);
  return close(instance);
}

bool RunNumbers::succeeded(uint32_t instance) {
  return apart_ && close(instance);
}

bool RunNumbers::close(uint32_t instance) {
  open_[instance].store(kNone, std::memory_order_seq_cst);
  return raise();
}

/// True: a run that failed is now below the floor, for the first time.
bool RunNumbers::raise() {
  uint64_t lowest = highest_.load(std::memory_order_seq_cst) + 1;
  for (const auto& open : open_) lowest = std::min(lowest, open.load(std::memory_order_seq_cst));
  raise_to(floors_.lowest, lowest, GraphRuns::kNone);
  uint64_t stale = stale_.load(std::memory_order_seq_cst);
  if (stale == 0 || floors_.lowest.load(std::memory_order_seq_cst) < stale) return false;
  return stale_.compare_exchange_strong(stale, 0, std::memory_order_seq_cst);
}

}  // namespace lci
