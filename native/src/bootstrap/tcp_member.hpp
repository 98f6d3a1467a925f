// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bootstrap/tcp_settings.hpp"
#include "bootstrap/tcp_side.hpp"
#include "bootstrap/tcp_wire.hpp"

namespace lci {

/// Any rank but 0. It connects in its first exchange, and tries until rank 0 answers: that may start later.
class TcpMember final : public TcpSide {
 public:
  TcpMember(const TcpSettings& settings, const Meanwhile& meanwhile) : settings_(settings), meanwhile_(meanwhile) {}
  ~TcpMember() override;

  int exchange(Shared own, uint64_t deadline_ns, Shared* all) override;
  Bootstrap::Loss look() override;
  uint64_t job() const override { return job_; }
  void log_to(Log&) override {}

 private:
  int exchange_values(Shared own, uint64_t deadline_ns, Shared* all);
  int join(uint64_t deadline_ns);
  int try_to_join(uint64_t deadline_ns, std::string* why);
  int greet(int socket, uint64_t deadline_ns, std::string* why);
  int hear_verdict(int socket, uint64_t deadline_ns, std::string* why);
  int not_the_root() const;
  int root_is_late(const std::string& why) const;
  int await(uint64_t deadline_ns, Shared* all);
  int take(Frame frame, Shared* all);
  int root_is_gone();

  const TcpSettings settings_;
  const Meanwhile& meanwhile_;
  uint64_t job_ = 0;
  uint64_t fence_ = 1;  // of the next exchange
  std::optional<FrameStream> stream_;
  std::optional<Failure> missing_;  // what rank 0 last said of those that it waits for
  std::optional<Failure> failure_;
  bool root_left_ = false;
};

}  // namespace lci
