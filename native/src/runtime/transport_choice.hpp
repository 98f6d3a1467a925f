// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "peer/hosts.hpp"

namespace lci {

/// Decides how ranks reach each other, where the attributes leave it open: by memory within a host, over TCP between
/// hosts. Afterwards attribute transport says which, and peer_memory what follows from it. Collective where ranks may
/// be on several hosts; errors as those of Hosts::find(). [NETWORK 3.5]
int choose_transport(Bootstrap& bootstrap, uint64_t deadline_ns, Attributes* attributes, Hosts* hosts);

}  // namespace lci
