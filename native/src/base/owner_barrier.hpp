// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fences.hpp"
#include "base/membarrier.hpp"

namespace lci {

/// The other side of owner_fence(), by which an owner says often that it uses something: who frees that, which is rare,
/// takes it away, passes this barrier, and then looks who still uses it.
class OwnerBarrier {
 public:
  /// Whether the one who frees can stop this process for a moment; else the owners pay each time.
  void let_freers_pay(bool can) { freers_pay_ = can; }
  bool owners_pay() const { return !freers_pay_; }
  void pass() const {
    if (freers_pay_) {
      process_barrier();
    } else {
      fence_seq_cst();
    }
  }

 private:
  bool freers_pay_ = false;
};

}  // namespace lci
