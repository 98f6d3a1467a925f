// SPDX-License-Identifier: Apache-2.0
// Other threads leave for a device here what only its owner may do.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "base/no_memory.hpp"
#include "base/try_lock.hpp"
#include "flow/reply_rooms.hpp"
#include "protocol/backlog.hpp"
#include "protocol/long_works.hpp"
#include "protocol/waiting_ops.hpp"

namespace lci {

/// Receives that have matched a rendezvous, in order. Needs no memory: each leads to the next one.
class MatchedReceives {
 public:
  MatchedReceives() = default;
  MatchedReceives(MatchedReceives&&) = default;
  MatchedReceives& operator=(MatchedReceives&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }
  /// One after the other: each holds the next one, and would end it from within its own end.
  ~MatchedReceives() {
    while (take_first()) {
    }
  }

  void add(std::unique_ptr<ReceiveContext> matched) {
    ReceiveContext* const added = matched.get();
    (first_ ? last_->next_handed : first_) = std::move(matched);
    last_ = added;
  }
  /// Null: there is none.
  std::unique_ptr<ReceiveContext> take_first() {
    std::unique_ptr<ReceiveContext> first = std::move(first_);
    if (first) first_ = std::move(first->next_handed);
    return first;
  }
  void put_first(std::unique_ptr<ReceiveContext> earlier) {
    if (!first_) last_ = earlier.get();
    earlier->next_handed = std::move(first_);
    first_ = std::move(earlier);
  }
  void put_first(MatchedReceives& earlier) {
    if (!earlier.first_) return;
    if (!first_) last_ = earlier.last_;
    earlier.last_->next_handed = std::move(first_);
    first_ = std::move(earlier.first_);
  }
  template <typename F>
  void for_each(F visit) {
    for (ReceiveContext* matched = first_.get(); matched; matched = matched->next_handed.get()) visit(*matched);
  }

 private:
  std::unique_ptr<ReceiveContext> first_;
  ReceiveContext* last_ = nullptr;  // if there is a first one
};

/**
 * Any thread may call anything but take(), close() and closed(), which are the owner's of the device.
 *
 * Memory orders: a short lock guards the lists. The word that says that there is something is written under it, and
 * sequentially consistent, so that an owner that is about to sleep sees it, or is woken afterwards.
 */
class alignas(64) Handed {
 public:
  enum class Answer { kTaken, kClosed, kFull, kNoMemory };
  struct Lists {
    MatchedReceives rendezvous;  ///< To be answered.
    std::list<Queued> posts;
    DeclinedRequests* first_declined = nullptr;  ///< In any order.
    WaitingOp* first_waiting = nullptr;          ///< Of graphs: in memory of their own, oldest first.
    WaitingOp* last_waiting = nullptr;
    WaitingOp* first_cancel = nullptr;  ///< Receives of graphs, in any order.
    LongWork* first_work = nullptr;     ///< Of graphs, too.
    LongWork* last_work = nullptr;
  };

  explicit Handed(ProtocolHost& host) : host_(host) {}

  /// False: the device accepts nothing more.
  bool add_rendezvous(std::unique_ptr<ReceiveContext> context) {
    {
      std::lock_guard<TryLock> guard(lock_);
      if (closed_) return false;
      lists_.rendezvous.add(std::move(context));
      some_.store(true, std::memory_order_seq_cst);
    }
    host_.wake_owner();
    return true;
  }
  /// Those of a rank that are in no list; nobody is told when the device ends.
  void add_declined(DeclinedRequests& declined) {
    {
      std::lock_guard<TryLock> guard(lock_);
      if (closed_) return;
      declined.next = std::exchange(lists_.first_declined, &declined);
      some_.store(true, std::memory_order_seq_cst);
    }
    host_.wake_owner();
  }
  /// @p keep makes what is kept of an operation of @p lane, or of none; there may be @p most of them.
  template <typename Keep>
  Answer add_post(const LaneView* lane, size_t most, Keep keep) {
    {
      std::lock_guard<TryLock> guard(lock_);
      if (closed_ || (lane && lane->retired())) return Answer::kClosed;
      if (lists_.posts.size() >= most) return Answer::kFull;
      std::list<Queued> one;
      const bool kept = unless_no_memory([&] {
        one.emplace_back();  // first, for keep() takes a packet for good
        one.front() = keep();
      });
      if (!kept) return Answer::kNoMemory;
      lists_.posts.splice(lists_.posts.end(), one);
      some_.store(true, std::memory_order_seq_cst);
    }
    host_.wake_owner();
    return Answer::kTaken;
  }

  /// An operation of a graph. False: the device, or its lane, accepts nothing more.
  bool add_waiting(WaitingOp& op) {
    return add_of_graph(op.target, [&] {
      op.next_waiting = nullptr;
      (lists_.last_waiting ? lists_.last_waiting->next_waiting : lists_.first_waiting) = &op;
      lists_.last_waiting = &op;
    });
  }
  /// The same of the cancel of a posted receive.
  bool add_cancel(WaitingOp& op) {
    return add_of_graph(op.target, [&] { op.next_cancel = std::exchange(lists_.first_cancel, &op); });
  }
  /// The same of work.
  bool add_work(LongWork& work) {
    return add_of_graph(work.target, [&] {
      work.next_work = nullptr;
      (lists_.last_work ? lists_.last_work->next_work : lists_.first_work) = &work;
      lists_.last_work = &work;
    });
  }

  /// Something that the device looks at in a pass was left elsewhere.
  void wake() { host_.wake_owner(); }
  bool empty() const { return !some_.load(std::memory_order_acquire); }
  /// Everything that was left.
  Lists take() {
    Lists taken;
    std::lock_guard<TryLock> guard(lock_);
    std::swap(taken, lists_);
    some_.store(false, std::memory_order_relaxed);
    return taken;
  }
  /// Puts back what could not be taken for want of memory, in front of what was left since.
  void give_back(Lists& rest) {
    std::lock_guard<TryLock> guard(lock_);
    lists_.rendezvous.put_first(rest.rendezvous);
    lists_.posts.splice(lists_.posts.begin(), rest.posts);
    some_.store(true, std::memory_order_relaxed);
  }
  /// Takes the operations out that @p goes says true of, and shows @p visit the matched receives.
  template <typename Goes, typename Visit>
  void for_each(Goes goes, Visit visit) {
    std::lock_guard<TryLock> guard(lock_);
    lists_.posts.remove_if(goes);
    lists_.rendezvous.for_each(visit);
  }
  /// Nothing more is accepted.
  void close() {
    std::lock_guard<TryLock> guard(lock_);
    closed_ = true;
  }
  bool closed() const { return closed_; }

 private:
  template <typename Append>
  bool add_of_graph(const OpTarget& target, Append append) {
    {
      std::lock_guard<TryLock> guard(lock_);
      if (closed_ || (target.lane && target.lane->retired())) return false;
      append();
      some_.store(true, std::memory_order_seq_cst);
    }
    host_.wake_owner();
    return true;
  }

  ProtocolHost& host_;
  TryLock lock_;
  Lists lists_;
  std::atomic<bool> some_{false};
  bool closed_ = false;  // written under the lock by the owner, who reads it without
};

}  // namespace lci
