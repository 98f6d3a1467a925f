// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_ENVIRONMENT_HPP_
#define LCI_TESTS_SUPPORT_ENVIRONMENT_HPP_

#include <cstdlib>
#include <optional>
#include <string>

namespace lci::test {

/// Sets an environment variable for a scope. Not for tests with other threads.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (before_) {
      setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_ENVIRONMENT_HPP_
