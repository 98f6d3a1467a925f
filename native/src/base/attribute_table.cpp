// SPDX-License-Identifier: Apache-2.0
#include "base/attribute_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/chaos_plan.hpp"

namespace lci {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;
constexpr int64_t kMany = int64_t{1} << 24;           // bound of counts
constexpr int64_t kMuch = int64_t{1} << 40;           // bound of byte counts
constexpr int64_t kRanks = int64_t{1} << 30;          // a rank has 30 bits in matching keys
constexpr int64_t kHandles = int64_t{1} << (32 + 6);  // what a 32-bit handle of 64-byte units can name

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

const Row kRows[] = {
    {"devices", &Attributes::devices, "1", number(1, 128), "Devices of the runtime; the same number on all ranks."},
    {"packet_size", &Attributes::packet_size, "8192", multiple(64, 256, kMiB),
     "Bytes of a packet, header included; bounds the largest eager message."},
    {"packets", &Attributes::packets, "256", number(1, kMany), "Packets that the pool adds at a time."},
    {"packets_max", &Attributes::packets_max, "4096", number(1, kMany), "Most packets that the pool may have."},
    {"packet_return_threshold", &Attributes::packet_return_threshold, "1048576", number(0, kMiB),
     "A packet that carried more bytes goes back to the head of its poster's deque, others to the tail of their "
     "taker's."},
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
     "Announced messages that a matching engine holds without their payload; the same on all ranks."},
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
    {"cq_type", &Attributes::cq_type, "array", choice("array|lcrq"),
     "Completion queues that do not say their kind: a fixed array, or linked rings without a bound (x86-64 only)."},
    // The variables of this library's launcher, and LCI_ROOT, are set for this job; PMI's may be those of a launcher
    // around it.
    {"bootstrap", &Attributes::bootstrap, "file;tcp;pmix;pmi2;pmi1;local", bootstrap_list(),
     "Ways to find the other ranks, tried in this order; the first available one is used."},
    {"bootstrap_timeout_ms", &Attributes::bootstrap_timeout_ms, "60000", number(1, 86'400'000),
     "Milliseconds to wait for the other ranks."},
    {"job_dir", &Attributes::job_dir, "", text(),
     "Directory of the job for bootstrap file; empty: environment LCI_JOB_DIR."},
    {"job_rank", &Attributes::job_rank, "-1", number(-1, kRanks - 1),
     "Rank for bootstraps file and tcp; -1: environment LCI_RANK."},
    {"job_size", &Attributes::job_size, "-1", number(-1, kRanks),
     "Number of ranks for bootstraps file and tcp; -1: environment LCI_SIZE."},
    {"job_root", &Attributes::job_root, "", text(),
     "Where rank 0 answers for bootstrap tcp, HOST:PORT or [ADDRESS]:PORT; empty: environment LCI_ROOT."},
    {"job_secret_file", &Attributes::job_secret_file, "", text(),
     "File with the job's secret for bootstraps tcp, pmix, pmi1 and pmi2, mode 0600; empty: environment "
     "LCI_SECRET_FILE."},
    {"chaos",
     &Attributes::chaos,
     "",
     {Rule::Kind::kChaosPlan},
     "Deliberate disturbance of the transport, for tests; empty: none."},
    {"membarrier", &Attributes::membarrier, "auto", choice("auto|off"),
     "Use the membarrier system call when parking; off: senders fence instead."},
    {"memory_limit_bytes", &Attributes::memory_limit_bytes, "0", number(0, int64_t{1} << 60),
     "Shared memory that this rank may use; 0: ask the system."},
    {"rma", &Attributes::rma, "auto", choice("auto|messages"),
     "Put and get: copy where memory is shared, or always through messages, for tests."},
    {"peer_memory", &Attributes::peer_memory, "all", choice("all|rings"),
     "What a rank reads of its peers where memory is shared: all, or rings and packets of what was sent to it alone, "
     "as over a network: then puts, gets and messages without credit travel as messages; the same on all ranks."},
    {"transport", &Attributes::transport, "auto", choice("auto|shm|tcp|routed"),
     "How ranks reach each other: by shared memory, over TCP, or routed: by shared memory within a host and over TCP "
     "between hosts. auto: as the hosts are; a runtime says which it is. The same on all ranks. With tcp peer_memory "
     "is rings."},
    {"ranks_per_host", &Attributes::ranks_per_host, "0", number(0, kRanks),
     "So many ranks in sequence count as on a host of their own, as if there were several, for tests and trials; 0: "
     "ranks are where they are. The same on all ranks."},
    {"net_address", &Attributes::net_address, "", text(),
     "Numeric address of this host at which the other ranks reach this one over a network; empty: that of the way to "
     "rank 0 with bootstrap tcp, with pmix, pmi1 and pmi2 that of the host's name, else 127.0.0.1."},
    {"net_security", &Attributes::net_security, "auth", choice("auth|sealed"),
     "Between hosts. auth: both ends of a connection prove the job's secret. sealed: what goes over it is encrypted as "
     "well, and changes are noticed; it needs OpenSSL's libcrypto, and a secret that no launcher knows. The same on "
     "all "
     "ranks."},
    {"crypto_library", &Attributes::crypto_library, "", text(),
     "File of libcrypto, for net_security=sealed; empty: libcrypto.so.3 of the system, or libcrypto.so.1.1."},
    {"net_dead_ms", &Attributes::net_dead_ms, "10000", number(2000, 3'600'000),
     "Milliseconds after which a host that does not answer counts as silent, to the second; its ranks fail if they do "
     "not answer to calls for net_reconnect_ms then."},
    {"net_reconnect_ms", &Attributes::net_reconnect_ms, "2000", number(100, 3'600'000),
     "Milliseconds for which a rank whose connection has broken is called again before it counts as failed."},
    {"net_idle_ms", &Attributes::net_idle_ms, "0", number(0, 3'600'000),
     "Milliseconds after which a connection over which nothing went is closed, if the rank at its other end agrees; "
     "what "
     "is posted next opens it again. Ranks that watch each other keep theirs. 0: all stay open."},
    {"net_links", &Attributes::net_links, "0", number(0, kMany),
     "Connections to ranks over a network that may stay open, divided among the devices: beyond it the one that was "
     "used longest ago is closed, as with net_idle_ms. Those that are in use, or to ranks that watch each other, stay. "
     "Set it on all ranks. 0: no bound."},
    {"net_ring_bytes", &Attributes::net_ring_bytes, "1048576", power_of_two(4096, 16 * kMiB),
     "Bytes to which a link over a network lets its peer's message ring grow, from ring_bytes on, when the peer has "
     "used "
     "up all the room that there was: short messages that may be under way. Not above ring_bytes: it stays as it is."},
    {"net_window_bytes", &Attributes::net_window_bytes, "4194304", power_of_two(256 * 1024, 64 * kMiB),
     "Bytes of messages in packets that may be on their way to this rank over a link of a network, or not taken yet; a "
     "rank keeps twice as many for a peer until that has them. A path that is long and loses packets needs three times "
     "its rate times its round trip. Each rank has its own."},
    {"coll_stall_ms", &Attributes::coll_stall_ms, "5000", number(0, 3'600'000),
     "Milliseconds after which a call of a group that does not go on is asked after: a warning names the ranks that "
     "have not made it or do not answer, and calls that differ are found. 0: never."},
    {"alloc_default_device", &Attributes::alloc_default_device, "1", number(0, 1),
     "0: the runtime has no devices, so that nothing can be posted; the same on all ranks."},
    {"alloc_default_packet_pool", &Attributes::alloc_default_packet_pool, "1", number(0, 1),
     "0: the runtime has no packets: what needs one is an error, what is short or copied goes on."},
    {"alloc_default_matching_engine", &Attributes::alloc_default_matching_engine, "1", number(0, 1),
     "0: there is no matching engine 0: receives on it are an error, its senders wait for room."},
    {"log_level", &Attributes::log_level, "warn", choice("error|warn|status|info|debug|trace"),
     "Lines of the log up to this level are written."},
    {"log_outfile", &Attributes::log_outfile, "stderr", text(),
     "File that the log is appended to, % becomes the rank; or stderr, stdout, none."},
    {"log_whitelist", &Attributes::log_whitelist, "", text(),
     "Only lines whose tag contains one of these words; empty: all."},
    {"log_blacklist", &Attributes::log_blacklist, "", text(), "No lines whose tag contains one of these words."},
    {"log_keep", &Attributes::log_keep, "0", number(0, 65536), "Lines kept for lci_log_take(); 0: none."},
};
constexpr size_t kRowCount = std::size(kRows);

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

