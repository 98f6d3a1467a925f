// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/bootstrap.hpp"

#include "base/error.hpp"
#include "bootstrap/file_bootstrap.hpp"
#include "bootstrap/inproc_bootstrap.hpp"
#include "bootstrap/local_bootstrap.hpp"
#include "bootstrap/tcp_bootstrap.hpp"

namespace lci {
namespace {

int unknown_bootstrap(std::string_view name) {
  std::string choices;
  for (const auto known : kBootstrapNames) choices += " " + std::string(known);
  return fail(LCI_ERR_ATTRIBUTE, "bootstrap: unknown name \"%.*s\"; choose from:%s", static_cast<int>(name.size()),
              name.data(), choices.c_str());
}

}  // namespace

int open_bootstrap(const Attributes& attributes, lci_inproc* job, uint32_t inproc_rank,
                   std::unique_ptr<Bootstrap>* out) {
  if (job != nullptr) return InprocBootstrap::open(job, inproc_rank, out);
  NameList names(attributes.bootstrap.c_str());
  while (const auto name = names.next()) {
    if (*name == "file") {
      if (FileBootstrap::available(attributes)) return FileBootstrap::open(attributes, out);
    } else if (*name == "tcp") {
      if (TcpBootstrap::available(attributes)) return TcpBootstrap::open(attributes, out);
    } else if (*name == "local") {
      *out = std::make_unique<LocalBootstrap>();
      return LCI_DONE;
    } else if (*name != "inproc") {  // inproc needs a job object: not available here
      return unknown_bootstrap(*name);
    }
  }
  return fail(LCI_ERR_BOOTSTRAP,
              "bootstrap: none of \"%s\" is available: file needs a job directory (start by the "
              "launcher), tcp a root (LCI_ROOT), inproc a job object; add local to run as rank 0 of 1",
              attributes.bootstrap.c_str());
}

}  // namespace lci
