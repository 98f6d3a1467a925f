// SPDX-License-Identifier: Apache-2.0
// The settings without which a rank cannot look for the others over TCP.
#pragma once

#include <cstdint>
#include <string>

#include "base/attributes.hpp"
#include "bootstrap/identity.hpp"
#include "host/socket_address.hpp"

namespace lci {

/**
 * Where rank 0 answers, and who asks: of the attributes, else of LCI_ROOT, LCI_RANK, LCI_SIZE and LCI_SECRET_FILE, else
 * of what other launchers set, all four: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.
 */
struct TcpSettings {
  HostAndPort root;
  uint32_t rank = 0;
  uint32_t size = 0;
  JobSecret secret{};
  /// Without one, anybody who reaches rank 0 could join: then only connections within this host are made.
  bool has_secret = false;

  /// Whether a root is named.
  static bool available(const Attributes& attributes);
  /// LCI_ERR_BOOTSTRAP, and what to do, where something is missing or makes no sense.
  static int read(const Attributes& attributes, TcpSettings* out);

  /// The root's name as it was given.
  std::string root_text() const;
  /// The addresses of the root that may be used, in order. LCI_RETRY, and why, if it has none now;
  /// LCI_ERR_BOOTSTRAP if none may be used without a secret.
  int find_root(std::vector<SocketAddress>* out, std::string* why) const;
};

/// Reads a secret of 16 to 4096 bytes. The file must be a plain one of this user, and closed to others.
int read_secret_file(const std::string& path, JobSecret* out);

}  // namespace lci
