// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mutation.hpp"
#include "bootstrap/inproc.hpp"
#include "lane/lane.hpp"

namespace lci {

void wake_park_word(std::atomic<uint32_t>& word);

namespace {

constexpr uint32_t kCompletionTable = 65536;
constexpr uint64_t kLookInterval = 20'000'000;

bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

uint64_t coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

int Runtime::create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out) {
  std::unique_ptr<Runtime> runtime(new Runtime);
  const int code = runtime->start(explicit_values, job, inproc_rank);
  if (code != LCI_DONE) {
    runtime->closed_ = true;
    return code;
  }
  *out = std::move(runtime);
  return LCI_DONE;
}

int Runtime::start(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank) {
  int code = resolve_attributes(explicit_values, &attributes_);
  if (code != LCI_DONE) return code;
  code = Chaos::parse(attributes_.chaos, &chaos_);
  if (code != LCI_DONE) return code;
  code = open_bootstrap(attributes_, job, inproc_rank, &bootstrap_);
  if (code != LCI_DONE) return code;
  const uint64_t deadline = now_ns() + uint64_t{attributes_.bootstrap_timeout_ms} * 1'000'000u;
  rank_ = bootstrap_->rank();
  size_ = bootstrap_->size();
  const uint32_t size = size_;
  code = Arena::create(attributes_.arena_bytes, attributes_.memory_limit_bytes, size, attributes_.devices, &arena_);
  if (code != LCI_DONE) return code;
  ArenaHeader& header = arena_->header();
  header.magic = kArenaMagic;
  header.abi = LCI_ABI_VERSION;
  header.rank = bootstrap_->rank();
  header.size = size;
  header.devices = attributes_.devices;
  header.data_slots = attributes_.ring_bytes / kSlotBytes;
  header.control_slots = attributes_.control_ring_bytes / kSlotBytes;
  header.packet_size = attributes_.packet_size;
  header.membarrier = attributes_.membarrier == MembarrierMode::kAuto && register_membarrier();

  pool_ = std::make_unique<PacketPool>(*arena_, attributes_.packet_size, attributes_.packets, attributes_.packets_max,
                                       attributes_.devices);
  const uint64_t packet_slots = arena_->reserve() / attributes_.packet_size + 1;
  packet_states_.reset(static_cast<PacketState*>(std::calloc(packet_slots, sizeof(PacketState))));
  if (!packet_states_) return fail(LCI_ERR_NO_MEMORY, "create runtime: no memory for packet states");
  ports_ = std::make_unique<std::atomic<Port*>[]>(LCI_MAX_PORT + 1);
  completion_table_ = std::make_unique<std::atomic<Completion*>[]>(kCompletionTable);
  peer_states_ = std::make_unique<std::atomic<RankState>[]>(size);
  for (uint32_t rank = 0; rank < size; ++rank) peer_states_[rank].store(RankState::kActive);
  auto engine = std::make_unique<Engine>();
  engine->matching = MatchingEngine::create(attributes_.matching_engine_type, attributes_.matching_buckets);
  engine->capacity.reset(attributes_.engine_messages, attributes_.engine_bytes);
  engine->generation.store(1);
  engine->state.store(Target::State::kOpen);
  engines_.push_back(std::move(engine));
  for (uint32_t i = 0; i < attributes_.devices; ++i) devices_.push_back(std::make_unique<Device>(*this, i));

  header.state.store(static_cast<uint32_t>(RankState::kActive), std::memory_order_release);
  code = meet_peers(*bootstrap_, job, attributes_.arena_bytes, attributes_.devices, arena_, deadline, &peers_);
  if (code != LCI_DONE) return code;
  parkers_pay_ = true;
  for (uint32_t rank = 0; rank < size; ++rank) {
    const ArenaHeader& peer = peers_.arenas[rank]->header();
    if (peer.data_slots != header.data_slots || peer.control_slots != header.control_slots ||
        peer.packet_size != header.packet_size) {
      return fail(LCI_ERR_BOOTSTRAP,
                  "create runtime: rank %u has other attributes (ring_bytes, control_ring_bytes or "
                  "packet_size); all ranks need the same",
                  rank);
    }
    parkers_pay_ = parkers_pay_ && peer.membarrier != 0;
  }
  return LCI_DONE;
}

Runtime::~Runtime() {
  if (!closed_) close(0);
}

void Runtime::announce_state(RankState state) {
  arena_->header().state.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
  for (uint32_t rank = 0; rank < size(); ++rank) {
    if (rank == this->rank() || rank >= peers_.arenas.size() || !peers_.arenas[rank]) continue;
    for (uint32_t device = 0; device < devices(); ++device) {
      peers_.arenas[rank]->summary(device)[this->rank()].store(1, std::memory_order_release);
      fence_seq_cst();
      wake_device(rank, device);
    }
  }
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
      device->progress({});
      drained = drained && device->drained();
    }
    if (!drained) sched_yield();
  }
  for (auto& device : devices_) {
    std::lock_guard<TryLock> guard(device->lock);
    const Progressing mark(*device);
    device->cancel_all(LCI_ERR_CANCELLED);
  }
  announce_state(timeout_ns != 0 ? RankState::kLeft : RankState::kFailed);
}

