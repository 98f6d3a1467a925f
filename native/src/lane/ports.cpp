// SPDX-License-Identifier: Apache-2.0
// Ports whose messages a lane takes.
#include "base/error.hpp"
#include "lane/lane.hpp"
#include "lane/port_parts.hpp"

namespace lci {

int Lane::open_port(uint32_t number, const char* name, Part part, uint32_t messages, uint64_t bytes, uint32_t* index) {
  if (part.count == 0 || part.count > LCI_MAX_PORT_PARTS || part.index >= part.count) {
    return fail(LCI_ERR_ARGUMENT, "open port %u: part %u of %u; a port has 1..%u parts", number, part.index, part.count,
                LCI_MAX_PORT_PARTS);
  }
  const Alone alone(*this);
  uint32_t free = 0;
  while (free < inboxes_.size() && inboxes_[free]) ++free;
  if (free == kLaneInboxes)
    return fail(LCI_ERR_EXHAUSTED, "open port %u: this lane has %u inboxes already", number, free);
  Port* port = parts_.targets.port(number);
  if (!port) return fail(LCI_ERR_PORT, "open port: %u is outside 1..%u", number, LCI_MAX_PORT);
  if (messages == 0) messages = parts_.attributes.inbox_messages;
  if (bytes == 0) bytes = parts_.attributes.inbox_bytes;
  auto inbox = std::make_unique<Inbox>(*this, *port, free);
  if (!inbox->open(messages, bytes, parts_.packets.max_eager(), spare_rings_)) {
    return fail(LCI_ERR_NO_MEMORY, "open port %u: no address space for %lu bytes", number, bytes);
  }
  if (free == inboxes_.size()) inboxes_.emplace_back();
  make_room_to_close();
  demand(free) = {};
  demand(free).port = number;
  Inbox* opened = inbox.get();
  inboxes_[free] = std::move(inbox);
  const int code = part.count == 1 ? parts_.targets.open_port(number, name, nullptr, opened, this, messages, bytes)
                                   : open_part(parts_, number, name, part, opened, messages, bytes);
  if (code != LCI_DONE) {
    demand(free) = {};
    inboxes_[free]->end(spare_rings_);
    inboxes_[free].reset();
    return code;
  }
  *index = free;
  return LCI_DONE;
}

/// Each inbox that there is can close without memory, and leave its ring.
void Lane::make_room_to_close() {
  const size_t all = closed_inboxes_.size() + inboxes_.size();
  closed_inboxes_.reserve(all);
  spare_rings_.reserve(spare_rings_.size() + all);
}

int Lane::close_port(uint32_t index) {
  const Alone alone(*this);
  if (index >= inboxes_.size() || !inboxes_[index] || inboxes_[index]->closing) {
    return fail(LCI_ERR_PORT, "close port: no inbox %u on this lane", index);
  }
  Inbox& inbox = *inboxes_[index];
  inbox.closing = true;
  ++closing_inboxes_;
  const int told = control().flags & LCI_ENTER_LEAVING ? LCI_ERR_PEER_LEFT : LCI_ERR_PORT_CLOSED;
  const int code =
      inbox.parts() ? close_part(parts_, inbox, told) : parts_.targets.close_port(inbox.port().number, told);
  const uint64_t discarded = inbox.discard();
  parts_.shared.add(Metric::discarded, discarded);
  demand(index).depth = 0;
  release_inboxes();
  return code;
}

int Lane::set_zero_copy(uint32_t index, bool on) {
  if (index >= inboxes_.size() || !inboxes_[index])
    return fail(LCI_ERR_PORT, "zero copy: no inbox %u on this lane", index);
  inboxes_[index]->set_zero_copy(on);
  return LCI_DONE;
}

/// Closed inboxes go when the loop has consumed their last record, and devices of others are done with them: those say
/// in which one they are, and look at its port again, which does not lead there any more; see Device::Delivering.
void Lane::release_closed_inboxes() {
  for (uint32_t i = 0; i < inboxes_.size(); ++i) {
    if (!inboxes_[i] || !inboxes_[i]->closing || inboxes_[i]->records_out != 0) continue;
    demand(i) = {};
    const Inbox* reached_by = take_from_port(parts_, *inboxes_[i]);
    closed_inboxes_.push_back({std::move(inboxes_[i]), reached_by});
    --closing_inboxes_;
  }
  std::erase_if(closed_inboxes_, [this](const ClosedInbox& closed) {
    if (lci::is_delivering_to(parts_, closed.reached_by)) return false;
    const uint64_t discarded = closed.inbox->end(spare_rings_);
    parts_.shared.add(Metric::discarded, discarded);
    return true;
  });
}

}  // namespace lci
