// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_LAZY_ARRAY_HPP_
#define LCI_BASE_LAZY_ARRAY_HPP_

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

namespace lci {

/**
 * A page-aligned array whose elements start as zero bytes and take memory only when touched: large tables cost nothing
 * until used. T must be valid as zero bytes and need no destructor. Throws std::bad_alloc.
 */
template <typename T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit LazyArray(size_t count) : bytes_(count * sizeof(T)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    elements_ = static_cast<T*>(memory);
  }
  ~LazyArray() { munmap(elements_, bytes_); }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;

  T& operator[](size_t index) { return elements_[index]; }
  const T& operator[](size_t index) const { return elements_[index]; }
  size_t size() const { return bytes_ / sizeof(T); }

 private:
  const size_t bytes_;
  T* elements_;
};

}  // namespace lci

#endif  // LCI_BASE_LAZY_ARRAY_HPP_
