// SPDX-License-Identifier: Apache-2.0
// Attributes that would do nothing are refused with the reason. [A6, 2B-53]
#include "support/environment.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

TEST(MissingAttribute, SingleCopyIsRefusedUntilItExists) {
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  for (const char* value : {"auto", "on", "off"}) {
    EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_attrs_set(attrs, "cma", value));
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), "\"cma\" is not supported")) << lci_last_error();
    EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_global_set("cma", value));
  }
  lci_attrs_free(attrs);
  for (uint32_t i = 0; lci_attr_name(i); ++i) EXPECT_STRNE("cma", lci_attr_name(i));
}

TEST(MissingAttribute, IsRefusedInTheEnvironmentToo) {
  const lci::test::ScopedVariable variable("LCI_ATTR_CMA", "auto");
  lci_runtime* runtime = nullptr;
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, lci_runtime_create(nullptr, nullptr, 0, &runtime));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "LCI_ATTR_CMA")) << lci_last_error();
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "is not supported")) << lci_last_error();
}

}  // namespace
}  // namespace lci_test
