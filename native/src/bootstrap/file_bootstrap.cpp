// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/file_bootstrap.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/fenced_values.hpp"
#include "host/process.hpp"

namespace lci {
namespace {

constexpr uint64_t kShortestNap = 1'000'000;  // ns
constexpr uint64_t kLongestNap = 20'000'000;  // ns

/// A waiting rank looks at so many of the others at a time, at the next ones the next time, and takes so long for each:
/// all ranks together need a small part of a processor for it, however many they are. What one of them finds it tells
/// the others.
constexpr uint32_t kRanksPerLook = 32;
constexpr uint64_t kTimePerRank = 6'000'000;  // ns

constexpr char kGiven[] = "bootstrap file: a job directory is given";

std::string job_path(const Attributes& attributes) {
  return text_or_environment(attributes.job_dir, "LCI_JOB_DIR");
}

std::string_view as_text(const std::vector<uint8_t>& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find_last_not_of(" \n") + 1);
}

/// A key as part of a file name: everything but letters, digits, '-' and '_' as %xx.
std::string file_name(const std::string& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name;
  for (const char each : key) {
    const auto byte = static_cast<unsigned char>(each);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '_';
    if (plain) {
      name += each;
    } else {
      name += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return name;
}

std::string value_name(uint32_t rank, const std::string& key) {
  return "value." + std::to_string(rank) + "." + file_name(key);
}
std::string claim_name(uint32_t rank) {
  return "claim." + std::to_string(rank);
}
std::string left_name(uint32_t rank) {
  return "left." + std::to_string(rank);
}
/// What tells of a rank that has died: left by the first who notices, be it a rank (of its generation) or the launcher.
constexpr char kDeath[] = "dead";

std::string fence_name(uint64_t fence, uint32_t rank) {
  return "fence." + std::to_string(fence) + "." + std::to_string(rank);
}

}  // namespace

bool FileBootstrap::available(const Attributes& attributes) {
  return !job_path(attributes).empty();
}

int FileBootstrap::open(const Attributes& attributes, std::unique_ptr<Bootstrap>* out) {
  std::unique_ptr<FileBootstrap> self(new FileBootstrap);
  int code = rank_or_size(kGiven, attributes.job_rank, "LCI_RANK", &self->rank_);
  if (code == LCI_DONE) code = rank_or_size(kGiven, attributes.job_size, "LCI_SIZE", &self->size_);
  if (code == LCI_DONE) code = check_place("bootstrap file", self->rank_, self->size_);
  if (code != LCI_DONE) return code;
  PrivateDirectory directory;
  code = directory.open(job_path(attributes));
  if (code == LCI_DONE) code = self->read_job(directory);
  if (code == LCI_DONE) code = self->claim(directory);
  if (code != LCI_DONE) return code;
  self->job_directory_ = std::move(directory);
  self->next_watched_ = self->rank_;
  *out = std::move(self);
  return LCI_DONE;
}

FileBootstrap::~FileBootstrap() {
  bool existed = false;
  // If this fails, peers that still wait find out by their deadline.
  if (claimed_) generation_.create(left_name(rank_), "", 0, &existed);
}

/// Secret, identity and owner that the launcher wrote.
int FileBootstrap::read_job(const PrivateDirectory& directory) {
  std::vector<uint8_t> secret;
  if (const int code = directory.read_secret("secret", &secret); code != LCI_DONE) return code;
  if (secret.size() != secret_.size()) {
    return fail(LCI_ERR_BOOTSTRAP, "%s/secret has %zu bytes instead of %zu", directory.path().c_str(), secret.size(),
                secret_.size());
  }
  std::copy(secret.begin(), secret.end(), secret_.begin());

  const auto job = directory.read("job");
  const auto id = job ? parse_id(as_text(*job)) : std::nullopt;
  if (!id) {
    return fail(LCI_ERR_BOOTSTRAP, "%s/job is missing or not 16 hexadecimal digits", directory.path().c_str());
  }
  job_ = *id;

  if (const auto owner = directory.read("owner")) {
    const std::string_view text = as_text(*owner);  // process id, start time
    owner_ = parse_decimal<pid_t>(text.substr(0, text.find_first_of(" \n")));
    if (!owner_ || *owner_ <= 0) {
      return fail(LCI_ERR_BOOTSTRAP, "%s/owner is not a process id", directory.path().c_str());
    }
    if (process_gone(*owner_)) {
      return fail(LCI_ERR_BOOTSTRAP, "the launcher of %s (process %d) is gone: the job is over",
                  directory.path().c_str(), *owner_);
    }
  }
  return LCI_DONE;
}

/// Takes this rank in the first generation where neither this process nor a rank that has left took it before.
int FileBootstrap::claim(const PrivateDirectory& directory) {
  const std::string self = std::to_string(::getpid());
  for (uint32_t number = 0;; ++number) {
    PrivateDirectory generation;
    if (const int code = generation.open_child(directory, "gen." + std::to_string(number)); code != LCI_DONE) {
      return code;
    }
    bool existed = false;
    const int code = generation.create(claim_name(rank_), self.data(), self.size(), &existed);
    if (code != LCI_DONE) return code;
    generation_ = std::move(generation);
    if (!existed) {
      job_id_ = id_text(generation_id(job_, number));
      claimed_ = true;
      return LCI_DONE;
    }
    const auto holder = claimed_by(rank_);
    if (holder != ::getpid() && !generation_.exists(left_name(rank_))) {
      return fail(LCI_ERR_BOOTSTRAP, "bootstrap file: rank %u of %s is taken by process %d", rank_,
                  directory.path().c_str(), holder.value_or(-1));
    }
  }
}

int FileBootstrap::publish(const std::string& key, const void* bytes, size_t n) {
  if (const int code = check_publish(key, bytes, n); code != LCI_DONE) return code;
  const uint64_t fence = completed_fences_ + 1;
  if (n > kMaxJobFile - sizeof fence) {
    return fail(LCI_ERR_SIZE, "publish \"%s\": %zu bytes are more than a value may have, %zu", key.c_str(), n,
                kMaxJobFile - sizeof fence);
  }
  std::vector<uint8_t> content(sizeof fence + n);
  std::memcpy(content.data(), &fence, sizeof fence);
  if (n > 0) std::memcpy(content.data() + sizeof fence, bytes, n);
  bool existed = false;
  const int code = generation_.create(value_name(rank_, key), content.data(), content.size(), &existed);
  return existed ? already_published(rank_, key) : code;
}

int FileBootstrap::barrier(uint64_t deadline_ns) {
  const uint64_t fence = completed_fences_ + 1;
  bool existed = false;
  if (const int code = generation_.create(fence_name(fence, rank_), "", 0, &existed); code != LCI_DONE) return code;

  next_look_ = 0;
  uint32_t arrived = 0;  // these, from the first on
  for (uint64_t wait = kShortestNap;; wait = std::min(2 * wait, kLongestNap)) {
    // Who has left or died is read before who has arrived: a rank arrives first, and leaves afterwards.
    const Loss loss = look_for_loss();
    const bool ownerless = owner_ && process_gone(*owner_);
    const uint64_t now = now_ns();
    while (arrived < size_ && has_arrived(arrived, fence)) ++arrived;
    if (arrived == size_) break;
    // Also of those that had arrived: while anybody is missing nobody has come through. Before those that have left:
    // they may have left because of it, and the cause is to be named.
    if (loss.dead) {
      const uint32_t dead = *loss.dead;
      return missing_ranks(LCI_ERR_PEER_FAILED, job_id_, fence, {dead}, "it died" + describe(dead));
    }
    const bool left = loss.left && !has_arrived(*loss.left, fence);
    if (left || ownerless || now >= deadline_ns) {
      const std::vector<uint32_t> missing = not_arrived(fence);
      if (missing.empty()) break;  // just now
      const std::string more = describe(missing.front());
      if (left) return missing_ranks(LCI_ERR_BOOTSTRAP, job_id_, fence, missing, "a rank has closed" + more);
      if (ownerless) return missing_ranks(LCI_ERR_BOOTSTRAP, job_id_, fence, missing, "the launcher is gone" + more);
      return missing_ranks(LCI_ERR_TIMEOUT, job_id_, fence, missing, "the deadline has passed" + more);
    }
    meanwhile_.work();
    const uint64_t until = meanwhile_.until(deadline_ns);
    nap(std::min(wait, until - std::min(until, now)));
  }
  ++completed_fences_;
  return LCI_DONE;
}

int FileBootstrap::get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) {
  if (const int code = check_get(rank, size_, key); code != LCI_DONE) return code;
  const auto content = generation_.read(value_name(rank, key));
  if (!content) return not_published(rank, key);
  uint64_t fence = 0;
  if (content->size() < sizeof fence) {
    return fail(LCI_ERR_BOOTSTRAP, "get: the value \"%s\" of rank %u is damaged", key.c_str(), rank);
  }
  std::memcpy(&fence, content->data(), sizeof fence);
  if (fence > completed_fences_) return not_fenced(rank, key);
  out->assign(content->begin() + sizeof fence, content->end());
  return LCI_DONE;
}

std::optional<uint32_t> FileBootstrap::dead_among(const std::vector<uint32_t>& ranks) {
  if (const auto told = told_death()) return told;
  const auto dead = std::find_if(ranks.begin(), ranks.end(), [this](uint32_t rank) { return is_dead(rank); });
  if (dead == ranks.end()) return std::nullopt;
  tell_death(*dead);
  return *dead;
}

FileBootstrap::Loss FileBootstrap::look_for_loss() {
  const uint64_t fence = completed_fences_ + 1;
  Loss loss;
  loss.dead = told_death();
  if (loss.dead || now_ns() < next_look_) return loss;
  const uint32_t count = std::min(size_, kRanksPerLook);
  for (uint32_t i = 0; i < count && !loss.dead; ++i) {
    const uint32_t rank = next_watched_;
    next_watched_ = (next_watched_ + 1) % size_;
    if (is_dead(rank)) {
      loss.dead = rank;
      tell_death(rank);
    } else if (!has_arrived(rank, fence) && generation_.exists(left_name(rank))) {
      loss.left = rank;
    }
  }
  next_look_ = now_ns() + count * kTimePerRank;
  return loss;
}

bool FileBootstrap::is_dead(uint32_t rank) {
  if (claims_.empty()) claims_.resize(size_);
  if (claims_[rank] == 0) claims_[rank] = claimed_by(rank).value_or(0);
  return claims_[rank] != 0 && process_gone(claims_[rank]) && !generation_.exists(left_name(rank));
}

/// Not of a rank that had left before: others are told that it has closed.
std::optional<uint32_t> FileBootstrap::told_death() const {
  for (const PrivateDirectory* directory : {&generation_, &job_directory_}) {
    if (!directory->exists(kDeath)) continue;
    const auto content = directory->read(kDeath);
    const auto rank = content ? parse_decimal<uint32_t>(as_text(*content)) : std::nullopt;
    if (rank && *rank < size_ && !generation_.exists(left_name(*rank))) return rank;
  }
  return std::nullopt;
}

void FileBootstrap::tell_death(uint32_t rank) const {
  const std::string text = std::to_string(rank);
  bool existed = false;
  generation_.create(kDeath, text.data(), text.size(), &existed);  // if it fails, they find out by themselves
}

bool FileBootstrap::has_arrived(uint32_t rank, uint64_t fence) const {
  return fence == 0 || generation_.exists(fence_name(fence, rank));
}

std::vector<uint32_t> FileBootstrap::not_arrived(uint64_t fence) const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (!has_arrived(rank, fence)) missing.push_back(rank);
  }
  return missing;
}

/// What is known of a missing rank, for the error text.
std::string FileBootstrap::describe(uint32_t rank) const {
  const std::string name = "; rank " + std::to_string(rank);
  const auto process = claimed_by(rank);
  if (!process) return name + " never joined";
  return name + " joined as process " + std::to_string(*process) + (process_gone(*process) ? ", which is gone" : "");
}

std::optional<pid_t> FileBootstrap::claimed_by(uint32_t rank) const {
  const auto content = generation_.read(claim_name(rank));
  const auto process = content ? parse_decimal<pid_t>(as_text(*content)) : std::nullopt;
  return process > 0 ? process : std::nullopt;  // others would mean a group of processes
}

}  // namespace lci
