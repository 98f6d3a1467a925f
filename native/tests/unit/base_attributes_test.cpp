// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: attributes_environment_first, attributes_ignore_unknown.
#include "base/attributes.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/environment.hpp"

namespace lci {
namespace {

using test::ScopedVariable;
using testing::IsNotSubstring;
using testing::IsSubstring;

AttributeSet explicit_value(const char* name, const char* value) {
  AttributeSet set;
  EXPECT_EQ(set.set(name, value), LCI_DONE) << last_error();
  return set;
}

// Proves: SS-62
TEST(Attributes, DefaultsAreTheDocumentedOnes) {
  const Attributes defaults;
  EXPECT_EQ(defaults.devices, 1u);
  EXPECT_EQ(defaults.packet_size, 8192u);
  EXPECT_EQ(defaults.packets, 256u);
  EXPECT_EQ(defaults.packets_max, 4096u);
  EXPECT_EQ(defaults.packet_return_threshold, 1048576u);
  EXPECT_EQ(defaults.ring_bytes, 65536u);
  EXPECT_EQ(defaults.control_ring_bytes, 16384u);
  EXPECT_EQ(defaults.net_ring_bytes, 1048576u);
  EXPECT_EQ(defaults.net_window_bytes, 4194304u);
  EXPECT_EQ(defaults.arena_bytes, 1073741824u);
  EXPECT_EQ(defaults.lane_completions, 1024u);
  EXPECT_EQ(defaults.inbox_messages, 1024u);
  EXPECT_EQ(defaults.inbox_bytes, 8388608u);
  EXPECT_EQ(defaults.initial_lease, 16u);
  EXPECT_EQ(defaults.max_posted, 65536u);
  EXPECT_EQ(defaults.backlog_messages, 1024u);
  EXPECT_EQ(defaults.backlog_bytes, 8388608u);
  EXPECT_EQ(defaults.announcements, 65536u);
  EXPECT_EQ(defaults.engine_messages, 1024u);
  EXPECT_EQ(defaults.engine_bytes, 8388608u);
  EXPECT_EQ(defaults.matching_engine_type, MatchingEngineType::kMap);
  EXPECT_EQ(defaults.cq_type, QueueType::kArray);
  EXPECT_EQ(defaults.matching_buckets, 65536u);
  EXPECT_EQ(defaults.sync_threshold, 1u);
  EXPECT_EQ(defaults.queue_capacity, 65536u);
  EXPECT_EQ(defaults.bootstrap, "file;tcp;pmix;pmi2;pmi1;local");
  Attributes unasked;
  ASSERT_EQ(LCI_DONE, resolve_attributes(nullptr, &unasked)) << last_error();
  for (uint32_t i = 0; const char* name = attr_name(i); ++i) {
    EXPECT_EQ(attribute_text(defaults, name), attribute_text(unasked, name)) << name;
  }
  EXPECT_EQ(defaults.bootstrap_timeout_ms, 60000u);
  EXPECT_EQ(defaults.job_dir, "");
  EXPECT_EQ(defaults.job_rank, -1);
  EXPECT_EQ(defaults.job_size, -1);
  EXPECT_EQ(defaults.job_root, "");
  EXPECT_EQ(defaults.job_secret_file, "");
  EXPECT_EQ(defaults.chaos, "");
  EXPECT_EQ(defaults.membarrier, MembarrierMode::kAuto);
  EXPECT_EQ(defaults.memory_limit_bytes, 0u);
  EXPECT_EQ(defaults.rma, RmaMode::kAuto);
  EXPECT_EQ(defaults.peer_memory, PeerMemoryMode::kAll);
  EXPECT_EQ(defaults.transport, TransportKind::kAuto);
  EXPECT_EQ(defaults.net_security, NetSecurity::kAuth);
  EXPECT_EQ(defaults.crypto_library, "");
  EXPECT_TRUE(defaults.alloc_default_device && defaults.alloc_default_packet_pool);
  EXPECT_TRUE(defaults.alloc_default_matching_engine);
  EXPECT_EQ(defaults.log_level, LogLevel::kWarn);
  EXPECT_EQ(defaults.log_outfile, "stderr");
  EXPECT_EQ(defaults.log_whitelist, "");
  EXPECT_EQ(defaults.log_blacklist, "");
  EXPECT_EQ(defaults.log_keep, 0u);
}

/// [A6] explicit > environment > default, for every attribute of the table.
// Proves: A6
TEST(Attributes, PrecedenceHoldsForEveryAttribute) {
  struct Sample {
    const char* name;
    const char* environment;
    const char* given;
  };
  const Sample samples[] = {
      {"devices", "2", "3"},
      {"packet_size", "512", "1024"},
      {"packets", "10", "11"},
      {"packets_max", "300", "301"},
      {"packet_return_threshold", "0", "1"},
      {"ring_bytes", "4096", "8192"},
      {"control_ring_bytes", "4096", "8192"},
      {"arena_bytes", "1048576", "2097152"},
      {"lane_completions", "64", "128"},
      {"inbox_messages", "1", "2"},
      {"inbox_bytes", "100", "200"},
      {"initial_lease", "0", "1"},
      {"max_posted", "1", "2"},
      {"backlog_messages", "0", "1"},
      {"backlog_bytes", "0", "1"},
      {"announcements", "1", "2"},
      {"engine_messages", "0", "1"},
      {"engine_bytes", "0", "1"},
      {"matching_engine_type", "queue", "map"},
      {"matching_buckets", "1", "2"},
      {"sync_threshold", "2", "3"},
      {"queue_capacity", "1", "2"},
      {"cq_type", "lcrq", "array"},
      {"bootstrap", "local", "file,local"},
      {"bootstrap_timeout_ms", "1", "2"},
      {"job_dir", "/a", "/b"},
      {"job_rank", "0", "1"},
      {"job_size", "1", "2"},
      {"job_root", "a:1", "b:2"},
      {"job_secret_file", "/a", "/b"},
      {"chaos", "seed=1", "seed=2"},
      {"membarrier", "off", "auto"},
      {"memory_limit_bytes", "1", "2"},
      {"rma", "messages", "auto"},
      {"peer_memory", "rings", "all"},
      {"transport", "shm", "auto"},
      {"ranks_per_host", "2", "3"},
      {"net_address", "10.0.0.1", "10.0.0.2"},
      {"net_security", "sealed", "auth"},
      {"crypto_library", "a.so", "b.so"},
      {"net_dead_ms", "2000", "3000"},
      {"net_reconnect_ms", "300", "400"},
      {"net_idle_ms", "300", "400"},
      {"net_links", "300", "400"},
      {"net_ring_bytes", "4096", "8192"},
      {"net_window_bytes", "262144", "524288"},
      {"coll_stall_ms", "300", "400"},
      {"alloc_default_device", "0", "1"},
      {"alloc_default_packet_pool", "0", "1"},
      {"alloc_default_matching_engine", "0", "1"},
      {"log_level", "trace", "error"},
      {"log_outfile", "none", "stdout"},
      {"log_whitelist", "a", "b"},
      {"log_blacklist", "a", "b"},
      {"log_keep", "1", "2"},
  };
  uint32_t count = 0;
  while (attr_name(count) != nullptr) ++count;
  ASSERT_EQ(count, std::size(samples)) << "a new attribute needs a sample";
  for (uint32_t i = 0; i < count; ++i) {
    const Sample& sample = samples[i];
    ASSERT_STREQ(attr_name(i), sample.name);
    Attributes resolved;
    ASSERT_EQ(resolve_attributes(nullptr, &resolved), LCI_DONE) << last_error();
    EXPECT_EQ(attribute_text(resolved, sample.name), attr_default(i));

    std::string variable = "LCI_ATTR_";
    for (const char* letter = sample.name; *letter != '\0'; ++letter) variable += static_cast<char>(toupper(*letter));
    const ScopedVariable environment(variable.c_str(), sample.environment);
    ASSERT_EQ(resolve_attributes(nullptr, &resolved), LCI_DONE) << last_error();
    EXPECT_EQ(attribute_text(resolved, sample.name), sample.environment);

    const AttributeSet given = explicit_value(sample.name, sample.given);
    ASSERT_EQ(resolve_attributes(&given, &resolved), LCI_DONE) << last_error();
    EXPECT_EQ(attribute_text(resolved, sample.name), sample.given);
  }
}

TEST(Attributes, EnvironmentIsReadAtEachResolve) {
  Attributes resolved;
  {
    const ScopedVariable variable("LCI_ATTR_DEVICES", "5");
    ASSERT_EQ(resolve_attributes(nullptr, &resolved), LCI_DONE);
    EXPECT_EQ(resolved.devices, 5u);
  }
  ASSERT_EQ(resolve_attributes(nullptr, &resolved), LCI_DONE);
  EXPECT_EQ(resolved.devices, 1u);
}

TEST(Attributes, SizesTakeSuffixes) {
  AttributeSet set;
  ASSERT_EQ(set.set("ring_bytes", "128K"), LCI_DONE);
  ASSERT_EQ(set.set("inbox_bytes", "3M"), LCI_DONE);
  ASSERT_EQ(set.set("arena_bytes", "2G"), LCI_DONE);
  Attributes resolved;
  ASSERT_EQ(resolve_attributes(&set, &resolved), LCI_DONE) << last_error();
  EXPECT_EQ(resolved.ring_bytes, 131072u);
  EXPECT_EQ(resolved.inbox_bytes, 3145728u);
  EXPECT_EQ(resolved.arena_bytes, 2147483648u);
  EXPECT_EQ(attribute_text(resolved, "arena_bytes"), "2147483648");
}

TEST(Attributes, BadValuesAreRefusedWhereTheyAreSet) {
  struct Bad {
    const char* name;
    const char* value;
  };
  const Bad bad[] = {
      {"devices", "0"},
      {"devices", "129"},
      {"devices", ""},
      {"devices", "one"},
      {"devices", "1x"},
      {"devices", " 1"},
      {"devices", "-1"},
      {"packet_size", "255"},
      {"packet_size", "300"},
      {"packet_size", "2M"},
      {"ring_bytes", "65537"},
      {"ring_bytes", "2048"},
      {"ring_bytes", "32M"},
      {"net_links", "-1"},
      {"net_ring_bytes", "65537"},
      {"net_ring_bytes", "2048"},
      {"net_ring_bytes", "32M"},
      {"net_window_bytes", "300000"},
      {"net_window_bytes", "128K"},
      {"net_window_bytes", "128M"},
      {"lane_completions", "63"},
      {"lane_completions", "96"},
      {"inbox_bytes", "9999999999G"},
      {"arena_bytes", "99999999999999999999"},
      {"matching_engine_type", "tree"},
      {"cq_type", "stack"},
      {"matching_engine_type", ""},
      {"membarrier", "on"},
      {"bootstrap", "carrier"},
      {"bootstrap", ""},
      {"bootstrap", "file;carrier"},
      {"job_rank", "-2"},
  };
  for (const Bad& each : bad) {
    AttributeSet set;
    EXPECT_EQ(set.set(each.name, each.value), LCI_ERR_ATTRIBUTE) << each.name << "=" << each.value;
    EXPECT_PRED_FORMAT2(IsSubstring, each.name, last_error());
    EXPECT_EQ(set.find(each.name), nullptr);

    const std::string lower_name = each.name;
    std::string variable = "LCI_ATTR_";
    for (const char letter : lower_name) variable += static_cast<char>(toupper(letter));
    const ScopedVariable environment(variable.c_str(), each.value);
    Attributes resolved;
    EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_ERR_ATTRIBUTE) << each.name << "=" << each.value;
    EXPECT_PRED_FORMAT2(IsSubstring, variable.c_str(), last_error());
  }
}

TEST(Attributes, AFailedSetKeepsTheOldValue) {
  AttributeSet set = explicit_value("devices", "4");
  EXPECT_EQ(set.set("devices", "400"), LCI_ERR_ATTRIBUTE);
  ASSERT_NE(set.find("devices"), nullptr);
  EXPECT_EQ(*set.find("devices"), "4");
}

TEST(Attributes, AFailedResolveLeavesTheResultAlone) {
  Attributes resolved;
  resolved.devices = 7;
  const ScopedVariable variable("LCI_ATTR_MEMBARRIER", "maybe");
  EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_ERR_ATTRIBUTE);
  EXPECT_EQ(resolved.devices, 7u);
}

