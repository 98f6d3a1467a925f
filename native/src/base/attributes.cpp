// SPDX-License-Identifier: Apache-2.0
#include "base/attributes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/mutation.hpp"

namespace lci {
namespace {

constexpr std::string_view kEnvironmentPrefix = "LCI_ATTR_";
constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;
constexpr int64_t kMany = int64_t{1} << 24;           // bound of counts
constexpr int64_t kMuch = int64_t{1} << 40;           // bound of byte counts
constexpr int64_t kRanks = int64_t{1} << 30;          // a rank has 30 bits in matching keys
constexpr int64_t kHandles = int64_t{1} << (32 + 6);  // what a 32-bit handle of 64-byte units can name

using Field =
    std::variant<uint32_t Attributes::*, uint64_t Attributes::*, int32_t Attributes::*, std::string Attributes::*,
                 MatchingEngineType Attributes::*, CmaMode Attributes::*, MembarrierMode Attributes::*>;

/// What a value must look like. `choices` (separated by '|') lists the enumerators in order.
struct Rule {
  enum class Kind { kNumber, kPowerOfTwo, kMultiple, kChoice, kText, kBootstrapList } kind;
  int64_t min = 0;
  int64_t max = 0;
  int64_t unit = 1;
  std::string_view choices = {};
};

constexpr Rule number(int64_t min, int64_t max) {
  return {Rule::Kind::kNumber, min, max};
}
constexpr Rule power_of_two(int64_t min, int64_t max) {
  return {Rule::Kind::kPowerOfTwo, min, max};
}
constexpr Rule multiple(int64_t unit, int64_t min, int64_t max) {
  return {Rule::Kind::kMultiple, min, max, unit};
}
constexpr Rule choice(std::string_view choices) {
  return {Rule::Kind::kChoice, 0, 0, 1, choices};
}
constexpr Rule text() {
  return {Rule::Kind::kText};
}
constexpr Rule bootstrap_list() {
  return {Rule::Kind::kBootstrapList};
}

struct Row {
  const char* name;
  Field field;
  const char* initial;
  Rule rule;
  const char* help;
};

const Row kRows[] = {
    {"devices", &Attributes::devices, "1", number(1, 16), "Devices of the runtime; the same number on all ranks."},
    {"packet_size", &Attributes::packet_size, "8192", multiple(64, 256, kMiB),
     "Bytes of a packet, header included; bounds the largest eager message."},
    {"packets", &Attributes::packets, "256", number(1, kMany), "Packets that the pool adds at a time."},
    {"packets_max", &Attributes::packets_max, "4096", number(1, kMany), "Most packets that the pool may have."},
    {"ring_bytes", &Attributes::ring_bytes, "65536", power_of_two(4096, 16 * kMiB),
     "Bytes of the message ring between a pair of devices."},
    {"control_ring_bytes", &Attributes::control_ring_bytes, "16384", power_of_two(4096, 16 * kMiB),
     "Bytes of the control ring between a pair of devices."},
    {"arena_bytes", &Attributes::arena_bytes, "1073741824", multiple(4096, kMiB, kHandles),
     "Address space reserved for this rank's shared memory; memory is taken as it is needed."},
    {"lane_completions", &Attributes::lane_completions, "1024", power_of_two(64, 65536),
     "Records of a lane's completion ring."},
    {"inbox_messages", &Attributes::inbox_messages, "1024", number(1, kMany),
     "Messages that a port holds unless it says otherwise."},
    {"inbox_bytes", &Attributes::inbox_bytes, "8388608", number(1, kMuch),
     "Payload bytes that a port holds unless it says otherwise."},
    {"initial_lease", &Attributes::initial_lease, "16", number(0, 65536),
     "Messages that a new key is granted at first."},
    {"max_posted", &Attributes::max_posted, "65536", number(1, kMany),
     "Operations in flight per lane; beyond it posts answer retry_pending."},
    {"backlog_messages", &Attributes::backlog_messages, "1024", number(0, kMany),
     "Operations that the backlog of a rank and class holds."},
    {"backlog_bytes", &Attributes::backlog_bytes, "8388608", number(0, kMuch),
     "Payload bytes that the backlog of a rank and class holds."},
    {"announcements", &Attributes::announcements, "65536", number(1, kMany),
     "Announced messages that a matching engine holds without their payload."},
    {"engine_messages", &Attributes::engine_messages, "1024", number(0, kMany),
     "Unexpected messages that a matching engine holds with their payload."},
    {"engine_bytes", &Attributes::engine_bytes, "8388608", number(0, kMuch),
     "Payload bytes of unexpected messages that a matching engine holds."},
    {"matching_engine_type", &Attributes::matching_engine_type, "map", choice("map|queue"),
     "Matching engine: a hash map, or a linear queue for debugging."},
    {"matching_buckets", &Attributes::matching_buckets, "65536", power_of_two(1, kMany),
     "Buckets of the matching map."},
    {"sync_threshold", &Attributes::sync_threshold, "1", number(1, 1 << 20),
     "Signals after which a synchronizer fires unless it says otherwise."},
    {"queue_capacity", &Attributes::queue_capacity, "65536", number(1, kMany),
     "Statuses that a completion queue holds unless it says otherwise."},
    {"bootstrap", &Attributes::bootstrap, "file;local", bootstrap_list(),
     "Ways to find the other ranks, tried in this order; the first available one is used."},
    {"bootstrap_timeout_ms", &Attributes::bootstrap_timeout_ms, "60000", number(1, 86'400'000),
     "Milliseconds to wait for the other ranks."},
    {"job_dir", &Attributes::job_dir, "", text(),
     "Directory of the job for bootstrap file; empty: environment LCI_JOB_DIR."},
    {"job_rank", &Attributes::job_rank, "-1", number(-1, kRanks - 1),
     "Rank for bootstrap file; -1: environment LCI_RANK."},
    {"job_size", &Attributes::job_size, "-1", number(-1, kRanks),
     "Number of ranks for bootstrap file; -1: environment LCI_SIZE."},
    {"cma", &Attributes::cma, "off", choice("auto|on|off"),
     "Copy large messages from the peer's memory by process_vm_readv; auto: where a probe finds it faster."},
    {"chaos", &Attributes::chaos, "", text(), "Deliberate disturbance of the transport, for tests; empty: none."},
    {"membarrier", &Attributes::membarrier, "auto", choice("auto|off"),
     "Use the membarrier system call when parking; off: senders fence instead."},
    {"memory_limit_bytes", &Attributes::memory_limit_bytes, "0", number(0, int64_t{1} << 60),
     "Shared memory that this rank may use; 0: ask the system."},
};
constexpr size_t kRowCount = std::size(kRows);

const Row* find_row(std::string_view name) {
  const auto* end = std::end(kRows);
  const auto* row = std::find_if(std::begin(kRows), end, [&](const Row& each) { return name == each.name; });
  return row == end ? nullptr : row;
}

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
  for (const Row& row : kRows) consider(row.name);
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

std::optional<int64_t> parse_number(std::string_view value) {
  int64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix(end, static_cast<size_t>(value.data() + value.size() - end));
  if (suffix.empty()) return result;
  int64_t scale = 0;
  if (suffix == "K" || suffix == "k") scale = kKiB;
  if (suffix == "M" || suffix == "m") scale = kMiB;
  if (suffix == "G" || suffix == "g") scale = kGiB;
  if (scale == 0 || __builtin_mul_overflow(result, scale, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> parse_choice(std::string_view choices, std::string_view value) {
  for (int64_t index = 0; !choices.empty(); ++index) {
    const size_t bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == value) return index;
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return std::nullopt;
}

std::string_view choice_name(std::string_view choices, size_t index) {
  for (; index > 0; --index) choices.remove_prefix(choices.find('|') + 1);
  return choices.substr(0, choices.find('|'));
}

bool is_bootstrap_list(std::string_view value) {
  NameList names(value);
  bool any = false;
  while (const auto name = names.next()) {
    if (std::find(std::begin(kBootstrapNames), std::end(kBootstrapNames), *name) == std::end(kBootstrapNames)) {
      return false;
    }
    any = true;
  }
  return any;
}

std::string expectation(const Rule& rule) {
  const std::string range = " from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
  switch (rule.kind) {
    case Rule::Kind::kNumber:
      return "a number" + range;
    case Rule::Kind::kPowerOfTwo:
      return "a power of two" + range;
    case Rule::Kind::kMultiple:
      return "a multiple of " + std::to_string(rule.unit) + range;
    case Rule::Kind::kChoice:
      return "one of " + std::string(rule.choices);
    case Rule::Kind::kText:
      return "text";
    case Rule::Kind::kBootstrapList:
      break;
  }
  std::string result = "a list of";
  for (const auto name : kBootstrapNames) result += " " + std::string(name);
  return result;
}

/// The number or the index of the choice; nothing if @p value breaks the rule. Texts give 0.
std::optional<int64_t> parse(const Rule& rule, std::string_view value) {
  switch (rule.kind) {
    case Rule::Kind::kChoice:
      return parse_choice(rule.choices, value);
    case Rule::Kind::kText:
      return 0;
    case Rule::Kind::kBootstrapList:
      return is_bootstrap_list(value) ? std::optional<int64_t>(0) : std::nullopt;
    default:
      break;
  }
  const auto result = parse_number(value);
  if (!result || *result < rule.min || *result > rule.max) return std::nullopt;
  if (rule.kind == Rule::Kind::kPowerOfTwo && (*result & (*result - 1)) != 0) return std::nullopt;
  if (rule.kind == Rule::Kind::kMultiple && *result % rule.unit != 0) return std::nullopt;
  return result;
}

/// Parses @p value into the row's field. False: the value breaks the rule, nothing changed.
bool assign(const Row& row, std::string_view value, Attributes* out) {
  const auto parsed = parse(row.rule, value);
  if (!parsed) return false;
  std::visit(
      [&](auto field) {
        auto& target = out->*field;
        using Target = std::remove_reference_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, std::string>) {
          target = value;
        } else {
          target = static_cast<Target>(*parsed);
        }
      },
      row.field);
  return true;
}

int unknown_name(std::string_view name, const char* origin, const AttributeSet* set) {
  const std::string near(near_name(name, set));
  const std::string suggestion = near.empty() ? "" : "; did you mean \"" + near + "\"?";
  return fail(LCI_ERR_ATTRIBUTE, "%s: unknown attribute \"%.*s\"%s", origin, static_cast<int>(name.size()), name.data(),
              suggestion.c_str());
}

int bad_value(const Row& row, const char* value, const char* origin) {
  return fail(LCI_ERR_ATTRIBUTE, "%s: attribute %s cannot be \"%s\": it must be %s", origin, row.name, value,
              expectation(row.rule).c_str());
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
    if ((!is_known(name, set) || upper(name) != suffix) && !LCI_MUTATED("attributes_ignore_unknown")) {
      return unknown_name(name, ("environment " + std::string(variable)).c_str(), set);
    }
  }
  return LCI_DONE;
}

int resolve_row(const Row& row, const AttributeSet* explicit_values, Attributes* out) {
  const std::string variable = std::string(kEnvironmentPrefix) + upper(row.name);
  const char* environment = std::getenv(variable.c_str());
  const std::string* given = explicit_values == nullptr ? nullptr : explicit_values->find(row.name);
  if (given != nullptr && !(environment != nullptr && LCI_MUTATED("attributes_environment_first"))) {
    return assign(row, *given, out) ? LCI_DONE : bad_value(row, given->c_str(), "explicit value");
  }
  if (environment != nullptr && !assign(row, environment, out)) {
    return bad_value(row, environment, ("environment " + variable).c_str());
  }
  return LCI_DONE;
}

}  // namespace

Attributes::Attributes() {
  for (const Row& row : kRows) {
    if (!assign(row, row.initial, this)) std::abort();  // a default breaks its own rule: a bug of the table
  }
}

int AttributeSet::set(const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return fail(LCI_ERR_ARGUMENT, "set attribute: name or value is null");
  const Row* row = find_row(name);
  if (row == nullptr) return unknown_name(name, "set attribute", this);
  if (!parse(row->rule, value)) return bad_value(*row, value, "set attribute");
  values_[name] = value;
  return LCI_DONE;
}

const std::string* AttributeSet::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

int AttributeSet::own(const char* name) {
  if (name == nullptr) return fail(LCI_ERR_ARGUMENT, "own attribute: name is null");
  owned_.insert(name);
  return LCI_DONE;
}

int resolve_attributes(const AttributeSet* explicit_values, Attributes* out) {
  if (const int code = check_environment_names(explicit_values); code != LCI_DONE) return code;
  Attributes result;
  for (const Row& row : kRows) {
    if (const int code = resolve_row(row, explicit_values, &result); code != LCI_DONE) return code;
  }
  if (result.packets > result.packets_max) {
    return fail(LCI_ERR_ATTRIBUTE, "attribute packets (%u) is above packets_max (%u)", result.packets,
                result.packets_max);
  }
  *out = std::move(result);
  return LCI_DONE;
}

const char* attr_name(uint32_t index) {
  return index < kRowCount ? kRows[index].name : nullptr;
}
const char* attr_default(uint32_t index) {
  return index < kRowCount ? kRows[index].initial : nullptr;
}
const char* attr_help(uint32_t index) {
  return index < kRowCount ? kRows[index].help : nullptr;
}

std::optional<std::string> attribute_text(const Attributes& attributes, std::string_view name) {
  const Row* row = find_row(name);
  if (row == nullptr) return std::nullopt;
  return std::visit(
      [&](auto field) -> std::string {
        const auto& value = attributes.*field;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return value;
        } else if constexpr (std::is_enum_v<Value>) {
          return std::string(choice_name(row->rule.choices, static_cast<size_t>(value)));
        } else {
          return std::to_string(value);
        }
      },
      row->field);
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
