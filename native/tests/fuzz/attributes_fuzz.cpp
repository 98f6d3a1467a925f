// SPDX-License-Identifier: Apache-2.0
// Attributes, as whoever starts a rank sets them in its environment: a typed error with a text, or values that say the
// same when they are read again.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/attributes.hpp"
#include "base/error.hpp"
#include "fuzz/input.hpp"
#include "lci/lci.h"
#include "transport/chaos/chaos.hpp"

namespace {

using lci_fuzz::Input;

/// A known name, or any text.
std::string name_of(Input& input) {
  const uint8_t index = input.number<uint8_t>();
  const char* known = lci::attr_name(index);
  return known ? known : input.text();
}

bool is_refusal(int code) {
  return code == LCI_ERR_ATTRIBUTE && *lci::last_error() != '\0';
}

/// No variable can have another name or content.
bool fits_environment(const std::string& name, const std::string& value) {
  return !name.empty() && name.find_first_of(std::string("=\0", 2)) == std::string::npos &&
         value.find('\0') == std::string::npos;
}

std::string variable_of(std::string name) {
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return "LCI_ATTR_" + name;
}

/// Of what is not allocated the texts say 0, which nobody can ask for.
bool is_not_there(const lci::Attributes& attributes, std::string_view name) {
  if (name == "devices") return !attributes.alloc_default_device;
  return (name == "packets" || name == "packets_max") && !attributes.alloc_default_packet_pool;
}

void check_same_when_read_again(const lci::Attributes& attributes) {
  lci::AttributeSet again;
  for (uint32_t i = 0; const char* name = lci::attr_name(i); ++i) {
    const std::string text = *lci::attribute_text(attributes, name);
    if (is_not_there(attributes, name)) {
      FUZZ_EXPECT(text == "0");
    } else {
      FUZZ_EXPECT(again.set(name, text.c_str()) == LCI_DONE);
    }
  }
  lci::Attributes second;
  FUZZ_EXPECT(lci::resolve_attributes(&again, &second) == LCI_DONE);
  for (uint32_t i = 0; const char* name = lci::attr_name(i); ++i) {
    FUZZ_EXPECT(lci::attribute_text(attributes, name) == lci::attribute_text(second, name));
  }
}

void check_chaos(const lci::ChaosPlan& plan) {
  FUZZ_EXPECT(plan.delay >= 0 && plan.delay <= 1 && plan.refuse >= 0 && plan.refuse <= 1);
  FUZZ_EXPECT(plan.shorten >= 0 && plan.shorten <= 1 && plan.ticks >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  lci::AttributeSet given;
  std::string variable;
  for (uint8_t count = input.number<uint8_t>() % 4; count > 0; --count) {
    const bool explicitly = input.number<uint8_t>() % 2;
    const std::string name = name_of(input), value = input.text();
    if (explicitly) {
      const int code = given.set(name.c_str(), value.c_str());
      FUZZ_EXPECT(code == LCI_DONE || is_refusal(code));
    } else if (fits_environment(name, value)) {
      if (!variable.empty()) unsetenv(variable.c_str());
      variable = variable_of(name);
      FUZZ_EXPECT(setenv(variable.c_str(), value.c_str(), 1) == 0);
    }
  }
  lci::Attributes attributes;
  const int code = lci::resolve_attributes(&given, &attributes);
  if (!variable.empty()) unsetenv(variable.c_str());
  if (code != LCI_DONE) {
    FUZZ_EXPECT(is_refusal(code));
    return 0;
  }
  check_same_when_read_again(attributes);
  const auto chaos = lci::ChaosPlan::parse(attributes.chaos);
  FUZZ_EXPECT(chaos.has_value());  // the attribute takes nothing else
  check_chaos(*chaos);
  return 0;
}
