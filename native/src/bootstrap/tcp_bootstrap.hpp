// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fenced_values.hpp"
#include "bootstrap/tcp_settings.hpp"
#include "bootstrap/tcp_side.hpp"

namespace lci {

/**
 * Ranks that reach rank 0 over TCP, on any hosts. Rank 0 listens where the root is said to be, while it is in its first
 * barrier; each other rank has a connection to it from then on. A barrier is one gather and one broadcast. Both ends of
 * a connection prove that they know the secret of the job before anything is kept for the rank that asks.
 */
class TcpBootstrap final : public Bootstrap {
 public:
  /// Whether a root is named, by attribute or environment.
  static bool available(const Attributes& attributes) { return TcpSettings::available(attributes); }
  static int open(const Attributes& attributes, std::unique_ptr<Bootstrap>* out);

  uint32_t rank() const override { return settings_.rank; }
  uint32_t size() const override { return settings_.size; }
  /// Rank 0 makes it up, so others know it after their first barrier.
  const std::string& job_id() const override { return job_id_; }
  const JobSecret& secret() const override { return settings_.secret; }
  bool keeps_secret() const override { return settings_.has_secret; }
  const char* name() const override { return "tcp"; }

  int publish(const std::string& key, const void* bytes, size_t n) override;
  int barrier(uint64_t deadline_ns) override;
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override;
  std::optional<uint32_t> dead_among(const std::vector<uint32_t>&) override { return side_->look().dead; }
  Loss look_for_loss() override { return side_->look(); }
  bool spans_hosts() const override { return true; }
  std::string address_of_this_host() override;
  void log_to(Log& log) override { side_->log_to(log); }

 private:
  explicit TcpBootstrap(const TcpSettings& settings);
  void learn_job();
  int keep(const std::vector<uint8_t>& list);

  const TcpSettings settings_;
  const std::unique_ptr<TcpSide> side_;
  std::string job_id_;
  FencedValues values_;
  uint64_t completed_fences_ = 0;
  ValueList published_{1};  // for the next fence
};

}  // namespace lci
