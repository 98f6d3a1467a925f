// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_HANDLER_HPP_
#define LCI_COMPLETION_HANDLER_HPP_

#include "completion/completion.hpp"
#include "completion/user_call.hpp"

namespace lci {

/// Calls a native function in the thread that signals, possibly concurrently with itself. [E11]
class Handler final : public Completion {
 public:
  /// @param function not null
  Handler(lci_handler_fn function, void* argument)
      : Completion(Kind::kHandler), function_(function), argument_(argument) {}

  /// LCI_ERR_ARGUMENT when the function threw.
  int signal(const lci_status& status) override {
    if (const int code = check_signal(status); code != LCI_DONE) return code;
    return call_user("handler", id(), [&]() -> int {
      function_(&status, argument_);
      return LCI_DONE;
    });
  }
  bool stores() const override { return false; }

 private:
  const lci_handler_fn function_;
  void* const argument_;
};

}  // namespace lci

#endif  // LCI_COMPLETION_HANDLER_HPP_
