// SPDX-License-Identifier: Apache-2.0
// The table of attributes: their names, fields, defaults and what they may be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/attributes.hpp"

namespace lci {

using Field =
    std::variant<uint32_t Attributes::*, uint64_t Attributes::*, int32_t Attributes::*, std::string Attributes::*,
                 MatchingEngineType Attributes::*, QueueType Attributes::*, MembarrierMode Attributes::*,
                 RmaMode Attributes::*, PeerMemoryMode Attributes::*, NetSecurity Attributes::*,
                 TransportKind Attributes::*, LogLevel Attributes::*, bool Attributes::*>;

/// What a value must look like. `choices` (separated by '|') lists the enumerators in order.
struct Rule {
  enum class Kind { kNumber, kPowerOfTwo, kMultiple, kChoice, kText, kBootstrapList, kChaosPlan } kind;
  int64_t min = 0;
  int64_t max = 0;
  int64_t unit = 1;
  std::string_view choices = {};
};

struct Row {
  const char* name;
  Field field;
  const char* initial;
  Rule rule;
  const char* help;
};

std::span<const Row> attribute_rows();
/// The row of @p name, or null.
const Row* find_row(std::string_view name);
/// Whether @p value is one that the row allows.
bool is_allowed(const Row& row, std::string_view value);
/// Parses @p value into the row's field. False: the value breaks the rule, nothing changed.
bool assign(const Row& row, std::string_view value, Attributes* out);
/// What a value of the row must be, for messages.
std::string expectation(const Row& row);

}  // namespace lci
