// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix_answer.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include "base/error.hpp"
#include "bootstrap/pmi_settings.hpp"

namespace lci {

PmixAnswer::PmixAnswer() : state_(std::make_shared<State>()) {
  state_->came = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void* PmixAnswer::context() {
  return new Kept(state_);
}

void PmixAnswer::forget(void* context) {
  delete static_cast<Kept*>(context);
}

/// The value is the library's, and gone when this returns.
void PmixAnswer::got(int status, pmix::Value* value, void* context) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(context));
  State& state = **kept;
  const std::lock_guard lock(state.mutex);
  state.status = status;
  if (status == pmix::kSuccess && value != nullptr) {
    if (value->type == pmix::kUint32) state.number = value->number;
    if (value->type == pmix::kString && value->string != nullptr) {
      const size_t length = ::strnlen(value->string, kLongestText + 1);
      if (length <= kLongestText) state.text.emplace(value->string, length);
    }
  }
  ::eventfd_write(state.came.get(), 1);
}

int PmixAnswer::wait(uint64_t deadline_ns, const Meanwhile& meanwhile) {
  const char* title = PmiSettings::title(PmiVersion::kX);
  if (state_->came.get() < 0) return fail(LCI_ERR_BOOTSTRAP, "%s: no descriptor is left for an answer", title);
  if (meanwhile.wait_for(state_->came.get(), false, deadline_ns)) return LCI_DONE;
  return fail(LCI_ERR_TIMEOUT, "%s: the launcher has not answered in time", title);
}

int PmixAnswer::status() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status;
}

std::optional<uint32_t> PmixAnswer::number() const {
  const std::lock_guard lock(state_->mutex);
  return state_->number;
}

std::optional<std::string> PmixAnswer::text() const {
  const std::lock_guard lock(state_->mutex);
  return state_->text;
}

}  // namespace lci
