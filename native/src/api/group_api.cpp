// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/global.hpp"
#include "collective/request.hpp"

using namespace lci;

static_assert(sizeof(lci_failure) == sizeof(FailureFrame) && sizeof(lci_call) == sizeof(CallHeader));

namespace {

Runtime& runtime_of(const Context& context) {
  return context.group().runtime();
}

/// The device exists as long as the context.
Device& device_of(const Context& context) {
  return runtime_of(context).device(context.device());
}

int free_context(lci_context* handle, Contexts::Again again) {
  if (!handle) return LCI_DONE;
  return guarded("free context", [&]() -> int {
    Context& context = *from_handle(handle);
    Device& device = device_of(context);
    bool closed = false;
    const int code = runtime_of(context).contexts().close(context, again, &closed);
    if (closed) device.collectives().some_ended();
    return code;
  });
}

/// The next call of a context, without a user context.
int describe(const Context& context, const lci_collective& call, lci_descriptor* out) {
  if (call.kind > UINT16_MAX || call.op > UINT8_MAX || call.type > UINT8_MAX || call.algorithm > UINT8_MAX ||
      call.reserved != 0) {
    return fail(LCI_ERR_ARGUMENT,
                "collective: kind %u, operator %u, type %u, algorithm %u, reserved %u; see lci_collective", call.kind,
                call.op, call.type, call.algorithm, call.reserved);
  }
  out->op = LCI_OP_COLLECTIVE;
  out->port = static_cast<uint16_t>(call.kind);
  out->policy = static_cast<uint8_t>(call.op);
  out->rank = call.root;
  out->size = call.type | call.algorithm << 8;
  out->tag = context.id();
  out->u.collective = {reinterpret_cast<uint64_t>(call.in), reinterpret_cast<uint64_t>(call.out), call.count,
                       reinterpret_cast<uint64_t>(call.counts)};
  return LCI_DONE;
}

}  // namespace

