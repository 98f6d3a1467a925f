// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_INPROC_BOOTSTRAP_HPP_
#define LCI_BOOTSTRAP_INPROC_BOOTSTRAP_HPP_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fenced_values.hpp"
#include "bootstrap/identity.hpp"
#include "bootstrap/inproc.hpp"

namespace lci {

/**
 * What the ranks of an inproc job share. Ranks may close and open again: the n-th runtimes of all ranks form generation
 * n, which has barriers and values of its own. One mutex guards everything; waiting releases it.
 */
class InprocRendezvous {
 public:
  explicit InprocRendezvous(uint32_t size) : ranks_(size) {}

  /// Barriers and values of one generation; fields belong to the rendezvous.
  struct Generation {
    explicit Generation(uint32_t size) : arrived(size, 0), left(size, false) {}
    std::vector<uint64_t> arrived;  // barriers entered, by rank
    std::vector<bool> left;
    FencedValues values;
  };

  /// LCI_ERR_BOOTSTRAP if @p rank has an open runtime.
  int join(uint32_t rank, uint32_t* out_number);
  void leave(uint32_t rank, uint32_t number);
  int publish(uint32_t rank, uint32_t number, const std::string& key, uint64_t fence, const void* bytes, size_t n);
  int barrier(uint32_t rank, uint32_t number, uint64_t fence, uint64_t deadline_ns, const Meanwhile& meanwhile);
  int get(uint32_t number, uint32_t rank, const std::string& key, uint64_t completed, std::vector<uint8_t>* out);

  uint64_t job() const { return job_; }
  const JobSecret& secret() const { return secret_; }

 private:
  struct Rank {
    bool open = false;
    uint32_t next_generation = 0;
  };

  const uint64_t job_ = random_id();
  const JobSecret secret_ = random_secret();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  std::map<uint32_t, Generation> generations_;
};

/// One rank of an inproc job. [2B-35]
class InprocBootstrap final : public Bootstrap {
 public:
  static int open(lci_inproc* job, uint32_t rank, std::unique_ptr<Bootstrap>* out);
  ~InprocBootstrap() override;

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return job_->size; }
  const std::string& job_id() const override { return job_id_; }
  const JobSecret& secret() const override { return job_->rendezvous->secret(); }
  const char* name() const override { return "inproc"; }

  int publish(const std::string& key, const void* bytes, size_t n) override;
  int barrier(uint64_t deadline_ns) override;
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override;

 private:
  InprocBootstrap(lci_inproc* job, uint32_t rank, uint32_t generation);

  lci_inproc* const job_;
  const uint32_t rank_;
  const uint32_t generation_;
  const std::string job_id_;
  uint64_t completed_fences_ = 0;
};

}  // namespace lci

#endif  // LCI_BOOTSTRAP_INPROC_BOOTSTRAP_HPP_
