// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "lci/lci.h"
#include "transport/memory/available.hpp"

namespace lci {
namespace {

/// A peer has the descriptor: it must neither take memory away nor add a seal that keeps the owner from growing.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;
/// What is reserved by one call of the system: a millisecond's work at most, and what it comes down to among signals.
constexpr uint64_t kPiece = 1u << 20, kLeastPiece = 16 * kPage;

}  // namespace

int Arena::create(uint64_t reserve, uint64_t limit, uint32_t rank, uint32_t size, uint32_t devices,
                  std::shared_ptr<Arena>* out) {
  std::shared_ptr<Arena> arena(new Arena(size, devices));
  arena->reserve_ = round_up(reserve, 4096);
  arena->limit_ = limit;
  if (arena->layout_.end > arena->reserve_) {
    return fail(LCI_ERR_NO_MEMORY,
                "create arena: %" PRIu64 " bytes of bookkeeping for %u ranks exceed arena_bytes; raise it",
                arena->layout_.end, size);
  }
  arena->fd_ = memfd_create("lci", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (arena->fd_ < 0) return fail(LCI_ERR_NO_MEMORY, "create arena: memfd_create: %s", std::strerror(errno));
  if (fcntl(arena->fd_, F_ADD_SEALS, kSeals) != 0) {
    return fail(LCI_ERR_NO_MEMORY, "create arena: seal: %s", std::strerror(errno));
  }
  if (!arena->map()) return fail(LCI_ERR_NO_MEMORY, "map arena: %s", std::strerror(errno));
  if (!arena->back_layout(devices) || !arena->grow_to(arena->layout_.end + 1)) {
    return fail(LCI_ERR_NO_MEMORY,
                "create arena: no memory left for %" PRIu64 " bytes (%" PRIu64
                " available); run fewer ranks or raise the container's limit",
                arena->layout_.end, memory_available());
  }
  arena->used_ = arena->layout_.end;
  arena->introduce(rank, size, devices);
  *out = std::move(arena);
  return LCI_DONE;
}

int Arena::map_peer(int fd, uint32_t rank, uint32_t size, uint32_t devices, std::shared_ptr<Arena>* out) {
  std::shared_ptr<Arena> arena(new Arena(size, devices));
  arena->fd_ = fd;
  const int seals = fcntl(fd, F_GET_SEALS);
  struct stat info {};
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(fd, &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < arena->layout_.end ||
      pread(fd, &arena->reserve_, sizeof arena->reserve_, offsetof(MemoryHeader, reserve)) != sizeof arena->reserve_ ||
      arena->reserve_ % kPage != 0 || arena->reserve_ < arena->layout_.end || arena->reserve_ > kMaxReserve) {
    return fail(LCI_ERR_PROTOCOL, "map arena of rank %u: not a sealed arena of this job", rank);
  }
  if (!arena->map()) return fail(LCI_ERR_NO_MEMORY, "map arena of rank %u: %s", rank, std::strerror(errno));
  arena->backed_ = static_cast<uint64_t>(info.st_size);
  const MemoryHeader& header = arena->header();
  if (header.magic != kMemoryMagic || header.abi != LCI_ABI_VERSION || header.rank != rank || header.size != size ||
      header.devices != devices) {
    return fail(
        LCI_ERR_PROTOCOL,
        "map arena of rank %u: it runs another version or other attributes (ABI %u, size %u, devices %u; here %u, "
        "%u, %u)",
        rank, header.abi, header.size, header.devices, LCI_ABI_VERSION, size, devices);
  }
  *out = std::move(arena);
  return LCI_DONE;
}

/// Maps the descriptor, over a range that an earlier arena had to keep if there is one.
bool Arena::map() {
  range_ = KeptRanges::shared().take(reserve_);
  const bool again = range_.base != nullptr;
  void* mapped =
      mmap(range_.base, reserve_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (again ? MAP_FIXED : 0), fd_, 0);
  if (again) keep_range();
  if (mapped == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(mapped);
  if (!again) range_ = {base_, reserve_};
  return true;
}

Arena::~Arena() {
  if (keep_range_) {
    KeptRanges::shared().put_back(range_);
  } else if (range_.base) {
    munmap(range_.base, range_.bytes);
  }
  if (fd_ >= 0) close(fd_);
}

/// Has pages behind a range, now: a later touch cannot end in SIGBUS. Piece by piece, for older kernels give up, with
/// all that they have done in a call, when a signal comes: under a profiler that sends one every few milliseconds a
/// long call never ends well. False: there is not memory for all of it; what was taken is the caller's to give back.
bool Arena::reserve_pages(uint64_t offset, uint64_t bytes) {
  uint64_t piece = kPiece;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t next = std::min(piece, bytes - done);
    const int error = posix_fallocate(fd_, static_cast<off_t>(offset + done), static_cast<off_t>(next));
    if (error == 0) {
      done += next;
    } else if (error == EINTR) {
      piece = std::max(kLeastPiece, piece / 2);
    } else {
      return false;
    }
  }
  return true;
}

/// Gives the parts that vary in size with the job pages for @p devices. With many ranks they are large.
bool Arena::back_layout(uint32_t devices) {
  const struct {
    uint64_t begin, end;
  } parts[] = {
      {0, directory_offset(devices)}, {layout_.summary, summary_offset(devices)}, {layout_.known, layout_.end}};
  uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.end - part.begin;
  if (bytes > (limit_ ? limit_ : memory_available())) return false;
  for (const auto& part : parts) {
    if (!reserve_pages(part.begin, part.end - part.begin)) return false;
  }
  backed_.store(layout_.end, std::memory_order_release);
  return true;
}

bool Arena::grow_to(uint64_t bytes) {
  if (bytes <= backed_.load(std::memory_order_relaxed)) return true;
  bytes = round_up(bytes, kMemoryGrowth);
  bytes = std::min(bytes, reserve_);
  const uint64_t more = bytes - backed_;
  if (limit_ ? pages_taken() + more > limit_ : more > memory_available()) return false;
  if (!reserve_pages(backed_, more)) {
    punch(backed_, more);
    return false;
  }
  backed_.store(bytes, std::memory_order_release);
  return true;
}

/// Bytes of pages behind the arena, without the holes.
uint64_t Arena::pages_taken() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return backed_.load(std::memory_order_relaxed);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

bool Arena::punch(uint64_t offset, uint64_t bytes) {
  const uint64_t first = round_up(offset, kPage), end = (offset + bytes) / kPage * kPage;
  return first < end && fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                                  static_cast<off_t>(end - first)) == 0;
}

bool Arena::populate(uint64_t offset, uint64_t bytes) {
  std::lock_guard<std::mutex> guard(grow_);
  const uint64_t first = offset / kPage * kPage, end = round_up(offset + bytes, kPage);
  if (!limit_ && end - first > memory_available()) return false;
  if (reserve_pages(first, end - first) && (!limit_ || pages_taken() <= limit_)) return true;
  punch(offset, bytes);  // not its first and last page where others have a part of them
  return false;
}

uint64_t Arena::allocate(size_t bytes) {
  std::lock_guard<std::mutex> guard(grow_);
  const uint64_t size = round_up(bytes, 64);
  if (size > reserve_ - used_ || !grow_to(used_ + size)) return 0;
  const uint64_t offset = used_;
  used_ += size;
  return offset;
}

uint64_t Arena::look_how_far_backed() {
  struct stat info {};
  if (fstat(fd_, &info) == 0 && static_cast<uint64_t>(info.st_size) > backed_.load()) {
    backed_.store(static_cast<uint64_t>(info.st_size));
  }
  return backed_.load();
}

}  // namespace lci