TEST(Attributes, UnknownNamesNameTheNearest) {
  AttributeSet set;
  EXPECT_EQ(set.set("pakcet_size", "512"), LCI_ERR_ATTRIBUTE);
  EXPECT_PRED_FORMAT2(IsSubstring, "\"packet_size\"", last_error());
  EXPECT_EQ(set.set("", "512"), LCI_ERR_ATTRIBUTE);
  EXPECT_EQ(set.set(nullptr, "512"), LCI_ERR_ARGUMENT);
  EXPECT_EQ(set.set("devices", nullptr), LCI_ERR_ARGUMENT);
}

TEST(Attributes, UnknownEnvironmentNamesAreErrors) {
  Attributes resolved;
  {
    const ScopedVariable variable("LCI_ATTR_INBOX_MESAGES", "1");
    EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_ERR_ATTRIBUTE);
    EXPECT_PRED_FORMAT2(IsSubstring, "\"inbox_messages\"", last_error());
    EXPECT_PRED_FORMAT2(IsSubstring, "LCI_ATTR_INBOX_MESAGES", last_error());
  }
  {
    const ScopedVariable variable("LCI_ATTR_devices", "1");  // lower case would be ignored silently otherwise
    EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_ERR_ATTRIBUTE);
  }
  {
    const ScopedVariable variable("LCI_OTHER", "1");
    EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_DONE);
  }
}

