// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_FREE_LIST_HPP_
#define LCI_BASE_FREE_LIST_HPP_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lci {

/// Objects of one type that come and go all the time: what was given back last is taken first, while it is still in the
/// cache. One user at a time. An object may come from another list, and may be deleted instead of given back.
template <typename T>
class FreeList {
 public:
  /// @param most objects kept; more are deleted
  explicit FreeList(size_t most) : most_(most) { kept_.reserve(most); }

  /// With whatever it held when it was given back.
  std::unique_ptr<T> take() {
    if (kept_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> object = std::move(kept_.back());
    kept_.pop_back();
    return object;
  }
  /// Needs no memory.
  void give(std::unique_ptr<T> object) {
    if (kept_.size() < most_) kept_.push_back(std::move(object));
  }

 private:
  const size_t most_;
  std::vector<std::unique_ptr<T>> kept_;
};

}  // namespace lci

#endif  // LCI_BASE_FREE_LIST_HPP_
