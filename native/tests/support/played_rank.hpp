// SPDX-License-Identifier: Apache-2.0
// A rank of an inproc job over TCP that a test plays: it joins, and says over its connections what the test wants.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/handles.hpp"
#include "base/attribute_table.hpp"
#include "base/error.hpp"
#include "peer/profile.hpp"
#include "support/job.hpp"
#include "support/no_events.hpp"
#include "support/threads.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/outgoing_call.hpp"
#include "transport/tcp/record.hpp"

namespace lci_test {

/// Attributes as a program gives them, over TCP.
inline lci::Attributes attributes_over_tcp(const Attributes& more = {}) {
  lci::Attributes attributes;
  attributes.transport = lci::TransportKind::kTcp;
  attributes.peer_memory = lci::PeerMemoryMode::kRings;
  attributes.log_outfile = "none";
  for (const auto& [name, value] : more) {
    const lci::Row* const row = lci::find_row(name);
    EXPECT_TRUE(row && lci::assign(*row, value, &attributes)) << name;
  }
  return attributes;
}

class PlayedRank {
 public:
  PlayedRank(lci_inproc* job, uint32_t rank, uint32_t size, const Attributes& more = {}) {
    const lci::Attributes attributes = attributes_over_tcp(more);
    EXPECT_EQ(LCI_DONE, log_.open(attributes, rank, 1));
    EXPECT_EQ(LCI_DONE, lci::open_bootstrap(attributes, job, rank, &bootstrap_)) << lci::last_error();
    if (attributes.net_security == lci::NetSecurity::kSealed) {
      crypto_.emplace();
      EXPECT_EQ(LCI_DONE, lci::CryptoLibrary::load("", &*crypto_)) << lci::last_error();
    }
    self_.secret = bootstrap_->secret();
    self_.rank = rank;
    self_.size = size;
    self_.incarnation = 1000 + rank;
    lci::TcpAddress address{};
    EXPECT_EQ(LCI_DONE, door_.open("127.0.0.1", &address)) << lci::last_error();
    address.incarnation = self_.incarnation;
    own_ = lci::profile_of(attributes, rank, size);
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
  /// As all ranks do, though others may not be of one job with it.
  void publish() {
    std::vector<lci::Profile> profiles;
    static_cast<void>(lci::exchange_profiles(*bootstrap_, own_, deadline(), &profiles));
  }
  /// The test answers at the address that it publishes.
  lci::FileDescriptor open_other_door() {
    lci::FileDescriptor listener;
    lci::TcpAddress address{};
    EXPECT_EQ(LCI_DONE, lci::listen_for_ranks("127.0.0.1", &listener, &address)) << lci::last_error();
    address.incarnation = self_.incarnation;
    own_.address = lci::encode(address);
    return listener;
  }
  /// The barrier that is next.
  void wait_for_all() { ASSERT_EQ(LCI_DONE, bootstrap_->barrier(deadline())) << lci::last_error(); }

  lci::OutgoingCall call(uint32_t rank, uint32_t device, const lci::LinkProgress& progress = {}) const {
    return lci::OutgoingCall(self_, addresses_[rank], rank, device, progress);
  }

  /// Its link to a rank that joins, over which it has been heard.
  lci::Connection join(uint32_t rank) const;
  /// As a rank opens it after a call that was accepted. @param binding of another call: with the keys of that one
  lci::Connection connection_of(lci::OutgoingCall& call) const { return connection_of(call, call.binding()); }
  lci::Connection connection_of(lci::OutgoingCall& call, const lci::Digest& binding) const {
    const lci::SealKeys keys{key_of(binding, lci::CallSide::kCaller, call.verdict()),
                             key_of(binding, lci::CallSide::kAnswerer, call.verdict())};
    return lci::Connection(call.take_socket(), crypto_ ? &*crypto_ : nullptr, keys);
  }
  /// Who has called and waits for a verdict, if anybody does.
  std::optional<lci::Caller> take_caller(uint32_t device) {
    door_.visit();
    if (callers_.empty() && door_.has_callers(device)) door_.take_callers(device, &callers_);
    if (callers_.empty()) return std::nullopt;
    std::optional<lci::Caller> caller(std::move(callers_.back()));
    callers_.pop_back();
    return caller;
  }
  /// Opens a connection for it, of which nothing has come.
  lci::Connection accept(lci::Caller caller) const {
    const lci::CallVerdict verdict{lci::CallVerdict::kAccepted, caller.progress.connections + 1, 0};
    EXPECT_TRUE(send_verdict(caller.socket.get(), verdict, caller.binding));
    const lci::SealKeys keys{key_of(caller.binding, lci::CallSide::kAnswerer, verdict),
                             key_of(caller.binding, lci::CallSide::kCaller, verdict)};
    return lci::Connection(std::move(caller.socket), crypto_ ? &*crypto_ : nullptr, keys);
  }
  const lci::CallIdentity& identity() const { return self_; }
  const lci::TcpAddress& address_of(uint32_t rank) const { return addresses_[rank]; }
  /// Nothing answers at its port any more.
  void close_door() { door_.close(); }

  /// A record without anything in it, behind what the rank at the other end has: this rank has heard it.
  static void say_so(lci::Connection& connection, uint64_t position) {
    lci::RecordHeader header{};
    header.position = position;
    const iovec record{&header, sizeof header};
    EXPECT_EQ(static_cast<ssize_t>(sizeof header), connection.send(&record, 1));
  }
  static void reset(lci::Connection connection) {
    const linger none{1, 0};
    setsockopt(connection.socket(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }

 private:
  static uint64_t deadline() { return lci::test::Deadline(30).ns(); }

  lci::Log log_;
  NoEvents events_;
  lci::SharedCounters counters_;
  lci::CallIdentity self_{};
  std::unique_ptr<lci::Bootstrap> bootstrap_;
  std::optional<lci::CryptoLibrary> crypto_;  // if it seals
  lci::Door door_{self_, events_, log_, counters_};
  std::vector<lci::Caller> callers_;
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

inline lci::Connection PlayedRank::join(uint32_t rank) const {
  lci::OutgoingCall outgoing = call(rank, 0);
  EXPECT_EQ(lci::OutgoingCall::Answer::kAccepted, outcome(outgoing, [] { std::this_thread::yield(); }));
  lci::Connection link = connection_of(outgoing);
  say_so(link, outgoing.verdict().taken);
  return link;
}

/// A rank that nobody plays. @return what its creation came to
inline int create_over_tcp(lci_inproc* job, uint32_t rank, lci_runtime** runtime, const Attributes& more = {}) {
  lci_attrs* attrs = nullptr;
  EXPECT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", "tcp"));
  for (const auto& [name, value] : more) EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, name.c_str(), value.c_str()));
  const int code = lci_runtime_create(attrs, job, rank, runtime);
  lci_attrs_free(attrs);
  return code;
}

}  // namespace lci_test