TEST(Attributes, OnlyANearNameIsSuggested) {
  AttributeSet set;
  EXPECT_EQ(set.set("loops", "2"), LCI_ERR_ATTRIBUTE);  // "chaos" is the nearest, and helps nobody
  EXPECT_PRED_FORMAT2(IsSubstring, "unknown attribute \"loops\"", last_error());
  EXPECT_PRED_FORMAT2(IsNotSubstring, "did you mean", last_error());
  EXPECT_EQ(set.set("packs", "2"), LCI_ERR_ATTRIBUTE);
  EXPECT_PRED_FORMAT2(IsSubstring, "did you mean \"packets\"?", last_error());
}

TEST(Attributes, NamesThatTheProgramOwnsAreLeftToIt) {
  AttributeSet set;
  ASSERT_EQ(set.own("loops"), LCI_DONE);
  Attributes resolved;
  {
    const ScopedVariable variable("LCI_ATTR_LOOPS", "2");
    EXPECT_EQ(resolve_attributes(&set, &resolved), LCI_DONE) << last_error();
    EXPECT_EQ(resolve_attributes(nullptr, &resolved), LCI_ERR_ATTRIBUTE);
  }
  {
    const ScopedVariable variable("LCI_ATTR_LOPS", "2");
    EXPECT_EQ(resolve_attributes(&set, &resolved), LCI_ERR_ATTRIBUTE);
    EXPECT_PRED_FORMAT2(IsSubstring, "did you mean \"loops\"?", last_error());
  }
  {
    const ScopedVariable variable("LCI_ATTR_loops", "2");
    EXPECT_EQ(resolve_attributes(&set, &resolved), LCI_ERR_ATTRIBUTE);
  }
  EXPECT_EQ(set.set("loops", "2"), LCI_ERR_ATTRIBUTE) << "it is not the core's";
  EXPECT_EQ(set.own(nullptr), LCI_ERR_ARGUMENT);
}

