// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_transport.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fences.hpp"
#include "lci/lci.h"
#include "transport/shm/arena.hpp"

namespace lci {
namespace {

constexpr uint64_t kDeathPatience = 500'000'000;  // ns
/// Ranks of other hosts that a rank is connected to whatever is posted.
constexpr uint32_t kNeighbours = 2;

/// Who is silent is known when both have passed, so what looks cost is taken off.
Patience patience_of(const Attributes& attributes) {
  return {uint64_t{attributes.net_dead_ms} * 1'000'000u,
          uint64_t{attributes.net_reconnect_ms} * 1'000'000u - 2 * Monitors::kLookInterval};
}

int died_while_joining(uint32_t rank) {
  return blame(rank, fail(LCI_ERR_PEER_FAILED, "create runtime: rank %u has ended while joining", rank));
}

/// The links of all devices with a peer share the addresses of one mirror, of which others need some as well.
uint32_t window_of(const Attributes& attributes) {
  const uint64_t share = attributes.arena_bytes / 2 / std::max(1u, attributes.devices);
  return static_cast<uint32_t>(std::min<uint64_t>(attributes.net_window_bytes, share));
}

LinkSizes sizes_of(const Attributes& attributes) {
  return {attributes.control_ring_bytes / kSlotBytes, attributes.ring_bytes / kSlotBytes,
          attributes.packet_size - kPacketPayloadOffset, attributes.net_ring_bytes / kSlotBytes, window_of(attributes)};
}

}  // namespace

TcpTransport::TcpTransport(const TransportParts& parts)
    : Transport(parts),
      bootstrap_(parts.bootstrap),
      events_(parts.events),
      log_(parts.log),
      shared_(parts.shared),
      hosts_(parts.hosts),
      chaos_(parts.chaos),
      listen_at_(parts.attributes.net_address),
      idle_ns_(uint64_t{parts.attributes.net_idle_ms} * 1'000'000u),
      most_links_(parts.attributes.net_links),
      seals_(parts.attributes.net_security == NetSecurity::kSealed),
      crypto_file_(parts.attributes.crypto_library),
      devices_(parts.attributes.devices),
      sizes_(sizes_of(parts.attributes)),
      door_(identity_, parts.events, parts.log, parts.shared),
      barriers_(std::make_unique<std::atomic<uint64_t>[]>(size_)),
      own_barriers_(&barriers_[rank_]),
      is_gone_(std::make_unique<std::atomic<bool>[]>(size_)),
      standing_links_(std::make_unique<std::atomic<uint32_t>[]>(size_)),
      named_(std::make_unique<DeviceSet[]>(size_)),
      mirrors_(size_),
      monitors_(*this, patience_of(parts.attributes)) {
  gone_.reserve(size_);
  own_->header().bells = bells_.name();
}

std::string TcpTransport::availability() {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (probe.get() < 0) return std::string("unavailable: socket: ") + std::strerror(errno);
  return "available (attribute transport=tcp)";
}

TcpTransport::~TcpTransport() {
  for (auto& device : attached_) delete device.load();
}

/// Never weaker than asked for.
int TcpTransport::prepare_seals() {
  if (!seals_) return LCI_DONE;
  if (!bootstrap_.keeps_secret()) {
    return fail(LCI_ERR_BOOTSTRAP,
                "create runtime: net_security=sealed needs a secret that only the ranks know: name a file with it, the "
                "same for all ranks, by LCI_SECRET_FILE or attribute job_secret_file (bootstrap %s)",
                bootstrap_.name());
  }
  return CryptoLibrary::load(crypto_file_, &crypto_);
}

/// Without a secret anybody who reaches a rank could say that it is another rank of the job.
int TcpTransport::check_secret(const SocketAddress& listens_at) const {
  if (identity_.secret != decltype(identity_.secret){} || listens_at.is_loopback()) return LCI_DONE;
  return fail(
      LCI_ERR_BOOTSTRAP,
      "create runtime: other hosts reach %s, where this rank would listen, and there is no secret: anybody could "
      "be one of its peers. Give all ranks the same LCI_SECRET_FILE (mode 0600), or start by ./lci run --hosts",
      listens_at.host().c_str());
}

int TcpTransport::describe(TransportAddress* out) {
  if (const int code = prepare_seals(); code != LCI_DONE) return code;
  identity_.secret = bootstrap_.secret();
  identity_.rank = rank_;
  identity_.size = size_;
  random_bytes(&identity_.incarnation, sizeof identity_.incarnation);
  TcpAddress address;
  std::string host = listen_at_.empty() ? bootstrap_.address_of_this_host() : listen_at_;
  if (host.empty()) host = "127.0.0.1";
  if (const int code = door_.open(host, &address); code != LCI_DONE) return code;
  if (const int code = check_secret(socket_address(address)); code != LCI_DONE) return code;
  address.incarnation = identity_.incarnation;
  *out = encode(address);
  return LCI_DONE;
}

int TcpTransport::meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) {
  const std::string& job = bootstrap_.job_id();  // some know it after a barrier
  std::copy_n(job.begin(), std::min(job.size(), identity_.job.size()), identity_.job.begin());
  addresses_.resize(size_);
  std::vector<uint64_t> incarnations;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (const int code = decode_address(profiles[rank].address, rank, &addresses_[rank]); code != LCI_DONE) return code;
    incarnations.push_back(addresses_[rank].incarnation);
    reserves_.push_back(profiles[rank].reserve);
  }
  door_.expect(std::move(incarnations));
  show(rank_, *own_);
  return bootstrap_.barrier(deadline_ns);  // all or none
}

