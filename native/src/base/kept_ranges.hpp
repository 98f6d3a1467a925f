// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses that a program has been told (Java has mapped them): they stay mapped when their user ends, and
// serve the next one of about their length. [V15]
//
// Any thread may call anything. Everything is guarded by a mutex: arenas, lanes and inboxes begin and end rarely.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace lci {

class KeptRanges {
 public:
  struct Range {
    std::byte* base = nullptr;
    size_t bytes = 0;
  };

  /// The process's own: ranges outlive the runtimes that used them.
  static KeptRanges& shared();

  /// Of those that were put back, the one that rests longest and has @p bytes, but not more than twice as many; none:
  /// base is null. It is private memory that reads as zeros.
  Range take(size_t bytes);
  /// As take(), or a new one; base is null if the system refuses it.
  Range take_or_map(size_t bytes);
  /// Its bytes go, the addresses stay. A range that the system does not let empty is given up.
  void put_back(Range range);

 private:
  std::mutex mutex_;
  std::vector<Range> ranges_;  ///< The one that rests longest first.
};

}  // namespace lci
