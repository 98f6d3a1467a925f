// SPDX-License-Identifier: Apache-2.0
// Matching without messages: pairs what the caller inserts. [B22]
#include <memory>

#include "api/global.hpp"
#include "matching/matching_engine.hpp"

using namespace lci;

struct lci_matching {
  std::unique_ptr<MatchingEngine> entries;
};

namespace {

Side side_of(int side) {
  return side == LCI_SIDE_SEND ? Side::kSend : Side::kReceive;
}

int check(lci_matching* matching, const void* value, int side) {
  LCI_NOT_NULL(matching, "matching");
  LCI_NOT_NULL(value, "matching");
  if (side == LCI_SIDE_SEND || side == LCI_SIDE_RECV) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "matching: %d is no side", side);
}

}  // namespace

extern "C" {

int lci_matching_create(lci_runtime* runtime, uint32_t type, lci_matching** out) {
  LCI_RUNTIME(runtime, "create matching");
  LCI_NOT_NULL(out, "create matching");
  if (type > LCI_ENGINE_QUEUE) return fail(LCI_ERR_ARGUMENT, "create matching: type %u is unknown", type);
  return guarded("create matching", [&]() -> int {
    const auto kind = type == LCI_ENGINE_QUEUE ? MatchingEngineType::kQueue : MatchingEngineType::kMap;
    const uint32_t buckets = runtime->runtime->attributes().matching_buckets;
    *out = new lci_matching{MatchingEngine::create(kind, buckets)};
    return LCI_DONE;
  });
}

int lci_matching_insert(lci_matching* matching, uint64_t key, void* value, int side, void** out_match) {
  if (const int code = check(matching, value, side); code != LCI_DONE) return code;
  LCI_NOT_NULL(out_match, "matching");
  return guarded("matching", [&]() -> int {
    *out_match = matching->entries->insert(key, value, side_of(side));
    return LCI_DONE;
  });
}

int lci_matching_remove(lci_matching* matching, uint64_t key, void* value, int side) {
  if (const int code = check(matching, value, side); code != LCI_DONE) return code;
  return guarded("matching",
                 [&]() -> int { return matching->entries->remove(key, value, side_of(side)) ? LCI_DONE : LCI_RETRY; });
}

void lci_matching_free(lci_matching* matching) {
  delete matching;
}

}  // extern "C"
