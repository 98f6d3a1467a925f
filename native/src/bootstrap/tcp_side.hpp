// SPDX-License-Identifier: Apache-2.0
// A rank's part in the exchanges of bootstrap tcp: rank 0 collects what the others give, and hands all of it out.
#pragma once

#include <cstdint>

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame_stream.hpp"

namespace lci {

class TcpSide {
 public:
  virtual ~TcpSide() = default;

  /// Gives what this rank publishes at the next fence, as a list of values, and gets what all do. Errors are those of
  /// Bootstrap::barrier(); after one there is no other exchange.
  virtual int exchange(Shared own, uint64_t deadline_ns, Shared* all) = 0;
  /// What is lost, without waiting.
  virtual Bootstrap::Loss look() = 0;
  /// Its identity; 0 as long as it is not known.
  virtual uint64_t job() const = 0;
  virtual void log_to(Log& log) = 0;
};

/// Fails as another rank, or an earlier call, said.
int fail_as(const Failure& failure);
/// What the last fail() of this thread said.
Failure last_failure(int code);

}  // namespace lci
