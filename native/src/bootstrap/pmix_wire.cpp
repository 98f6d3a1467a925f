// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.hpp"
#include "bootstrap/pmi_wire.hpp"
#include "bootstrap/pmix_answer.hpp"
#include "bootstrap/pmix_library.hpp"

namespace lci {
namespace {

/// PMIx has no bound; pieces of this size keep the launcher's messages small.
constexpr size_t kLongestPmixValue = 1u << 15;

pmix::Info wish(const char* key) {
  pmix::Info info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = pmix::kBool;
  info.value.flag = true;
  return info;
}

/// The requests are calls of a library, which speaks to the launcher on a thread of its own.
class PmixWire final : public PmiWire {
 public:
  explicit PmixWire(const std::string& library) : file_(library) {}

  int join(uint64_t deadline_ns) override;
  void tell_place(uint32_t* rank, uint32_t* size) const override;
  size_t longest_value() const override { return kLongestPmixValue; }
  int put(const std::string& key, std::string_view value, uint64_t deadline_ns) override;
  int fence(uint64_t deadline_ns, const Meanwhile& meanwhile) override;
  int get(uint32_t from, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) override;
  int leave(uint64_t deadline_ns) override;

 private:
  int read_size(uint64_t deadline_ns);
  int ask(uint32_t from, const char* key, const pmix::Info* info, uint64_t deadline_ns, PmixAnswer* answer);

  const std::string file_;
  PmixLibrary library_;
  pmix::Process self_{};
  uint32_t size_ = 0;
};

/// The library has its own time to reach the launcher.
int PmixWire::join(uint64_t deadline_ns) {
  if (const int code = PmixLibrary::load(file_, &library_); code != LCI_DONE) return code;
  const int status = library_.init(&self_, nullptr, 0);
  if (status != pmix::kSuccess) return library_.refuse("PMIx_Init", status);
  self_.job[sizeof self_.job - 1] = '\0';
  const int code = read_size(deadline_ns);
  if (code != LCI_DONE) library_.finalize(nullptr, 0);
  return code;
}

int PmixWire::read_size(uint64_t deadline_ns) {
  PmixAnswer answer;
  if (const int code = ask(pmix::kWholeJob, pmix::kJobSize, nullptr, deadline_ns, &answer); code != LCI_DONE)
    return code;
  if (answer.status() != pmix::kSuccess) return library_.refuse(pmix::kJobSize, answer.status());
  const auto size = answer.number();
  if (!size) {
    return fail(LCI_ERR_BOOTSTRAP, "%s: what the library of PMIx says of the job's size is no number",
                PmiSettings::title(PmiVersion::kX));
  }
  size_ = *size;
  return LCI_DONE;
}

void PmixWire::tell_place(uint32_t* rank, uint32_t* size) const {
  *rank = self_.rank;
  *size = size_;
}

int PmixWire::put(const std::string& key, std::string_view value, uint64_t) {
  std::string text(value);
  pmix::Value given{};
  given.type = pmix::kString;
  given.string = text.data();  // it is copied
  const int status = library_.put(pmix::kForAll, key.c_str(), &given);
  return status == pmix::kSuccess ? LCI_DONE : library_.refuse("PMIx_Put", status);
}

int PmixWire::fence(uint64_t deadline_ns, const Meanwhile& meanwhile) {
  if (const int status = library_.commit(); status != pmix::kSuccess) return library_.refuse("PMIx_Commit", status);
  const pmix::Info collect = wish(pmix::kCollect);
  PmixAnswer answer;
  void* const context = answer.context();
  int status = library_.fence(nullptr, 0, &collect, 1, PmixAnswer::done, context);
  if (status != pmix::kSuccess) {
    PmixAnswer::forget(context);
    return status == pmix::kDoneAtOnce ? LCI_DONE : library_.refuse("PMIx_Fence_nb", status);
  }
  if (const int code = answer.wait(deadline_ns, meanwhile); code != LCI_DONE) return code;
  status = answer.status();
  return status == pmix::kSuccess ? LCI_DONE : library_.refuse("PMIx_Fence_nb", status);
}

/// What the library refuses at once it has answered, too.
int PmixWire::ask(uint32_t from, const char* key, const pmix::Info* info, uint64_t deadline_ns, PmixAnswer* answer) {
  pmix::Process whose = self_;
  whose.rank = from;
  void* const context = answer->context();
  const int status = library_.get(&whose, key, info, info == nullptr ? 0 : 1, PmixAnswer::got, context);
  if (status != pmix::kSuccess) PmixAnswer::got(status, nullptr, context);
  return answer->wait(deadline_ns);
}

int PmixWire::get(uint32_t from, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) {
  const pmix::Info immediate = wish(pmix::kImmediate);
  PmixAnswer answer;
  if (const int code = ask(from, key.c_str(), &immediate, deadline_ns, &answer); code != LCI_DONE) return code;
  out->reset();
  if (answer.status() == pmix::kNotFound) return LCI_DONE;
  if (answer.status() != pmix::kSuccess) return library_.refuse("PMIx_Get_nb", answer.status());
  *out = answer.text();
  if (*out) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP, "%s: the launcher's value \"%s\" is no text, or is longer than %zu bytes",
              PmiSettings::title(PmiVersion::kX), key.c_str(), PmixAnswer::kLongestText);
}

int PmixWire::leave(uint64_t) {
  const int status = library_.finalize(nullptr, 0);
  return status == pmix::kSuccess ? LCI_DONE : library_.refuse("PMIx_Finalize", status);
}

}  // namespace

std::unique_ptr<PmiWire> new_pmix_wire(const std::string& library) {
  return std::make_unique<PmixWire>(library);
}

}  // namespace lci
