// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/boards.hpp"

#include <algorithm>
#include <utility>

namespace lci {
namespace {

constexpr uint32_t kEntries = BoardDirectory::kEntries;

/// What lies at an offset that a peer has written; null: it may not be used.
template <typename T>
const T* at(PeerMemory& memory, uint64_t offset) {
  if (offset == 0 || offset % alignof(T) != 0 || !memory.contains(offset, sizeof(T))) return nullptr;
  return reinterpret_cast<const T*>(memory.at(offset));
}

}  // namespace

bool Boards::has_directory() {
  if (directory_) return true;
  by_entry_.resize(kEntries);
  const uint64_t offset = memory_.allocate(sizeof(BoardDirectory));
  if (offset == 0) return false;
  directory_ = reinterpret_cast<BoardDirectory*>(memory_.at(offset));
  memory_.header().boards.store(offset, std::memory_order_release);
  return true;
}

Board* Boards::take() {
  if (free_.empty()) {
    const uint64_t offset = memory_.allocate(sizeof(Board));
    return offset == 0 ? nullptr : reinterpret_cast<Board*>(memory_.at(offset));
  }
  Board* const board = free_.back();
  free_.pop_back();
  return board;
}

uint32_t Boards::free_entry(uint64_t context) const {
  for (uint32_t i = 0; i < kEntries; ++i) {
    const auto entry = static_cast<uint32_t>((context + i) % kEntries);
    if (!by_entry_[entry]) return entry;
  }
  return kEntries;
}

Board* Boards::open(uint64_t context, const Gone& gone) {
  const std::lock_guard<std::mutex> guard(mutex_);
  collect(gone);
  if (!has_directory()) return nullptr;
  const uint32_t entry = free_entry(context);
  if (entry == kEntries) return nullptr;
  closed_.reserve(kEntries);  // so that close() needs no memory
  free_.reserve(kEntries);
  Board* const board = take();
  if (!board) return nullptr;
  board->give_to(context);
  by_entry_[entry] = board;
  BoardDirectory::Entry& shown = directory_->entries[entry];
  shown.board.store(static_cast<uint64_t>(reinterpret_cast<std::byte*>(board) - memory_.base()),
                    std::memory_order_relaxed);
  shown.context.store(context, std::memory_order_release);
  directory_->changes.fetch_add(1, std::memory_order_release);
  return board;
}

void Boards::close(Board& board, uint64_t turns, std::vector<Reader> readers, const Gone& gone) {
  const std::lock_guard<std::mutex> guard(mutex_);
  board.reads_no_more();
  const auto entry = static_cast<uint32_t>(std::find(by_entry_.begin(), by_entry_.end(), &board) - by_entry_.begin());
  closed_.push_back({&board, entry, turns, std::move(readers)});
  collect(gone);
}

/// Boards that nobody reads any more are free.
void Boards::collect(const Gone& gone) {
  std::erase_if(closed_, [&](const Closed& closed) {
    const uint64_t context = closed.board->context.load(std::memory_order_relaxed);
    const bool read = std::all_of(closed.readers.begin(), closed.readers.end(), [&](const Reader& reader) {
      return reader.board->is_done(context, closed.turns) || gone(reader.rank);
    });
    if (!read) return false;
    directory_->entries[closed.entry].context.store(0, std::memory_order_release);
    closed.board->context.store(0, std::memory_order_release);
    by_entry_[closed.entry] = nullptr;
    free_.push_back(closed.board);
    return true;
  });
}

const Board* Boards::find(PeerMemory& memory, uint64_t context, uint32_t* looked) {
  const auto* const directory = at<BoardDirectory>(memory, memory.header().boards.load(std::memory_order_acquire));
  if (!directory) return nullptr;
  const uint32_t changes = directory->changes.load(std::memory_order_acquire);
  if (changes == *looked) return nullptr;
  for (uint32_t i = 0; i < kEntries; ++i) {
    const BoardDirectory::Entry& entry = directory->entries[(context + i) % kEntries];
    if (entry.context.load(std::memory_order_acquire) != context) continue;
    return at<Board>(memory, entry.board.load(std::memory_order_relaxed));
  }
  *looked = changes;
  return nullptr;
}

}  // namespace lci