NetworkDevice* TcpTransport::attach(uint32_t device) {
  TcpDevice* attached = attached_[device].load(std::memory_order_relaxed);
  if (!attached) {  // else the device that it was for could not be made
    attached = new TcpDevice(*this, device);
    attached_[device].store(attached, std::memory_order_release);
  }
  return attached;
}

std::vector<uint32_t> TcpTransport::neighbours_of(uint32_t rank) const {
  std::vector<uint32_t> neighbours;
  for (uint32_t step = 1; step < size_ && neighbours.size() < kNeighbours; ++step) {
    const uint32_t other = (rank + step) % size_;
    if (!hosts_.share(rank, other) && !is_gone(other)) neighbours.push_back(other);
  }
  return neighbours;
}

/// Rank @p rank is not there any more: it died, or gave up because another one did.
int TcpTransport::ended_while_joining(uint32_t rank) {
  // A connection ends shortly before its process counts as ended.
  for (const uint64_t patience = now_ns() + kDeathPatience; now_ns() < patience; ::poll(nullptr, 0, 2)) {
    if (const auto dead = bootstrap_.look_for_loss().dead) return died_while_joining(*dead);
  }
  return died_while_joining(rank);
}

/// Whoever is gone is named by those who watch it, so each rank has its neighbours before it can be asked for anything.
int TcpTransport::connect(uint64_t deadline_ns) {
  TcpDevice* const device = attached_[0].load(std::memory_order_acquire);
  if (!device) return LCI_DONE;  // nothing can be posted
  std::vector<uint32_t> missing = device->neighbours();
  monitors_.start();
  for (;;) {
    device->pump();
    monitors_.look(false);
    if (count_gone() != 0) return ended_while_joining(gone_at(0).rank);
    if (const auto dead = bootstrap_.look_for_loss().dead) return died_while_joining(*dead);
    std::erase_if(missing, [device](uint32_t rank) { return device->is_linked_to(rank); });
    if (missing.empty()) return wait_for_all(*device, deadline_ns);
    if (now_ns() >= deadline_ns) {
      return blame(missing[0], fail(LCI_ERR_TIMEOUT,
                                    "create runtime: no link to rank %u at %s, which has joined; is "
                                    "its attribute net_address one that this host reaches?",
                                    missing[0], socket_address(addresses_[missing[0]]).text().c_str()));
    }
    pollfd wait{device->descriptor(), POLLIN, 0};
    ::poll(&wait, 1, 1);
  }
}

/// Nobody leaves before all have joined. A rank whose connection broke before it heard this one may still call.
int TcpTransport::wait_for_all(TcpDevice& device, uint64_t deadline_ns) {
  bootstrap_.do_meanwhile(Meanwhile([&] {
    device.pump();
    monitors_.look(false);
  }));
  const int code = bootstrap_.barrier(deadline_ns);
  bootstrap_.do_meanwhile({});
  return code;
}

/// What users keep must never be all that a link has room for.
uint32_t TcpTransport::most_lent(uint32_t wanted) const {
  return std::min(wanted, packet_window(sizes_) / 2);
}

