// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix_library.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "bootstrap/pmi_settings.hpp"

namespace lci {
namespace {

template <typename Function>
void find(void* library, const char* name, Function* out, const char** missing) {
  *out = reinterpret_cast<Function>(::dlsym(library, name));
  if (*out == nullptr && *missing == nullptr) *missing = name;
}

}  // namespace

int PmixLibrary::load(const std::string& file, PmixLibrary* out) {
  const char* title = PmiSettings::title(PmiVersion::kX);
  // Its names stay its own: a program may have another one.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(LCI_ERR_BOOTSTRAP, "%s: the library of PMIx cannot be loaded: %.300s; LCI_PMIX_LIBRARY names its file",
                title, ::dlerror());
  }
  const char* missing = nullptr;
  find(library, "PMIx_Init", &out->init, &missing);
  find(library, "PMIx_Finalize", &out->finalize, &missing);
  find(library, "PMIx_Put", &out->put, &missing);
  find(library, "PMIx_Commit", &out->commit, &missing);
  find(library, "PMIx_Fence_nb", &out->fence, &missing);
  find(library, "PMIx_Get_nb", &out->get, &missing);
  find(library, "PMIx_Error_string", &out->error_text, &missing);
  if (missing == nullptr) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP, "%s: %.300s has no function %s", title, file.c_str(), missing);
}

int PmixLibrary::refuse(const char* asked, int status) const {
  const char* text = error_text(status);
  return fail(LCI_ERR_BOOTSTRAP, "%s: asked for %s, the library of PMIx answers %.100s (%d)",
              PmiSettings::title(PmiVersion::kX), asked, text == nullptr ? "an error" : text, status);
}

}  // namespace lci
