// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/global.hpp"
#include "completion/array_queue.hpp"
#include "completion/counter.hpp"
#include "completion/custom.hpp"
#include "completion/handler.hpp"
#include "completion/queue.hpp"
#include "completion/synchronizer.hpp"
#include "device/waiting.hpp"
#include "protocol/arrival_buffer.hpp"

using namespace lci;

namespace {

int create(lci_runtime* runtime, std::unique_ptr<Completion> completion, lci_comp** out) {
  Completion* added = completion.get();
  if (runtime->runtime->completions().add(std::move(completion)) == 0) {
    return fail(LCI_ERR_EXHAUSTED, "create completion object: the runtime has no identifier left");
  }
  *out = to_handle(added);
  return LCI_DONE;
}

/// The user took the status: what it occupied goes back to its sender.
void taken(lci_status& status) {
  if (status.port == 0 || !status.buffer || status.packet != 0) return;  // of a packet: when it is freed
  const ArrivalBuffer& arrival = *ArrivalBuffer::of(status.buffer);
  arrival.key->link->device->release(*arrival.key, arrival.generation, arrival.charge_messages, arrival.charge_bytes,
                                     false);
  if (!arrival.signal) return;
  lci_buffer_free(status.buffer);
  status.buffer = nullptr;
}

int nothing_reserved(const char* operation, const Completion& object) {
  return fail(LCI_ERR_ARGUMENT, "%s: completion object %u has no reserved place; lci_comp_reserve() makes one",
              operation, object.id());
}

}  // namespace

