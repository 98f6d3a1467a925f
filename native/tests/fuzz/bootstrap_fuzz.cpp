// SPDX-License-Identifier: Apache-2.0
// How a rank finds its job: the environment of the launcher, and the files of a job directory as the launcher and the
// other ranks leave them. Damaged ones are a typed error with a text, or a rank that has not come; what is read is what
// was written.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "bootstrap/file_bootstrap.hpp"
#include "fuzz/input.hpp"
#include "support/job_directory.hpp"

namespace {

using lci_fuzz::Input;

constexpr char kValue[] = "gen.0/value.1.k";
const std::string kNames[] = {
    "secret",       "job",  "owner",           "gen.0/claim.0", "gen.0/claim.1", "gen.0/fence.1.1",
    "gen.0/left.1", kValue, "gen.0/value.0.k", "gen.0/left.0",  "dead",          "gen.0/dead"};

void make_generation(const lci::test::JobDirectory& job) {
  std::filesystem::create_directory(job.path() / "gen.0");
  std::filesystem::permissions(job.path() / "gen.0", std::filesystem::perms::owner_all);
}

/// A job directory, right but for what the input writes over. Returns what it has as the value of rank 1.
std::string write_files(Input& input, const lci::test::JobDirectory& job) {
  std::string value;
  for (uint8_t files = input.number<uint8_t>() % 8; files > 0; --files) {
    const std::string& name = kNames[input.number<uint8_t>() % std::size(kNames)];
    std::string content = input.text();
    // As a rank would: readable after the first fence.
    if (name == kValue && input.number<uint8_t>() % 2) content.insert(0, std::string("\1\0\0\0\0\0\0\0", 8));
    if (name == kValue) value = content;
    if (name.compare(0, 4, "gen.") == 0) make_generation(job);
    job.write(name, content);
  }
  return value;
}

/// Rank and size as attributes, or as any text in the environment.
lci::Attributes place_of(Input& input, const lci::test::JobDirectory& job) {
  lci::Attributes attributes = job.attributes(0);
  if (input.number<uint8_t>() % 2 == 0) return attributes;
  attributes.job_rank = attributes.job_size = -1;
  setenv("LCI_RANK", input.text().c_str(), 1);
  setenv("LCI_SIZE", input.number<uint8_t>() % 2 ? input.text().c_str() : "2", 1);
  return attributes;
}

bool says_something(int code) {
  return code >= LCI_ERR_ARGUMENT && *lci::last_error() != '\0';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const lci::test::JobDirectory job(2);
  const std::string value = write_files(input, job);
  std::unique_ptr<lci::Bootstrap> bootstrap;
  if (const int code = lci::FileBootstrap::open(place_of(input, job), &bootstrap); code != LCI_DONE) {
    FUZZ_EXPECT(says_something(code) && !bootstrap);
    return 0;
  }
  FUZZ_EXPECT(bootstrap->job_id().size() == 16 && bootstrap->rank() < bootstrap->size());
  if (bootstrap->size() > 16) return 0;  // a barrier would look for so many files
  const int published = bootstrap->publish("k", data, size % 64);
  FUZZ_EXPECT(published == LCI_DONE || says_something(published));
  const int fenced = bootstrap->barrier(0);
  FUZZ_EXPECT(fenced == LCI_DONE || says_something(fenced));
  std::vector<uint8_t> got;
  const int code = bootstrap->get(1, "k", &got);
  FUZZ_EXPECT(code == LCI_DONE || says_something(code));
  // After the 8 bytes of its fence it is what was written, unless it is what this rank has published as rank 1.
  if (code == LCI_DONE && bootstrap->rank() == 0) FUZZ_EXPECT(value.substr(8) == std::string(got.begin(), got.end()));
  return 0;
}
