// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/protocol.hpp"
#include "rma/atomic_step.hpp"
#include "rma/copy_guard.hpp"
#include "wire/remote_access.hpp"

namespace lci {

/// The regions of this rank as peers reach them through messages. Each access is checked by itself: the owner of a
/// region may end it at any time.
class OwnRegions final : public Protocol {
 public:
  using Protocol::Protocol;

  int write(const RemoteAccess& access, const std::byte* from, uint32_t size);
  int read(const RemoteAccess& access, std::byte* to, uint32_t size);
  /// Does an atomic operation; @p before: the value that the word had.
  int apply(const RemoteAccess& access, const AtomicStep& step, uint64_t* before);
  /// A region of @p size bytes is open; LCI_DONE or why not.
  int check(const RemoteAccess& access, uint64_t size) const;
  /// For a CopyGuard: whoever ends a region of this rank, or of a peer, waits for copies under it.
  CopyWords copy_words();

 private:
  void count(int code, uint32_t size);
};

}  // namespace lci
