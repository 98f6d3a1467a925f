// SPDX-License-Identifier: Apache-2.0
// A job whose ranks find each other over TCP, on the loopback interface.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string>

#include "base/attributes.hpp"
#include "host/file_descriptor.hpp"
#include "host/socket.hpp"
#include "support/temporary_directory.hpp"

namespace lci::test {

/// A port of the loopback interface that nobody else is given, and that rank 0 may listen at: as a launcher keeps one.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("no port is left");
    }
  }
  SocketAddress address() const { return local_address(socket_.get()); }

 private:
  FileDescriptor socket_;
};

class TcpJob {
 public:
  explicit TcpJob(uint32_t size, const std::string& secret = "a secret of the tests") : size_(size) {
    if (!secret.empty()) write_secret(secret);
  }

  void write_secret(const std::string& secret) {
    secret_file_ = directory_.path() / "secret";
    std::ofstream(secret_file_, std::ios::binary) << secret;
    ::chmod(secret_file_.c_str(), 0600);
  }
  const std::string& secret_file() const { return secret_file_; }
  std::string root() const { return port_.address().text(); }
  SocketAddress address() const { return port_.address(); }
  Attributes attributes(uint32_t rank) const {
    Attributes result;
    result.bootstrap = "tcp";
    result.job_root = root();
    result.job_secret_file = secret_file_;
    result.job_rank = static_cast<int32_t>(rank);
    result.job_size = static_cast<int32_t>(size_);
    return result;
  }

 private:
  const uint32_t size_;
  const HeldPort port_;
  const TemporaryDirectory directory_;
  std::string secret_file_;
};

}  // namespace lci::test
