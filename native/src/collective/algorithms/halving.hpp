// SPDX-License-Identifier: Apache-2.0
// Halving among 2^k members, of whom neighbours begin: so what is combined are always intervals of members.
#pragma once

#include <bit>
#include <cstdint>

#include "collective/algorithms/parts.hpp"

namespace lci {

/// From any number of members to 2^k places: of the first members each two become one place.
class Fold {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// @param stays a member that has a place; else, of two the higher one has it
  explicit Fold(uint32_t size, uint32_t stays = kNone)
      : places_(std::bit_floor(size)), pairs_(size - places_), stays_(stays) {}

  uint32_t places() const { return places_; }
  uint32_t steps() const { return static_cast<uint32_t>(std::countr_zero(places_)); }
  /// Whether there is anything to fold.
  bool needed() const { return pairs_ != 0; }
  bool is_paired(uint32_t member) const { return member < 2 * pairs_; }
  bool has_place(uint32_t member) const { return !is_paired(member) || member == holder(member / 2); }
  uint32_t place(uint32_t member) const { return is_paired(member) ? member / 2 : member - pairs_; }
  uint32_t member(uint32_t place) const { return place < pairs_ ? holder(place) : place + pairs_; }

 private:
  uint32_t holder(uint32_t pair) const { return 2 * pair == stays_ ? stays_ : 2 * pair + 1; }

  uint32_t places_, pairs_, stays_;
};

/// A member's part in a reduction over a Fold: what it holds, and where.
struct Partial {
  Range held;      ///< What it holds now: `in` at first.
  Range sum;       ///< Where it collects,
  Range received;  ///< and where it receives what others hold. At least the share that it has after one step.
};

/// The first round, if one is needed: members without a place hand over what they hold.
void fold(const Shape& shape, const Fold& fold, Partial& partial, Schedule& to);

/// The elements that are the share of a place after so many steps of halving.
Range share(const Shape& shape, Range all, uint32_t place, uint32_t steps);

/// In step k places that differ in bit k alone give each other the half that the other one keeps.
void halve(const Shape& shape, const Fold& fold, Partial& partial, Schedule& to);

}  // namespace lci
