// SPDX-License-Identifier: Apache-2.0
// Put and get of several ranges at once: checked as a whole, one answer, one signal. [C13]
#include <cinttypes>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

/// Checks the lists of a put or get; what it moves together is noted where others have a displacement.
int Device::measure_remote_list(lci_descriptor* op) const {
  const auto* buffers = reinterpret_cast<const lci_buffer*>(op->u.ref.address);
  const auto* places = reinterpret_cast<const lci_place*>(op->u.ref.remote);
  const uint64_t count = op->u.ref.count;
  if ((op->flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_BUFFER) {
    return fail(LCI_ERR_ARGUMENT, "post: a list of buffers goes with LCI_FLAG_BUFFER only");
  }
  if (!buffers || !places || count == 0 || count > LCI_MAX_LIST) {
    return fail(LCI_ERR_ARGUMENT,
                "post: put and get of a list need 1..%u buffers and as many places, not %" PRIu64 "%s", LCI_MAX_LIST,
                count, buffers && places ? "" : " at null");
  }
  if (op->size != 0 || op->u.ref.displacement != 0) {
    return fail(LCI_ERR_ARGUMENT, "post: put and get of a list have size and displacement in their lists only");
  }
  uint64_t size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!buffers[i].address && buffers[i].size != 0) {
      return fail(LCI_ERR_ARGUMENT, "post: buffer %" PRIu64 " of a list is null and has %" PRIu64 " bytes", i,
                  buffers[i].size);
    }
    if (buffers[i].size > UINT64_MAX - size) {
      return fail(LCI_ERR_SIZE, "post: the buffers of a list have more than 2^64 bytes together");
    }
    size += buffers[i].size;
  }
  op->u.ref.displacement = size;
  return LCI_DONE;
}

/// Bounds are checked of all parts, those without bytes included, before the first one moves.
int Device::find_parts(const lci_descriptor& op, RemoteCopy* out) const {
  const auto* buffers = reinterpret_cast<const lci_buffer*>(op.u.ref.address);
  const auto* places = reinterpret_cast<const lci_place*>(op.u.ref.remote);
  for (uint64_t i = 0; i < op.u.ref.count; ++i) {
    RemotePart part{};
    part.displacement = places[i].displacement;
    part.local = static_cast<std::byte*>(buffers[i].address);
    part.size = buffers[i].size;
    if (const int code = find_part(op, places[i].remote, &part); code != LCI_DONE) return code;
    if (part.size != 0 || out->size == 0) out->list.push_back(part);  // an empty list looks whether regions live
  }
  return LCI_DONE;
}

/// What goes by messages, the last part first, as contexts keep it.
std::vector<RemoteRange> Device::ranges_of(const RemoteCopy& copy) {
  std::vector<RemoteRange> ranges;
  const auto parts = copy.parts();
  ranges.reserve(parts.size());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    ranges.push_back({part->local, part->size, {part->remote.key, part->displacement, part->remote.index, 0}});
  }
  return ranges;
}

}  // namespace lci
