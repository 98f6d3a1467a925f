// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/inproc_bootstrap.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"

lci_inproc::lci_inproc(uint32_t rank_count)
    : size(rank_count), meetings(rank_count), rendezvous(std::make_unique<lci::InprocRendezvous>(rank_count)) {}
lci_inproc::~lci_inproc() = default;

namespace lci {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

Clock::time_point time_of(uint64_t ns) {
  return Clock::time_point(std::chrono::nanoseconds(std::min<uint64_t>(ns, INT64_MAX)));
}

}  // namespace

int create_inproc(uint32_t size, lci_inproc** out) {
  constexpr uint32_t kMaxRanks = 1u << 30;
  if (out == nullptr) return fail(LCI_ERR_ARGUMENT, "create inproc job: no place for the result");
  if (size == 0 || size > kMaxRanks) {
    return fail(LCI_ERR_ARGUMENT, "create inproc job: size %u is outside 1..%u", size, kMaxRanks);
  }
  *out = new lci_inproc(size);
  return LCI_DONE;
}

void retain_inproc(lci_inproc* job) {
  job->references.fetch_add(1, std::memory_order_relaxed);
}

void release_inproc(lci_inproc* job) {
  // The last one out must see what the others did to the job.
  if (job != nullptr && job->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete job;
}

void InprocMeetings::give(const std::string& generation, uint32_t rank, std::shared_ptr<void> object) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Meeting& meeting = meetings_[generation];
  meeting.given.resize(size_);
  meeting.done.resize(size_);
  meeting.given[rank] = std::move(object);
}

std::vector<std::shared_ptr<void>> InprocMeetings::take(const std::string& generation, uint32_t rank) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto meeting = meetings_.find(generation);
  std::vector<std::shared_ptr<void>> objects = meeting->second.given;
  finish(meeting, rank);
  return objects;
}

void InprocMeetings::leave(const std::string& generation, uint32_t rank) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto meeting = meetings_.find(generation);
  if (meeting == meetings_.end()) return;
  if (!meeting->second.done[rank]) meeting->second.given[rank].reset();
  finish(meeting, rank);
}

void InprocMeetings::finish(Meetings::iterator meeting, uint32_t rank) {
  auto& [given, done] = meeting->second;
  done[rank] = true;
  const bool all = std::all_of(done.begin(), done.end(), [](bool finished) { return finished; });
  const bool empty = std::all_of(given.begin(), given.end(), [](const auto& object) { return !object; });
  if (all || empty) meetings_.erase(meeting);
}

int InprocRendezvous::join(uint32_t rank, uint32_t* out_number) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Rank& own = ranks_[rank];
  if (own.open) {
    return fail(LCI_ERR_BOOTSTRAP, "join inproc job %s: rank %u is taken by an open runtime", id_text(job_).c_str(),
                rank);
  }
  own.open = true;
  *out_number = own.next_generation++;
  generations_.try_emplace(*out_number, static_cast<uint32_t>(ranks_.size()));
  return LCI_DONE;
}

void InprocRendezvous::leave(uint32_t rank, uint32_t number) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ranks_[rank].open = false;
  const auto found = generations_.find(number);
  found->second.left[rank] = true;
  const auto& left = found->second.left;
  if (std::all_of(left.begin(), left.end(), [](bool gone) { return gone; })) generations_.erase(found);
  changed_.notify_all();
}

int InprocRendezvous::publish(uint32_t rank, uint32_t number, const std::string& key, uint64_t fence, const void* bytes,
                              size_t n) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return generations_.at(number).values.publish(rank, key, fence, bytes, n);
}

int InprocRendezvous::barrier(uint32_t rank, uint32_t number, uint64_t fence, uint64_t deadline_ns,
                              const Meanwhile& meanwhile) {
  std::unique_lock<std::mutex> guard(mutex_);
  Generation& generation = generations_.at(number);
  generation.arrived[rank] = fence;
  changed_.notify_all();
  for (bool expired = false;;) {
    std::vector<uint32_t> missing;
    bool hopeless = false;
    for (uint32_t peer = 0; peer < ranks_.size(); ++peer) {
      if (generation.arrived[peer] >= fence) continue;
      missing.push_back(peer);
      hopeless = hopeless || generation.left[peer];
    }
    const std::string id = id_text(generation_id(job_, number));
    if (missing.empty()) return LCI_DONE;
    if (hopeless) return missing_ranks(LCI_ERR_BOOTSTRAP, id, fence, missing, "a rank has closed");
    if (expired) return missing_ranks(LCI_ERR_TIMEOUT, id, fence, missing, "the deadline has passed");
    const uint64_t until_ns = meanwhile.until(deadline_ns);
    expired = changed_.wait_until(guard, time_of(until_ns)) == std::cv_status::timeout && until_ns >= deadline_ns;
    guard.unlock();
    meanwhile.work();
    guard.lock();
  }
}

int InprocRendezvous::get(uint32_t number, uint32_t rank, const std::string& key, uint64_t completed,
                          std::vector<uint8_t>* out) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return generations_.at(number).values.get(rank, key, completed, out);
}

int InprocBootstrap::open(lci_inproc* job, uint32_t rank, std::unique_ptr<Bootstrap>* out) {
  if (rank >= job->size) {
    return fail(LCI_ERR_BOOTSTRAP, "join inproc job: rank %u is outside 0..%u", rank, job->size - 1);
  }
  uint32_t generation = 0;
  if (const int code = job->rendezvous->join(rank, &generation); code != LCI_DONE) return code;
  out->reset(new InprocBootstrap(job, rank, generation));
  return LCI_DONE;
}

InprocBootstrap::InprocBootstrap(lci_inproc* job, uint32_t rank, uint32_t generation)
    : job_(job),
      rank_(rank),
      generation_(generation),
      job_id_(id_text(generation_id(job->rendezvous->job(), generation))) {
  retain_inproc(job_);
}

InprocBootstrap::~InprocBootstrap() {
  job_->meetings.leave(job_id_, rank_);
  job_->rendezvous->leave(rank_, generation_);
  release_inproc(job_);
}

int InprocBootstrap::publish(const std::string& key, const void* bytes, size_t n) {
  return job_->rendezvous->publish(rank_, generation_, key, completed_fences_ + 1, bytes, n);
}

int InprocBootstrap::barrier(uint64_t deadline_ns) {
  const int code = job_->rendezvous->barrier(rank_, generation_, completed_fences_ + 1, deadline_ns, meanwhile_);
  if (code == LCI_DONE) ++completed_fences_;
  return code;
}

int InprocBootstrap::get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) {
  if (const int code = check_get(rank, job_->size, key); code != LCI_DONE) return code;
  return job_->rendezvous->get(generation_, rank, key, completed_fences_, out);
}

}  // namespace lci
