// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_LOCAL_BOOTSTRAP_HPP_
#define LCI_BOOTSTRAP_LOCAL_BOOTSTRAP_HPP_

#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fenced_values.hpp"
#include "bootstrap/identity.hpp"

namespace lci {

/// Rank 0 of 1; always available. [A16]
class LocalBootstrap final : public Bootstrap {
 public:
  uint32_t rank() const override { return 0; }
  uint32_t size() const override { return 1; }
  const std::string& job_id() const override { return job_id_; }
  const JobSecret& secret() const override { return secret_; }
  const char* name() const override { return "local"; }

  int publish(const std::string& key, const void* bytes, size_t n) override {
    return values_.publish(0, key, completed_fences_ + 1, bytes, n);
  }
  int barrier(uint64_t) override {
    ++completed_fences_;
    return LCI_DONE;
  }
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override {
    const int code = check_get(rank, 1, key);
    return code == LCI_DONE ? values_.get(rank, key, completed_fences_, out) : code;
  }

 private:
  const std::string job_id_ = id_text(random_id());
  const JobSecret secret_ = random_secret();
  FencedValues values_;
  uint64_t completed_fences_ = 0;
};

}  // namespace lci

#endif  // LCI_BOOTSTRAP_LOCAL_BOOTSTRAP_HPP_
