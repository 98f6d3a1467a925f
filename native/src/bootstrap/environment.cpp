// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/environment.hpp"

#include <cstdlib>

#include "base/error.hpp"

namespace lci {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string text_or_environment(const std::string& attribute, const char* variable) {
  if (!attribute.empty()) return attribute;
  const char* value = environment(variable);
  return value == nullptr ? "" : value;
}

int rank_or_size(const char* who, int32_t attribute, const char* variable, uint32_t* out) {
  if (attribute >= 0) {
    *out = static_cast<uint32_t>(attribute);
    return LCI_DONE;
  }
  const char* text = environment(variable);
  if (text == nullptr) return fail(LCI_ERR_BOOTSTRAP, "%s but %s is not; start by the launcher", who, variable);
  const auto number = parse_decimal<uint32_t>(text);
  if (!number || *number > (1u << 30)) {
    return fail(LCI_ERR_BOOTSTRAP, "%s, and %s is \"%s\", not a number from 0 to 2^30", who, variable, text);
  }
  *out = *number;
  return LCI_DONE;
}

int check_place(const char* who, uint32_t rank, uint32_t size) {
  if (rank < size) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP, "%s: rank %u does not fit a job of size %u", who, rank, size);
}

}  // namespace lci
