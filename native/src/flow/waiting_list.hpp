// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lci {

class WaitingOp;

/// Operations of one flow that wait for room in memory of their own, oldest first. Belongs to the owner of the device.
struct WaitingList {
  WaitingOp* first = nullptr;
  WaitingOp* last = nullptr;
  WaitingList* next_list = nullptr;  ///< In the device's list of those that are not empty.
  bool listed = false;
};

}  // namespace lci
