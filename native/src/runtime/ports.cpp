// SPDX-License-Identifier: Apache-2.0
// Which ports this rank has, by number. [B25, 2B-42]
#include "base/error.hpp"
#include "base/mutation.hpp"
#include "runtime/runtime.hpp"

namespace lci {

Port* Runtime::port(uint32_t number) {
  if (number == 0 || number > LCI_MAX_PORT) return nullptr;
  Port* known = ports_[number].load(std::memory_order_acquire);
  if (known) return known;
  std::lock_guard<std::mutex> guard(ports_mutex_);
  known = ports_[number].load(std::memory_order_relaxed);
  if (known) return known;
  port_storage_.push_back(std::make_unique<Port>());
  known = port_storage_.back().get();
  known->number = number;
  ports_[number].store(known, std::memory_order_release);
  return known;
}

Target* Runtime::target(uint16_t number) {
  if (!(number & kEngineTarget)) return port(number);
  return engine(number & static_cast<uint16_t>(~kEngineTarget));
}

int Runtime::open_port(uint32_t number, const char* name, Completion* completion, Inbox* inbox, uint32_t messages,
                       uint64_t bytes) {
  Port* opened = port(number);
  if (!opened) return fail(LCI_ERR_PORT, "open port: %u is outside 1..%u", number, LCI_MAX_PORT);
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (opened->is_open() && !LCI_MUTATED("port_opens_twice"))
      return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, rank());
    opened->name = name ? name : "";
    opened->name_hash.store(hash_name(opened->name));
    opened->completion.store(completion);
    if (completion) completion->put_behind_port();
    opened->inbox.store(inbox);
    opened->credited = inbox || completion->stores() || LCI_MUTATED("credit_for_all");
    opened->capacity.reset(messages, bytes, opened->generation.load() + 1);
    opened->holders.store(0);
    if (ReplyRooms* replies = opened->replies()) replies->reopen();
    opened->generation.fetch_add(1, std::memory_order_release);
    opened->state.store(Target::State::kOpen, std::memory_order_seq_cst);
  }
  opened->wake_all();
  return LCI_DONE;
}

int Runtime::name_port(uint32_t number, const char* name) {
  Port* named = port(number);
  if (!named) return fail(LCI_ERR_PORT, "name port: %u is outside 1..%u", number, LCI_MAX_PORT);
  const uint32_t hash = hash_name(name ? name : "");
  const uint32_t before = named->sender_hash.exchange(hash);
  if (before != 0 && hash != 0 && before != hash) {
    named->sender_hash.store(before);
    return fail(LCI_ERR_PORT_MISMATCH, "name port: %u has another name on this rank already, not '%s'", number, name);
  }
  return LCI_DONE;
}

int Runtime::close_port(uint32_t number) {
  Port* closing = port(number);
  if (!closing || !closing->is_open()) return fail(LCI_ERR_PORT, "close port: %u is not open", number);
  closing->closed_generation.store(closing->generation.load(std::memory_order_relaxed), std::memory_order_release);
  closing->state.store(Target::State::kClosed, std::memory_order_seq_cst);
  closing->wake_all();
  return LCI_DONE;
}

}  // namespace lci
