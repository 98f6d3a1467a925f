// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_BOOTSTRAP_HPP_
#define LCI_BOOTSTRAP_BOOTSTRAP_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/attributes.hpp"
#include "base/log.hpp"
#include "bootstrap/meanwhile.hpp"
#include "lci/lci.h"

namespace lci {

/**
 * How the ranks of a job find each other: a rank, a size, and values that become visible at a fence.
 *
 * Each object belongs to one runtime and is used by one thread at a time; it starts no thread. Values have any size
 * [2B-44]; what a rank publishes before barrier number n is readable by all ranks when their own barrier n has
 * returned, never earlier [A13]. Every error is typed and has a last-error text.
 */
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;
  /// 16 random hexadecimal digits, the same on all ranks, different for every generation of runtimes of the job. Rank 0
  /// knows it at once, others when they have come through a barrier.
  virtual const std::string& job_id() const = 0;
  /// Shared secret of the job. Zeros: there is none, and its ranks are on one host, where other hosts do not reach
  /// them.
  virtual const std::array<uint8_t, 32>& secret() const = 0;
  /// Whether none but ranks know it, as far as that is the bootstrap's affair.
  virtual bool keeps_secret() const { return true; }
  /// "local", "inproc", "file", "tcp", "pmix", "pmi1" or "pmi2".
  virtual const char* name() const = 0;

  /// Makes @p n bytes readable under (own rank, @p key) from the next barrier on. Publishing a key twice is an error.
  virtual int publish(const std::string& key, const void* bytes, size_t n) = 0;
  /// Waits for the same call of all ranks until @p deadline_ns of CLOCK_MONOTONIC: LCI_ERR_TIMEOUT names the missing
  /// ranks, where that can be told; LCI_ERR_PEER_FAILED when one of them has died. After an error the object can only
  /// be destroyed. [L7]
  virtual int barrier(uint64_t deadline_ns) = 0;
  /// What barrier() does while it waits, from now on.
  void do_meanwhile(Meanwhile meanwhile) { meanwhile_ = std::move(meanwhile); }
  /// The first of @p ranks whose process ended before it had left, where that can be told: bootstrap file.
  virtual std::optional<uint32_t> dead_among(const std::vector<uint32_t>& ranks) {
    (void)ranks;
    return std::nullopt;
  }
  /// Ranks that are lost for those who join: by a look that costs little, at some of the ranks, at others with the next
  /// call; and what any rank has found. For loops that wait for other ranks.
  struct Loss {
    std::optional<uint32_t> dead;
    std::optional<uint32_t> left;  ///< It has closed, without having entered the barrier that is next or under way.
  };
  virtual Loss look_for_loss() { return {}; }
  /// Where it may say what no caller hears of. The log lives as long as this object.
  virtual void log_to(Log&) {}
  /// Whether ranks may be on several hosts.
  virtual bool spans_hosts() const { return false; }
  /// The numeric address by which the other ranks reach this host; empty where ranks find each other in another way.
  virtual std::string address_of_this_host() { return {}; }
  /// Reads a value. LCI_ERR_BOOTSTRAP before the fence that publishes it, or if that rank never published the key.
  virtual int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) = 0;

 protected:
  Meanwhile meanwhile_;
};

/**
 * Opens the bootstrap of a runtime: inproc when @p job is not null, else the first available of the chain in
 * attributes.bootstrap: file when a job directory is named (attribute job_dir or environment LCI_JOB_DIR), tcp when the
 * root is (attribute job_root or environment LCI_ROOT), pmix when a launcher has set PMIX_RANK and answers, pmi1 and
 * pmi2 when it has set PMI_FD, local always; but after others local is an error where a launcher has started several
 * processes. Does not wait for other ranks; barrier() does. [A11, A12, 2B-24]
 */
int open_bootstrap(const Attributes& attributes, lci_inproc* job, uint32_t inproc_rank,
                   std::unique_ptr<Bootstrap>* out);

}  // namespace lci

#endif  // LCI_BOOTSTRAP_BOOTSTRAP_HPP_
