// SPDX-License-Identifier: Apache-2.0
// Devices that no lane owns: any thread progresses them, and posts to them, one at a time.
#pragma once

#include "device/device.hpp"

namespace lci {

/// Progresses a device that no lane owns, unless another thread is at it: LCI_DONE if anything moved, else LCI_RETRY;
/// LCI_ERR_DEVICE when a lane owns it. Any thread, outside handlers.
int progress_shared(Device& device);

/// Posts to a device that no lane owns, with a target that is checked. While another thread is at the device the answer
/// is LCI_RETRY_LOCK, or where retry is not allowed the operation waits for that thread. LCI_ERR_DEVICE when a lane
/// owns it. @param out may be null
int post_shared(Device& device, lci_descriptor& op, const OpTarget& target, lci_status* out);

/// The same of an operation of a graph: it waits if there is no room, or while another thread is at the device. Posted,
/// done or an error. In signal context.
int post_or_wait_shared(Device& device, WaitingOp& op, lci_status* done);

}  // namespace lci
