// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lci/lci.h"

namespace lci {

/// Whether a post is to be a blocking one: by its flag, or by one of the null objects.
inline bool is_blocking(const lci_descriptor& op, const lci_comp* comp) {
  return (op.flags & LCI_FLAG_WAIT) || comp == LCI_COMP_NULL || comp == LCI_COMP_NULL_RETRY;
}

/// lci_post() for those: posts, and progresses the device until the operation has ended. [C8, C10]
int post_blocking(lci_device* device, lci_descriptor* op, lci_comp* comp, lci_status* out);

}  // namespace lci
