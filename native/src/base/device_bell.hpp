// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lci {

/// Other threads tell a device by this. Each call wakes the thread that progresses the device, if it sleeps. Any
/// thread.
class DeviceBell {
 public:
  /// Something was left for it, or a peer is gone.
  virtual void wake_owner() = 0;
  /// It was refused a packet, and there may be one now.
  virtual void packets_came() = 0;
  /// An operation was refused for want of room that others free, and there may be some now: for the reply to a request,
  /// in a completion queue.
  virtual void room_came_elsewhere() = 0;

 protected:
  ~DeviceBell() = default;
};

}  // namespace lci
