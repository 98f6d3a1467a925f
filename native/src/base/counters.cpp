// SPDX-License-Identifier: Apache-2.0
#include "base/counters.hpp"

namespace lci {

const char* counter_name(uint32_t index) {
  static constexpr const char* kNames[] = {
#define LCI_COUNTER_NAME(name, help) #name,
      LCI_COUNTERS(LCI_COUNTER_NAME)
#undef LCI_COUNTER_NAME
  };
  return index < kCounters ? kNames[index] : nullptr;
}

const char* counter_help(uint32_t index) {
  static constexpr const char* kSentences[] = {
#define LCI_COUNTER_HELP(name, help) help,
      LCI_COUNTERS(LCI_COUNTER_HELP)
#undef LCI_COUNTER_HELP
  };
  return index < kCounters ? kSentences[index] : nullptr;
}

}  // namespace lci
