// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_COMPLETION_HPP_
#define LCI_COMPLETION_COMPLETION_HPP_

#include <atomic>
#include <cstdint>

#include "lci/lci.h"

namespace lci {

class Runtime;

/// Completion objects ask this of the runtime that owns them. Any thread.
class CompletionOwner {
 public:
  /// Frees what an arrival brought that nobody takes.
  virtual void discard_arrival(lci_status& status) = 0;
  /// There may be a place again, for which device @p index waits.
  virtual void place_came(uint32_t index) = 0;
  /// A signal was thrown away: the object that it was for did not take it.
  virtual void count_discarded() = 0;
  virtual uint32_t rank() const = 0;

 protected:
  ~CompletionOwner() = default;
};

/// What an operation or an arrival signals. [E1]
class Completion {
 public:
  enum class Kind : uint8_t { kQueue, kSynchronizer, kCounter, kHandler, kCustom, kLane, kPost, kGraph };

  /// @param bounded whether the object counts the operations that will signal it by reserve() and so on: each has a
  ///        place in it from its post on. [D4]
  explicit Completion(Kind kind, bool bounded = false) : kind_(kind), bounded_(bounded) {}
  virtual ~Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Any thread. LCI_DONE, or why the signal was not taken: LCI_ERR_OVERRUN (no room, nothing was overwritten),
  /// LCI_ERR_ARGUMENT (the status is neither done nor an error [SS-44]; a handler threw).
  virtual int signal(const lci_status& status) = 0;
  /// Whether a signal occupies memory until the user takes it: then remote signals need credit. [X2]
  virtual bool stores() const = 0;

  Kind kind() const { return kind_; }
  /// Identifier in descriptors and records; set once by the registry, before the object is shared.
  uint32_t id() const { return id_; }
  void set_id(uint32_t id) { id_ = id; }
  /// The runtime that owns the object; set once by its registry.
  const Runtime* runtime() const { return runtime_; }
  Runtime* runtime() { return runtime_; }
  void set_owner(Runtime* runtime, CompletionOwner* owner) {
    runtime_ = runtime;
    owner_ = owner;
  }

  /// Whether arrivals come in the packet that carried them. Set before a port is opened on the object. [B14]
  bool zero_copy() const { return zero_copy_; }
  void set_zero_copy() { zero_copy_ = true; }
  /// Whether a port was ever open on it. Under the lock of the ports.
  bool was_behind_port() const { return was_behind_port_; }
  void put_behind_port() { was_behind_port_ = true; }
  /// Frees what an arrival brought that nobody took; a status of another kind is left alone.
  void discard(lci_status status) const;

  // Operations that will signal the object. Each hold() ends by signal_held() or forget_held(). Any thread.
  /// False: the object has no place for the signal, and is not held.
  [[nodiscard]] bool hold() {
    if (bounded_) return reserve();
    users_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void forget_held() {
    if (bounded_) return give_place_back();
    users_.fetch_sub(1, std::memory_order_release);
  }
  /// After hold() was false: device @p index is told when there may be a place; see Device::room_came_elsewhere(). Who
  /// frees a place looks for those who wait, so the caller tries once more.
  virtual void await_place(uint32_t index) { static_cast<void>(index); }
  /// Signals for an operation that is no longer pending from then on: whoever sees the signal may free the object.
  int signal_held(const lci_status& status) {
    enter_held();
    const Inside inside(*this);  // until it has returned, or thrown std::bad_alloc
    return bounded_ ? signal_reserved(status) : signal(status);
  }
  /// Whether anybody holds it.
  bool is_held() const {
    return bounded_ ? reserved() != 0 : static_cast<uint32_t>(users_.load(std::memory_order_relaxed)) != 0;
  }
  /// False while an operation is pending; else true when the last signal has left the object.
  bool wait_unused() const;

 protected:
  CompletionOwner* owner() const { return owner_; }
  /// A hold becomes a thread inside the object, for which wait_unused() waits until it leaves.
  void enter_held() { users_.fetch_add(bounded_ ? kSignalling : kSignalling - 1, std::memory_order_relaxed); }
  /// The same for a thread whose hold lasts on.
  void enter() { users_.fetch_add(kSignalling, std::memory_order_relaxed); }
  void leave() { users_.fetch_sub(kSignalling, std::memory_order_release); }

  // Of a bounded object. What has a place is counted by reserved(), which wait_unused() looks at before it looks at the
  // threads inside: so signal_reserved(), which gives the place up for a signal, releases, and reserved() acquires.
  virtual bool reserve() { return true; }
  virtual void give_place_back() {}
  /// As signal(), in the place of an operation.
  virtual int signal_reserved(const lci_status& status) { return signal(status); }
  virtual uint64_t reserved() const { return 0; }

 private:
  struct Inside {
    explicit Inside(Completion& completion) : of(completion) {}
    ~Inside() { of.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Completion& of;
  };
  static constexpr uint64_t kSignalling = uint64_t{1} << 32;
  const Kind kind_;
  const bool bounded_;
  uint32_t id_ = 0;
  bool zero_copy_ = false;
  bool was_behind_port_ = false;
  Runtime* runtime_ = nullptr;
  CompletionOwner* owner_ = nullptr;
  std::atomic<uint64_t> users_{0};  // pending operations, unless bounded; from bit 32 on, their signals under way
};

/// LCI_DONE if @p status may be signalled, else LCI_ERR_ARGUMENT with a text. [SS-44]
int check_signal(const lci_status& status);

/// Whether the calling thread is inside a handler: progress and blocking forms are refused there. [SS-47]
bool in_signal_context();
/// LCI_DONE, or LCI_ERR_SIGNAL_CONTEXT with a text.
int check_outside_handlers(const char* operation);

/// Marks the calling thread as inside a handler for a scope. Nests.
class SignalContext {
 public:
  SignalContext();
  /// That of the outermost one calls what was given to at_end().
  ~SignalContext();
  /// Inside one: @p function, always the same, is called once when the thread is inside none any more.
  static void at_end(void (*function)());
  SignalContext(const SignalContext&) = delete;
  SignalContext& operator=(const SignalContext&) = delete;

 private:
  uint32_t& depth_;  // of this thread: to ask where it lies is a call
};

}  // namespace lci

#endif  // LCI_COMPLETION_COMPLETION_HPP_