extern "C" {

int lci_queue_create(lci_runtime* runtime, uint32_t capacity, lci_comp** out) {
  return lci_queue_create_kind(runtime, LCI_QUEUE_DEFAULT, capacity, out);
}

int lci_queue_create_kind(lci_runtime* runtime, int kind, uint32_t capacity, lci_comp** out) {
  LCI_RUNTIME(runtime, "create queue");
  LCI_NOT_NULL(out, "create queue");
  return guarded("create queue", [&]() -> int {
    const Attributes& attributes = runtime->runtime->attributes();
    if (kind < LCI_QUEUE_DEFAULT || kind > LCI_QUEUE_LCRQ) {
      return fail(LCI_ERR_ARGUMENT, "create queue: unknown kind %d", kind);
    }
    const QueueType type = kind == LCI_QUEUE_DEFAULT ? attributes.cq_type
                           : kind == LCI_QUEUE_ARRAY ? QueueType::kArray
                                                     : QueueType::kLcrq;
    if (!CompletionQueue::offers(type)) {
      return fail(LCI_ERR_UNSUPPORTED, "create queue: lcrq needs x86-64; use LCI_QUEUE_ARRAY");
    }
    if (type == QueueType::kArray && capacity > ArrayQueue::kMostCapacity) {
      return fail(LCI_ERR_ARGUMENT, "create queue: %u entries are more than %u; an lcrq needs no number", capacity,
                  ArrayQueue::kMostCapacity);
    }
    return create(runtime, CompletionQueue::create(type, capacity != 0 ? capacity : attributes.queue_capacity), out);
  });
}

int lci_queue_pop(lci_comp* queue, lci_status* out) {
  LCI_NOT_NULL(queue, "pop");
  LCI_NOT_NULL(out, "pop");
  if (from_handle(queue)->kind() != Completion::Kind::kQueue) return fail(LCI_ERR_ARGUMENT, "pop: not a queue");
  const int code = static_cast<CompletionQueue*>(from_handle(queue))->pop(out);
  if (code == LCI_DONE) {
    taken(*out);
  } else {
    out->code = code;
  }
  return code;
}

uint32_t lci_queue_pop_many(lci_comp* queue, lci_status* out, uint32_t count) {
  if (!queue || !out || from_handle(queue)->kind() != Completion::Kind::kQueue) return 0;
  const uint32_t popped = static_cast<CompletionQueue*>(from_handle(queue))->pop_many(out, count);
  for (uint32_t i = 0; i < popped; ++i) taken(out[i]);
  return popped;
}

uint64_t lci_queue_length(const lci_comp* queue) {
  if (!queue || from_handle(queue)->kind() != Completion::Kind::kQueue) return 0;
  return static_cast<const CompletionQueue*>(from_handle(queue))->length();
}

int lci_synchronizer_create(lci_runtime* runtime, uint32_t threshold, lci_comp** out) {
  LCI_RUNTIME(runtime, "create synchronizer");
  LCI_NOT_NULL(out, "create synchronizer");
  return guarded("create synchronizer", [&] {
    if (threshold == 0) threshold = runtime->runtime->attributes().sync_threshold;
    return create(runtime, std::make_unique<Synchronizer>(threshold), out);
  });
}

int lci_synchronizer_test(lci_comp* synchronizer, lci_status* out) {
  LCI_NOT_NULL(synchronizer, "test synchronizer");
  if (from_handle(synchronizer)->kind() != Completion::Kind::kSynchronizer) {
    return fail(LCI_ERR_ARGUMENT, "test synchronizer: not a synchronizer");
  }
  auto& fired = *static_cast<Synchronizer*>(from_handle(synchronizer));
  return guarded("test synchronizer", [&] {
    std::vector<lci_status> mine;
    lci_status* statuses = out;
    if (!statuses) {
      mine.resize(fired.threshold());
      statuses = mine.data();
    }
    const int code = fired.test(statuses);
    if (code == LCI_DONE) {
      for (uint32_t i = 0; i < fired.threshold(); ++i) taken(statuses[i]);
      if (!out) {  // nobody will free what arrived
        for (const lci_status& status : mine) fired.discard(status);
      }
    }
    return code;
  });
}

int lci_counter_create(lci_runtime* runtime, lci_comp** out) {
  LCI_RUNTIME(runtime, "create counter");
  LCI_NOT_NULL(out, "create counter");
  return guarded("create counter", [&] { return create(runtime, std::make_unique<Counter>(), out); });
}
uint64_t lci_counter_get(const lci_comp* counter) {
  if (!counter || from_handle(counter)->kind() != Completion::Kind::kCounter) return 0;
  return static_cast<const Counter*>(from_handle(counter))->get();
}
void lci_counter_set(lci_comp* counter, uint64_t value) {
  if (!counter || from_handle(counter)->kind() != Completion::Kind::kCounter) return;
  static_cast<Counter*>(from_handle(counter))->set(value);
}

int lci_handler_create(lci_runtime* runtime, lci_handler_fn function, void* argument, lci_comp** out) {
  LCI_RUNTIME(runtime, "create handler");
  LCI_NOT_NULL(function, "create handler");
  LCI_NOT_NULL(out, "create handler");
  return guarded("create handler", [&] { return create(runtime, std::make_unique<Handler>(function, argument), out); });
}

int lci_custom_create(lci_runtime* runtime, lci_custom_fn function, void* argument, int stores, lci_comp** out) {
  LCI_RUNTIME(runtime, "create custom object");
  LCI_NOT_NULL(function, "create custom object");
  LCI_NOT_NULL(out, "create custom object");
  return guarded("create custom object",
                 [&] { return create(runtime, std::make_unique<Custom>(function, argument, stores != 0), out); });
}

int lci_custom_taken(lci_comp* custom, lci_status* status) {
  LCI_NOT_NULL(custom, "custom object: taken");
  LCI_NOT_NULL(status, "custom object: taken");
  const Completion& object = *from_handle(custom);
  if (object.kind() != Completion::Kind::kCustom || !object.stores()) {
    return fail(LCI_ERR_ARGUMENT, "custom object: taken: object %u is not a custom one that stores", object.id());
  }
  return guarded("custom object: taken", [&] {
    taken(*status);
    return LCI_DONE;
  });
}

int lci_comp_signal(lci_comp* comp, const lci_status* status) {
  LCI_NOT_NULL(comp, "signal");
  LCI_NOT_NULL(status, "signal");
  return guarded("signal", [&] {
    lci_status given = *status;
    given.port = 0;  // its buffer is the signaller's
    return from_handle(comp)->signal(given);
  });
}

int lci_comp_reserve(lci_comp* comp, lci_device* device) {
  LCI_NOT_NULL(comp, "reserve");
  Completion& object = *from_handle(comp);
  Device* waiter = device ? from_handle(device) : nullptr;
  if (waiter && &waiter->runtime() != object.runtime()) {
    return fail(LCI_ERR_ARGUMENT, "reserve: device %u is of another runtime than completion object %u", waiter->index(),
                object.id());
  }
  if (object.hold()) return LCI_DONE;
  if (!waiter) return LCI_RETRY_NOMEM;
  object.await_place(waiter->index());
  return object.hold() ? LCI_DONE : LCI_RETRY_NOMEM;
}

int lci_comp_signal_reserved(lci_comp* comp, const lci_status* status) {
  LCI_NOT_NULL(comp, "signal");
  LCI_NOT_NULL(status, "signal");
  return guarded("signal", [&] {
    Completion& object = *from_handle(comp);
    if (!object.is_held()) return nothing_reserved("signal", object);
    lci_status given = *status;
    given.port = 0;  // its buffer is the signaller's
    return object.signal_held(given);
  });
}

int lci_comp_unreserve(lci_comp* comp) {
  LCI_NOT_NULL(comp, "unreserve");
  Completion& object = *from_handle(comp);
  if (!object.is_held()) return nothing_reserved("unreserve", object);
  object.forget_held();
  return LCI_DONE;
}

uint32_t lci_comp_id(const lci_comp* comp) {
  return comp ? from_handle(comp)->id() : 0;
}

int lci_comp_free(lci_comp* comp) {
  if (!comp) return LCI_DONE;
  return guarded("free completion object", [&] {
    Completion* completion = from_handle(comp);
    return completion->runtime()->completions().remove(completion);
  });
}

int lci_comp_zero_copy(lci_comp* comp) {
  LCI_NOT_NULL(comp, "zero-copy delivery");
  Completion& object = *from_handle(comp);
  if (!object.stores() || object.kind() == Completion::Kind::kGraph || object.kind() == Completion::Kind::kLane) {
    return fail(LCI_ERR_ARGUMENT, "zero-copy delivery: completion object %u does not store arrivals", object.id());
  }
  object.set_zero_copy();
  return LCI_DONE;
}

int lci_arrival_free(lci_runtime* runtime, lci_status* status) {
  LCI_RUNTIME(runtime, "free arrival");
  LCI_NOT_NULL(status, "free arrival");
  const uint32_t packet = status->packet;
  if (!could_be_lent(runtime->runtime->parts(), *status)) {
    return fail(LCI_ERR_ARGUMENT, "free arrival: packet %u of rank %u is not of a message that came to this runtime",
                packet, status->rank);
  }
  if (free_arrival(runtime->runtime->parts(), *status)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "free arrival: packet %u of rank %u was freed already", packet, status->rank);
}

}  // extern "C"
