// SPDX-License-Identifier: Apache-2.0
// The runtime's matching engines: by number, as the ranks agree on them. [B20]
#include "base/error.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

// What sender and receiver compare before the first send, as they do with the names of ports. Engine 0 needs none.
constexpr uint32_t kOwnKeys = 1, kUserKeys = 2;

/// Ends a receive from a thread that owns no device.
void cancel(const PostedReceive& receive, SharedCounters& shared) {
  const OpTarget& target = receive.target;
  if (target.forgotten) return;
  shared.add(Metric::signals);
  if (target.completion) {
    const lci_status status{LCI_ERR_CANCELLED, receive.rank, receive.tag, receive.buffer, 0, target.context, 0, 0};
    const int refused = target.completion->signal_held(status);
    if (refused == LCI_ERR_OVERRUN || refused == LCI_ERR_NO_MEMORY) {  // there was no room for it
      shared.add(Metric::signals, -1);
      shared.add(Metric::signals_dropped);
    } else if (refused != LCI_DONE) {
      shared.add(Metric::discarded);
    }
  } else if (target.lane) {
    target.lane->operation_ended(nullptr, LCI_ERR_CANCELLED, receive.rank, receive.tag, 0, target.context, nullptr);
  }
  target.ended();
}

}  // namespace

void Runtime::open_engine(uint32_t number, MatchingEngineType type, Matcher matcher) {
  Engine& opened = *targets_->engine(number);
  opened.capacity.reset(attributes_.engine_messages, attributes_.engine_bytes, opened.generation.load() + 1);
  opened.holders.store(0);
  if (number != 0) opened.name_hash.store(matcher.keyed ? kUserKeys : kOwnKeys);
  opened.open(type, attributes_.matching_buckets, matcher);
}

int Runtime::create_engine(uint32_t number, uint32_t type, lci_make_key_fn make_key, void* argument) {
  const uint32_t kind = type & ~static_cast<uint32_t>(LCI_ENGINE_KEYED);
  if (number == 0 || number > LCI_MAX_ENGINE) {
    return fail(LCI_ERR_ARGUMENT, "create matching engine: %u is outside 1..%u", number, LCI_MAX_ENGINE);
  }
  if (kind > LCI_ENGINE_QUEUE || (kind != type && make_key)) {
    return fail(LCI_ERR_ARGUMENT, "create matching engine %u: type %u%s", number, type,
                make_key ? " with make_key: keys are either given or made" : " is unknown");
  }
  Engine& created = *targets_->engine(number);
  {
    std::lock_guard<std::mutex> guard(engines_change_mutex_);
    if (created.is_open()) {
      return fail(LCI_ERR_ARGUMENT, "create matching engine: %u exists already on rank %u", number, rank());
    }
    open_engine(number, kind == LCI_ENGINE_QUEUE ? MatchingEngineType::kQueue : MatchingEngineType::kMap,
                {nullptr, make_key, argument, kind != type || make_key});
  }
  created.wake_all();
  return LCI_DONE;
}

int Runtime::free_engine(uint32_t number) {
  Engine* freed = number != 0 ? targets_->engine(number) : nullptr;
  if (!freed) return fail(LCI_ERR_ARGUMENT, "free matching engine: %u is outside 1..%u", number, LCI_MAX_ENGINE);
  std::vector<std::unique_ptr<PostedReceive>> receives;
  {
    std::lock_guard<std::mutex> guard(engines_change_mutex_);
    const Matcher* matcher = freed->close();
    if (!matcher) return fail(LCI_ERR_ARGUMENT, "free matching engine: %u does not exist on rank %u", number, rank());
    const uint32_t generation = freed->generation.load();
    for (const Device& device : devices_) device.wait_until_not_holding(matcher);
    matcher->entries->extract([&](uint64_t, void* value, Side side) {
      if (side == Side::kReceive) {
        receives.emplace_back(static_cast<PostedReceive*>(value));
        return true;
      }
      const std::unique_ptr<UnexpectedSend> send(static_cast<UnexpectedSend*>(value));
      Link& link = *send->key->link;
      if (send->kind != UnexpectedSend::Kind::kStored) send->key->unanswered.fetch_sub(1, std::memory_order_relaxed);
      if (send->kind == UnexpectedSend::Kind::kAnnounced) {
        link.device->return_packet_now(link, static_cast<uint32_t>(send->argument));
      } else if (send->kind == UnexpectedSend::Kind::kRendezvous) {
        send->key->dropped_generation.store(generation, std::memory_order_release);
      }
      shared.add(Metric::unexpected_stored, -1);
      shared.add(Metric::discarded);
      return true;
    });
  }
  freed->wake_all();  // the devices tell the senders
  for (auto& receive : receives) {
    shared.add(Metric::receives_pending, -1);
    cancel(*receive, shared);
    PendingReceives& home = *receive->home;
    home.give_back(*receive.release());
  }
  return LCI_DONE;
}

}  // namespace lci
