// SPDX-License-Identifier: Apache-2.0
// Where the calling thread may run.
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "api/guard.hpp"

namespace lci {
namespace {

/// A set of CPUs as the system has it; machines may have more of them than a cpu_set_t holds.
class CpuSet {
 public:
  /// The CPUs that the calling thread may use; false with errno.
  bool load() {
    for (words_.resize(CPU_SETSIZE / 64); sched_getaffinity(0, bytes(), get()) != 0; words_.resize(words_.size() * 2)) {
      if (errno != EINVAL || words_.size() > 4096) return false;
    }
    return true;
  }
  int count() const { return CPU_COUNT_S(bytes(), get()); }
  /// Keeps only the one that has @p offset others before it.
  void keep(uint32_t offset) {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (int bit = 0; bit < 64; ++bit) {
        const uint64_t mask = uint64_t{1} << bit;
        if ((words_[word] & mask) != 0 && offset-- != 0) words_[word] &= ~mask;
      }
    }
  }
  bool store() { return sched_setaffinity(0, bytes(), get()) == 0; }

 private:
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }
  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  const cpu_set_t* get() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }
  std::vector<uint64_t> words_;
};

}  // namespace
}  // namespace lci

using namespace lci;

extern "C" {

int lci_thread_pin(uint32_t offset) {
  return guarded("pin thread", [&]() -> int {
    CpuSet cpus;
    if (!cpus.load()) return fail(LCI_ERR_ARGUMENT, "pin thread: %s", std::strerror(errno));
    if (const auto allowed = static_cast<uint32_t>(cpus.count()); offset >= allowed) {
      return fail(LCI_ERR_ARGUMENT, "pin thread: offset %u, but this thread may use %u CPUs (0..%u)", offset, allowed,
                  allowed - 1);
    }
    cpus.keep(offset);
    if (!cpus.store()) return fail(LCI_ERR_ARGUMENT, "pin thread: %s", std::strerror(errno));
    return LCI_DONE;
  });
}

}  // extern "C"
