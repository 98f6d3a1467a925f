// SPDX-License-Identifier: Apache-2.0
// Work in memory of this process that would take a pass of a device too long: the owner of the device does one step of
// it in each pass.
#pragma once

#include "protocol/protocol.hpp"

namespace lci {

/// It stays where it is until it has ended.
class LongWork {
 public:
  explicit LongWork(const OpTarget& given) : target(given) {}
  /// False: there is more to do.
  virtual bool step() = 0;
  /// Any thread: no step more is to be done. Once true it stays so until the work has ended.
  virtual bool is_given_up() const = 0;
  /// As the completion object hears of it, which is held until then.
  virtual lci_status ended(int code) const = 0;

  const OpTarget target;
  LongWork* next_work = nullptr;

 protected:
  ~LongWork() = default;
};

/// That of a device: the first to come ends first. Belongs to the owner of the device.
class LongWorks final : public Protocol {
 public:
  LongWorks(ProtocolHost& host, Links& links) : Protocol(host, links) {}

  bool empty() const { return first_ == nullptr; }
  void join(LongWork& work);
  /// A step. True: it was done.
  bool progress();
  void cancel_all(int code);
  /// A lane goes: its work is forgotten without a signal.
  void lane_gone(const LaneView& lane);

 private:
  LongWork& take_first();
  void end(const LongWork& work, int code);

  LongWork* first_ = nullptr;
  LongWork* last_ = nullptr;
};

}  // namespace lci
