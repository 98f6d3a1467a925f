// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bootstrap/pmix_abi.hpp"

namespace lci {

/// The functions of a library of PMIx. It stays loaded: it has threads.
struct PmixLibrary {
  pmix::Init init = nullptr;
  pmix::Finalize finalize = nullptr;
  pmix::Put put = nullptr;
  pmix::Commit commit = nullptr;
  pmix::Fence fence = nullptr;
  pmix::Get get = nullptr;
  pmix::ErrorText error_text = nullptr;

  /// LCI_ERR_BOOTSTRAP if there is no such file, or a function is missing.
  static int load(const std::string& file, PmixLibrary* out);
  /// LCI_ERR_BOOTSTRAP, with what the library says of @p status.
  int refuse(const char* asked, int status) const;
};

}  // namespace lci
