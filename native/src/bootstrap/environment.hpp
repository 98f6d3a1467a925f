// SPDX-License-Identifier: Apache-2.0
// The environment variables by which a launcher speaks to a rank.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lci {

/// A variable's value; null if it is not set, or empty.
const char* environment(const char* name);

/// An attribute if it is set, else the variable.
std::string text_or_environment(const std::string& attribute, const char* variable);

/// An attribute if it is set, else a number from the environment. LCI_ERR_BOOTSTRAP, with a text that begins with
/// @p who, if there is none.
int rank_or_size(const char* who, int32_t attribute, const char* variable, uint32_t* out);

/// LCI_ERR_BOOTSTRAP if a job of @p size ranks has no rank @p rank.
int check_place(const char* who, uint32_t rank, uint32_t size);

/// The number, if the text is one and nothing else.
template <typename Number>
std::optional<Number> parse_decimal(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace lci
