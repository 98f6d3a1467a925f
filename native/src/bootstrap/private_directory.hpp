// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_PRIVATE_DIRECTORY_HPP_
#define LCI_BOOTSTRAP_PRIVATE_DIRECTORY_HPP_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lci/lci.h"

namespace lci {

/// Bytes that a file of a job directory may have: what another rank leaves there is not read without end.
inline constexpr size_t kMaxJobFile = 16u << 20;

/**
 * An open private directory: owned by the effective user, no rights for others. All access goes through the descriptor,
 * so that a renamed or replaced path changes nothing. Files appear whole or not at all: they are written under a
 * temporary name first.
 */
class PrivateDirectory {
 public:
  PrivateDirectory() = default;
  ~PrivateDirectory();
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&& other) noexcept;

  /// LCI_ERR_BOOTSTRAP if it is missing, no directory, of another owner, or open to others.
  int open(const std::string& path);
  /// Opens, and creates if necessary, a directory in @p parent.
  int open_child(const PrivateDirectory& parent, const std::string& name);
  const std::string& path() const { return path_; }

  bool exists(const std::string& name) const;
  /// Nothing if there is no such file. One that is longer than kMaxJobFile, or no plain file of the same owner, counts
  /// as missing.
  std::optional<std::vector<uint8_t>> read(const std::string& name) const;
  /// As read(), and additionally the file must be closed to others: otherwise LCI_ERR_BOOTSTRAP.
  int read_secret(const std::string& name, std::vector<uint8_t>* out) const;
  /// Creates @p name whole. *out_existed tells that it was there already; it was not touched then.
  int create(const std::string& name, const void* bytes, size_t n, bool* out_existed) const;

 private:
  int check(const std::string& what) const;
  int system_error(const char* what, const std::string& name) const;

  int descriptor_ = -1;
  std::string path_;
};

}  // namespace lci

#endif  // LCI_BOOTSTRAP_PRIVATE_DIRECTORY_HPP_
