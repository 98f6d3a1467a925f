// SPDX-License-Identifier: Apache-2.0
// Which ports this rank has, by number. [B25, 2B-42]
#include "base/error.hpp"
#include "lane/inbox.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

/// Whether an opening of @p inbox is what the port leads to. Under the lock of the ports, so what it leads to lives;
/// the address alone says nothing, for another opening's may be the same.
bool belongs_to(const Port& port, const Inbox& inbox) {
  const Inbox* first = port.inbox.load();
  return first && (inbox.parts() ? first->parts() == inbox.parts() : first == &inbox);
}

}  // namespace

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
    if (opened->is_open()) return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, rank());
    if (opened->forming) return fail(LCI_ERR_PORT, "open port: %u is being opened in parts", number);
    opened->open(name ? name : "", completion, inbox, messages, bytes);
  }
  opened->wake_all();
  return LCI_DONE;
}

/// Under the lock of the ports.
void Port::open(const std::string& given_name, Completion* object, Inbox* first, uint32_t messages, uint64_t bytes) {
  name = given_name;
  name_hash.store(hash_name(name));
  completion.store(object);
  if (object) object->put_behind_port();
  home_lane.store(first && !first->parts() ? &first->lane() : nullptr);
  inbox.store(first);
  credited.store(first || object->stores(), std::memory_order_release);
  capacity.reset(messages, bytes, generation.load() + 1);
  holders.store(0);
  if (ReplyRooms* rooms = replies()) rooms->reopen();
  generation.fetch_add(1, std::memory_order_release);
  state.store(Target::State::kOpen, std::memory_order_seq_cst);
}

int Runtime::open_part(uint32_t number, const char* name, Part part, Inbox* inbox, uint32_t messages, uint64_t bytes) {
  Port& opened = inbox->port();
  const std::string wanted = name ? name : "";
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (opened.is_open()) return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, rank());
    std::shared_ptr<PortParts> parts = opened.forming;
    if (!parts) {
      parts = std::make_shared<PortParts>();
      parts->name = wanted;
      parts->inboxes.resize(part.count);
      opened.forming = parts;
    } else if (parts->inboxes.size() != part.count || parts->name != wanted) {
      return fail(LCI_ERR_PORT, "open port: %u is being opened as '%s' in %zu parts, not as '%s' in %u", number,
                  parts->name.c_str(), parts->inboxes.size(), wanted.c_str(), part.count);
    } else if (parts->inboxes[part.index]) {
      return fail(LCI_ERR_PORT, "open port: part %u of %u is open already", part.index, number);
    }
    parts->inboxes[part.index] = inbox;
    inbox->set_parts(parts);
    if (++parts->attached < part.count) return LCI_DONE;
    opened.forming.reset();
    opened.open(wanted, nullptr, parts->inboxes.front(), messages, bytes);
  }
  opened.wake_all();
  return LCI_DONE;
}

int Runtime::close_part(Inbox& inbox, int told) {
  Port& closing = inbox.port();
  PortParts& parts = *inbox.parts();
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (closing.forming.get() == &parts) {
      for (Inbox*& attached : parts.inboxes) {
        if (attached == &inbox) attached = nullptr;
      }
      if (--parts.attached == 0) closing.forming.reset();
      return LCI_DONE;
    }
    const bool ours = belongs_to(closing, inbox);
    if (!closing.is_open() || !ours) return LCI_DONE;  // another part was first
    closing.close(told);
  }
  closing.wake_all();
  return LCI_DONE;
}

/// A device finds a part by way of the first one.
const Inbox* Runtime::take_from_port(Inbox& inbox) {
  const Inbox* reached_by = &inbox;
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (inbox.parts()) reached_by = inbox.parts()->inboxes.front();
    if (belongs_to(inbox.port(), inbox)) inbox.port().inbox.store(nullptr);
  }
  owner_barrier();
  return reached_by;
}

bool Runtime::is_delivering_to(const Inbox* reached_by) const {
  if (!reached_by) return false;  // the port never opened
  for (const auto& device : devices_) {
    if (device->is_delivering_to(reached_by)) return true;
  }
  return false;
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

/// @p told: what senders get from now on.
void Port::close(int told) {
  closed_as.store(told, std::memory_order_relaxed);
  closed_generation.store(generation.load(std::memory_order_relaxed), std::memory_order_release);
  state.store(State::kClosed, std::memory_order_seq_cst);
}

int Runtime::close_port(uint32_t number, int told) {
  Port* closing = port(number);
  if (!closing || !closing->is_open()) return fail(LCI_ERR_PORT, "close port: %u is not open", number);
  closing->close(told);
  closing->wake_all();
  return LCI_DONE;
}

}  // namespace lci
