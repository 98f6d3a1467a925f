// SPDX-License-Identifier: Apache-2.0
// Attributes: set before a runtime is created, and read from what was created. [A6, A7]
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "api/global.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "base/attributes.hpp"
#include "completion/queue.hpp"
#include "completion/synchronizer.hpp"

using namespace lci;

namespace {

using Text = std::optional<std::string>;

int give(const char* what, const char* name, const Text& text, char* out, size_t out_size) {
  if (!text) return fail(LCI_ERR_ATTRIBUTE, "get attribute: %s has no '%s'", what, name);
  if (text->size() >= out_size) {
    return fail(LCI_ERR_SIZE, "get attribute: '%s' needs %zu bytes", name, text->size() + 1);
  }
  std::memcpy(out, text->c_str(), text->size() + 1);
  return LCI_DONE;
}

/// What was not asked for, but follows.
Text runtime_output(const Runtime& runtime, std::string_view name) {
  if (name == "max_eager") return std::to_string(runtime.packets().max_eager());
  if (name == "max_inline") return std::to_string(LCI_INLINE_MAX);
  if (name == "max_tag") return std::to_string(LCI_MAX_TAG);
  if (name == "max_signal_tag") return std::to_string(LCI_MAX_SIGNAL_TAG);
  if (name == "max_port") return std::to_string(LCI_MAX_PORT);
  if (name == "max_engine") return std::to_string(LCI_MAX_ENGINE);
  if (name == "bootstrap_used") return runtime.bootstrap_name();
  return {};
}

const char* kind_name(Completion::Kind kind) {
  switch (kind) {
    case Completion::Kind::kQueue:
      return "cq";
    case Completion::Kind::kSynchronizer:
      return "sync";
    case Completion::Kind::kCounter:
      return "counter";
    case Completion::Kind::kHandler:
      return "handler";
    case Completion::Kind::kGraph:
      return "graph";
    default:
      return "custom";
  }
}

Text completion_attribute(const Completion& completion, std::string_view name) {
  if (name == "comp_type") return kind_name(completion.kind());
  if (name == "id") return std::to_string(completion.id());
  if (completion.kind() == Completion::Kind::kQueue) {
    const auto& queue = static_cast<const CompletionQueue&>(completion);
    if (name == "queue_capacity") return std::to_string(queue.capacity());
    if (name == "cq_type") return queue.type() == QueueType::kLcrq ? "lcrq" : "array";
  }
  if (completion.kind() == Completion::Kind::kSynchronizer && name == "sync_threshold") {
    return std::to_string(static_cast<const Synchronizer&>(completion).threshold());
  }
  return {};
}

Text port_attribute(Port& port, std::string_view name) {
  if (name == "port_name") return port.name;
  if (name == "inbox_messages") return std::to_string(port.capacity.total().messages);
  if (name == "inbox_bytes") return std::to_string(port.capacity.total().bytes);
  if (name == "generation") return std::to_string(port.generation.load());
  return {};
}

Text engine_attribute(const Engine& engine, const Matcher& matcher, std::string_view name) {
  if (name == "matching_engine_type") return engine.type() == MatchingEngineType::kQueue ? "queue" : "map";
  if (name == "keyed") return matcher.keyed ? "1" : "0";
  return {};
}

}  // namespace

extern "C" {

int lci_attrs_create(lci_attrs** out) {
  LCI_NOT_NULL(out, "create attributes");
  return guarded("create attributes", [&] {
    *out = new lci_attrs;
    return LCI_DONE;
  });
}
void lci_attrs_free(lci_attrs* attrs) {
  delete attrs;
}
int lci_attrs_set(lci_attrs* attrs, const char* name, const char* value) {
  LCI_NOT_NULL(attrs, "set attribute");
  LCI_NOT_NULL(name, "set attribute");
  LCI_NOT_NULL(value, "set attribute");
  return guarded("set attribute", [&] { return attrs->set.set(name, value); });
}
int lci_attrs_own(lci_attrs* attrs, const char* name) {
  LCI_NOT_NULL(attrs, "own attribute");
  LCI_NOT_NULL(name, "own attribute");
  return guarded("own attribute", [&] { return attrs->set.own(name); });
}
const char* lci_attr_name(uint32_t index) {
  return attr_name(index);
}
const char* lci_attr_default(uint32_t index) {
  return attr_default(index);
}
const char* lci_attr_help(uint32_t index) {
  return attr_help(index);
}

int lci_attrs_get(const lci_attrs* attrs, const char* name, char* out, size_t out_size) {
  LCI_NOT_NULL(attrs, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&]() -> int {
    const std::string* text = attrs->set.find(name);
    return give("the set", name, text ? Text(*text) : Text(), out, out_size);
  });
}

int lci_runtime_attr(const lci_runtime* runtime, const char* name, char* out, size_t out_size) {
  LCI_RUNTIME(runtime, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&] {
    Text text = attribute_text(runtime->runtime->attributes(), name);
    if (!text) text = runtime_output(*runtime->runtime, name);
    return give("the runtime", name, text, out, out_size);
  });
}

int lci_runtime_attrs(const lci_runtime* runtime, lci_attrs** out) {
  LCI_RUNTIME(runtime, "get attributes");
  LCI_NOT_NULL(out, "get attributes");
  return guarded("get attributes", [&]() -> int {
    auto attrs = std::make_unique<lci_attrs>();
    for (uint32_t i = 0; const char* name = attr_name(i); ++i) {
      // What is 0 because an alloc_default_* is cannot be set to that, and need not be.
      attrs->set.set(name, attribute_text(runtime->runtime->attributes(), name)->c_str());
    }
    *out = attrs.release();
    return LCI_DONE;
  });
}

int lci_device_attr(const lci_device* device, const char* name, char* out, size_t out_size) {
  if (!device) device = global_device();
  LCI_NOT_NULL(device, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&] {
    const Device& of = *reinterpret_cast<const Device*>(device);
    Text text;
    if (std::strcmp(name, "uid") == 0) text = std::to_string(of.index());
    if (std::strcmp(name, "owner") == 0) text = of.lane() ? "lane" : "any";
    return give("a device", name, text, out, out_size);
  });
}

int lci_comp_attr(const lci_comp* comp, const char* name, char* out, size_t out_size) {
  LCI_NOT_NULL(comp, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&] {
    return give("such a completion object", name, completion_attribute(*from_handle(comp), name), out, out_size);
  });
}

int lci_port_attr(lci_runtime* runtime, uint32_t number, const char* name, char* out, size_t out_size) {
  LCI_RUNTIME(runtime, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&]() -> int {
    Port* port = runtime->runtime->targets().port(number);
    if (!port || !port->is_open()) return fail(LCI_ERR_PORT, "get attribute: port %u is not open", number);
    return give("a port", name, port_attribute(*port, name), out, out_size);
  });
}

int lci_engine_attr(lci_runtime* runtime, uint32_t number, const char* name, char* out, size_t out_size) {
  LCI_RUNTIME(runtime, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&]() -> int {
    const Engine* engine = runtime->runtime->targets().engine(number);
    const Matcher* matcher = engine ? engine->matcher() : nullptr;
    if (!matcher) return fail(LCI_ERR_ARGUMENT, "get attribute: matching engine %u does not exist", number);
    return give("a matching engine", name, engine_attribute(*engine, *matcher, name), out, out_size);
  });
}

}  // extern "C"
