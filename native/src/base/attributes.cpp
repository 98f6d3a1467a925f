// SPDX-License-Identifier: Apache-2.0
#include "base/attributes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/attribute_table.hpp"
#include "base/error.hpp"

namespace lci {
namespace {

constexpr std::string_view kEnvironmentPrefix = "LCI_ATTR_";
constexpr std::string_view kLogPrefix = "log_";  // LCI_LOG_* serves as well. [M5]
/// How many insertions, removals and replacements turn one word into the other.
size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<size_t> previous(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    std::vector<size_t> current{i};
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t replaced = previous[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      current.push_back(std::min({replaced, previous[j] + 1, current[j - 1] + 1}));
    }
    previous = std::move(current);
  }
  return previous.back();
}

/// The known name that @p name may be a misspelling of: at most a third of it differs. Empty if there is none.
std::string_view near_name(std::string_view name, const AttributeSet* set) {
  std::string_view best;
  size_t least = std::numeric_limits<size_t>::max();
  const auto consider = [&](std::string_view known) {
    const size_t distance = edit_distance(name, known);
    if (distance < least && distance * 3 <= std::max(name.size(), known.size())) {
      best = known;
      least = distance;
    }
  };
  for (const Row& row : attribute_rows()) consider(row.name);
  if (set != nullptr) {
    for (const std::string& owned : set->owned()) consider(owned);
  }
  return best;
}

std::string upper(std::string_view name) {
  std::string result(name);
  for (char& letter : result) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return result;
}

std::string lower(std::string_view name) {
  std::string result(name);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

/// Names that stand for something that does not exist yet. They are refused, for a value would change nothing.
struct Missing {
  std::string_view name;
  const char* reason;
};
constexpr Missing kMissing[] = {{"cma", "single copy of large messages does not exist yet; leave it out"}};

int unknown_name(std::string_view name, const char* origin, const AttributeSet* set) {
  for (const Missing& missing : kMissing) {
    if (name != missing.name) continue;
    return fail(LCI_ERR_ATTRIBUTE, "%s: attribute \"%.*s\" is not supported: %s", origin, static_cast<int>(name.size()),
                name.data(), missing.reason);
  }
  const std::string near(near_name(name, set));
  const std::string suggestion = near.empty() ? "" : "; did you mean \"" + near + "\"?";
  return fail(LCI_ERR_ATTRIBUTE, "%s: unknown attribute \"%.*s\"%s", origin, static_cast<int>(name.size()), name.data(),
              suggestion.c_str());
}

int bad_value(const Row& row, const char* value, const char* origin) {
  return fail(LCI_ERR_ATTRIBUTE, "%s: attribute %s cannot be \"%s\": it must be %s", origin, row.name, value,
              expectation(row).c_str());
}

bool is_known(std::string_view name, const AttributeSet* set) {
  return find_row(name) != nullptr || (set != nullptr && set->owned().count(name) != 0);
}

int check_environment_names(const AttributeSet* set) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.substr(0, kEnvironmentPrefix.size()) != kEnvironmentPrefix) continue;
    const std::string_view variable = text.substr(0, text.find('='));
    const std::string_view suffix = variable.substr(kEnvironmentPrefix.size());
    const std::string name = lower(suffix);
    if (!is_known(name, set) || upper(name) != suffix) {
      return unknown_name(name, ("environment " + std::string(variable)).c_str(), set);
    }
  }
  return LCI_DONE;
}

int resolve_row(const Row& row, const AttributeSet* explicit_values, Attributes* out) {
  std::string variable = std::string(kEnvironmentPrefix) + upper(row.name);
  const char* environment = std::getenv(variable.c_str());
  if (environment == nullptr && std::string_view(row.name).substr(0, kLogPrefix.size()) == kLogPrefix) {
    variable = "LCI_" + upper(row.name);
    environment = std::getenv(variable.c_str());
  }
  const std::string* given = explicit_values == nullptr ? nullptr : explicit_values->find(row.name);
  if (given != nullptr) {
    return assign(row, *given, out) ? LCI_DONE : bad_value(row, given->c_str(), "explicit value");
  }
  if (environment != nullptr && !assign(row, environment, out)) {
    return bad_value(row, environment, ("environment " + variable).c_str());
  }
  return LCI_DONE;
}

}  // namespace

int AttributeSet::set(const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return fail(LCI_ERR_ARGUMENT, "set attribute: name or value is null");
  const Row* row = find_row(name);
  if (row == nullptr) return unknown_name(name, "set attribute", this);
  if (!is_allowed(*row, value)) return bad_value(*row, value, "set attribute");
  values_[name] = value;
  return LCI_DONE;
}

const std::string* AttributeSet::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void AttributeSet::complete(const AttributeSet& defaults) {
  values_.insert(defaults.values_.begin(), defaults.values_.end());
  owned_.insert(defaults.owned_.begin(), defaults.owned_.end());
}

void AttributeSet::unset(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

int AttributeSet::own(const char* name) {
  if (name == nullptr) return fail(LCI_ERR_ARGUMENT, "own attribute: name is null");
  owned_.insert(name);
  return LCI_DONE;
}

int resolve_attributes(const AttributeSet* explicit_values, Attributes* out) {
  if (const int code = check_environment_names(explicit_values); code != LCI_DONE) return code;
  Attributes result;
  for (const Row& row : attribute_rows()) {
    if (const int code = resolve_row(row, explicit_values, &result); code != LCI_DONE) return code;
  }
  if (result.packets > result.packets_max) {
    return fail(LCI_ERR_ATTRIBUTE, "attribute packets (%u) is above packets_max (%u)", result.packets,
                result.packets_max);
  }
  // What is not allocated is not there; the texts of these attributes say so. [A9]
  if (!result.alloc_default_device) result.devices = 0;
  if (!result.alloc_default_packet_pool) result.packets = result.packets_max = 0;
  *out = std::move(result);
  return LCI_DONE;
}

std::optional<std::string_view> NameList::next() {
  constexpr std::string_view kSeparators = " ,;";
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kSeparators), rest_.size()));
  if (rest_.empty()) return std::nullopt;
  const std::string_view entry = rest_.substr(0, rest_.find_first_of(kSeparators));
  rest_.remove_prefix(entry.size());
  return entry;
}

}  // namespace lci
