// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of lci.h are.
#pragma once

#include <memory>

#include "base/attributes.hpp"
#include "lane/lane.hpp"
#include "lci/lci.h"
#include "runtime/runtime.hpp"

struct lci_attrs {
  lci::AttributeSet set;
};

struct lci_runtime {
  std::unique_ptr<lci::Runtime> runtime;
};

struct lci_lane {
  std::unique_ptr<lci::Lane> lane;
  uint32_t first_device;
};

/// A completion object with the runtime that owns it.
struct lci_comp {
  lci::Runtime* runtime;
  lci::Completion* completion;
};

namespace lci {
// Devices are handed out as themselves.
inline lci_device* to_handle(Device* device) {
  return reinterpret_cast<lci_device*>(device);
}
inline Device* from_handle(lci_device* device) {
  return reinterpret_cast<Device*>(device);
}
}  // namespace lci
