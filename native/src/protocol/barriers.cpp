// SPDX-License-Identifier: Apache-2.0
#include "protocol/barriers.hpp"

#include <bit>

#include "base/error.hpp"

namespace lci {
namespace {

/// Barriers that a rank may have under way: a peer can be ahead by so many.
constexpr uint64_t kBarriersAhead = 1u << 16;

}  // namespace

Barriers::Barriers(ProtocolHost& host, Links& links)
    : Protocol(host, links), rounds_(static_cast<uint32_t>(std::bit_width(parts_.ranks - 1))) {}

int Barriers::post(const OpTarget& target) {
  for (uint32_t rank = 0; rank < parts_.ranks; ++rank) {
    if (links_.has_failed(rank)) return parts_.peers.check(rank, "barrier");
  }
  const uint64_t oldest = barriers_.empty() ? next_ : barriers_.begin()->first;
  if (next_ >= oldest + kBarriersAhead) return LCI_RETRY_PENDING;
  const uint64_t sequence = next_++;
  Barrier& barrier = barriers_[sequence];
  barrier.entered = true;
  barrier.target = target;
  call_again();
  if (parts_.ranks > 1) tell(sequence, barrier);  // else the next pass ends it
  return LCI_POSTED;
}

/// The message of this round, if it is not out yet. False: there is no room, or nobody to tell.
bool Barriers::tell(uint64_t sequence, Barrier& barrier) {
  if (barrier.sent) return true;
  const uint32_t to = (parts_.rank + (1u << barrier.round)) % parts_.ranks;
  int error = LCI_DONE;
  // Nobody waits for a dead rank. The barrier continues for the rest.
  if (links_.has_failed(to)) return barrier.sent = true;
  Link* link = links_.open(to, &error);
  barrier.sent = link && links_.emit_control(*link, {MessageKind::kBarrier, 0, 0, 0, barrier.round, sequence, 0});
  return barrier.sent;
}

void Barriers::handle(Link& link, const MessageHeader& header) {
  if (header.aux >= rounds_) return protocol_error(link, "barrier round out of range", header);
  const uint32_t from = (link.rank + (1u << header.aux)) % parts_.ranks;
  if (from != parts_.rank) return protocol_error(link, "barrier round of another rank", header);
  if (header.tag > next_ + kBarriersAhead) {
    return protocol_error(link, "barrier too far ahead", header);
  }
  // Over here, by an error that its sender had not seen yet.
  if (header.tag < next_ && !barriers_.count(header.tag)) return counters_.add(Metric::discarded);
  barriers_[header.tag].arrived |= uint64_t{1} << header.aux;
}

bool Barriers::progress() {
  bool moved = false;
  for (auto entry = barriers_.begin(); entry != barriers_.end();) {
    const uint64_t sequence = entry->first;
    Barrier& barrier = entry->second;
    ++entry;  // finishing removes it
    if (!barrier.entered) continue;
    while (barrier.round < rounds_) {
      const bool told_before = barrier.sent;
      if (!tell(sequence, barrier)) break;
      moved |= !told_before;
      if (!(barrier.arrived >> barrier.round & 1)) break;
      ++barrier.round;
      barrier.sent = false;
      moved = true;
    }
    if (barrier.round == rounds_) {
      finish(sequence, LCI_DONE, parts_.rank);
      moved = true;
    }
  }
  return moved;
}

void Barriers::finish(uint64_t sequence, int code, uint32_t rank) {
  const OpTarget target = barriers_[sequence].target;
  const bool completed = code == LCI_DONE && !barriers_[sequence].abandoned;
  barriers_.erase(sequence);
  auto& word = parts_.transport.barriers_completed(parts_.rank);
  if (completed && word.load(std::memory_order_relaxed) <= sequence) {  // they may end in another order
    word.store(sequence + 1, std::memory_order_release);
  }
  complete(target, code, rank, sequence, nullptr, 0);
}

/// Whether @p rank has sent all that it had to tell this rank.
bool Barriers::has_told(uint32_t rank, const Barrier& barrier) const {
  for (uint32_t round = 0; round < rounds_; ++round) {
    const bool to_me = (rank + (1u << round)) % parts_.ranks == parts_.rank;
    if (to_me && !(barrier.arrived >> round & 1)) return false;
  }
  return true;
}

/// A rank is gone, and with it the barriers that it has not completed. How many those are is its own word, and checked:
/// none that this rank has not entered, and none of which it owes this rank a message. Ranks that cannot know better
/// believe it, so where it is a lie the barrier goes on for them, without its user. (A rank that comes later is
/// refused: those who believed the lie and need that rank wait until it leaves.)
void Barriers::peer_gone(uint32_t gone, int code) {
  const uint64_t completed = parts_.transport.barriers_completed(gone).load(std::memory_order_acquire);
  for (auto entry = barriers_.begin(); entry != barriers_.end();) {
    const uint64_t sequence = entry->first;
    Barrier& barrier = entry->second;
    ++entry;
    if (!barrier.entered) continue;
    if (sequence >= completed) {
      finish(sequence, code, gone);
    } else if (completed > next_ || !has_told(gone, barrier)) {
      const OpTarget target = barrier.target;
      barrier.target = {};
      barrier.target.forgotten = true;
      barrier.abandoned = true;
      barrier.arrived = ~uint64_t{0};
      call_again();
      complete(target, code, gone, sequence, nullptr, 0);
    }
  }
}

void Barriers::cancel_all(int code) {
  while (!barriers_.empty()) {
    const auto& [sequence, barrier] = *barriers_.begin();
    if (barrier.entered) {
      finish(sequence, code, parts_.rank);
    } else {
      barriers_.erase(barriers_.begin());
    }
  }
}

}  // namespace lci
