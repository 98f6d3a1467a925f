// SPDX-License-Identifier: Apache-2.0
#include "device/arrival_end.hpp"

#include <utility>

#include "device/device.hpp"
#include "protocol/arrival_buffer.hpp"

namespace lci {
namespace {

void give_back(uint32_t packet, const Charge& charge) {
  Link& link = *charge.key->link;
  link.device->return_packet_now(link, packet);
  link.device->release(*charge.key, charge.generation, charge.credit.messages, charge.credit.bytes, false);
}

}  // namespace

bool could_be_lent(const DeviceParts& parts, const lci_status& status) {
  if (status.port == 0 || status.packet == 0 || !status.buffer) return true;
  if (status.rank >= parts.ranks) return false;
  PeerMemory* const memory = parts.transport.mapped(status.rank);  // what is lent was read from it
  const auto* bytes = static_cast<const std::byte*>(status.buffer);
  return memory && bytes >= memory->base() && bytes < memory->base() + memory->reserve();
}

bool free_arrival(const DeviceParts& parts, lci_status& status) {
  if (status.port == 0) {
    if (status.buffer && parts.received.free(status.buffer)) status.buffer = nullptr;
    return true;
  }
  const uint32_t packet = std::exchange(status.packet, 0);
  void* const buffer = std::exchange(status.buffer, nullptr);
  if (packet == 0) {
    lci_buffer_free(buffer);
    return true;
  }
  return return_lent(parts, status.rank, packet);
}

void discard_arrival(const DeviceParts& parts, lci_status& status) {
  if (status.port == 0) {
    if (status.buffer) parts.received.free(status.buffer);
    return;
  }
  if (status.packet != 0) {
    Charge charge;
    if (!parts.loans.take_back(status.rank, status.packet, &charge)) return;
    if (charge.request != 0) charge.key->link->device->decline_stored(*charge.key->link, charge.request);
    return give_back(status.packet, charge);
  }
  if (status.buffer) {
    const ArrivalBuffer& arrival = *ArrivalBuffer::of(status.buffer);
    if (arrival.request != 0) arrival.key->link->device->decline_stored(*arrival.key->link, arrival.request);
  }
  lci_buffer_free(status.buffer);
}

void drop_arrival(const DeviceParts& parts, lci_status& status) {
  if (status.port == 0) return discard_arrival(parts, status);
  if (!status.buffer || status.packet != 0) return;
  const ArrivalBuffer& arrival = *ArrivalBuffer::of(status.buffer);
  arrival.key->link->device->release(*arrival.key, arrival.generation, arrival.charge_messages, arrival.charge_bytes,
                                     false);
  discard_arrival(parts, status);
  status.buffer = nullptr;
}

bool return_lent(const DeviceParts& parts, uint32_t rank, uint32_t packet) {
  Charge charge;
  if (!parts.loans.take_back(rank, packet, &charge)) return false;
  give_back(packet, charge);
  return true;
}

}  // namespace lci
