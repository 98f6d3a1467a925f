// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/file_bootstrap.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mutation.hpp"
#include "bootstrap/fenced_values.hpp"

namespace lci {
namespace {

constexpr uint64_t kShortestNap = 1'000'000;  // ns
constexpr uint64_t kLongestNap = 20'000'000;  // ns

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string job_path(const Attributes& attributes) {
  if (!attributes.job_dir.empty()) return attributes.job_dir;
  const char* path = environment("LCI_JOB_DIR");
  return path == nullptr ? "" : path;
}

std::string_view as_text(const std::vector<uint8_t>& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find_last_not_of(" \n") + 1);
}

template <typename Number>
std::optional<Number> parse_decimal(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// An attribute if it is set, else a number from the environment; LCI_ERR_BOOTSTRAP if there is none.
int rank_or_size(int32_t attribute, const char* variable, uint32_t* out) {
  if (attribute >= 0) {
    *out = static_cast<uint32_t>(attribute);
    return LCI_DONE;
  }
  const char* text = environment(variable);
  if (text == nullptr) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap file: a job directory is given but %s is not; start by the launcher",
                variable);
  }
  const auto number = parse_decimal<uint32_t>(text);
  if (!number || *number > (1u << 30)) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap file: %s is \"%s\", not a number from 0 to 2^30", variable, text);
  }
  *out = *number;
  return LCI_DONE;
}

/// Ended, whether or not its parent has looked.
bool process_gone(pid_t process) {
  if (::kill(process, 0) != 0) return errno == ESRCH;
  FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
  if (!file) return false;
  char text[512];
  const std::string_view line(text, std::fread(text, 1, sizeof text, file));
  std::fclose(file);
  const size_t name_end = line.rfind(')');  // its state follows; a name may hold anything
  return name_end + 2 < line.size() && (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

void nap(uint64_t nanoseconds) {
  const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  ::nanosleep(&time, nullptr);  // woken early by a signal: the caller looks again anyway
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
std::string fence_name(uint64_t fence, uint32_t rank) {
  return "fence." + std::to_string(fence) + "." + std::to_string(rank);
}

}  // namespace

bool FileBootstrap::available(const Attributes& attributes) {
  return !job_path(attributes).empty();
}

int FileBootstrap::open(const Attributes& attributes, std::unique_ptr<Bootstrap>* out) {
  std::unique_ptr<FileBootstrap> self(new FileBootstrap);
  if (const int code = rank_or_size(attributes.job_rank, "LCI_RANK", &self->rank_); code != LCI_DONE) return code;
  if (const int code = rank_or_size(attributes.job_size, "LCI_SIZE", &self->size_); code != LCI_DONE) return code;
  if (self->rank_ >= self->size_) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap file: rank %u does not fit a job of size %u", self->rank_, self->size_);
  }
  PrivateDirectory directory;
  if (const int code = directory.open(job_path(attributes)); code != LCI_DONE) return code;
  if (const int code = self->read_job(directory); code != LCI_DONE) return code;
  if (const int code = self->claim(directory); code != LCI_DONE) return code;
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
    if (!existed || LCI_MUTATED("bootstrap_skip_claim")) {
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

  std::vector<uint32_t> all(size_);
  std::iota(all.begin(), all.end(), 0u);
  std::vector<uint32_t> missing = all;
  for (uint64_t wait = kShortestNap;; wait = std::min(2 * wait, kLongestNap)) {
    // Who has left or died is read before who has arrived: a rank arrives first, and leaves afterwards.
    const std::vector<uint32_t> left = having_left(missing);
    const bool ownerless = owner_ && process_gone(*owner_);
    const std::optional<uint32_t> dead = dead_among(all);
    const uint64_t now = now_ns();
    missing = not_arrived(missing, fence);
    if (missing.empty()) break;
    // Also of those that had arrived: while anybody is missing nobody has come through. Before those that have left:
    // they may have left because of it, and the cause is to be named.
    if (dead) return missing_ranks(LCI_ERR_PEER_FAILED, job_id_, fence, {*dead}, "it died" + describe({*dead}));
    if (!not_arrived(left, fence).empty()) {
      return missing_ranks(LCI_ERR_BOOTSTRAP, job_id_, fence, missing, "a rank has closed" + describe(missing));
    }
    if (ownerless) {
      return missing_ranks(LCI_ERR_BOOTSTRAP, job_id_, fence, missing, "the launcher is gone" + describe(missing));
    }
    if (now >= deadline_ns) {
      return missing_ranks(LCI_ERR_TIMEOUT, job_id_, fence, missing, "the deadline has passed" + describe(missing));
    }
    nap(std::min(wait, deadline_ns - now));
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
  if (fence > completed_fences_ && !LCI_MUTATED("bootstrap_skip_fence")) return not_fenced(rank, key);
  out->assign(content->begin() + sizeof fence, content->end());
  return LCI_DONE;
}

std::optional<uint32_t> FileBootstrap::dead_among(const std::vector<uint32_t>& ranks) const {
  for (const uint32_t rank : ranks) {
    const auto process = claimed_by(rank);
    if (process && process_gone(*process) && !generation_.exists(left_name(rank))) return rank;
  }
  return std::nullopt;
}

std::vector<uint32_t> FileBootstrap::not_arrived(const std::vector<uint32_t>& ranks, uint64_t fence) const {
  std::vector<uint32_t> missing;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(missing),
               [&](uint32_t rank) { return !generation_.exists(fence_name(fence, rank)); });
  return missing;
}

std::vector<uint32_t> FileBootstrap::having_left(const std::vector<uint32_t>& ranks) const {
  std::vector<uint32_t> result;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(result),
               [&](uint32_t rank) { return generation_.exists(left_name(rank)); });
  return result;
}

/// What is known of the first missing rank, for the error text.
std::string FileBootstrap::describe(const std::vector<uint32_t>& missing) const {
  const std::string who = "; rank " + std::to_string(missing.front());
  const auto process = claimed_by(missing.front());
  if (!process) return who + " never joined";
  return who + " joined as process " + std::to_string(*process) + (process_gone(*process) ? ", which is gone" : "");
}

std::optional<pid_t> FileBootstrap::claimed_by(uint32_t rank) const {
  const auto content = generation_.read(claim_name(rank));
  const auto process = content ? parse_decimal<pid_t>(as_text(*content)) : std::nullopt;
  return process > 0 ? process : std::nullopt;  // others would mean a group of processes
}

}  // namespace lci
