// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_FENCED_VALUES_HPP_
#define LCI_BOOTSTRAP_FENCED_VALUES_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lci/lci.h"

namespace lci {

/// Errors that all bootstraps share.
int check_publish(const std::string& key, const void* bytes, size_t n);
int check_get(uint32_t rank, uint32_t size, const std::string& key);
int already_published(uint32_t rank, const std::string& key);
int not_published(uint32_t rank, const std::string& key);
int not_fenced(uint32_t rank, const std::string& key);
/// LCI_ERR_TIMEOUT or LCI_ERR_BOOTSTRAP with the text "barrier N of job ID: ..." and the names of the missing ranks.
int missing_ranks(int code, const std::string& job_id, uint64_t fence, const std::vector<uint32_t>& missing,
                  const std::string& why);

/// Values in memory, each readable from a numbered fence on. Not thread-safe. [A13]
class FencedValues {
 public:
  int publish(uint32_t rank, const std::string& key, uint64_t fence, const void* bytes, size_t n);
  int get(uint32_t rank, const std::string& key, uint64_t completed_fences, std::vector<uint8_t>* out) const;

 private:
  struct Value {
    uint64_t fence;
    std::vector<uint8_t> bytes;
  };
  std::map<std::pair<uint32_t, std::string>, Value> values_;
};

}  // namespace lci

#endif  // LCI_BOOTSTRAP_FENCED_VALUES_HPP_