// Proves: A11
TEST(Attributes, UnknownBootstrapNamesTheChoices) {
  AttributeSet set;
  EXPECT_EQ(set.set("bootstrap", "file;mpi"), LCI_ERR_ATTRIBUTE);
  for (const auto choice : kBootstrapNames) {
    EXPECT_PRED_FORMAT2(IsSubstring, std::string(choice), std::string(last_error()));
  }
}

TEST(Attributes, PacketsMustFitTheirBound) {
  const AttributeSet set = explicit_value("packets_max", "255");
  Attributes resolved;
  EXPECT_EQ(resolve_attributes(&set, &resolved), LCI_ERR_ATTRIBUTE);
  EXPECT_PRED_FORMAT2(IsSubstring, "packets_max", last_error());
}

TEST(Attributes, TextShowsClampedValues) {
  Attributes attributes;
  attributes.ring_bytes = 4096;
  attributes.membarrier = MembarrierMode::kOff;
  EXPECT_EQ(attribute_text(attributes, "ring_bytes"), "4096");
  EXPECT_EQ(attribute_text(attributes, "membarrier"), "off");
  EXPECT_EQ(attribute_text(attributes, "nothing"), std::nullopt);
}

TEST(Attributes, TableHasNamesDefaultsAndHelpUpToItsEnd) {
  uint32_t index = 0;
  for (; attr_name(index) != nullptr; ++index) {
    ASSERT_NE(attr_default(index), nullptr);
    EXPECT_GT(std::string(attr_help(index)).size(), 10u) << attr_name(index);
  }
  EXPECT_EQ(attr_default(index), nullptr);
  EXPECT_EQ(attr_help(index), nullptr);
  EXPECT_EQ(attr_name(0xFFFFFFFFu), nullptr);
}

TEST(NameList, SplitsAtSpacesCommasAndSemicolons) {
  NameList list(" ,file;;local, a b;");
  std::vector<std::string> names;
  while (const auto name = list.next()) names.emplace_back(*name);
  EXPECT_EQ(names, (std::vector<std::string>{"file", "local", "a", "b"}));
  EXPECT_EQ(NameList(" ;,").next(), std::nullopt);
}

}  // namespace
}  // namespace lci
