// SPDX-License-Identifier: Apache-2.0
// A library of PMIx for tests: it hands each call to what the test has put in the launcher's place. Without FENCE it
// lacks a function.
#include "support/fake_pmix.hpp"

namespace {
lci::test::FakePmixProcess* process;
}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace lci;

FAKE_EXPORT void fake_pmix_be(test::FakePmixProcess* whom) {
  process = whom;
}
FAKE_EXPORT int PMIx_Init(pmix::Process* self, pmix::Info*, size_t) {
  return process->init(self);
}
FAKE_EXPORT int PMIx_Finalize(const pmix::Info*, size_t) {
  return process->finalize();
}
FAKE_EXPORT int PMIx_Put(uint8_t scope, const char* key, pmix::Value* value) {
  return process->put(scope, key, value);
}
FAKE_EXPORT int PMIx_Commit() {
  return process->commit();
}
#ifdef FAKE_PMIX_FENCE
FAKE_EXPORT int PMIx_Fence_nb(const pmix::Process*, size_t, const pmix::Info* infos, size_t count, pmix::Done done,
                              void* context) {
  return process->fence(infos, count, done, context);
}
#endif
FAKE_EXPORT int PMIx_Get_nb(const pmix::Process* whose, const char* key, const pmix::Info* infos, size_t count,
                            pmix::Got got, void* context) {
  return process->get(whose, key, infos, count, got, context);
}
FAKE_EXPORT const char* PMIx_Error_string(int status) {
  return status == -1 ? "REFUSED" : nullptr;
}
