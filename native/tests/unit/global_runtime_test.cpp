// SPDX-License-Identifier: Apache-2.0
// The global runtime, and the attributes that a program sets for all its runtimes.
#include <gtest/gtest.h>

#include <string>

#include "lci/lci.h"
#include "support/environment.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

using lci::test::ScopedVariable;

std::string attribute(const lci_runtime* runtime, const char* name) {
  char text[256];
  return lci_runtime_attr(runtime, name, text, sizeof text) == LCI_DONE ? text : lci_last_error();
}

/// A runtime of its own, with one attribute set explicitly if @p value is not null.
std::string attribute_of_new(const char* name, const char* value) {
  lci_attrs* attrs = nullptr;
  EXPECT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  if (value) {
    EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, name, value)) << lci_last_error();
  }
  lci_runtime* runtime = nullptr;
  EXPECT_EQ(LCI_DONE, lci_runtime_create(attrs, nullptr, 0, &runtime)) << lci_last_error();
  lci_attrs_free(attrs);
  if (!runtime) return "";
  const std::string text = attribute(runtime, name);
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 100));
  return text;
}

// Three inits need three finis; without a runtime attributes can be set, and rank and size are -1.
// Proves: A1 A4 A5
TEST(GlobalRuntime, LivesFromTheFirstInitToTheLastFini) {
  EXPECT_EQ(-1, lci_global_rank());
  EXPECT_EQ(-1, lci_global_size());
  EXPECT_EQ(nullptr, lci_global_runtime());
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_global_fini(0)) << "nothing to undo";
  lci_comp* queue = nullptr;
  EXPECT_EQ(0u, lci_runtime_max_eager(nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_create(nullptr, 4, &queue)) << "null stands for nothing";
  ASSERT_EQ(LCI_DONE, lci_global_set("log_keep", "16"));
  ASSERT_EQ(LCI_DONE, lci_global_set("log_outfile", "none"));

  lci_runtime *first = nullptr, *second = nullptr;
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "devices", "2"));
  ASSERT_EQ(LCI_DONE, lci_global_init(nullptr, &first)) << lci_last_error();
  char line[1024];
  int32_t level = -1;
  lci_log* log = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_log(nullptr, &log));
  EXPECT_EQ(LCI_RETRY, lci_log_take(log, &level, line, sizeof line)) << line;
  ASSERT_EQ(LCI_DONE, lci_global_init(attrs, &second)) << lci_last_error();
  EXPECT_EQ(lci_runtime_max_eager(first), lci_runtime_max_eager(nullptr));
  uint8_t room = 0;
  EXPECT_EQ(LCI_DONE, lci_port_reply_room(nullptr, 3, 1, 8, &room)) << lci_last_error();
  lci_status nothing{};
  EXPECT_EQ(LCI_DONE, lci_arrival_free(nullptr, &nothing)) << lci_last_error();
  lci_attrs_free(attrs);
  EXPECT_EQ(first, second);
  EXPECT_EQ("1", attribute(nullptr, "devices")) << "the attributes of the second are not looked at";
  ASSERT_EQ(LCI_DONE, lci_log_take(log, &level, line, sizeof line)) << "it warns";
  EXPECT_EQ(LCI_LOG_WARN, level);
  EXPECT_NE(std::string::npos, std::string(line).find("there is a global runtime already")) << line;
  lci_log_free(log);
  ASSERT_EQ(LCI_DONE, lci_global_init(nullptr, nullptr));
  EXPECT_EQ(first, lci_global_runtime());

  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(LCI_DONE, lci_global_fini(100)) << lci_last_error();
    EXPECT_EQ(0, lci_global_rank());
    EXPECT_EQ(1, lci_global_size());
  }
  ASSERT_EQ(LCI_DONE, lci_queue_create(nullptr, 4, &queue)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue));
  ASSERT_EQ(LCI_DONE, lci_global_fini(100));
  EXPECT_EQ(-1, lci_global_rank());
  EXPECT_EQ(-1, lci_global_size());
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_global_fini(100));
  ASSERT_EQ(LCI_DONE, lci_global_set("log_keep", nullptr));
  ASSERT_EQ(LCI_DONE, lci_global_set("log_outfile", nullptr));
}