// --- peers
// --------------------------------------------------------------------------------------------------------------

void Runtime::wake_device(uint32_t rank, uint32_t device) {
  ArenaHeader& header = peers_.arenas[rank]->header();
  const uint32_t slot = header.device[device].park_slot.load(std::memory_order_relaxed);
  if (slot < kMaxDevices) wake_park_word(header.park[slot].word);
}

void Runtime::park_barrier() const {
  if (parkers_pay_) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  } else {
    fence_seq_cst();
  }
}

void Runtime::look_at_peers(bool now) {
  if (size() == 1) return;
  const uint64_t time = coarse_now();
  if (!now && time < next_look_.load(std::memory_order_relaxed)) return;
  TryLockGuard guard(looking_);
  if (!guard) return;
  next_look_.store(time + kLookInterval, std::memory_order_relaxed);
  std::vector<pollfd> entries;
  std::vector<uint32_t> ranks, left;
  for (uint32_t rank = 0; rank < size(); ++rank) {
    if (rank == this->rank() || peer_state(rank) != RankState::kActive) continue;
    const auto said = static_cast<RankState>(peers_.arenas[rank]->header().state.load(std::memory_order_acquire));
    if (said == RankState::kLeft) left.push_back(rank);
    if (said == RankState::kFailed) peer_gone(rank, said);
    if (said == RankState::kLeft || said == RankState::kFailed) continue;
    if (peers_.pidfds[rank] < 0) continue;
    entries.push_back({peers_.pidfds[rank], POLLIN, 0});
    ranks.push_back(rank);
  }
  if (!entries.empty() && poll(entries.data(), entries.size(), 0) <= 0) entries.clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents == 0 || LCI_MUTATED("ignore_death")) continue;
    // It may have said goodbye just before it ended.
    if (peers_.arenas[ranks[i]]->header().state.load() == static_cast<uint32_t>(RankState::kLeft)) {
      left.push_back(ranks[i]);
    } else {
      peer_gone(ranks[i], RankState::kFailed);
    }
  }
  // The dead first: who left may have left because of them, and the cause is to be named.
  for (const uint32_t rank : left) peer_gone(rank, RankState::kLeft);
}

void Runtime::peer_gone(uint32_t rank, RankState state) {
  RankState expected = RankState::kActive;
  if (!peer_states_[rank].compare_exchange_strong(expected, state)) return;
  shared.add(state == RankState::kLeft ? Metric::peers_left : Metric::peers_failed);
  peer_epoch_.fetch_add(1, std::memory_order_seq_cst);
  for (auto& device : devices_) device->wake_owner();
}

void Runtime::wake_packet_waiters() {
  publication_fence();  // the packets are in the pool before we look who waits
  uint32_t waiting = packet_waiters.load(std::memory_order_relaxed);
  if (waiting == 0) return;
  waiting = packet_waiters.exchange(0, std::memory_order_acq_rel);
  for (uint32_t i = 0; i < devices(); ++i) {
    if (!(waiting >> i & 1)) continue;
    devices_[i]->packets_came();
    devices_[i]->wake_owner();
  }
}

// --- ports
// --------------------------------------------------------------------------------------------------------------

Port* Runtime::port(uint32_t number) {
  if (number == 0 || number > LCI_MAX_PORT) return nullptr;
  Port* known = ports_[number].load(std::memory_order_acquire);
  if (known) return known;
  std::lock_guard<std::mutex> guard(ports_mutex_);
  known = ports_[number].load(std::memory_order_relaxed);
  if (known) return known;
  port_storage_.push_back(std::make_unique<Port>());
  known = port_storage_.back().get();
  known->number = number;
  ports_[number].store(known, std::memory_order_release);
  return known;
}

Target* Runtime::target(uint16_t number) {
  if (!(number & kEngineTarget)) return port(number);
  const uint32_t index = number & static_cast<uint16_t>(~kEngineTarget);
  return index < engines_.size() ? engines_[index].get() : nullptr;
}

