// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/tcp_door.hpp"
#include "bootstrap/tcp_side.hpp"

namespace lci {

/// Rank 0. It has no thread: it answers while it is in a call. Nobody joins after the first exchange, so a process may
/// open its rank again, at the same port.
class TcpRoot final : public TcpSide {
 public:
  TcpRoot(const TcpSettings& settings, const Meanwhile& meanwhile);
  ~TcpRoot() override;

  int exchange(Shared own, uint64_t deadline_ns, Shared* all) override;
  Bootstrap::Loss look() override;
  uint64_t job() const override { return job_; }
  void log_to(Log& log) override { door_.log_to(log); }

 private:
  struct Member {
    FrameStream stream;
    Shared values;       // what it gives to the next exchange
    int end = LCI_DONE;  // LCI_ERR_BOOTSTRAP: it has closed; others: it is lost
  };

  int open_door(uint64_t deadline_ns);
  int gather(uint64_t deadline_ns);
  void serve_door();
  int hand_out(Shared own, uint64_t deadline_ns, Shared* all);
  void wait(uint64_t deadline_ns);
  Verdict judge(uint32_t rank) const;
  void listen_to_all();
  void listen_to(uint32_t rank, Member& member);
  void take(uint32_t rank, Member& member, Frame frame);
  int hear_of_vain_waiting(const std::vector<uint8_t>& content);
  bool are_values_of(uint32_t rank, const std::vector<uint8_t>& list) const;
  std::optional<uint32_t> lost() const;
  std::optional<uint32_t> left() const;
  int check_members() const;
  int report_missing(const char* why) const;
  std::vector<uint32_t> missing() const;
  void tell_all(FrameKind kind, const Failure& failure);

  const TcpSettings settings_;
  const Meanwhile& meanwhile_;
  const uint64_t job_;
  TcpDoor door_;
  std::map<uint32_t, Member> members_;
  uint64_t fence_ = 1;                   // of the next exchange
  bool inside_ = false;                  // it is under way
  std::optional<Failure> vain_waiting_;  // of a member that gave up
  std::optional<Failure> failure_;
};

}  // namespace lci
