// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mutation.hpp"
#include "bootstrap/inproc.hpp"
#include "completion/queue.hpp"
#include "lane/lane.hpp"

namespace lci {
namespace {

bool register_membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

int Runtime::create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out) {
  std::unique_ptr<Runtime> runtime(new Runtime);
  const int code = runtime->start(explicit_values, job, inproc_rank);
  if (code != LCI_DONE) {
    runtime->closed_ = true;
    // Peers may have met this rank already, and wait for it as long as its process lives.
    if (runtime->peers_) runtime->announce_state(RankState::kFailed);
    return code;
  }
  *out = std::move(runtime);
  return LCI_DONE;
}

int Runtime::start(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank) {
  int code = resolve_attributes(explicit_values, &attributes_);
  if (code != LCI_DONE) return code;
  if (!CompletionQueue::offers(attributes_.cq_type)) attributes_.cq_type = QueueType::kArray;
  if (!attributes_.chaos.empty()) chaos_ = ChaosPlan::parse(attributes_.chaos);
  code = open_bootstrap(attributes_, job, inproc_rank, &bootstrap_);
  if (code != LCI_DONE) return code;
  const uint64_t deadline = now_ns() + uint64_t{attributes_.bootstrap_timeout_ms} * 1'000'000u;
  inproc_ = job != nullptr;
  rank_ = bootstrap_->rank();
  size_ = bootstrap_->size();
  code = log_->open(attributes_, rank_);
  if (code != LCI_DONE) return code;
  const uint32_t size = size_;
  code = Arena::create(attributes_.arena_bytes, attributes_.memory_limit_bytes, size, attributes_.devices, &arena_);
  if (code != LCI_DONE) return code;
  MemoryHeader& header = arena_->header();
  header.magic = kMemoryMagic;
  header.abi = LCI_ABI_VERSION;
  header.rank = bootstrap_->rank();
  header.size = size;
  header.devices = attributes_.devices;
  const bool barriers = attributes_.membarrier == MembarrierMode::kAuto;
  const bool announces_barriers = barriers && register_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  freers_pay_ = barriers && register_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

  clamp_packets();
  pool_ = std::make_unique<PacketPools>(*arena_, attributes_.packet_size, std::max(1u, attributes_.packets),
                                        attributes_.packets_max, std::max(1u, attributes_.devices));
  uint64_t packet_slots = arena_->reserve() / attributes_.packet_size + 1;
  packet_states_.reset(static_cast<PacketState*>(std::calloc(packet_slots, sizeof(PacketState))));
  if (!packet_states_) return fail(LCI_ERR_NO_MEMORY, "create runtime: no memory for packet states");
  ports_ = std::make_unique<std::atomic<Port*>[]>(LCI_MAX_PORT + 1);
  peer_states_ = std::make_unique<std::atomic<RankState>[]>(size);
  for (uint32_t rank = 0; rank < size; ++rank) peer_states_[rank].store(RankState::kActive);
  peers_ended_ = std::make_unique<std::atomic<bool>[]>(size);
  unread_devices_ = std::make_unique<std::atomic<uint32_t>[]>(size);
  for (uint32_t rank = 0; rank < size; ++rank) unread_devices_[rank].store(UINT32_MAX);
  if (attributes_.alloc_default_matching_engine || LCI_MUTATED("resources_unasked"))
    open_engine(0, attributes_.matching_engine_type, {});
  for (uint32_t i = 0; i < attributes_.devices; ++i) devices_.push_back(std::make_unique<Device>(*this, i));

  code = join(job, announces_barriers, deadline);
  if (code != LCI_DONE) return code;
  regions_ = std::make_unique<RegionTable>(*this);
  parkers_pay_ = true;
  for (uint32_t rank = 0; rank < size; ++rank) {
    const Profile& peer = peers_->profile(rank);
    packet_slots = std::max(packet_slots, peer.reserve / attributes_.packet_size + 1);
    parkers_pay_ = parkers_pay_ && peer.membarrier != 0;
  }
  // Half of what a peer's pool starts with may be held here, and by the other ranks.
  loans_ = std::make_unique<Loans>(size, packet_slots, attributes_.packet_size / kPacketUnit,
                                   std::max(1u, attributes_.packets / 2 / size));
  LCI_LOG(*log_, LogLevel::kStatus, "runtime", "rank %u of %u has joined by bootstrap %s, with %u devices", rank_,
          size_, bootstrap_name(), attributes_.devices);
  return LCI_DONE;
}

/// One exchange of what the ranks say of themselves, then they meet.
int Runtime::join(lci_inproc* job, bool announces_barriers, uint64_t deadline) {
  Profile own = profile_of_this_process();
  own.rank = rank_;
  own.size = size_;
  own.devices = attributes_.devices;
  own.ring_bytes = attributes_.ring_bytes;
  own.control_ring_bytes = attributes_.control_ring_bytes;
  own.packet_size = has_packets() ? attributes_.packet_size : 0;
  own.announcements = attributes_.announcements;
  own.membarrier = announces_barriers;
  own.reserve = arena_->reserve();
  Meeting meeting(*bootstrap_, job, arena_);
  int code = meeting.open(&own);
  if (code != LCI_DONE) return code;
  std::vector<Profile> profiles;
  code = exchange_profiles(*bootstrap_, own, deadline, &profiles);
  if (code != LCI_DONE) return code;
  Met met;
  code = meeting.meet(profiles, deadline, &met);
  // If others may have joined by now they are told that this rank has not.
  if (met.board && met.arenas[rank_]) peers_ = std::make_unique<PeerTable>(rank_, std::move(profiles), std::move(met));
  return code;
}

/// More packets than the arena has addresses for cannot be. [A7]
void Runtime::clamp_packets() {
  const uint64_t room = arena_->reserve() / attributes_.packet_size;
  if (attributes_.packets_max <= room || LCI_MUTATED("attributes_as_asked")) return;
  LCI_LOG(*log_, LogLevel::kInfo, "attributes", "packets_max is %lu, what the arena has room for, not %u", room,
          attributes_.packets_max);
  attributes_.packets_max = static_cast<uint32_t>(room);
  attributes_.packets = std::min(attributes_.packets, attributes_.packets_max);
}

Runtime::~Runtime() {
  if (!closed_) close(0);
}

void Runtime::close(uint64_t timeout_ns) {
  if (closed_) return;
  closed_ = true;
  bool drained = false;
  const uint64_t end = now_ns() + timeout_ns;
  while (timeout_ns != 0 && !drained && now_ns() < end) {
    drained = true;
    for (auto& device : devices_) {
      std::lock_guard<TryLock> guard(device->lock);
      const Progressing mark(*device);
      look_at_peers(false);
      Budget budget;
      device->progress(budget);
      drained = drained && device->drained();
    }
    if (!drained) sched_yield();
  }
  for (auto& device : devices_) {
    std::lock_guard<TryLock> guard(device->lock);
    if (!LCI_MUTATED("close_ends_one_by_one")) device->stop_accepting();
  }
  for (auto& device : devices_) {
    std::lock_guard<TryLock> guard(device->lock);
    const Progressing mark(*device);
    device->cancel_all(LCI_ERR_CANCELLED);
  }
  if (regions_) regions_->close();
  if (peers_) announce_state(timeout_ns != 0 ? RankState::kLeft : RankState::kFailed);
}

void Runtime::retire_lane(std::unique_ptr<Lane> lane) {
  lane->retire();
  std::lock_guard<std::mutex> guard(lanes_mutex_);
  retired_lanes_.push_back(std::move(lane));
}

}  // namespace lci
