// SPDX-License-Identifier: Apache-2.0
#include "device/copy_run.hpp"

#include <cstring>

#include "device/device.hpp"

namespace lci {
namespace {

/// The local side: null if it is not a buffer, or payload that follows.
std::byte* local_of(const lci_descriptor& op) {
  if (op.flags == LCI_FLAG_BUFFER && op.u.ref.count == 0) return reinterpret_cast<std::byte*>(op.u.ref.address);
  if (op.flags != LCI_FLAG_INLINE || op.op != LCI_OP_PUT || op.size > LCI_INLINE_MAX) return nullptr;
  return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&op.u)) + sizeof op.u;
}

}  // namespace

bool CopyRun::try_copy(Device& device, const lci_descriptor& op) {
  std::byte* const local = local_of(op);
  if (local == nullptr || op.size == 0 || op.size > kMost || op.port != 0) return false;
  Remote remote;
  if (!device.parts().remotes.find(op.u.ref.remote, &remote)) return false;
  if (remote.memory == nullptr || remote.rank != op.rank || op.u.ref.displacement > remote.size ||
      op.size > remote.size - op.u.ref.displacement || device.parts().peers.state(op.rank) != RankState::kActive) {
    return false;
  }
  if (!guard_) {
    if (!device.copies_at_hand()) return false;
    guard_.emplace(device.copy_words());
    device_ = &device;
  }
  // Looked at within the guard: it may end at any time.
  if (remote.shared_key->load(std::memory_order_seq_cst) != remote.key) return false;
  std::byte* const there = remote.memory + op.u.ref.displacement;
  const bool put = op.op == LCI_OP_PUT;
  if (op.size == 8) {
    std::memcpy(put ? there : local, put ? local : there, 8);  // the common case, one store
  } else {
    std::memmove(put ? there : local, put ? local : there, op.size);
  }
  device.counters().add(put ? Metric::operations_put_done : Metric::operations_get_done);
  device.counters().add(Metric::rma_copied, op.size);
  return true;
}

}  // namespace lci
