// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP_
#define LCI_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace lci::test {

/// A fresh directory (mode 0700), removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "lci-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;  // a leftover in the temporary folder does no harm
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP_
