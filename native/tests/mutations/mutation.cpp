// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include <cstdlib>
#include <cstring>

namespace lci {

// Allocates nothing: tests count allocations, and refuse some.
bool mutation_active(const char* name) {
  static const char* const list = std::getenv("LCI_MUTATION");
  const size_t length = std::strlen(name);
  for (const char* at = list; at != nullptr && *at != '\0';) {
    const size_t item = std::strcspn(at, ",");
    if (item == length && std::strncmp(at, name, length) == 0) return true;
    at += item;
    if (*at == ',') ++at;
  }
  return false;
}

}  // namespace lci