int Runtime::open_port(uint32_t number, const char* name, Completion* completion, Inbox* inbox, uint32_t messages,
                       uint64_t bytes) {
  Port* opened = port(number);
  if (!opened) return fail(LCI_ERR_PORT, "open port: %u is outside 1..%u", number, LCI_MAX_PORT);
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    if (opened->is_open()) return fail(LCI_ERR_PORT, "open port: %u is open already on rank %u", number, rank());
    opened->name = name ? name : "";
    opened->name_hash.store(hash_name(opened->name));
    opened->completion.store(completion);
    opened->inbox.store(inbox);
    opened->credited = inbox || completion->stores();
    opened->capacity.reset(messages, bytes);
    opened->holders.store(0);
    opened->generation.fetch_add(1, std::memory_order_release);
    opened->state.store(Target::State::kOpen, std::memory_order_seq_cst);
  }
  opened->wake_all();
  return LCI_DONE;
}

int Runtime::name_port(uint32_t number, const char* name) {
  Port* named = port(number);
  if (!named) return fail(LCI_ERR_PORT, "name port: %u is outside 1..%u", number, LCI_MAX_PORT);
  const uint32_t hash = hash_name(name ? name : "");
  const uint32_t before = named->sender_hash.exchange(hash);
  if (before != 0 && hash != 0 && before != hash) {
    named->sender_hash.store(before);
    return fail(LCI_ERR_PORT_MISMATCH, "name port: %u has another name on this rank already, not '%s'", number, name);
  }
  return LCI_DONE;
}

int Runtime::close_port(uint32_t number) {
  Port* closing = port(number);
  if (!closing || !closing->is_open()) return fail(LCI_ERR_PORT, "close port: %u is not open", number);
  closing->state.store(Target::State::kClosed, std::memory_order_seq_cst);
  closing->wake_all();
  return LCI_DONE;
}

void Runtime::retire_lane(std::unique_ptr<Lane> lane) {
  lane->retire();
  std::lock_guard<std::mutex> guard(lanes_mutex_);
  retired_lanes_.push_back(std::move(lane));
}

// --- completion objects
// -------------------------------------------------------------------------------------------------

uint32_t Runtime::add_completion(std::unique_ptr<Completion> completion) {
  std::lock_guard<std::mutex> guard(completions_mutex_);
  uint32_t id;
  if (!free_completions_.empty()) {
    id = free_completions_.back();
    free_completions_.pop_back();
  } else if (completions_.size() + 1 < kCompletionTable) {
    completions_.emplace_back();
    id = static_cast<uint32_t>(completions_.size());
  } else {
    return 0;
  }
  completion->set_id(id);
  completion->set_runtime(this);
  completion_table_[id].store(completion.get(), std::memory_order_release);
  completions_[id - 1] = std::move(completion);
  return id;
}

Completion* Runtime::completion(uint32_t id) {
  return id < kCompletionTable ? completion_table_[id].load(std::memory_order_acquire) : nullptr;
}

int Runtime::remove_completion(Completion* completion) {
  {
    std::lock_guard<std::mutex> guard(ports_mutex_);
    for (auto& port : port_storage_) {
      if (port->is_open() && port->completion.load() == completion) {
        return fail(LCI_ERR_BUSY, "free completion object: port %u is open on it; close the port first", port->number);
      }
    }
  }
  if (!completion->wait_unused()) {
    return fail(LCI_ERR_BUSY, "free completion object: %u is to be signalled by a pending operation; cancel it first",
                completion->id());
  }
  std::lock_guard<std::mutex> guard(completions_mutex_);
  const uint32_t id = completion->id();
  completion_table_[id].store(nullptr, std::memory_order_release);
  completions_[id - 1].reset();
  free_completions_.push_back(id);
  return LCI_DONE;
}

/// Messages of capacity that are leased or stored, over all open ports and engines.
uint64_t Runtime::credits_out() {
  uint64_t messages = 0;
  auto add = [&](Target& target) {
    if (target.is_open() && target.credited)
      messages += target.capacity.total().messages - target.capacity.free().messages;
  };
  std::lock_guard<std::mutex> guard(ports_mutex_);
  for (auto& port : port_storage_) add(*port);
  for (auto& engine : engines_) add(*engine);
  return messages;
}

uint32_t Runtime::snapshot(uint64_t* out, uint32_t count) {
  const PacketPoolCounters pool = pool_->counters();
  for (uint32_t i = 0; i < std::min(count, kCounters); ++i) {
    const auto counter = static_cast<Metric>(i);
    uint64_t value = shared.get(counter);
    for (const auto& device : devices_) value += device->counters.get(counter);
    switch (counter) {
      case Metric::packets_get:
        value = pool.gets;
        break;
      case Metric::packets_put:
        value = pool.puts;
        break;
      case Metric::packets_steal:
        value = pool.steals;
        break;
      case Metric::packets_miss:
        value = pool.misses;
        break;
      case Metric::packets_free:
        value = pool_->free_count();
        break;
      case Metric::packets_capacity:
        value = pool_->capacity();
        break;
      case Metric::credits_leased:
        value = credits_out();
        break;
      default:
        break;
    }
    out[i] = value;
  }
  return kCounters;
}

}  // namespace lci
