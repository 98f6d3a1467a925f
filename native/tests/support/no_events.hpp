// SPDX-License-Identifier: Apache-2.0
// A rank that nothing is told.
#pragma once

#include "transport/transport.hpp"

namespace lci_test {

class NoEvents final : public lci::PeerEvents {
 public:
  void gone(uint32_t, lci::RankState) override {}
  void failed(uint32_t) override {}
  void fenced(uint32_t) override {}
  void wake_devices() override {}
};

}  // namespace lci_test
