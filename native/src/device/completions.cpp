// SPDX-License-Identifier: Apache-2.0
#include "device/completions.hpp"

#include "base/error.hpp"
#include "base/try_lock.hpp"
#include "completion/queue.hpp"
#include "device/device.hpp"

namespace lci {
namespace {

/// Numbers of freed objects that are not used again yet.
constexpr size_t kRestingNumbers = 4096;

}  // namespace

uint32_t Completions::add(std::unique_ptr<Completion> completion) {
  std::lock_guard<std::mutex> guard(mutex_);
  uint32_t id;
  // A number rests before it is used again: what was recorded or posted for the one before may still name it.
  const bool rested = free_.size() > kRestingNumbers;
  if (!rested && completions_.size() < kMost) {
    completions_.emplace_back();
    id = static_cast<uint32_t>(completions_.size());
  } else if (!free_.empty()) {
    id = free_.front();
    free_.pop_front();
  } else {
    return 0;
  }
  completion->set_id(id);
  completion->set_owner(runtime_, owner_);
  table_.put(id, completion.get());
  completions_[id - 1] = std::move(completion);
  return id;
}

/// What comes to a port is in its object while a device says so, also when the port has closed meanwhile. False: this
/// thread may not wait, because the function that runs may be the very one that calls.
bool Completions::wait_until_not_delivering(const Completion& completion) const {
  parts_.owner_barrier.pass();
  for (const Device& device : parts_.devices) {
    for (SpinWait wait; device.is_delivering_to(&completion); wait.step()) {
      if (in_signal_context()) return false;
    }
  }
  return true;
}

int Completions::remove(Completion* completion) {
  const Port* behind = nullptr;
  parts_.targets.for_each_port([&](const Port& port) {
    if (port.is_open() && port.completion.load() == completion) behind = &port;
  });
  if (behind) {
    return fail(LCI_ERR_BUSY, "free completion object: port %u is open on it; close the port first", behind->number);
  }
  bool behind_port;
  {
    std::lock_guard<std::mutex> guard(parts_.targets.opening_ports());
    behind_port = completion->was_behind_port();
  }
  if (!completion->wait_unused()) {
    return fail(LCI_ERR_BUSY, "free completion object: %u is to be signalled by a pending operation; cancel it first",
                completion->id());
  }
  if (behind_port && !wait_until_not_delivering(*completion)) {
    return fail(LCI_ERR_BUSY, "free completion object: a function of %u, or another one, is running; free it outside",
                completion->id());
  }
  std::unique_ptr<Completion> removed;  // destroyed without the lock: a graph frees its users' values
  std::lock_guard<std::mutex> guard(mutex_);
  if (completion->kind() == Completion::Kind::kQueue) {
    const auto& queue = static_cast<const CompletionQueue&>(*completion);
    parts_.shared.add(Metric::statuses_pushed, queue.pushed());
    parts_.shared.add(Metric::statuses_popped, queue.pushed());  // what is in it goes with it
  }
  const uint32_t id = completion->id();
  table_.put(id, nullptr);
  removed = std::move(completions_[id - 1]);
  free_.push_back(id);
  return LCI_DONE;
}

void Completions::count_statuses(uint64_t* pushed, uint64_t* popped) const {
  std::lock_guard<std::mutex> guard(mutex_);
  for (const auto& completion : completions_) {
    if (!completion || completion->kind() != Completion::Kind::kQueue) continue;
    const auto& queue = static_cast<const CompletionQueue&>(*completion);
    *popped += queue.popped();
    *pushed += queue.pushed();
  }
}

}  // namespace lci
