// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "api/global.hpp"

using namespace lci;

extern "C" {

int lci_runtime_log(lci_runtime* runtime, lci_log** out) {
  LCI_RUNTIME(runtime, "get log");
  LCI_NOT_NULL(out, "get log");
  return guarded("get log", [&]() -> int {
    *out = new lci_log{runtime->runtime->share_log()};
    return LCI_DONE;
  });
}

void lci_log_free(lci_log* log) {
  delete log;
}

int lci_log_take(lci_log* log, int32_t* out_level, char* out, size_t out_size) {
  LCI_NOT_NULL(log, "take log line");
  LCI_NOT_NULL(out_level, "take log line");
  LCI_NOT_NULL(out, "take log line");
  if (out_size == 0) return fail(LCI_ERR_SIZE, "take log line: no room");
  return guarded("take log line", [&]() -> int {
    LogLevel level;
    std::string line;
    if (!log->log->take(&level, &line)) return LCI_RETRY;
    const size_t copied = std::min(line.size(), out_size - 1);
    std::memcpy(out, line.data(), copied);
    out[copied] = '\0';
    *out_level = static_cast<int32_t>(level);
    return LCI_DONE;
  });
}

}  // extern "C"
