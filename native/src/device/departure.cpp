// SPDX-License-Identifier: Apache-2.0
// Completion semantic "network": signalled when the receiver's side has taken the message, that is, when every packet
// that carried it is back. [C9, SS-10]
#include "device/device.hpp"

namespace lci {

/// The operation ends when @p packet, which carries it all, is back.
void Device::await_return(Link& link, uint32_t packet, const Outgoing& message) {
  if (!message.network) return;
  auto departure = std::make_unique<Departure>();
  *departure = {*message.network, &link, message.tag, nullptr, message.size, 1, true};
  parts_.packets.state(packet).departure = departures_.add(std::move(departure));
}

void Device::open_departure(SendContext& context) {
  if (context.departure != 0) return;
  auto departure = std::make_unique<Departure>();
  *departure = {{}, context.link, context.tag, context.buffer(), context.size, 0, false};
  context.departure = departures_.add(std::move(departure));
}

/// One of the packets of a rendezvous.
void Device::await_chunk(SendContext& context, uint32_t packet) {
  if (!context.network && !context.in_place) return;
  open_departure(context);
  ++departures_.find(context.departure)->packets;
  parts_.packets.state(packet).departure = context.departure;
}

/// A rendezvous ends; true: its signal waits for its packets.
bool Device::hand_to_departure(const SendContext& context, int code) {
  if (context.departure == 0) return false;
  if (code == LCI_DONE) {
    Departure& departure = *departures_.find(context.departure);
    departure.target = context.target;
    departure.all_sent = true;
    return true;
  }
  departures_.remove(context.departure);
  return false;
}

void Device::packet_returned(uint64_t id) {
  Departure* departure = departures_.find(id);
  if (!departure) return;  // ended by an error meanwhile
  if (--departure->packets != 0 || !departure->all_sent) return;
  const auto ended = departures_.remove(id);
  complete(ended->target, LCI_DONE, ended->link->rank, ended->tag, ended->buffer, ended->size);
}

/// @p link: null for all.
void Device::end_departures(const Link* link, int code) {
  departures_.for_each([&](uint64_t id, Departure& departure) {
    if (link && departure.link != link) return;
    const auto ended = departures_.remove(id);
    if (ended->all_sent) complete(ended->target, code, ended->link->rank, ended->tag, ended->buffer, 0);
  });
}

}  // namespace lci
