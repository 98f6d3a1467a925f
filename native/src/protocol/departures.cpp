// SPDX-License-Identifier: Apache-2.0
#include "protocol/departures.hpp"

#include "protocol/link.hpp"

namespace lci {

void Departures::await_return(Link& link, uint32_t packet, const OpTarget& target, uint64_t tag, uint32_t size) {
  auto departure = std::make_unique<Departure>();
  *departure = {target, &link, tag, nullptr, size, 1, true};
  parts_.packets.state(packet).departure = departures_.add(std::move(departure));
}

void Departures::open(SendContext& context) {
  if (context.departure != 0) return;
  auto departure = std::make_unique<Departure>();
  *departure = {{}, context.link, context.tag, context.buffer(), context.size, 0, false};
  context.departure = departures_.add(std::move(departure));
}

void Departures::await_chunk(SendContext& context, uint32_t packet) {
  open(context);
  ++departures_.find(context.departure)->packets;
  parts_.packets.state(packet).departure = context.departure;
}

bool Departures::take_over(const SendContext& context, int code) {
  if (context.departure == 0) return false;
  Departure& departure = *departures_.find(context.departure);
  if (code == LCI_DONE && departure.packets != 0) {
    departure.target = context.target;
    departure.all_sent = true;
    return true;
  }
  departures_.remove(context.departure);
  return false;
}

void Departures::packet_returned(uint64_t id) {
  Departure* departure = departures_.find(id);
  if (!departure) return;  // ended by an error meanwhile
  if (--departure->packets != 0 || !departure->all_sent) return;
  const auto ended = departures_.remove(id);
  complete(ended->target, LCI_DONE, ended->link->rank, ended->tag, ended->buffer, ended->size);
}

uint64_t Departures::find(const OpTarget& target) {
  uint64_t found = 0;
  departures_.for_each([&](uint64_t id, const Departure& departure) {
    const OpTarget& other = departure.target;
    if (departure.all_sent && other.completion == target.completion && other.context == target.context) found = id;
  });
  return found;
}

void Departures::end(const Link* link, int code) {
  departures_.for_each([&](uint64_t id, Departure& departure) {
    if (link && departure.link != link) return;
    const auto ended = departures_.remove(id);
    if (ended->all_sent) complete(ended->target, code, ended->link->rank, ended->tag, ended->buffer, 0);
  });
}

}  // namespace lci
