// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/device_bell.hpp"
#include "base/mpsc_stack.hpp"
#include "flow/keys.hpp"

namespace lci {

/// The keys that a device is asked to look at: a port opened or closed, its user took or released something, another
/// sender needs credit. Each is in the list once.
class WorkList {
 public:
  explicit WorkList(DeviceBell& owner) : owner_(owner) {}

  /// Any thread.
  void request(InKey& key) {
    if (key.has_work.exchange(true, std::memory_order_acq_rel)) return;
    keys_.push(&key);
    owner_.wake_owner();
  }
  /// Any thread.
  bool empty() const { return keys_.empty(std::memory_order_acquire); }
  /// The owner: calls @p look with each key. A key that is requested meanwhile waits for the next call. True: there
  /// were some. If @p look throws, that key and the rest stay in the list.
  template <typename F>
  bool drain(F look) {
    InKey* key = keys_.take_all();
    if (!key) return false;
    while (key) {
      InKey* const next = key->next_work;
      key->has_work.exchange(false, std::memory_order_acq_rel);
      try {
        look(*key);
      } catch (...) {
        if (next) put_back(next);
        request(*key);
        throw;
      }
      key = next;
    }
    return true;
  }

 private:
  static InKey*& next_of(InKey& key) { return key.next_work; }
  void put_back(InKey* newest) {
    InKey* oldest = newest;
    while (oldest->next_work) oldest = oldest->next_work;
    keys_.push(oldest, newest);
  }

  DeviceBell& owner_;
  MpscStack<InKey, &next_of, std::memory_order_seq_cst> keys_;
};

}  // namespace lci
