// SPDX-License-Identifier: Apache-2.0
#include "lane/port_parts.hpp"

#include "base/error.hpp"

namespace lci {
namespace {

/// Whether an opening of @p inbox is what the port leads to. Under the lock of the ports, so what it leads to lives;
/// the address alone says nothing, for another opening's may be the same.
bool belongs_to(const Port& port, const Inbox& inbox) {
  const auto* first = static_cast<const Inbox*>(port.inbox.load());
  return first && (inbox.parts() ? first->parts() == inbox.parts() : first == &inbox);
}

}  // namespace

int open_part(const DeviceParts& devices, uint32_t number, const char* name, Part part, Inbox* inbox, uint32_t messages,
              uint64_t bytes) {
  Port& opened = inbox->port();
  const std::string wanted = name ? name : "";
  {
    std::lock_guard<std::mutex> guard(devices.targets.opening_ports());
    if (opened.is_open()) return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, devices.rank);
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
    opened.open(wanted, nullptr, parts->inboxes.front(), nullptr, messages, bytes);
  }
  opened.wake_all();
  return LCI_DONE;
}

int close_part(const DeviceParts& devices, Inbox& inbox, int told) {
  Port& closing = inbox.port();
  PortParts& parts = *inbox.parts();
  {
    std::lock_guard<std::mutex> guard(devices.targets.opening_ports());
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
const Inbox* take_from_port(const DeviceParts& devices, Inbox& inbox) {
  const Inbox* reached_by = &inbox;
  {
    std::lock_guard<std::mutex> guard(devices.targets.opening_ports());
    if (inbox.parts()) reached_by = inbox.parts()->inboxes.front();
    if (belongs_to(inbox.port(), inbox)) inbox.port().inbox.store(nullptr);
  }
  devices.owner_barrier.pass();
  return reached_by;
}

bool is_delivering_to(const DeviceParts& devices, const Inbox* reached_by) {
  if (!reached_by) return false;  // the port never opened
  for (const Device& device : devices.devices) {
    if (device.is_delivering_to(static_cast<const InboxView*>(reached_by))) return true;
  }
  return false;
}

}  // namespace lci
