// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/notice_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint64_t>::is_always_lock_free);

namespace {

int cannot_map() {
  return fail(LCI_ERR_NO_MEMORY, "meet peers: map notice board: %s", std::strerror(errno));
}

}  // namespace

std::shared_ptr<NoticeBoard> NoticeBoard::in_process(uint32_t ranks) {
  std::shared_ptr<NoticeBoard> board(new NoticeBoard);
  if (!board->map_words(ranks)) throw std::bad_alloc();
  return board;
}

int NoticeBoard::create(uint32_t ranks, std::shared_ptr<NoticeBoard>* out) {
  std::shared_ptr<NoticeBoard> board(new NoticeBoard);
  board->fd_ = FileDescriptor(memfd_create("lci-notices", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = board->fd_.get();
  // With pages now: a later touch cannot end in SIGBUS.
  int error = fd < 0 ? errno : posix_fallocate(fd, 0, static_cast<off_t>(bytes(ranks)));
  if (error == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) error = errno;
  if (error != 0) return fail(LCI_ERR_NO_MEMORY, "meet peers: no notice board: %s", std::strerror(error));
  if (!board->map_words(ranks)) return cannot_map();
  *out = std::move(board);
  return LCI_DONE;
}

int NoticeBoard::map(FileDescriptor fd, uint32_t ranks, std::shared_ptr<NoticeBoard>* out) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  struct stat info {};
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < bytes(ranks)) {
    return fail(LCI_ERR_PROTOCOL, "meet peers: the notice board is not one of this job");
  }
  std::shared_ptr<NoticeBoard> board(new NoticeBoard);
  board->fd_ = std::move(fd);
  if (!board->map_words(ranks)) return cannot_map();
  board->fd_ = FileDescriptor();  // only its maker hands it on
  *out = std::move(board);
  return LCI_DONE;
}

bool NoticeBoard::map_words(uint32_t ranks) {
  const int where = fd_.get() < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* mapped = mmap(nullptr, bytes(ranks), PROT_READ | PROT_WRITE, where, fd_.get(), 0);
  if (mapped == MAP_FAILED) return false;
  words_ = static_cast<std::atomic<uint32_t>*>(mapped);
  counts_ = first_count(ranks);
  mapped_ = bytes(ranks);
  return true;
}

NoticeBoard::~NoticeBoard() {
  if (words_) munmap(words_, mapped_);
}

RankState NoticeBoard::state(uint32_t rank) const {
  switch (const auto said = static_cast<RankState>(words_[kFirst + rank].load(std::memory_order_seq_cst))) {
    case RankState::kLeft:
    case RankState::kFailed:
      return said;
    default:
      return RankState::kActive;
  }
}

bool NoticeBoard::write(uint32_t rank, RankState state) {
  auto& word = words_[kFirst + rank];
  uint32_t said = word.load(std::memory_order_seq_cst);
  do {
    const auto known = static_cast<RankState>(said);
    if (known == RankState::kLeft || known == RankState::kFailed) return false;
  } while (!word.compare_exchange_weak(said, static_cast<uint32_t>(state), std::memory_order_seq_cst));
  words_[0].fetch_add(1, std::memory_order_seq_cst);
  return true;
}

}  // namespace lci
