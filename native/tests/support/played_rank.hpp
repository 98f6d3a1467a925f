// SPDX-License-Identifier: Apache-2.0
// A rank of an inproc job over TCP that a test plays: it joins, and says over its connections what the test wants.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "api/handles.hpp"
#include "base/error.hpp"
#include "peer/profile.hpp"
#include "support/no_events.hpp"
#include "support/threads.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/outgoing_call.hpp"
#include "transport/tcp/record.hpp"

namespace lci_test {

class PlayedRank {
 public:
  PlayedRank(lci_inproc* job, uint32_t rank, uint32_t size) {
    lci::Attributes attributes;
    attributes.log_outfile = "none";
    EXPECT_EQ(LCI_DONE, log_.open(attributes, rank, 1));
    EXPECT_EQ(LCI_DONE, lci::open_bootstrap(attributes, job, rank, &bootstrap_)) << lci::last_error();
    self_.secret = bootstrap_->secret();
    self_.rank = rank;
    self_.size = size;
    self_.incarnation = 1000 + rank;
    lci::TcpAddress address{};
    EXPECT_EQ(LCI_DONE, door_.open("127.0.0.1", &address)) << lci::last_error();
    address.incarnation = self_.incarnation;
    own_ = lci::new_profile();
    own_.rank = rank;
    own_.size = size;
    own_.devices = attributes.devices;
    own_.ring_bytes = attributes.ring_bytes;
    own_.control_ring_bytes = attributes.control_ring_bytes;
    own_.packet_size = attributes.packet_size;
    own_.announcements = attributes.announcements;
    own_.peer_memory = 1;
    own_.transport = static_cast<uint32_t>(lci::TransportKind::kTcp);
    own_.net_security = static_cast<uint32_t>(attributes.net_security);
    own_.reserve = 64 << 20;
    own_.address = lci::encode(address);
  }

  /// As all ranks do; waits for them.
  void meet() {
    std::vector<lci::Profile> profiles;
    ASSERT_EQ(LCI_DONE, lci::exchange_profiles(*bootstrap_, own_, deadline(), &profiles)) << lci::last_error();
    const std::string& job = bootstrap_->job_id();
    std::copy_n(job.begin(), std::min(job.size(), self_.job.size()), self_.job.begin());
    std::vector<uint64_t> incarnations;
    for (const lci::Profile& profile : profiles) {
      addresses_.emplace_back();
      ASSERT_EQ(LCI_DONE, lci::decode_address(profile.address, profile.rank, &addresses_.back()));
      incarnations.push_back(addresses_.back().incarnation);
    }
    door_.expect(std::move(incarnations));
    wait_for_all();
  }
  /// The barrier that is next.
  void wait_for_all() { ASSERT_EQ(LCI_DONE, bootstrap_->barrier(deadline())) << lci::last_error(); }

  lci::OutgoingCall call(uint32_t rank, uint32_t device, const lci::LinkProgress& progress = {}) const {
    return lci::OutgoingCall(self_, addresses_[rank], rank, device, progress);
  }

  /// Its link to a rank that joins, over which it has been heard.
  lci::FileDescriptor join(uint32_t rank) const;

  /// A record without anything in it, behind what the rank at the other end has: this rank has heard it.
  static void say_so(const lci::FileDescriptor& connection, uint64_t position) {
    lci::RecordHeader header{};
    header.position = position;
    EXPECT_EQ(sizeof header, lci::send_some(connection.get(), &header, sizeof header).bytes);
  }
  static void reset(lci::FileDescriptor connection) {
    const linger none{1, 0};
    setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }

 private:
  static uint64_t deadline() { return lci::test::Deadline(30).ns(); }

  lci::Log log_;
  NoEvents events_;
  lci::SharedCounters counters_;
  lci::CallIdentity self_{};
  std::unique_ptr<lci::Bootstrap> bootstrap_;
  lci::Door door_{self_, events_, log_, counters_};
  lci::Profile own_{};
  std::vector<lci::TcpAddress> addresses_;
};

/// What a call comes to; @p meanwhile is called again and again.
template <typename Meanwhile>
lci::OutgoingCall::Answer outcome(lci::OutgoingCall& call, Meanwhile meanwhile) {
  lci::OutgoingCall::Answer answer = lci::OutgoingCall::Answer::kWaiting;
  for (const lci::test::Deadline patience(20); answer == lci::OutgoingCall::Answer::kWaiting && !patience.passed();) {
    answer = call.go_on();
    meanwhile();
  }
  return answer;
}

inline lci::FileDescriptor PlayedRank::join(uint32_t rank) const {
  lci::OutgoingCall outgoing = call(rank, 0);
  EXPECT_EQ(lci::OutgoingCall::Answer::kAccepted, outcome(outgoing, [] { std::this_thread::yield(); }));
  lci::FileDescriptor link = outgoing.take_socket();
  say_so(link, outgoing.verdict().taken);
  return link;
}

/// A rank that nobody plays.
inline void create_over_tcp(lci_inproc* job, uint32_t rank, lci_runtime** runtime) {
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", "tcp"));
  EXPECT_EQ(LCI_DONE, lci_runtime_create(attrs, job, rank, runtime)) << lci_last_error();
  lci_attrs_free(attrs);
}

}  // namespace lci_test
