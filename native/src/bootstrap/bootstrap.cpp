// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/bootstrap.hpp"

#include "base/error.hpp"
#include "bootstrap/file_bootstrap.hpp"
#include "bootstrap/inproc_bootstrap.hpp"
#include "bootstrap/launcher_seen.hpp"
#include "bootstrap/local_bootstrap.hpp"
#include "bootstrap/pmi_bootstrap.hpp"
#include "bootstrap/tcp_bootstrap.hpp"

namespace lci {
namespace {

int unknown_bootstrap(std::string_view name) {
  std::string choices;
  for (const auto known : kBootstrapNames) choices += " " + std::string(known);
  return fail(LCI_ERR_ATTRIBUTE, "bootstrap: unknown name \"%.*s\"; choose from:%s", static_cast<int>(name.size()),
              name.data(), choices.c_str());
}

/// A process that others were started with must not take itself for the only one, unless the user says so by a list of
/// nothing but local.
int open_local(const Attributes& attributes, bool is_only_choice, const std::string& hint,
               std::unique_ptr<Bootstrap>* out) {
  const std::string seen = is_only_choice ? "" : launcher_seen();
  if (seen.empty()) {
    *out = std::make_unique<LocalBootstrap>();
    return LCI_DONE;
  }
  return fail(
      LCI_ERR_BOOTSTRAP,
      "bootstrap: a launcher has started several processes (%s), and none of \"%s\" finds the others: start them "
      "by ./lci run, mpiexec.hydra, mpirun or srun --mpi=pmi2, or give each LCI_ROOT, LCI_RANK and LCI_SIZE; attribute "
      "bootstrap=local lets each run alone%s",
      seen.c_str(), attributes.bootstrap.c_str(), hint.c_str());
}

/// A launcher with PMIx that is out of reach may be around the one that has started this process, or alone with it: the
/// list goes on, and *hint says what was wrong.
bool opens_pmix(const Attributes& attributes, std::string* hint, std::unique_ptr<Bootstrap>* out) {
  if (!PmiSettings::available(attributes, PmiVersion::kX)) return false;
  if (PmiBootstrap::open(attributes, PmiVersion::kX, out) == LCI_DONE) return true;
  *hint = std::string(" (") + last_error() + ")";
  return false;
}

}  // namespace

int open_bootstrap(const Attributes& attributes, lci_inproc* job, uint32_t inproc_rank,
                   std::unique_ptr<Bootstrap>* out) {
  if (job != nullptr) return InprocBootstrap::open(job, inproc_rank, out);
  NameList names(attributes.bootstrap.c_str());
  bool is_first = true;
  std::string hint;
  for (; const auto name = names.next(); is_first = false) {
    if (*name == "file") {
      if (FileBootstrap::available(attributes)) return FileBootstrap::open(attributes, out);
    } else if (*name == "tcp") {
      if (TcpBootstrap::available(attributes)) return TcpBootstrap::open(attributes, out);
    } else if (*name == "pmix") {
      if (opens_pmix(attributes, &hint, out)) return LCI_DONE;
    } else if (*name == "pmi2" || *name == "pmi1") {
      const PmiVersion version = *name == "pmi2" ? PmiVersion::k2 : PmiVersion::k1;
      if (PmiSettings::available(attributes, version)) return PmiBootstrap::open(attributes, version, out);
    } else if (*name == "local") {
      return open_local(attributes, is_first, hint, out);
    } else if (*name != "inproc") {  // inproc needs a job object: not available here
      return unknown_bootstrap(*name);
    }
  }
  return fail(LCI_ERR_BOOTSTRAP,
              "bootstrap: none of \"%s\" is available: file needs a job directory (start by the "
              "launcher), tcp a root (LCI_ROOT), pmix a launcher that sets PMIX_RANK, pmi1 and pmi2 one that sets "
              "PMI_FD, inproc a job object; add local to run as rank 0 of 1%s",
              attributes.bootstrap.c_str(), hint.c_str());
}

}  // namespace lci