int TcpTransport::map(uint32_t rank, PeerMemory** out) {
  const std::lock_guard<std::mutex> guard(mirrors_mutex_);
  if (!mirrors_[rank]) {
    const int code = Mirror::create(reserves_[rank], rank, size_, devices_, &mirrors_[rank]);
    if (code != LCI_DONE) return code;
    show(rank, *mirrors_[rank]);
  }
  *out = mirrors_[rank].get();
  return LCI_DONE;
}

// --- who is there

void TcpTransport::hear(uint32_t rank, RankState state, uint64_t barriers) {
  barriers_came(rank, barriers);
  if (state != RankState::kLeft) return gone(rank, state);
  // Some device may not have read yet that it leaves, nor what comes before that.
  believe_later({rank, rank, state, coarse_now_ns() + patience().reconnect_ns});
}

void TcpTransport::hear_departure(uint32_t rank) {
  told_gone(rank, RankState::kLeft, rank_);
}

/// Also of a rank of this host: those who leave because of its death may be heard before it is found here.
void TcpTransport::gone(uint32_t rank, RankState state) {
  {
    const std::lock_guard<std::mutex> guard(gone_mutex_);
    if (is_gone_[rank].load(std::memory_order_relaxed)) return;
    gone_.push_back({rank, state});
    is_gone_[rank].store(true, std::memory_order_release);
    gone_count_.store(gone_.size(), std::memory_order_seq_cst);
    pending_.store(true, std::memory_order_seq_cst);
  }
  events_.wake_devices();
}

/// Over a link that rests no goodbye comes.
void TcpTransport::link_stands(uint32_t rank, bool stands) {
  const uint32_t before = standing_links_[rank].fetch_add(stands ? 1 : UINT32_MAX, std::memory_order_seq_cst);
  if (!stands && before == 1) hearsay_.hurry_departure(rank);
}

/// A rank that leaves says so over each link of its own, behind what it has sent: what others say may be here before.
bool TcpTransport::is_believed_at_once(uint32_t rank, RankState state) const {
  if (state == RankState::kFailed) return reaches(rank);
  return standing_links_[rank].load(std::memory_order_seq_cst) == 0;
}

void TcpTransport::told_gone(uint32_t rank, RankState state, uint32_t by) {
  believe_later({by, rank, state, coarse_now_ns() + patience().dead_ns + patience().reconnect_ns});
}

void TcpTransport::believe_later(const Hearsay::Word& word) {
  if (is_believed_at_once(word.rank, word.state) || !hearsay_.add(word)) return gone(word.rank, word.state);
  // Links of other devices may have gone meanwhile.
  if (is_believed_at_once(word.rank, word.state)) hearsay_.hurry_departure(word.rank);
}

void TcpTransport::believe_hearsay() {
  for (const Hearsay::Word& word : hearsay_.take_due(coarse_now_ns())) {
    if (!has_failed(word.speaker)) gone(word.rank, word.state);
  }
}

TcpTransport::Gone TcpTransport::gone_at(size_t index) {
  const std::lock_guard<std::mutex> guard(gone_mutex_);
  return gone_[index];
}

RankState TcpTransport::state_of(uint32_t rank) {
  const std::lock_guard<std::mutex> guard(gone_mutex_);
  const auto gone = std::find_if(gone_.begin(), gone_.end(), [rank](const Gone& each) { return each.rank == rank; });
  return gone == gone_.end() ? RankState::kActive : gone->state;
}

bool TcpTransport::welcomes(const Caller& caller) {
  if (!reaches(caller.rank)) return false;
  if (!is_gone(caller.rank)) return true;
  if (is_fenced()) return false;  // what this rank has found is worth nothing
  if (has_failed(caller.rank)) send_verdict(caller.socket.get(), {CallVerdict::kFailed}, caller.binding);
  return false;
}

void TcpTransport::fenced(uint32_t by) {
  if (has_failed(by)) return;
  uint32_t nobody = kNobody;
  if (!fenced_by_.compare_exchange_strong(nobody, by, std::memory_order_seq_cst)) return;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank != rank_) gone(rank, RankState::kFenced);
  }
}

void TcpTransport::call_failed(uint32_t rank, const char* why) {
  if (is_gone(rank)) return;
  if (hearsay_.has_departure(rank)) return gone(rank, RankState::kLeft);
  // Callers learn it by their operations, but not why.
  LCI_LOG(log_, LogLevel::kStatus, "tcp", "rank %u at %s: %s; it counts as failed", rank,
          socket_address(addresses_[rank]).text().c_str(), why);
  gone(rank, RankState::kFailed);
}

