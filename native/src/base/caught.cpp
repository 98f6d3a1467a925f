// SPDX-License-Identifier: Apache-2.0
#include "base/caught.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

namespace lci {
namespace {

/// What the C++ ABI says of it (Itanium, 2.2.2); <cxxabi.h> only names it.
struct Globals {
  void* caught;
  unsigned int uncaught;
};

}  // namespace

void count_as_caught() noexcept {
  auto* ours = reinterpret_cast<Globals*>(abi::__cxa_get_globals());
  if (static_cast<int>(ours->uncaught) >= 0) return;  // thrown and caught by the same C++ library
  using GetGlobals = Globals* (*)();
  const auto of_program = reinterpret_cast<GetGlobals>(dlsym(RTLD_DEFAULT, "__cxa_get_globals"));
  Globals* theirs = of_program ? of_program() : nullptr;
  if (!theirs || theirs == ours) return;  // the program has linked its own and hidden it
  ++ours->uncaught;
  --theirs->uncaught;
}

}  // namespace lci
