// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fenced_values.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/error.hpp"

namespace lci {

int check_publish(const std::string& key, const void* bytes, size_t n) {
  if (key.empty()) return fail(LCI_ERR_ARGUMENT, "publish: the key is empty");
  if (bytes == nullptr && n > 0) return fail(LCI_ERR_ARGUMENT, "publish \"%s\": no bytes given", key.c_str());
  return LCI_DONE;
}

int check_get(uint32_t rank, uint32_t size, const std::string& key) {
  if (rank < size) return LCI_DONE;
  return fail(LCI_ERR_RANK, "get \"%s\": rank %u is outside 0..%u", key.c_str(), rank, size - 1);
}

int already_published(uint32_t rank, const std::string& key) {
  return fail(LCI_ERR_BOOTSTRAP, "publish: rank %u has published \"%s\" already", rank, key.c_str());
}

int not_published(uint32_t rank, const std::string& key) {
  return fail(LCI_ERR_BOOTSTRAP, "get: rank %u has not published \"%s\"; publish it, then call barrier on every rank",
              rank, key.c_str());
}

int not_fenced(uint32_t rank, const std::string& key) {
  return fail(LCI_ERR_BOOTSTRAP, "get: \"%s\" of rank %u is readable only after the next barrier", key.c_str(), rank);
}

int missing_ranks(int code, const std::string& job_id, uint64_t fence, const std::vector<uint32_t>& missing,
                  const std::string& why) {
  constexpr size_t kNamed = 16;
  std::string names;
  for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    names += i == 0 ? "" : ", ";
    names += std::to_string(missing[i]);
  }
  if (missing.size() > kNamed) names += " and " + std::to_string(missing.size() - kNamed) + " more";
  return blame(missing.front(), fail(code, "barrier %" PRIu64 " of job %s: missing rank%s %s: %s", fence,
                                     job_id.c_str(), missing.size() == 1 ? "" : "s", names.c_str(), why.c_str()));
}

int FencedValues::publish(uint32_t rank, const std::string& key, uint64_t fence, const void* bytes, size_t n) {
  if (const int code = check_publish(key, bytes, n); code != LCI_DONE) return code;
  const auto* begin = static_cast<const uint8_t*>(bytes);
  const bool inserted = values_.try_emplace({rank, key}, Value{fence, {begin, begin + n}}).second;
  return inserted ? LCI_DONE : already_published(rank, key);
}

int FencedValues::get(uint32_t rank, const std::string& key, uint64_t completed_fences,
                      std::vector<uint8_t>* out) const {
  const auto found = values_.find({rank, key});
  if (found == values_.end()) return not_published(rank, key);
  if (found->second.fence > completed_fences) return not_fenced(rank, key);
  *out = found->second.bytes;
  return LCI_DONE;
}

}  // namespace lci