extern "C" {

int lci_group_create(lci_runtime* runtime, const uint32_t* ranks, uint32_t count, uint64_t key, lci_group** out) {
  LCI_RUNTIME(runtime, "create group");
  LCI_NOT_NULL(ranks, "create group");
  LCI_NOT_NULL(out, "create group");
  return guarded("create group", [&]() -> int {
    Runtime& own = *runtime->runtime;
    Group* group = nullptr;
    const int code = own.contexts().open_group(own, own.rank(), own.hosts().lowest(), ranks, count, key, &group);
    *out = to_handle(group);
    return code;
  });
}

int lci_group_free(lci_group* group) {
  if (!group) return LCI_DONE;
  return guarded("free group", [&]() -> int {
    from_handle(group)->runtime().contexts().close_group(*from_handle(group));
    return LCI_DONE;
  });
}

int lci_group_info(const lci_group* group, lci_group_state* out) {
  LCI_NOT_NULL(group, "group info");
  LCI_NOT_NULL(out, "group info");
  const Group& of = *from_handle(group);
  *out = {of.id(), of.size(), of.own()};
  return LCI_DONE;
}

int lci_group_rank(const lci_group* group, uint32_t member, uint32_t* out) {
  LCI_NOT_NULL(group, "group rank");
  LCI_NOT_NULL(out, "group rank");
  const Group& of = *from_handle(group);
  if (member >= of.size()) return fail(LCI_ERR_RANK, "group rank: member %u of a group of %u", member, of.size());
  *out = of.rank_of(member);
  return LCI_DONE;
}

int lci_context_create(lci_group* group, uint64_t key, uint32_t device, lci_context** out) {
  LCI_NOT_NULL(group, "create context");
  LCI_NOT_NULL(out, "create context");
  *out = nullptr;
  return guarded("create context", [&]() -> int {
    Group& of = *from_handle(group);
    Runtime& runtime = of.runtime();
    if (device >= runtime.devices()) {
      return fail(LCI_ERR_DEVICE, "create context: rank %u has %u devices, and no device %u", runtime.rank(),
                  runtime.devices(), device);
    }
    const auto adopt = [&](const std::shared_ptr<Context>& context) -> int {
      runtime.device(device).collectives().open(std::make_unique<ContextState>(context));
      return LCI_DONE;
    };
    Context* context = nullptr;
    const int code = runtime.contexts().open(of, key, device, adopt, &context);
    *out = to_handle(context);
    return code;
  });
}

int lci_context_free(lci_context* handle) {
  return free_context(handle, Contexts::Again::kMayCome);
}

int lci_context_forget(lci_context* handle) {
  return free_context(handle, Contexts::Again::kNever);
}

int lci_context_id(const lci_context* context, uint64_t* out) {
  LCI_NOT_NULL(context, "context id");
  LCI_NOT_NULL(out, "context id");
  *out = from_handle(context)->id();
  return LCI_DONE;
}

int lci_context_failure(const lci_context* context, lci_failure* out) {
  LCI_NOT_NULL(context, "context failure");
  LCI_NOT_NULL(out, "context failure");
  const FailureFrame* const failure = from_handle(context)->failure();
  if (!failure) return LCI_RETRY;
  std::memcpy(out, failure, sizeof *out);
  return LCI_DONE;
}

int lci_context_revoke(lci_context* handle, uint32_t cause) {
  LCI_NOT_NULL(handle, "revoke context");
  if (!is_error(static_cast<int>(cause))) {
    return fail(LCI_ERR_ARGUMENT, "revoke context: the cause is an error, which %u is not", cause);
  }
  return guarded("revoke context", [&]() -> int {
    Context& context = *from_handle(handle);
    context.revoke(cause);
    device_of(context).collectives().some_ended();
    return LCI_DONE;
  });
}

int lci_post_group_barrier(lci_context* handle, lci_comp* comp, uint64_t user_context) {
  LCI_NOT_NULL(handle, "group barrier");
  lci_collective barrier{};
  barrier.kind = LCI_COLLECTIVE_BARRIER;
  return lci_post_collective(handle, &barrier, comp, user_context);
}

int lci_post_collective(lci_context* handle, const lci_collective* call, lci_comp* comp, uint64_t user_context) {
  LCI_NOT_NULL(handle, "collective");
  LCI_NOT_NULL(call, "collective");
  const Context& context = *from_handle(handle);
  lci_descriptor op{};
  if (const int code = describe(context, *call, &op); code != LCI_DONE) return code;
  op.user_context = user_context;
  return lci_post(to_handle(&device_of(context)), &op, comp, nullptr);
}

int lci_collective_chosen(const lci_context* handle, const lci_collective* call, uint32_t* out_algorithm) {
  LCI_NOT_NULL(handle, "collective chosen");
  LCI_NOT_NULL(call, "collective chosen");
  LCI_NOT_NULL(out_algorithm, "collective chosen");
  const Context& context = *from_handle(handle);
  lci_descriptor op{};
  if (const int code = describe(context, *call, &op); code != LCI_DONE) return code;
  return guarded("collective chosen", [&]() -> int {
    Shape shape;
    const int code = read_shape(op, context.group(), device_of(context).collectives().is_near(context.group()), &shape);
    if (code == LCI_DONE) *out_algorithm = shape.algorithm;
    return code;
  });
}

int lci_post_agree(lci_context* handle, uint64_t value, void* out, lci_comp* comp, uint64_t user_context) {
  LCI_NOT_NULL(handle, "agree");
  const Context& context = *from_handle(handle);
  lci_descriptor op{};
  op.op = LCI_OP_COLLECTIVE;
  op.port = LCI_COLLECTIVE_AGREE;
  op.tag = context.id();
  op.user_context = user_context;
  op.u.collective.in = value;
  op.u.collective.out = reinterpret_cast<uint64_t>(out);
  return lci_post(to_handle(&device_of(context)), &op, comp, nullptr);
}

}  // extern "C"
