// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_CUSTOM_HPP_
#define LCI_COMPLETION_CUSTOM_HPP_

#include "base/error.hpp"
#include "completion/completion.hpp"
#include "completion/user_call.hpp"

namespace lci {

/// A user's own kind of completion object: a function that takes a signal or refuses it, and may keep what arrived.
/// [E1]
class Custom final : public Completion {
 public:
  /// @param function not null
  /// @param stores whether signals occupy memory until the user takes them
  Custom(lci_custom_fn function, void* argument, bool stores)
      : Completion(Kind::kCustom), function_(function), argument_(argument), stores_(stores) {}

  /// What the function answers; LCI_ERR_ARGUMENT when it threw, or answered neither done nor an error.
  int signal(const lci_status& status) override {
    if (const int code = check_signal(status); code != LCI_DONE) return code;
    return call_user("custom object", id(), [&]() -> int {
      const int code = function_(&status, argument_);
      if (code == LCI_DONE || is_error(code)) return code;
      return fail(LCI_ERR_ARGUMENT, "custom object %u answered %d (%s); done or an error is allowed", id(), code,
                  code_name(code));
    });
  }
  bool stores() const override { return stores_; }

 private:
  const lci_custom_fn function_;
  void* const argument_;
  const bool stores_;
};

}  // namespace lci

#endif  // LCI_COMPLETION_CUSTOM_HPP_
