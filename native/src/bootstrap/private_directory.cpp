// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/private_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/identity.hpp"

namespace lci {
namespace {

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

bool open_to_others(const struct stat& status) {
  return (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

bool write_all(int descriptor, const void* bytes, size_t n) {
  const auto* from = static_cast<const char*>(bytes);
  while (n > 0) {
    const ssize_t written = ::write(descriptor, from, n);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    from += written;
    n -= static_cast<size_t>(written);
  }
  return true;
}

/// Nothing if it is longer than it may be.
std::optional<std::vector<uint8_t>> read_all(int descriptor) {
  std::vector<uint8_t> bytes;
  for (;;) {
    constexpr size_t kStep = 4096;
    const size_t filled = bytes.size();
    bytes.resize(filled + kStep);
    const ssize_t got = ::read(descriptor, bytes.data() + filled, kStep);
    bytes.resize(filled + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    if (bytes.size() > kMaxJobFile) return std::nullopt;
  }
}

}  // namespace

PrivateDirectory::~PrivateDirectory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

PrivateDirectory& PrivateDirectory::operator=(PrivateDirectory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

int PrivateDirectory::open(const std::string& path) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return descriptor_ < 0 ? system_error("open job directory", "") : check("job directory");
}

int PrivateDirectory::open_child(const PrivateDirectory& parent, const std::string& name) {
  path_ = parent.path_ + "/" + name;
  if (::mkdirat(parent.descriptor_, name.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return system_error("create directory", "");
  }
  descriptor_ = ::openat(parent.descriptor_, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return descriptor_ < 0 ? system_error("open directory", "") : check("directory");
}

bool PrivateDirectory::exists(const std::string& name) const {
  return ::faccessat(descriptor_, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<std::vector<uint8_t>> PrivateDirectory::read(const std::string& name) const {
  const File file(::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return std::nullopt;
  return read_all(file.get());
}

int PrivateDirectory::read_secret(const std::string& name, std::vector<uint8_t>* out) const {
  struct stat status {};
  if (::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return system_error("look at", name);
  if (open_to_others(status)) {
    return fail(LCI_ERR_BOOTSTRAP, "%s/%s has mode %03o: others may read it; make it 0600", path_.c_str(), name.c_str(),
                status.st_mode & 0777u);
  }
  auto bytes = read(name);
  if (!bytes) {
    return fail(LCI_ERR_BOOTSTRAP, "%s/%s is not a readable plain file of user %u", path_.c_str(), name.c_str(),
                ::geteuid());
  }
  *out = std::move(*bytes);
  return LCI_DONE;
}

int PrivateDirectory::create(const std::string& name, const void* bytes, size_t n, bool* out_existed) const {
  const std::string temporary = "tmp." + id_text(random_id());
  {
    const File file(
        ::openat(descriptor_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return system_error("create", temporary);
    if (!write_all(file.get(), bytes, n)) {
      const int code = system_error("write", name);
      ::unlinkat(descriptor_, temporary.c_str(), 0);
      return code;
    }
  }
  // A link, unlike a rename, fails if the name is taken: exactly one of several creators wins.
  const bool linked = ::linkat(descriptor_, temporary.c_str(), descriptor_, name.c_str(), 0) == 0;
  *out_existed = !linked && errno == EEXIST;
  const int code = linked || *out_existed ? LCI_DONE : system_error("create", name);
  ::unlinkat(descriptor_, temporary.c_str(), 0);
  return code;
}

int PrivateDirectory::check(const std::string& what) const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return system_error("look at", "");
  if (status.st_uid != ::geteuid()) {
    return fail(LCI_ERR_BOOTSTRAP, "%s %s belongs to user %u, this process runs as user %u", what.c_str(),
                path_.c_str(), status.st_uid, ::geteuid());
  }
  if (open_to_others(status)) {
    return fail(LCI_ERR_BOOTSTRAP, "%s %s has mode %03o: others may enter; make it 0700", what.c_str(), path_.c_str(),
                status.st_mode & 0777u);
  }
  return LCI_DONE;
}

int PrivateDirectory::system_error(const char* what, const std::string& name) const {
  const int error = errno;
  return fail(LCI_ERR_BOOTSTRAP, "%s %s%s%s: %s", what, path_.c_str(), name.empty() ? "" : "/", name.c_str(),
              std::strerror(error));
}

}  // namespace lci
