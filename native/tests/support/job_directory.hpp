// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_JOB_DIRECTORY_HPP_
#define LCI_TESTS_SUPPORT_JOB_DIRECTORY_HPP_

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/attributes.hpp"
#include "support/temporary_directory.hpp"

namespace lci::test {

/// What a launcher prepares: secret, identity, and the attributes that each rank is started with.
class JobDirectory {
 public:
  explicit JobDirectory(uint32_t size) : size_(size) {
    write("secret", std::string(32, 's'));
    write("job", "0123456789abcdef\n");
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    chmod((path() / name).c_str(), 0600);
  }
  Attributes attributes(int32_t rank) const {
    Attributes result;
    result.job_dir = path();
    result.job_rank = rank;
    result.job_size = static_cast<int32_t>(size_);
    return result;
  }
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  const TemporaryDirectory directory_;
  const uint32_t size_;
};

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_JOB_DIRECTORY_HPP_
