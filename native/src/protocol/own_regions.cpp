// SPDX-License-Identifier: Apache-2.0
#include "protocol/own_regions.hpp"

#include <cstring>

namespace lci {

CopyWords OwnRegions::copy_words() {
  OwnMemory& memory = parts_.memory();
  return {memory.header().device[index_].copying, memory.copying_here(index_), parts_.owner_barrier.owners_pay()};
}

int OwnRegions::write(const RemoteAccess& access, const std::byte* from, uint32_t size) {
  const CopyGuard guard(copy_words());
  std::byte* to = nullptr;
  const int code = parts_.regions.resolve(access, size, &to);
  if (code == LCI_DONE && size != 0) std::memcpy(to, from, size);
  count(code, size);
  return code;
}

int OwnRegions::read(const RemoteAccess& access, std::byte* to, uint32_t size) {
  const CopyGuard guard(copy_words());
  std::byte* from = nullptr;
  const int code = parts_.regions.resolve(access, size, &from);
  if (code == LCI_DONE) std::memcpy(to, from, size);
  count(code, size);
  return code;
}

int OwnRegions::apply(const RemoteAccess& access, const AtomicStep& step, uint64_t* before) {
  const CopyGuard guard(copy_words());
  std::byte* at = nullptr;
  int code = parts_.regions.resolve(access, kAtomicWord, &at);
  if (code == LCI_DONE && !AtomicStep::fits(at)) code = LCI_ERR_ARGUMENT;
  if (code == LCI_DONE) *before = step.apply(at);
  count(code, kAtomicWord);
  return code;
}

int OwnRegions::check(const RemoteAccess& access, uint64_t size) const {
  std::byte* ignored = nullptr;
  return parts_.regions.resolve(access, size, &ignored);
}

void OwnRegions::count(int code, uint32_t size) {
  counters_.add(code == LCI_DONE ? Metric::rma_served : Metric::rma_refused, code == LCI_DONE ? size : 1);
}

}  // namespace lci
