// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_DOUBLE_WORD_HPP_
#define LCI_BASE_DOUBLE_WORD_HPP_

#include <atomic>
#include <cstdint>

/// Whether the processor swaps two adjacent words at once: x86-64.
#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
#define LCI_HAS_DOUBLE_WORD 1
#else
#define LCI_HAS_DOUBLE_WORD 0
#endif

#if LCI_HAS_DOUBLE_WORD

namespace lci {

/**
 * Two words that change together, and only by compare-and-swap. Zero bytes are a valid value.
 *
 * Memory order: compare_exchange() is sequentially consistent. The words are read one by one (acquire), so that a pair
 * may be of two times: a compare_exchange() from it fails then.
 */
struct alignas(16) DoubleWord {
  std::atomic<uint64_t> first;
  std::atomic<uint64_t> second;

  bool compare_exchange(uint64_t old_first, uint64_t old_second, uint64_t new_first, uint64_t new_second) {
    // A builtin of the compiler, not assembler text: the thread sanitizer sees it.
    return __sync_bool_compare_and_swap(reinterpret_cast<Pair*>(this), pair(old_first, old_second),
                                        pair(new_first, new_second));
  }

 private:
  using Pair __attribute__((may_alias)) = unsigned __int128;
  static Pair pair(uint64_t low, uint64_t high) { return static_cast<Pair>(high) << 64 | low; }
};
static_assert(sizeof(DoubleWord) == 16);

}  // namespace lci

#endif

#endif  // LCI_BASE_DOUBLE_WORD_HPP_
