// SPDX-License-Identifier: Apache-2.0
// Dissemination among the members of a group: in step k each tells the member 2^k after it, and waits for the one 2^k
// before. A member hears from each of those once, so it can tell which message is missing.
#pragma once

#include <bit>
#include <cstdint>

namespace lci {

/// The state of one barrier at one member.
class BarrierSteps {
 public:
  static constexpr uint32_t kNoStep = UINT32_MAX;

  BarrierSteps(uint32_t own, uint32_t size)
      : own_(own), size_(size), steps_(static_cast<uint32_t>(std::bit_width(size - 1))) {}

  uint32_t steps() const { return steps_; }
  uint32_t to(uint32_t step) const { return static_cast<uint32_t>((own_ + (uint64_t{1} << step)) % size_); }
  uint32_t from(uint32_t step) const { return static_cast<uint32_t>((own_ + size_ - (uint64_t{1} << step)) % size_); }

  /// The step whose message is to be sent next; kNoStep: there is none now.
  uint32_t to_send() const {
    if (repeat_ != 0) return static_cast<uint32_t>(std::countr_zero(repeat_));
    return step_ < steps_ && !has(sent_, step_) ? step_ : kNoStep;
  }
  /// @param sure the receiver has the context: else the barrier does not end before it has said so
  void sent(uint32_t step, bool sure) {
    sent_ |= bit(step);
    repeat_ &= ~bit(step);
    if (!sure) unsure_ |= bit(step);
    pass();
  }
  bool is_unsure(uint32_t step) const { return step < steps_ && has(unsure_, step); }
  void confirmed(uint32_t step) { unsure_ &= ~bit(step); }
  /// Its receiver did not have the context.
  void repeat(uint32_t step) {
    unsure_ &= ~bit(step);
    repeat_ |= bit(step);
  }
  /// This member is gone: nothing is sent to it any more.
  void forget(uint32_t member) {
    for (uint32_t step = 0; step < steps_; ++step) {
      if (to(step) == member) confirmed(step);
    }
  }

  /// Whether member @p member sends the message of this step.
  bool expects(uint32_t step, uint32_t member) const { return step < steps_ && from(step) == member; }
  bool has_arrived(uint32_t step) const { return has(arrived_, step); }
  void arrived(uint32_t step) {
    arrived_ |= bit(step);
    pass();
  }
  /// Whether a message of this member is missing.
  bool misses(uint32_t member) const {
    for (uint32_t step = 0; step < steps_; ++step) {
      if (from(step) == member && !has(arrived_, step)) return true;
    }
    return false;
  }
  bool over() const { return step_ == steps_ && repeat_ == 0 && unsure_ == 0; }

 private:
  static uint64_t bit(uint32_t step) { return uint64_t{1} << step; }
  static bool has(uint64_t bits, uint32_t step) { return (bits & bit(step)) != 0; }
  void pass() {
    while (step_ < steps_ && has(sent_, step_) && has(arrived_, step_)) ++step_;
  }

  uint32_t own_, size_, steps_;
  uint32_t step_ = 0;
  uint64_t sent_ = 0;  // a bit for each step, as in the others
  uint64_t unsure_ = 0;
  uint64_t repeat_ = 0;
  uint64_t arrived_ = 0;
};

}  // namespace lci
