// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/meanwhile.hpp"
#include "bootstrap/pmi_settings.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace lci {

/**
 * The one connection of a process to a launcher that speaks PMI. All runtimes that the process has, one after another,
 * use it, and it ends with the process: PMI knows no second joining.
 *
 * Its fences are numbered from the process's first one on. The launcher releases all ranks from a fence together, so a
 * number means the same everywhere, and keys that contain it meet neither those of another runtime nor those of another
 * barrier.
 *
 * An error leaves the two sides out of step: from then on every call fails, and says with what it began.
 */
class PmiConnection {
 public:
  using Texts = std::vector<std::pair<std::string, std::string>>;  ///< Under which name, what.

  /// For what needs no other rank, in nanoseconds.
  static constexpr uint64_t kPatience = 30'000'000'000;

  /// Joins at the first call, and is left at the end of the process.
  static int of_this_process(const PmiSettings& settings, std::shared_ptr<PmiConnection>* out);
  static int join(const PmiSettings& settings, std::shared_ptr<PmiConnection>* out);

  /// Rank and size, where the launcher has told them only now.
  void tell_place(PmiSettings* out) const { wire_->tell_place(&out->rank, &out->size); }
  /// LCI_ERR_BOOTSTRAP if nothing can be asked any more.
  int check();
  /// Puts texts, waits for the other ranks, and tells the number of this fence.
  int meet(const Texts& texts, uint64_t deadline_ns, uint64_t* fence, const Meanwhile& meanwhile = {});
  /// A text that rank @p from has put before a fence that has been passed.
  int read(uint64_t fence, uint32_t from, const std::string& name, size_t most, uint64_t deadline_ns, std::string* out);
  /// Tells the launcher that this process ends as it should; not in a child process.
  void leave();

 private:
  explicit PmiConnection(const PmiSettings& settings);
  int use(uint64_t deadline_ns, const std::function<int()>& ask);
  int broken() const;

  const PmiSettings settings_;
  const pid_t process_;
  const std::unique_ptr<PmiWire> wire_;
  std::mutex busy_;
  std::string end_;  // why nothing can be asked any more
  uint64_t fences_ = 0;
};

}  // namespace lci
