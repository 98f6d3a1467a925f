// SPDX-License-Identifier: Apache-2.0
// What this machine offers: `lci info` prints it.
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "build_info.hpp"
#include "lci/lci.h"
#include "transport/memory/available.hpp"
#include "transport/transport.hpp"

namespace {

std::string limit_text(int resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return std::strerror(errno);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur) + " bytes";
}

std::string describe() {
  utsname system{};
  uname(&system);
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  const bool expedited = commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  std::string text;
  auto line = [&text](const char* key, const std::string& value) { text += std::string(key) + "\t" + value + "\n"; };
  line("version", std::string(lci_version()) + " (ABI " + std::to_string(LCI_ABI_VERSION) + ")");
  line("commit", lci::kBuildCommit);
  line("built", lci::kBuildTime);
  line("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  line("processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const auto& [name, availability] : lci::list_transports()) line(("transport " + name).c_str(), availability);
  line("bootstrap", "inproc, file (launcher), tcp, pmix, pmi2, pmi1, local");
  line("memory available", std::to_string(lci::memory_available()) + " bytes");
  line("memlock limit", limit_text(RLIMIT_MEMLOCK));
  line("expedited membarrier", expedited ? "available: parking costs senders nothing" : "unavailable: senders fence");
  line("build type", lci::kBuildType);
  line("build compiler", lci::kBuildCompiler);
  line("build sanitizers", lci::kBuildSanitizers);
  line("build mutations", lci::kBuildMutations);
  return text;
}

}  // namespace

extern "C" size_t lci_info(char* out, size_t out_size) {
  try {
    const std::string text = describe();
    if (out && out_size != 0) {
      const size_t copied = text.size() < out_size ? text.size() : out_size - 1;
      std::memcpy(out, text.data(), copied);
      out[copied] = '\0';
    }
    return text.size() + 1;
  } catch (...) {
    return 0;
  }
}
