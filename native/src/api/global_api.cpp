// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>

#include "api/global.hpp"

using namespace lci;

namespace {

struct Global {
  std::mutex mutex;    // held while the runtime is created and closed, so never taken in a handler
  uint32_t users = 0;  // inits without their fini
  std::mutex defaults_mutex;
  AttributeSet defaults;  // of all runtimes that are created from now on
  std::atomic<lci_runtime*> runtime{nullptr};
};

Global& global() {
  static Global the_one;
  return the_one;
}

}  // namespace

namespace lci {

lci_runtime* global_runtime() {
  return global().runtime.load(std::memory_order_acquire);
}

AttributeSet with_global_defaults(const AttributeSet* given) {
  AttributeSet set;
  if (given) set = *given;
  const std::lock_guard<std::mutex> guard(global().defaults_mutex);
  set.complete(global().defaults);
  return set;
}

}  // namespace lci

extern "C" {

int lci_global_init(const lci_attrs* attrs, lci_runtime** out) {
  LCI_NOT_IN_HANDLER("global init");
  return guarded("global init", [&]() -> int {
    Global& state = global();
    // Held while the ranks meet: a second thread that comes meanwhile waits, and gets the same runtime.
    const std::lock_guard<std::mutex> guard(state.mutex);
    if (lci_runtime* there = state.runtime.load()) {
      ++state.users;
      if (attrs) {
        LCI_LOG(there->runtime->log(), LogLevel::kWarn, "global",
                "there is a global runtime already; the attributes given now are not looked at");
      }
      if (out) *out = there;
      return LCI_DONE;
    }
    lci_runtime* created = nullptr;
    const AttributeSet set = with_global_defaults(attrs ? &attrs->set : nullptr);
    if (const int code = create_runtime(set, nullptr, 0, &created); code != LCI_DONE) return code;
    state.users = 1;
    state.runtime.store(created, std::memory_order_release);
    if (out) *out = created;
    return LCI_DONE;
  });
}

int lci_global_fini(uint32_t timeout_ms) {
  LCI_NOT_IN_HANDLER("global fini");
  return guarded("global fini", [&]() -> int {
    Global& state = global();
    const std::lock_guard<std::mutex> guard(state.mutex);
    if (state.users == 0) return fail(LCI_ERR_ARGUMENT, "global fini: there is no global runtime");
    if (state.users > 1) {
      --state.users;
      return LCI_DONE;
    }
    const int code = lci_runtime_close(state.runtime.load(), timeout_ms);
    if (code != LCI_DONE) return code;  // a lane is still there
    state.runtime.store(nullptr, std::memory_order_release);
    state.users = 0;
    return LCI_DONE;
  });
}

lci_runtime* lci_global_runtime(void) {
  return global_runtime();
}

int32_t lci_global_rank(void) {
  const lci_runtime* runtime = global_runtime();
  return runtime ? static_cast<int32_t>(runtime->runtime->rank()) : -1;
}

int32_t lci_global_size(void) {
  const lci_runtime* runtime = global_runtime();
  return runtime ? static_cast<int32_t>(runtime->runtime->size()) : -1;
}

int lci_global_set(const char* name, const char* value) {
  LCI_NOT_NULL(name, "set global attribute");
  return guarded("set global attribute", [&]() -> int {
    const std::lock_guard<std::mutex> guard(global().defaults_mutex);
    if (value) return global().defaults.set(name, value);
    global().defaults.unset(name);
    return LCI_DONE;
  });
}

}  // extern "C"