// Null in place of runtime and device means the global ones; the local bootstrap is enough to talk to oneself, by every
// protocol.
// Proves: A4 A16
TEST(GlobalRuntime, IsWhatNullMeans) {
  ASSERT_EQ(LCI_DONE, lci_global_init(nullptr, nullptr)) << lci_last_error();
  EXPECT_EQ("local", attribute(nullptr, "bootstrap_used"));
  lci_comp *inbox = nullptr, *ended = nullptr;
  ASSERT_EQ(LCI_DONE, lci_queue_create(nullptr, 16, &inbox));
  ASSERT_EQ(LCI_DONE, lci_queue_create(nullptr, 16, &ended));
  ASSERT_EQ(LCI_DONE, lci_port_open(nullptr, 3, "", inbox, 0, 0));
  lci_device* device = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_device(nullptr, 0, &device));
  for (const uint32_t size : {0u, 8u, 192u, 4000u, 100'000u}) {
    const auto bytes = pattern(size, size);
    int code = LCI_RETRY;
    for (const lci::test::Deadline deadline(30); is_retry(code) && !deadline.passed();) {
      code = lci_post_am(nullptr, 0, 3, size, bytes.data(), size, ended, 7);
      lci_progress(nullptr);
    }
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code << lci_last_error();
    lci_status status{};
    if (code == LCI_POSTED) {
      ASSERT_EQ(LCI_DONE, lci_queue_wait(ended, &device, 1, 30'000, &status)) << lci_last_error();
      EXPECT_EQ(7u, status.user_context);
    }
    ASSERT_EQ(LCI_DONE, lci_queue_wait(inbox, &device, 1, 30'000, &status)) << lci_last_error();
    EXPECT_EQ(0u, status.rank);
    ASSERT_EQ(size, status.size);
    EXPECT_EQ(0, compare(bytes.data(), status.buffer, size));
    lci_buffer_free(status.buffer);
  }
  uint64_t number = 5;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(nullptr, 0, 9, &number, sizeof number, ended, 1, nullptr));
  const uint64_t sent = 77;
  ASSERT_EQ(LCI_DONE, lci_post_send(nullptr, 0, 9, &sent, sizeof sent, nullptr, 0)) << lci_last_error();
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_wait(ended, &device, 1, 30'000, &status));
  EXPECT_EQ(77u, number);
  ASSERT_EQ(LCI_DONE, lci_global_fini(1000)) << lci_last_error();
}

// Proves: A6
TEST(GlobalRuntime, AttributesHaveFourLevels) {
  EXPECT_EQ("1024", attribute_of_new("inbox_messages", nullptr));
  const ScopedVariable environment("LCI_ATTR_INBOX_MESSAGES", "11");
  EXPECT_EQ("11", attribute_of_new("inbox_messages", nullptr));
  ASSERT_EQ(LCI_DONE, lci_global_set("inbox_messages", "12")) << lci_last_error();
  EXPECT_EQ("12", attribute_of_new("inbox_messages", nullptr));
  EXPECT_EQ("13", attribute_of_new("inbox_messages", "13"));
  ASSERT_EQ(LCI_DONE, lci_global_set("cq_type", "array"));
  EXPECT_EQ("array", attribute_of_new("cq_type", nullptr)) << "an enumerator goes by its name";
  ASSERT_EQ(LCI_DONE, lci_global_set("cq_type", nullptr));
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_global_set("inbox_mesages", "1"));
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_global_set("cq_type", "quick")) << "an unknown option is an error";
  ASSERT_EQ(LCI_DONE, lci_global_set("inbox_messages", nullptr));
  EXPECT_EQ("11", attribute_of_new("inbox_messages", nullptr)) << "what was set is undone";
}

}  // namespace
}  // namespace lci_test
