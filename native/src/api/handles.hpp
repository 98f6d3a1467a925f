// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of lci.h are.
#pragma once

#include <memory>

#include "base/attributes.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "lane/lane.hpp"
#include "lci/lci.h"
#include "runtime/runtime.hpp"

struct lci_attrs {
  lci::AttributeSet set;
};

struct lci_runtime {
  std::unique_ptr<lci::Runtime> runtime;
};

struct lci_log {
  std::shared_ptr<lci::Log> log;
};

struct lci_lane {
  std::unique_ptr<lci::Lane> lane;
  uint32_t first_device;
};

namespace lci {
// Devices, completion objects and regions are handed out as themselves; their runtime owns them.
inline lci_device* to_handle(Device* device) {
  return reinterpret_cast<lci_device*>(device);
}
inline Device* from_handle(lci_device* device) {
  return reinterpret_cast<Device*>(device);
}
inline lci_comp* to_handle(Completion* completion) {
  return reinterpret_cast<lci_comp*>(completion);
}
inline Completion* from_handle(lci_comp* comp) {
  return reinterpret_cast<Completion*>(comp);
}
inline const Completion* from_handle(const lci_comp* comp) {
  return reinterpret_cast<const Completion*>(comp);
}
/// LCI_DONE if @p runtime made @p object: one of another runtime may go with that at any time. The pointer lies beside
/// what every operation counts in its object.
inline int check_own(const Completion& object, const Runtime& runtime, const char* operation) {
  if (object.runtime() == &runtime) [[likely]]
    return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT,
              "%s: completion object %u belongs to another runtime than this one of rank %u; "
              "create it with this one",
              operation, object.id(), runtime.rank());
}
inline lci_group* to_handle(Group* group) {
  return reinterpret_cast<lci_group*>(group);
}
inline Group* from_handle(lci_group* group) {
  return reinterpret_cast<Group*>(group);
}
inline const Group* from_handle(const lci_group* group) {
  return reinterpret_cast<const Group*>(group);
}
inline Graph* from_handle(lci_graph* graph) {
  return reinterpret_cast<Graph*>(graph);
}
inline const Graph* from_handle(const lci_graph* graph) {
  return reinterpret_cast<const Graph*>(graph);
}
inline lci_context* to_handle(Context* context) {
  return reinterpret_cast<lci_context*>(context);
}
inline Context* from_handle(lci_context* context) {
  return reinterpret_cast<Context*>(context);
}
inline const Context* from_handle(const lci_context* context) {
  return reinterpret_cast<const Context*>(context);
}
inline lci_memory* to_handle(Region* region) {
  return reinterpret_cast<lci_memory*>(region);
}
inline Region* from_handle(lci_memory* memory) {
  return reinterpret_cast<Region*>(memory);
}
inline const Region* from_handle(const lci_memory* memory) {
  return reinterpret_cast<const Region*>(memory);
}
}  // namespace lci
