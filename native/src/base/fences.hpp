// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The only place of the core with free-standing fences. [2B-60]
 *
 * The thread sanitizer does not model std::atomic_thread_fence (and gcc refuses it there). Its form of a fence is a
 * read-modify-write of one common word: it orders at least as much, and the sanitizer understands it. It costs a shared
 * cache line, which only that build pays.
 */
#ifndef LCI_BASE_FENCES_HPP_
#define LCI_BASE_FENCES_HPP_

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define LCI_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LCI_THREAD_SANITIZER 1
#endif
#endif

namespace lci {

#ifdef LCI_THREAD_SANITIZER
namespace detail {
inline std::atomic<unsigned> fence_word{0};
}
inline void fence_seq_cst() {
  detail::fence_word.fetch_add(1, std::memory_order_seq_cst);
}
inline void fence_acquire() {
  detail::fence_word.fetch_add(1, std::memory_order_acq_rel);
}
inline void fence_release() {
  detail::fence_word.fetch_add(1, std::memory_order_acq_rel);
}
#else
/// Orders everything before it against everything after it, stores against later loads included.
inline void fence_seq_cst() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
/// Loads before it are not passed by anything after it.
inline void fence_acquire() {
  std::atomic_thread_fence(std::memory_order_acquire);
}
/// Nothing before it passes stores after it.
inline void fence_release() {
  std::atomic_thread_fence(std::memory_order_release);
}
#endif

/// The compiler keeps the order; for those whose other side stops this processor (membarrier).
inline void fence_compiler() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Orders what the owner of something says that it uses against its look whether that is still there; the other side is
/// a barrier that stops this processor. @param owner_pays there is no such barrier
inline void owner_fence(bool owner_pays) {
  fence_compiler();
  if (owner_pays) fence_seq_cst();
}

/// Tells the processor that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace lci

#endif  // LCI_BASE_FENCES_HPP_
