// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <sched.h>

#include <cstdlib>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/inproc.hpp"
#include "completion/queue.hpp"
#include "device/progressing.hpp"
#include "host/process.hpp"
#include "lane/lane.hpp"
#include "runtime/transport_choice.hpp"

namespace lci {
static_assert(kMaxDevices == LCI_MAX_DEVICES);

int Runtime::create(const AttributeSet* explicit_values, lci_inproc* job, uint32_t inproc_rank,
                    std::unique_ptr<Runtime>* out) {
  std::unique_ptr<Runtime> runtime(new Runtime);
  const int code = runtime->start(explicit_values, job, inproc_rank);
  if (code != LCI_DONE) {
    runtime->closed_ = true;
    // Peers may have met this rank already, and wait for it as long as its process lives.
    if (runtime->transport_) runtime->peers_->leave(RankState::kFailed, 0);
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
  rank_ = bootstrap_->rank();
  size_ = bootstrap_->size();
  code = log_->open(attributes_, rank_, own_process());
  if (code != LCI_DONE) return code;
  bootstrap_->log_to(*log_);
  const uint32_t size = size_;
  peers_ = std::make_unique<Peers>(rank_, size, shared, *log_);
  code = choose_transport(*bootstrap_, deadline, &attributes_, &hosts_);
  if (code != LCI_DONE) return code;
  code =
      Transport::create({attributes_, *bootstrap_, job, *peers_, *log_, shared, hosts_, chaos(), nullptr}, &transport_);
  if (code != LCI_DONE) return code;
  peers_->attach(*transport_);
  owner_barrier_.let_freers_pay(attributes_.membarrier == MembarrierMode::kAuto && register_process_barrier());

  clamp_packets();
  uint64_t packet_slots = memory().reserve() / attributes_.packet_size + 1;
  packets_ = std::make_unique<Packets>(*transport_, attributes_, packet_slots, shared);
  if (!packets_->valid()) return fail(LCI_ERR_NO_MEMORY, "create runtime: no memory for packet states");
  targets_ = std::make_unique<Targets>(rank_, size_);
  if (attributes_.alloc_default_matching_engine) open_engine(0, attributes_.matching_engine_type, {});

  std::vector<Profile> profiles;
  code = join(deadline, &profiles);
  if (code != LCI_DONE) return code;
  regions_ = std::make_unique<RegionTable>(*this, rank_, copiers());
  for (const Profile& peer : profiles) {
    packet_slots = std::max(packet_slots, peer.reserve / attributes_.packet_size + 1);
  }
  // Half of what a peer's pool starts with may be held here, and by the other ranks.
  loans_ = std::make_unique<Loans>(size, packet_slots, attributes_.packet_size / kPacketUnit,
                                   transport_->most_lent(std::max(1u, attributes_.packets / 2 / size)));
  make_devices();
  code = transport_->connect(deadline);
  if (code != LCI_DONE) return code;
  LCI_LOG(*log_, LogLevel::kStatus, "runtime", "rank %u of %u has joined by bootstrap %s, with %u devices", rank_,
          size_, bootstrap_name(), attributes_.devices);
  return LCI_DONE;
}

void Runtime::make_devices() {
  device_parts_.emplace(DeviceParts{rank_, size_, attributes_, chaos(), *log_, shared, owner_barrier_, *transport_,
                                    *peers_, *packets_, *targets_, *regions_, remotes_, *loans_, allocator_, received_,
                                    devices_, hosts_, shares_memory()});
  completions_ = std::make_unique<Completions>(*device_parts_, this, this);
  for (uint32_t i = 0; i < attributes_.devices; ++i) make_device();
}

/// Whatever others tell a device by its number finds it before the device can be used.
Device& Runtime::make_device() {
  device_storage_.reserve(devices_.size() + 1);
  auto device = std::make_unique<Device>(*this, *device_parts_, devices_.size());
  packets_->add(*device);  // the last that may find no memory
  peers_->add(*device);
  targets_->add(*device);
  devices_.add(*device);
  device_storage_.push_back(std::move(device));
  return *device_storage_.back();
}

int Runtime::add_device(Device** out) {
  const std::lock_guard<std::mutex> guard(adding_device_);
  const uint32_t index = devices_.size();
  if (index == kMaxDevices) return fail(LCI_ERR_EXHAUSTED, "add device: rank %u has %u already", rank_, index);
  if (!memory().populate_device(index)) {
    return fail(LCI_ERR_NO_MEMORY, "add device: no memory for what peers need of device %u (rank %u)", index, rank_);
  }
  *out = &make_device();
  owner_barrier_.pass();  // a thread that visits all devices has seen this one, or this one sees what that took away
  peers_->show_devices();
  LCI_LOG(*log_, LogLevel::kInfo, "runtime", "rank %u has added device %u", rank_, index);
  return LCI_DONE;
}

/// One exchange of what the ranks say of themselves, then they meet.
int Runtime::join(uint64_t deadline, std::vector<Profile>* profiles) {
  Profile own = profile_of(attributes_, rank_, size_);
  own.reserve = memory().reserve();
  int code = transport_->describe(&own.address);
  if (code == LCI_DONE) code = exchange_profiles(*bootstrap_, own, deadline, profiles);
  return code == LCI_DONE ? transport_->meet(*profiles, deadline) : code;
}

/// More packets than the arena has addresses for cannot be. [A7]
void Runtime::clamp_packets() {
  const uint64_t room = memory().reserve() / attributes_.packet_size;
  if (attributes_.packets_max <= room) return;
  LCI_LOG(*log_, LogLevel::kInfo, "attributes", "packets_max is %lu, what the arena has room for, not %u", room,
          attributes_.packets_max);
  attributes_.packets_max = static_cast<uint32_t>(room);
  attributes_.packets = std::min(attributes_.packets, attributes_.packets_max);
}

Runtime::~Runtime() {
  if (!closed_) close(0);
}

/// Drives the devices until everything posted has left, at least once. False if that took too long.
bool Runtime::drain(uint64_t timeout_ns) {
  const uint64_t end = now_ns() + timeout_ns;
  for (;;) {
    bool drained = true;
    for (Device& device : devices_) {
      std::lock_guard<TryLock> guard(device.lock);
      const Progressing mark(device);
      transport_->look(false);
      Budget budget;
      device.progress(budget);
      drained = drained && device.drained();
    }
    if (drained) return true;
    if (now_ns() >= end) return false;
    sched_yield();
  }
}

void Runtime::close(uint64_t timeout_ns) {
  if (closed_) return;
  closed_ = true;
  const uint64_t until = now_ns() + timeout_ns;
  const bool drained = timeout_ns != 0 && drain(timeout_ns);
  const RankState state = drained ? RankState::kLeft : RankState::kFailed;
  if (timeout_ns != 0 && !drained) {
    LCI_LOG(*log_, LogLevel::kWarn, "close", "not everything was sent in time: peers see this rank fail");
  }
  for (Device& device : devices_) {
    std::lock_guard<TryLock> guard(device.lock);
    device.stop_accepting();
  }
  for (Device& device : devices_) {
    std::lock_guard<TryLock> guard(device.lock);
    const Progressing mark(device);
    device.cancel_all(LCI_ERR_CANCELLED);
    device.leave(state);
  }
  if (regions_) regions_->close();
  if (transport_) peers_->leave(state, until);
}

void Runtime::retire_lane(std::unique_ptr<Lane> lane) {
  lane->retire();
  std::lock_guard<std::mutex> guard(lanes_mutex_);
  retired_lanes_.push_back(std::move(lane));
}

}  // namespace lci
