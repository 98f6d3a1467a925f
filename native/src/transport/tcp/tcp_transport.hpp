// SPDX-License-Identifier: Apache-2.0
// Ranks that reach each other by TCP. Each rank listens at one port, whose number travels in its profile; devices have
// links of their own. Monitors find who is dead; device 0 has links to the next two ranks, also if nobody talks, and
// what one rank has found it tells all that it has links to.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/device_set.hpp"
#include "base/try_lock.hpp"
#include "transport/network/lane_bells.hpp"
#include "transport/network/mirror.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/hearsay.hpp"
#include "transport/tcp/monitors.hpp"
#include "transport/tcp/tcp_device.hpp"
#include "transport/tcp/tcp_host.hpp"
#include "transport/transport.hpp"

namespace lci {

class TcpTransport final : public Transport, private TcpHost {
 public:
  explicit TcpTransport(const TransportParts& parts);
  static std::string availability();
  ~TcpTransport() override;

  int describe(TransportAddress* out) override;
  int meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) override;
  void leave(RankState state, uint64_t until_ns) override;
  NetworkDevice* attach(uint32_t device) override;
  int connect(uint64_t deadline_ns) override;
  uint32_t most_lent(uint32_t wanted) const override;
  void look(bool now) override;
  std::atomic<uint64_t>& barriers_completed(uint32_t rank) override { return barriers_[rank]; }
  bool shares_addresses_with(uint32_t rank) const override { return rank == rank_; }
  bool has_spoken(uint32_t rank, uint32_t device) const override {
    return named_[rank].contains(device) || Transport::has_spoken(rank, device);
  }
  void park_barrier() override;
  void sleep(ParkLine& line, uint64_t until_ns) override;
  void wake_sleeper(const PeerMemory& memory, uint32_t slot) override;

  // For who routes
  LaneBells& bells() { return bells_; }
  /// Where this rank counts the barriers that it has completed, instead of barriers_completed().
  void count_barriers_at(std::atomic<uint64_t>& completed) { own_barriers_ = &completed; }
  /// A rank is gone, and had completed so many barriers, at least, by the word of its own host. What it says over links
  /// is in this host.
  void hear(uint32_t rank, RankState state, uint64_t barriers);
  /// A rank of another host leaves, by the word of a rank of this host. What it says over links may be on its way.
  void hear_departure(uint32_t rank);

  // For its devices
  struct Gone {
    uint32_t rank;
    RankState state;
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  const CallIdentity& identity() const { return identity_; }
  const Hosts& hosts() const { return hosts_; }
  /// Whether this is the way to a rank.
  bool reaches(uint32_t rank) const { return !hosts_.share(rank_, rank); }
  /// Those that a rank is to be connected to whatever is posted, and to watch: the next ones of other hosts that are
  /// there.
  std::vector<uint32_t> neighbours_of(uint32_t rank) const;
  Monitors& monitors() { return monitors_; }
  const Patience& patience() const { return monitors_.patience(); }
  /// After so long a connection over which nothing goes is closed; 0: never.
  uint64_t idle_ns() const { return idle_ns_; }
  /// Attribute net_links.
  uint32_t most_links() const { return most_links_; }
  /// What connections are sealed by; null: they are not.
  const CryptoLibrary* crypto() const { return seals_ ? &crypto_ : nullptr; }
  const TcpAddress& address_of(uint32_t rank) const { return addresses_[rank]; }
  Door& door() { return door_; }
  TcpHost& host() { return *this; }
  /// Those who are gone, in the order in which it was found.
  size_t count_gone() const { return gone_count_.load(std::memory_order_acquire); }
  Gone gone_at(size_t index);
  bool is_gone(uint32_t rank) const { return is_gone_[rank].load(std::memory_order_acquire); }
  bool has_news() const { return pending_.load(std::memory_order_acquire); }
  bool is_fenced() const { return fenced_by_.load(std::memory_order_acquire) != kNobody; }
  /// Of one that is gone.
  RankState state_of(uint32_t rank);
  /// Whether a rank that has called is one to talk to; who counts as failed hears so.
  bool welcomes(const Caller& caller);
  /// This rank counts as failed for rank @p by.
  void fenced(uint32_t by) override;
  /// A rank is not there, as this one has found; it has failed, unless it is known to leave.
  void call_failed(uint32_t rank, const char* why);

 private:
  int map(uint32_t rank, PeerMemory** out) override;

  OwnMemory& memory() override { return *own_; }
  uint32_t own_rank() const override { return rank_; }
  uint32_t ranks() const override { return size_; }
  const LinkSizes& sizes() const override { return sizes_; }
  Log& log() override { return log_; }
  SharedCounters& shared() override { return shared_; }
  const ChaosPlan* chaos() const override { return chaos_; }
  int prepare_seals();
  int check_secret(const SocketAddress& listens_at) const;
  uint64_t barriers() override { return own_barriers_->load(std::memory_order_acquire); }
  void barriers_came(uint32_t rank, uint64_t completed) override;
  void barriers_came(uint32_t rank, uint32_t low_bits) override;
  void link_stands(uint32_t rank, bool stands) override;
  void gone(uint32_t rank, RankState state) override;
  void told_gone(uint32_t rank, RankState state, uint32_t by) override;
  void believe_later(const Hearsay::Word& word);
  bool is_believed_at_once(uint32_t rank, RankState state) const;
  void believe_hearsay();
  bool has_failed(uint32_t rank) override { return is_gone(rank) && state_of(rank) == RankState::kFailed; }
  void spoken_came(uint32_t rank, uint32_t device) override { named_[rank].add(device); }
  void devices_came(uint32_t rank, uint32_t devices) override;

  uint32_t slot_of(const ParkLine& line) const;
  int ended_while_joining(uint32_t rank);
  int wait_for_all(TcpDevice& device, uint64_t deadline_ns);

  Bootstrap& bootstrap_;
  PeerEvents& events_;
  Log& log_;
  SharedCounters& shared_;
  const Hosts& hosts_;
  const ChaosPlan* const chaos_;
  const std::string listen_at_;
  const uint64_t idle_ns_;
  const uint32_t most_links_;
  const bool seals_;
  const std::string crypto_file_;
  CryptoLibrary crypto_;
  const uint32_t devices_;
  const LinkSizes sizes_;
  CallIdentity identity_{};
  Door door_;
  std::vector<TcpAddress> addresses_;
  std::vector<uint64_t> reserves_;  // what each rank said that its memory may grow to
  const std::unique_ptr<std::atomic<uint64_t>[]> barriers_;
  std::atomic<uint64_t>* own_barriers_;
  const std::unique_ptr<std::atomic<bool>[]> is_gone_;
  const std::unique_ptr<std::atomic<uint32_t>[]> standing_links_;  // of all devices
  const std::unique_ptr<DeviceSet[]> named_;  // by ranks that have left: those that they had spoken to

  std::mutex mirrors_mutex_;
  std::vector<std::unique_ptr<Mirror>> mirrors_;

  std::mutex gone_mutex_;
  std::vector<Gone> gone_;  // under that
  std::atomic<size_t> gone_count_{0};
  std::atomic<bool> pending_{false};
  std::atomic<uint32_t> fenced_by_{kNobody};
  Hearsay hearsay_;
  TryLock looking_;
  size_t told_ = 0;  // under that, to the events

  std::array<std::atomic<TcpDevice*>, kMaxDevices> attached_{};
  LaneBells bells_;
  Monitors monitors_;
};

}  // namespace lci
