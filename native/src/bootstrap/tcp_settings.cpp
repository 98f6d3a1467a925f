// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "bootstrap/environment.hpp"
#include "host/file_descriptor.hpp"

namespace lci {
namespace {

constexpr char kRootGiven[] = "bootstrap tcp: LCI_ROOT (or attribute job_root) is given";
constexpr char kMasterGiven[] = "bootstrap tcp: MASTER_ADDR is given";
constexpr size_t kShortestSecret = 16, kLongestSecret = 4096;

std::string root_name(const Attributes& attributes) {
  return text_or_environment(attributes.job_root, "LCI_ROOT");
}

/// Variables of other launchers: a program may have one or two of them for reasons of its own.
bool has_master() {
  return environment("MASTER_ADDR") && environment("MASTER_PORT") && environment("RANK") && environment("WORLD_SIZE");
}

int read_root(const std::string& name, HostAndPort* out) {
  const auto root = parse_host_and_port(name);
  if (!root) {
    return fail(
        LCI_ERR_BOOTSTRAP,
        "bootstrap tcp: \"%s\" is not where rank 0 answers: LCI_ROOT is HOST:PORT or [ADDRESS]:PORT, with a port "
        "from 1 to 65535",
        name.c_str());
  }
  *out = *root;
  return LCI_DONE;
}

int read_master(HostAndPort* out) {
  const auto port = parse_decimal<uint16_t>(environment("MASTER_PORT"));
  if (!port || *port == 0) {
    return fail(LCI_ERR_BOOTSTRAP,
                "bootstrap tcp: MASTER_PORT is \"%s\", not a port from 1 to 65535; attribute bootstrap=local runs this "
                "process alone",
                environment("MASTER_PORT"));
  }
  *out = {environment("MASTER_ADDR"), *port};
  return LCI_DONE;
}

int secret_error(const std::string& path, const char* why) {
  return fail(LCI_ERR_BOOTSTRAP, "bootstrap tcp: secret file %s: %s", path.c_str(), why);
}

int check_secret_file(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return secret_error(path, "it is no plain file");
  if (status.st_uid != ::geteuid()) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap tcp: secret file %s belongs to user %u, this process runs as user %u",
                path.c_str(), status.st_uid, ::geteuid());
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap tcp: secret file %s has mode %03o: others may read it; make it 0600",
                path.c_str(), status.st_mode & 0777u);
  }
  return LCI_DONE;
}

}  // namespace

int read_secret_file(const std::string& path, JobSecret* out) {
  // A link is followed: that is how secrets are mounted. The file at its end is checked.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return secret_error(path, std::strerror(errno));
  if (const int code = check_secret_file(path, status); code != LCI_DONE) return code;
  std::array<char, kLongestSecret + 1> bytes;
  size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < bytes.size(); size += static_cast<size_t>(got)) {
    got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0) return secret_error(path, std::strerror(errno));
  }
  if (size < kShortestSecret || size > kLongestSecret) {
    return secret_error(path, "a secret has 16 to 4096 bytes; head -c 32 /dev/urandom makes one");
  }
  Sha256 hash;
  hash.update(bytes.data(), size);
  const Digest digest = hash.finish();
  std::memcpy(out->data(), digest.bytes.data(), out->size());
  return LCI_DONE;
}

bool TcpSettings::available(const Attributes& attributes) {
  return !root_name(attributes).empty() || has_master();
}

int TcpSettings::read(const Attributes& attributes, TcpSettings* out) {
  const std::string name = root_name(attributes);
  const bool named = !name.empty();
  const char* who = named ? kRootGiven : kMasterGiven;
  int code = named ? read_root(name, &out->root) : read_master(&out->root);
  if (code == LCI_DONE) code = rank_or_size(who, attributes.job_rank, named ? "LCI_RANK" : "RANK", &out->rank);
  if (code == LCI_DONE) code = rank_or_size(who, attributes.job_size, named ? "LCI_SIZE" : "WORLD_SIZE", &out->size);
  if (code == LCI_DONE) code = check_place("bootstrap tcp", out->rank, out->size);
  if (code != LCI_DONE) return code;
  const std::string path = text_or_environment(attributes.job_secret_file, "LCI_SECRET_FILE");
  out->has_secret = !path.empty();
  return out->has_secret ? read_secret_file(path, &out->secret) : LCI_DONE;
}

std::string TcpSettings::root_text() const {
  const bool is_address = root.host.find(':') != std::string::npos;
  return (is_address ? "[" + root.host + "]" : root.host) + ":" + std::to_string(root.port);
}

int TcpSettings::find_root(std::vector<SocketAddress>* out, std::string* why) const {
  *out = resolve(root, why);
  if (out->empty()) return LCI_RETRY;
  if (has_secret) return LCI_DONE;
  const SocketAddress first = out->front();
  std::erase_if(*out, [](const SocketAddress& address) { return !address.is_loopback(); });
  if (!out->empty()) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP,
              "bootstrap tcp: %s is %s, which other hosts reach, and there is no secret: anybody could join. Give all "
              "ranks the same LCI_SECRET_FILE (mode 0600), or start by ./lci run --hosts",
              root_text().c_str(), first.host().c_str());
}

}  // namespace lci
