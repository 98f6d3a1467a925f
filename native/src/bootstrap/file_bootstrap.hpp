// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_FILE_BOOTSTRAP_HPP_
#define LCI_BOOTSTRAP_FILE_BOOTSTRAP_HPP_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/identity.hpp"
#include "bootstrap/private_directory.hpp"

namespace lci {

/**
 * Ranks of one host that a launcher started. [A15, 2B-25]
 *
 * The launcher makes a fresh directory (mode 0700) with
 *   secret   32 random bytes, mode 0600
 *   job      16 hexadecimal digits
 *   owner    optional: its process id in decimal; when that process is gone, waiting ranks give up at once
 * and gives each rank LCI_JOB_DIR, LCI_RANK and LCI_SIZE. It removes the directory at the end.
 *
 * The n-th runtimes of all ranks form generation n, in folder gen.<n>:
 *   claim.<rank>         process id; created once: a second process with the same rank is refused
 *   value.<rank>.<key>   number of the fence that makes it readable (8 bytes), then the bytes
 *   fence.<k>.<rank>     rank has entered barrier k
 *   left.<rank>          rank has closed; whoever waits for it gives up at once
 *   dead                 a rank that has died, in decimal; left by the first who notices, also by the launcher, then in
 *                        the directory itself, for it knows of ranks that never came
 * The same process may open its rank again, in the next generation; so may any process once the rank has left.
 */
class FileBootstrap final : public Bootstrap {
 public:
  /// Whether a job directory is named, by attribute or environment.
  static bool available(const Attributes& attributes);
  static int open(const Attributes& attributes, std::unique_ptr<Bootstrap>* out);
  ~FileBootstrap() override;

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }
  const std::string& job_id() const override { return job_id_; }
  const JobSecret& secret() const override { return secret_; }
  const char* name() const override { return "file"; }

  int publish(const std::string& key, const void* bytes, size_t n) override;
  int barrier(uint64_t deadline_ns) override;
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override;
  std::optional<uint32_t> dead_among(const std::vector<uint32_t>& ranks) override;
  Loss look_for_loss() override;

 private:
  FileBootstrap() = default;

  int read_job(const PrivateDirectory& directory);
  int claim(const PrivateDirectory& directory);
  bool is_dead(uint32_t rank);
  std::optional<uint32_t> told_death() const;
  void tell_death(uint32_t rank) const;
  bool has_arrived(uint32_t rank, uint64_t fence) const;
  std::vector<uint32_t> not_arrived(uint64_t fence) const;
  std::string describe(uint32_t rank) const;
  std::optional<pid_t> claimed_by(uint32_t rank) const;

  uint32_t rank_ = 0;
  uint32_t size_ = 0;
  uint64_t job_ = 0;
  std::string job_id_;
  JobSecret secret_{};
  std::optional<pid_t> owner_;
  PrivateDirectory job_directory_, generation_;
  bool claimed_ = false;
  uint64_t completed_fences_ = 0;
  std::vector<pid_t> claims_;  // as far as they are known
  uint64_t next_look_ = 0;
  uint32_t next_watched_ = 0;
};

}  // namespace lci

#endif  // LCI_BOOTSTRAP_FILE_BOOTSTRAP_HPP_
