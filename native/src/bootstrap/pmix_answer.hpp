// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bootstrap/meanwhile.hpp"
#include "bootstrap/pmix_abi.hpp"
#include "host/file_descriptor.hpp"

namespace lci {

/// An answer of the library of PMIx, which gives it on a thread of its own; perhaps later than anybody waits for it, or
/// never: what it writes to belongs to the library until then.
class PmixAnswer {
 public:
  /// Far more than any value of ours has.
  static constexpr size_t kLongestText = 1u << 16;

  PmixAnswer();
  /// What to call for the answer, and with what. Exactly one of them is called, or forget() is.
  static void done(int status, void* context) { got(status, nullptr, context); }
  static void got(int status, pmix::Value* value, void* context);
  void* context();
  /// Nobody is called.
  static void forget(void* context);

  /// LCI_ERR_TIMEOUT if it has not come by the deadline.
  int wait(uint64_t deadline_ns, const Meanwhile& meanwhile = {});
  int status() const;
  std::optional<uint32_t> number() const;
  /// Nothing if it is none, or longer than kLongestText.
  std::optional<std::string> text() const;

 private:
  struct State {
    mutable std::mutex mutex;
    FileDescriptor came;
    int status = pmix::kSuccess;
    std::optional<uint32_t> number;
    std::optional<std::string> text;
  };
  using Kept = std::shared_ptr<State>;

  const Kept state_;
};

}  // namespace lci
