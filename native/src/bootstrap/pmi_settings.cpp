// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmi_settings.hpp"

#include <optional>

#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/tcp_settings.hpp"

namespace lci {
namespace {

constexpr size_t kLongestJob = 256;
constexpr char kPmixLibrary[] = "libpmix.so.2";  // of all versions from 2 on

bool is_slurm() {
  return environment("SLURM_STEP_ID") && environment("PMI_JOBID") && !environment("HYDI_CONTROL_FD");
}

bool lists(const Attributes& attributes, std::string_view wanted) {
  NameList names(attributes.bootstrap.c_str());
  while (const auto name = names.next()) {
    if (*name == wanted) return true;
  }
  return false;
}

int read_descriptor(const char* title, int* out) {
  const char* text = environment("PMI_FD");
  const auto number = parse_decimal<int>(text == nullptr ? "" : text);
  if (!number || *number < 0) {
    return fail(LCI_ERR_BOOTSTRAP, "%s: PMI_FD is \"%.32s\", not the number of a descriptor; start by the launcher",
                title, text == nullptr ? "" : text);
  }
  *out = *number;
  return LCI_DONE;
}

/// It goes into requests, where a semicolon ends a word.
int read_job(const char* title, std::string* out) {
  const char* text = environment("PMI_JOBID");
  *out = text == nullptr ? "" : text;
  if (out->size() <= kLongestJob && out->find_first_of("; \n") == std::string::npos) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP, "%s: PMI_JOBID is \"%.64s\", which is no name of a job", title, out->c_str());
}

int read_place(PmiSettings* out) {
  const char* title = PmiSettings::title(out->version);
  const std::string given = std::string(title) + ": PMI_FD is given";
  int code = read_descriptor(title, &out->fd);
  if (code == LCI_DONE) code = rank_or_size(given.c_str(), -1, "PMI_RANK", &out->rank);
  if (code == LCI_DONE) code = rank_or_size(given.c_str(), -1, "PMI_SIZE", &out->size);
  if (code == LCI_DONE) code = read_job(title, &out->job);
  return code == LCI_DONE ? check_place(title, out->rank, out->size) : code;
}

}  // namespace

const char* PmiSettings::title(PmiVersion version) {
  constexpr const char* kTitles[] = {"bootstrap pmi1", "bootstrap pmi2", "bootstrap pmix"};
  return kTitles[static_cast<size_t>(version)];
}

const char* PmiSettings::name(PmiVersion version) {
  return title(version) + sizeof "bootstrap";
}

bool PmiSettings::available(const Attributes& attributes, PmiVersion version) {
  if (version == PmiVersion::kX) return environment("PMIX_RANK") != nullptr;
  if (environment("PMI_FD") == nullptr) return false;
  return version == PmiVersion::k1 || is_slurm() || !lists(attributes, "pmi1");
}

int PmiSettings::read(const Attributes& attributes, PmiVersion version, PmiSettings* out) {
  out->version = version;
  if (version == PmiVersion::kX) {
    const char* library = environment("LCI_PMIX_LIBRARY");
    out->library = library == nullptr ? kPmixLibrary : library;
  } else if (const int code = read_place(out); code != LCI_DONE) {
    return code;
  }
  const std::string path = text_or_environment(attributes.job_secret_file, "LCI_SECRET_FILE");
  out->has_secret = !path.empty();
  return out->has_secret ? read_secret_file(path, &out->secret) : LCI_DONE;
}

}  // namespace lci
