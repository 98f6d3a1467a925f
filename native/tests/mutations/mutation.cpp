// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

namespace lci {
namespace {

std::set<std::string> read_names() {
  std::set<std::string> names;
  const char* list = std::getenv("LCI_MUTATION");
  std::istringstream stream(list == nullptr ? "" : list);
  for (std::string name; std::getline(stream, name, ',');) names.insert(name);
  return names;
}

}  // namespace

bool mutation_active(const char* name) {
  static const std::set<std::string> names = read_names();
  return names.count(name) != 0;
}

}  // namespace lci
