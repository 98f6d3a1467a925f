// SPDX-License-Identifier: Apache-2.0
// What resources say of themselves.
#include <gtest/gtest.h>

#include <string>

#include "support/job.hpp"

namespace lci_test {
namespace {

template <typename Get>
std::string text_of(Get get) {
  char text[256];
  return get(text, sizeof text) == LCI_DONE ? text : lci_code_name(get(text, sizeof text));
}

std::string of_runtime(lci_runtime* runtime, const char* name) {
  return text_of([&](char* out, size_t size) { return lci_runtime_attr(runtime, name, out, size); });
}
std::string of_comp(lci_comp* comp, const char* name) {
  return text_of([&](char* out, size_t size) { return lci_comp_attr(comp, name, out, size); });
}
std::string of_port(lci_runtime* runtime, uint32_t port, const char* name) {
  return text_of([&](char* out, size_t size) { return lci_port_attr(runtime, port, name, out, size); });
}
std::string of_engine(lci_runtime* runtime, uint32_t engine, const char* name) {
  return text_of([&](char* out, size_t size) { return lci_engine_attr(runtime, engine, name, out, size); });
}
std::string of_device(lci_device* device, const char* name) {
  return text_of([&](char* out, size_t size) { return lci_device_attr(device, name, out, size); });
}

// What was asked for beyond what can be is clamped, and the getters show it: packets by the arena, a port by its queue.
// Proves: A7
TEST(AttributeGetters, ShowWhatHolds) {
  Job job(1, {{"packets_max", "1000000"}, {"arena_bytes", "64M"}, {"devices", "2"}, {"matching_engine_type", "queue"}});
  lci_runtime* runtime = job.runtime(0);
  EXPECT_EQ("8192", of_runtime(runtime, "packets_max")) << "64 MiB of 8 KiB";
  EXPECT_EQ("2", of_runtime(runtime, "devices"));
  EXPECT_EQ("error_attribute", of_runtime(runtime, "packets_most"));

  lci_comp* queue = make_queue(runtime, 64);
  ASSERT_EQ(LCI_DONE, lci_port_open(runtime, 5, "five", queue, 1'000'000, 4096));
  EXPECT_EQ("64", of_port(runtime, 5, "inbox_messages"));
  EXPECT_EQ("4096", of_port(runtime, 5, "inbox_bytes"));
  EXPECT_EQ("five", of_port(runtime, 5, "port_name"));
  EXPECT_EQ("1", of_port(runtime, 5, "generation"));
  EXPECT_EQ("error_port", of_port(runtime, 6, "port_name"));
  EXPECT_EQ("cq", of_comp(queue, "comp_type"));
  EXPECT_EQ("array", of_comp(queue, "cq_type"));
  EXPECT_EQ("64", of_comp(queue, "queue_capacity"));
  EXPECT_EQ(std::to_string(lci_comp_id(queue)), of_comp(queue, "id"));
  EXPECT_EQ("error_attribute", of_comp(queue, "sync_threshold"));

  lci_comp* comp = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(runtime, 3, &comp));
  EXPECT_EQ("sync", of_comp(comp, "comp_type"));
  EXPECT_EQ("3", of_comp(comp, "sync_threshold"));
  ASSERT_EQ(LCI_DONE, lci_counter_create(runtime, &comp));
  EXPECT_EQ("counter", of_comp(comp, "comp_type"));
  ASSERT_EQ(LCI_DONE, lci_handler_create(
                          runtime, [](const lci_status*, void*) {}, nullptr, &comp));
  EXPECT_EQ("handler", of_comp(comp, "comp_type"));
  ASSERT_EQ(LCI_DONE,
            lci_custom_create(
                runtime, [](const lci_status*, void*) { return static_cast<int>(LCI_DONE); }, nullptr, 0, &comp));
  EXPECT_EQ("custom", of_comp(comp, "comp_type"));
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(runtime, nullptr, 0, &graph));
  EXPECT_EQ("graph", of_comp(lci_graph_comp(graph), "comp_type"));

  ASSERT_EQ(LCI_DONE, lci_engine_create(runtime, 4, LCI_ENGINE_MAP | LCI_ENGINE_KEYED, nullptr, nullptr));
  EXPECT_EQ("queue", of_engine(runtime, 0, "matching_engine_type"));
  EXPECT_EQ("map", of_engine(runtime, 4, "matching_engine_type"));
  EXPECT_EQ("1", of_engine(runtime, 4, "keyed"));
  EXPECT_EQ("error_argument", of_engine(runtime, 7, "keyed"));
  EXPECT_EQ("1", of_device(job.device(0, 1), "uid"));
  EXPECT_EQ("any", of_device(job.device(0, 1), "owner"));
}

// Proves: A7
TEST(AttributeGetters, OutputsCannotBeSet) {
  Job job(1);
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  const std::pair<const char*, std::string> outputs[] = {
      {"max_eager", std::to_string(lci_runtime_max_eager(job.runtime(0)))},
      {"max_inline", std::to_string(LCI_INLINE_MAX)},
      {"max_tag", std::to_string(LCI_MAX_TAG)},
      {"max_signal_tag", "65535"},
      {"max_port", "32767"},
      {"max_engine", "255"},
      {"bootstrap_used", "inproc"},
  };
  for (const auto& [name, value] : outputs) {
    EXPECT_EQ(value, of_runtime(job.runtime(0), name));
    EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_attrs_set(attrs, name, "1")) << name;
  }
  lci_attrs_free(attrs);
}

// All at once, as a set that makes another runtime like the first.
// Proves: A7
TEST(AttributeGetters, GiveAllAsASet) {
  Job job(1, {{"inbox_messages", "77"}, {"packets_max", "1000000"}, {"arena_bytes", "64M"}});
  lci_attrs* all = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_attrs(job.runtime(0), &all)) << lci_last_error();
  lci_runtime* like = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_create(all, nullptr, 0, &like)) << lci_last_error();
  for (uint32_t i = 0; lci_attr_name(i); ++i) {
    const char* name = lci_attr_name(i);
    const std::string text = text_of([&](char* out, size_t size) { return lci_attrs_get(all, name, out, size); });
    EXPECT_EQ(text, of_runtime(job.runtime(0), name)) << name;
    EXPECT_EQ(text, of_runtime(like, name)) << name;
  }
  EXPECT_EQ("77", of_runtime(like, "inbox_messages"));
  char small[3];
  EXPECT_EQ(LCI_ERR_SIZE, lci_attrs_get(all, "inbox_bytes", small, sizeof small));
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_attrs_get(all, "nothing", small, sizeof small));
  lci_attrs_free(all);
  EXPECT_EQ(LCI_DONE, lci_runtime_close(like, 100));
}

}  // namespace
}  // namespace lci_test
