// SPDX-License-Identifier: Apache-2.0
// Which device this thread progresses.
#pragma once

namespace lci {

class Device;

/// Marks the device that this thread progresses or ends, with its lock held: handlers may post through it without the
/// lock. Nests.
class Progressing {
 public:
  explicit Progressing(Device& device);
  ~Progressing();
  Progressing(const Progressing&) = delete;
  Progressing& operator=(const Progressing&) = delete;
  static bool is(const Device& device);

 private:
  Device* const before_;
};

}  // namespace lci