/// The number or the index of the choice; nothing if @p value breaks the rule. Texts give 0.
std::optional<int64_t> parse(const Rule& rule, std::string_view value) {
  switch (rule.kind) {
    case Rule::Kind::kChoice:
      return parse_choice(rule.choices, value);
    case Rule::Kind::kText:
      return 0;
    case Rule::Kind::kBootstrapList:
      return is_bootstrap_list(value) ? std::optional<int64_t>(0) : std::nullopt;
    case Rule::Kind::kChaosPlan:
      return ChaosPlan::parse(value) ? std::optional<int64_t>(0) : std::nullopt;
    default:
      break;
  }
  const auto result = parse_number(value);
  if (!result || *result < rule.min || *result > rule.max) return std::nullopt;
  if (rule.kind == Rule::Kind::kPowerOfTwo && (*result & (*result - 1)) != 0) return std::nullopt;
  if (rule.kind == Rule::Kind::kMultiple && *result % rule.unit != 0) return std::nullopt;
  return result;
}

}  // namespace

std::span<const Row> attribute_rows() {
  return kRows;
}

const Row* find_row(std::string_view name) {
  const auto* end = std::end(kRows);
  const auto* row = std::find_if(std::begin(kRows), end, [&](const Row& each) { return name == each.name; });
  return row == end ? nullptr : row;
}

bool is_allowed(const Row& row, std::string_view value) {
  return parse(row.rule, value).has_value();
}

std::string expectation(const Row& row) {
  const Rule& rule = row.rule;
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
    case Rule::Kind::kChaosPlan:
      return ChaosPlan::kGrammar;
    case Rule::Kind::kBootstrapList:
      break;
  }
  std::string result = "a list of";
  for (const auto name : kBootstrapNames) result += " " + std::string(name);
  return result;
}

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

Attributes::Attributes() {
  for (const Row& row : kRows) {
    if (!assign(row, row.initial, this)) std::abort();  // a default breaks its own rule: a bug of the table
  }
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

}  // namespace lci
