// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fenced_values.hpp"
#include "bootstrap/pmi_connection.hpp"
#include "bootstrap/pmi_settings.hpp"
#include "bootstrap/tcp_wire.hpp"

namespace lci {

/**
 * Ranks that a launcher with PMI has started, on any hosts; its store of values is theirs. A rank's values are put
 * there at the next barrier, as one list in pieces, and read when somebody asks for a value of that rank. Rank 0 also
 * puts the job's id and, where no file has it, the job's secret: the user who runs the launcher may know it.
 *
 * PMI tells neither which ranks a barrier waits for nor that one has closed: a barrier that waits for such a rank ends
 * at its deadline. A launcher ends all processes when one fails. All ranks make their runtimes in the same order.
 */
class PmiBootstrap final : public Bootstrap {
 public:
  static int open(const Attributes& attributes, PmiVersion version, std::unique_ptr<Bootstrap>* out);
  static int open(const PmiSettings& settings, std::shared_ptr<PmiConnection> connection,
                  std::unique_ptr<Bootstrap>* out);

  uint32_t rank() const override { return settings_.rank; }
  uint32_t size() const override { return settings_.size; }
  const std::string& job_id() const override { return job_id_; }
  const JobSecret& secret() const override { return settings_.secret; }
  bool keeps_secret() const override { return settings_.has_secret; }
  const char* name() const override { return PmiSettings::name(settings_.version); }

  int publish(const std::string& key, const void* bytes, size_t n) override;
  int barrier(uint64_t deadline_ns) override;
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override;
  bool spans_hosts() const override { return true; }
  std::string address_of_this_host() override;

 private:
  PmiBootstrap(const PmiSettings& settings, std::shared_ptr<PmiConnection> connection);
  PmiConnection::Texts texts() const;
  int not_met(int code) const;
  std::string job_text() const;
  int learn_job(uint64_t deadline_ns);
  int read_lists(uint32_t rank);
  int keep(uint32_t rank, uint64_t barrier, const std::vector<uint8_t>& list);

  PmiSettings settings_;
  const std::shared_ptr<PmiConnection> connection_;
  std::string job_id_;
  FencedValues values_;
  std::vector<uint64_t> fences_;     // the connection's numbers of the barriers that are passed
  std::map<uint32_t, size_t> read_;  // of how many of them a rank's list has been read
  ValueList published_{1};           // for the next one
};

}  // namespace lci
