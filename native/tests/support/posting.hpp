// SPDX-License-Identifier: Apache-2.0
// What tests of posting share: payloads, descriptors, and posts that are repeated until they are taken.
#pragma once

#include <cstdint>
#include <vector>

#include "support/job.hpp"
#include "support/threads.hpp"

namespace lci_test {

inline std::vector<uint8_t> pattern(uint64_t size, uint64_t seed) {
  std::vector<uint8_t> bytes(size);
  for (uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed * 131 + i * 7 + (i >> 8));
  return bytes;
}

inline bool is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}

/// An operation on memory.
inline lci_descriptor operation(uint8_t op, uint32_t rank, uint16_t port, uint64_t tag, const void* bytes,
                                uint32_t size, uint64_t context = 0) {
  lci_descriptor result{};
  result.op = op;
  result.flags = LCI_FLAG_BUFFER;
  result.rank = rank;
  result.port = port;
  result.tag = tag;
  result.size = size;
  result.user_context = context;
  result.u.ref.address = reinterpret_cast<uint64_t>(bytes);
  return result;
}

/// Posts until the answer is no retry; every rank of the job progresses meanwhile.
inline int post_until_taken(Job& job, uint32_t from, lci_descriptor op, lci_comp* comp, lci_status* out = nullptr) {
  int code = LCI_RETRY;
  for (int i = 0; i < 200000 && is_retry(code); ++i) {
    lci_descriptor attempt = op;
    code = lci_post(job.device(from), &attempt, comp, out);
    if (is_retry(code)) job.progress();
  }
  return code;
}

/// Whether something is so, while every rank progresses; false if it has not been for a minute.
template <typename Ready>
bool until(Job& job, Ready ready) {
  for (const lci::test::Deadline deadline(60); !deadline.passed(); job.progress()) {
    if (ready()) return true;
  }
  return false;
}

/// Posts an active message until the answer is no retry; every rank progresses meanwhile.
inline int post_am(Job& job, uint32_t from, uint32_t to, uint32_t port, uint64_t tag, const std::vector<uint8_t>& bytes,
                   lci_comp* ended = nullptr) {
  int code = LCI_RETRY;
  const auto size = static_cast<uint32_t>(bytes.size());
  EXPECT_TRUE(until(job,
                    [&] {
                      code = lci_post_am(job.device(from), to, port, tag, bytes.data(), size, ended, 0);
                      return !is_retry(code);
                    }))
      << "from " << from << " to " << to;
  return code;
}

/// What comes next, while every rank progresses; false if nothing has come in half a minute.
inline bool pop(Job& job, lci_comp* queue, lci_status* out) {
  for (const lci::test::Deadline deadline(30); !deadline.passed();) {
    if (lci_queue_pop(queue, out) == LCI_DONE) return true;
    job.progress();
  }
  return false;
}

}  // namespace lci_test
