// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attributes of a runtime. One table (attributes.cpp) drives parsing, listing and printing. Precedence: a value of the
 * AttributeSet, then environment LCI_ATTR_<NAME IN CAPITALS> (those that begin with log_ also as LCI_<NAME IN
 * CAPITALS>), then the default. Nothing is kept between calls: the environment is read by each resolve_attributes().
 * [A6, M5, 2B-53]
 */
#ifndef LCI_BASE_ATTRIBUTES_HPP_
#define LCI_BASE_ATTRIBUTES_HPP_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace lci {

enum class MatchingEngineType : uint8_t { kMap, kQueue };
enum class QueueType : uint8_t { kArray, kLcrq };
enum class MembarrierMode : uint8_t { kAuto, kOff };
enum class RmaMode : uint8_t { kAuto, kMessages };
enum class PeerMemoryMode : uint8_t { kAll, kRings };
enum class TransportKind : uint8_t { kAuto, kShm, kTcp, kRouted };
enum class NetSecurity : uint8_t { kAuth, kSealed };

/// Typed values; a fresh one holds the defaults. Fields may be lowered afterwards (clamping): attribute_text() shows
/// the effective value. Sizes are in bytes.
struct Attributes {
  Attributes();

  uint32_t devices;
  uint32_t packet_size;
  uint32_t packets;
  uint32_t packets_max;
  uint32_t packet_return_threshold;
  uint32_t ring_bytes;
  uint32_t control_ring_bytes;
  uint64_t arena_bytes;
  uint32_t lane_completions;
  uint32_t inbox_messages;
  uint64_t inbox_bytes;
  uint32_t initial_lease;
  uint32_t max_posted;
  uint32_t backlog_messages;
  uint64_t backlog_bytes;
  uint32_t announcements;
  uint32_t engine_messages;
  uint64_t engine_bytes;
  MatchingEngineType matching_engine_type;
  uint32_t matching_buckets;
  uint32_t sync_threshold;
  uint32_t queue_capacity;
  QueueType cq_type;
  std::string bootstrap;
  uint32_t bootstrap_timeout_ms;
  std::string job_dir;
  int32_t job_rank;
  int32_t job_size;
  std::string job_root;
  std::string job_secret_file;
  std::string chaos;
  MembarrierMode membarrier;
  uint64_t memory_limit_bytes;
  RmaMode rma;
  PeerMemoryMode peer_memory;
  TransportKind transport;
  uint32_t ranks_per_host;
  std::string net_address;
  NetSecurity net_security;
  std::string crypto_library;
  uint32_t net_dead_ms;
  uint32_t net_reconnect_ms;
  uint32_t net_idle_ms;
  uint32_t net_links;
  uint32_t net_ring_bytes;
  uint32_t net_window_bytes;
  uint32_t coll_stall_ms;
  bool alloc_default_device;
  bool alloc_default_packet_pool;
  bool alloc_default_matching_engine;
  LogLevel log_level;
  std::string log_outfile;
  std::string log_whitelist;
  std::string log_blacklist;
  uint32_t log_keep;
};

/// Values set explicitly, by name: what an lci_attrs holds. Not thread-safe.
class AttributeSet {
 public:
  /// LCI_DONE, or LCI_ERR_ATTRIBUTE (unknown name, value that does not parse): then nothing changes.
  int set(const char* name, const char* value);
  /// The text set for @p name, or null.
  const std::string* find(std::string_view name) const;
  /// The program reads this name from the environment itself: it is not unknown, and not ours.
  int own(const char* name);
  const std::set<std::string, std::less<>>& owned() const { return owned_; }
  /// Takes from @p defaults what is not set here.
  void complete(const AttributeSet& defaults);
  void unset(std::string_view name);

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> owned_;
};

/// Fills @p out. @p explicit_values may be null. LCI_ERR_ATTRIBUTE with a text that names the attribute, where the
/// value came from, what is allowed, and for unknown names a known one that is near.
int resolve_attributes(const AttributeSet* explicit_values, Attributes* out);

/// The table by index; null past the end.
const char* attr_name(uint32_t index);
const char* attr_default(uint32_t index);
const char* attr_help(uint32_t index);

/// Value of attribute @p name as text that parses back to the same value; nothing if the name is unknown. [A7]
std::optional<std::string> attribute_text(const Attributes& attributes, std::string_view name);

/// The entries of a list separated by spaces, commas or semicolons, empty ones left out.
class NameList {
 public:
  explicit NameList(std::string_view text) : rest_(text) {}
  /// The next entry; nothing at the end.
  std::optional<std::string_view> next();

 private:
  std::string_view rest_;
};

/// Bootstrap names that the attribute `bootstrap` may list, for messages.
inline constexpr std::string_view kBootstrapNames[] = {"file", "tcp", "pmix", "pmi2", "pmi1", "local", "inproc"};

}  // namespace lci

#endif  // LCI_BASE_ATTRIBUTES_HPP_