void TcpTransport::look(bool now) {
  believe_hearsay();
  monitors_.look(now);
  if (!pending_.load(std::memory_order_acquire)) return;
  TryLockGuard guard(looking_);
  if (!guard) return;
  std::vector<Gone> fresh;
  {
    const std::lock_guard<std::mutex> list(gone_mutex_);
    fresh.assign(gone_.begin() + static_cast<std::ptrdiff_t>(told_), gone_.end());
    told_ = gone_.size();
    pending_.store(false, std::memory_order_relaxed);
  }
  if (const uint32_t by = fenced_by_.load(std::memory_order_acquire); by != kNobody) events_.fenced(by);
  // The dead first: a rank may have left because of them, and the cause is to be named.
  for (const RankState state : {RankState::kFailed, RankState::kLeft, RankState::kFenced}) {
    for (const Gone& gone : fresh) {
      if (gone.state == state) events_.gone(gone.rank, state);
    }
  }
}

void TcpTransport::barriers_came(uint32_t rank, uint64_t completed) {
  std::atomic<uint64_t>& word = barriers_[rank];
  uint64_t before = word.load(std::memory_order_relaxed);
  while (before < completed && !word.compare_exchange_weak(before, completed, std::memory_order_release)) {
  }
}

void TcpTransport::barriers_came(uint32_t rank, uint32_t low_bits) {
  const uint64_t before = barriers_[rank].load(std::memory_order_relaxed);
  const auto more = static_cast<int32_t>(low_bits - static_cast<uint32_t>(before));
  if (more > 0) barriers_came(rank, before + static_cast<uint64_t>(more));
}

void TcpTransport::devices_came(uint32_t rank, uint32_t devices) {
  PeerMemory& mirror = *mapped(rank);
  if (devices <= mirror.devices()) return;
  mirror.show_devices(devices);
  events_.wake_devices();
}

// --- sleeping

uint32_t TcpTransport::slot_of(const ParkLine& line) const {
  return static_cast<uint32_t>(&line - own_->header().park);
}

void TcpTransport::park_barrier() {
  fence_seq_cst();
}

/// Until the word is 0, or something comes from a peer: then it becomes 0.
void TcpTransport::sleep(ParkLine& line, uint64_t until_ns) {
  const uint32_t slot = slot_of(line);
  pollfd waits[1 + kMaxDevices] = {{bells_.descriptor(slot), POLLIN, 0}};
  nfds_t count = 1;
  for (uint32_t device = 0; device < own_->devices(); ++device) {
    const TcpDevice* const attached = attached_[device].load(std::memory_order_acquire);
    const bool of_lane = own_->header().device[device].park_slot.load(std::memory_order_relaxed) == slot;
    if (attached && of_lane && attached->sleeps()) waits[count++] = {attached->descriptor(), POLLIN, 0};
  }
  while (line.word.load(std::memory_order_seq_cst) != 0) {
    const uint64_t now = now_ns();
    if (now >= until_ns) return;
    const uint64_t left = until_ns - now;
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000u), static_cast<long>(left % 1'000'000'000u)};
    const int found = ppoll(waits, count, &timeout, nullptr);
    if (found <= 0) continue;
    const bool rung = bells_.answer(slot);
    if (!rung || found > 1) break;  // from a peer
  }
  line.word.store(0, std::memory_order_release);
}

void TcpTransport::wake_sleeper(const PeerMemory& memory, uint32_t slot) {
  bells_.ring(memory.header().bells, slot);
}

// --- leaving

void TcpTransport::leave(RankState state, uint64_t until_ns) {
  const bool at_once = state != RankState::kLeft;
  RankState left = state;
  for (bool all = false; !all;) {
    const bool last = at_once || now_ns() >= until_ns;
    all = true;
    for (auto& attached : attached_) {
      if (TcpDevice* device = attached.load(std::memory_order_acquire)) all = device->finish(last) && all;
    }
    if (last) {
      if (!all) left = RankState::kFailed;  // what was cut off may be missed
      break;
    }
    if (!all) ::poll(nullptr, 0, 1);
    monitors_.look(false);        // whoever is gone now is not waited for
    hearsay_.hurry_departures();  // this rank reads nothing more
    believe_hearsay();
  }
  door_.close();
  monitors_.leave(left, barriers());
}

}  // namespace lci
