/* SPDX-License-Identifier: Apache-2.0 */
// Collectives of processes of one host, each of which spins: `coll_bench METRIC [heap]` prints one JSON line. A metric
// is coll_KIND[_SIZE][_by_ALGORITHM][_x4|_x8]:
//   KIND       barrier, allreduce (sum of doubles), broadcast (each call from the next root), allgather, alltoall
//   SIZE       8, 64k, 1m: bytes of a block
//   ALGORITHM  as in kAlgorithms; without it the core chooses
//   x4, x8     so many ranks instead of two, which yield when nothing moves
// With LCI_ATTR_RANKS_PER_HOST=N so many count as ranks of one host, and others as on another.
// The blocks lie in memory of lci_memory_allocate(), or on the heap. What is printed is the median of batches: the time
// of a call in ns up to 8 bytes, else the bytes of a block over that time.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/two_ranks.hpp"

namespace {

using namespace lci::bench;

constexpr uint64_t kBatches = 21;

struct Metric {
  lci_collective_kind kind = LCI_COLLECTIVE_BARRIER;
  lci_algorithm algorithm = LCI_ALGORITHM_AUTO;
  uint64_t bytes = 0;
  uint32_t ranks = 2;
};

const std::map<std::string, lci_collective_kind> kKinds = {
    {"barrier", LCI_COLLECTIVE_BARRIER},     {"allreduce", LCI_COLLECTIVE_ALLREDUCE},
    {"broadcast", LCI_COLLECTIVE_BROADCAST}, {"allgather", LCI_COLLECTIVE_ALLGATHER},
    {"alltoall", LCI_COLLECTIVE_ALLTOALL},
};
const std::map<std::string, uint64_t> kSizes = {{"8", 8}, {"64k", 64 << 10}, {"1m", 1 << 20}};
const std::map<std::string, lci_algorithm> kAlgorithms = {
    {"dissemination", LCI_ALGORITHM_DISSEMINATION},
    {"hierarchical", LCI_ALGORITHM_HIERARCHICAL},
    {"doubling", LCI_ALGORITHM_RECURSIVE_DOUBLING},
    {"rabenseifner", LCI_ALGORITHM_RABENSEIFNER},
    {"ring", LCI_ALGORITHM_RING},
    {"binomial", LCI_ALGORITHM_BINOMIAL},
    {"knomial", LCI_ALGORITHM_KNOMIAL},
    {"chain", LCI_ALGORITHM_CHAIN},
    {"scatter", LCI_ALGORITHM_SCATTER_ALLGATHER},
    {"bruck", LCI_ALGORITHM_BRUCK},
    {"pairwise", LCI_ALGORITHM_PAIRWISE},
    {"neighbour", LCI_ALGORITHM_NEIGHBOUR_EXCHANGE},
};

/// Sets @p to to what the word stands for.
template <typename Value>
bool take(const std::map<std::string, Value>& words, const std::string& word, Value* to) {
  const auto found = words.find(word);
  if (found == words.end()) return false;
  *to = found->second;
  return true;
}

std::optional<Metric> parse(const std::string& name) {
  std::istringstream in(name);
  std::string word;
  Metric metric;
  if (!std::getline(in, word, '_') || word != "coll") return std::nullopt;
  if (!std::getline(in, word, '_') || !take(kKinds, word, &metric.kind)) return std::nullopt;
  while (std::getline(in, word, '_')) {
    if (word == "x4" || word == "x8") {
      metric.ranks = word == "x4" ? 4 : 8;
    } else if (word == "by") {
      if (!std::getline(in, word, '_') || !take(kAlgorithms, word, &metric.algorithm)) return std::nullopt;
    } else if (!take(kSizes, word, &metric.bytes)) {
      return std::nullopt;
    }
  }
  if ((metric.kind == LCI_COLLECTIVE_BARRIER) != (metric.bytes == 0)) return std::nullopt;
  return metric;
}

/// A rank that makes the calls.
class Member : public RankRuntime {
 public:
  Member(const std::string& directory, uint32_t rank, const Metric& metric, bool heap)
      : RankRuntime(directory, rank, 1, metric.ranks), metric_(metric) {
    std::vector<uint32_t> ranks(metric.ranks);
    for (uint32_t i = 0; i < metric.ranks; ++i) ranks[i] = i;
    check(lci_runtime_device(runtime_, 0, &device_), "device");
    check(lci_group_create(runtime_, ranks.data(), metric.ranks, 0, &group_), "group");
    check(lci_context_create(group_, 0, 0, &context_), "context");
    check(lci_handler_create(runtime_, count_end, &ended_, &handler_), "handler");
    call_.kind = metric.kind;
    call_.algorithm = metric.algorithm;
    if (metric.kind == LCI_COLLECTIVE_BARRIER) return;
    const uint64_t blocks = metric.bytes * metric.ranks;
    call_.type = LCI_TYPE_F64;
    call_.count = metric.bytes / 8;
    call_.out = place(blocks, heap);
    if (metric.kind != LCI_COLLECTIVE_BROADCAST) call_.in = place(blocks, heap);
    if (metric.kind == LCI_COLLECTIVE_ALLREDUCE) call_.op = LCI_REDUCE_SUM;
  }
  ~Member() { check(lci_context_free(context_), "free context"); }

  /// Seconds of one call, each begun when the one before has ended.
  double batch(uint64_t calls) {
    const double start = now_s();
    for (uint64_t i = 0; i < calls; ++i) make();
    return (now_s() - start) / static_cast<double>(calls);
  }

 private:
  static void count_end(const lci_status* status, void* ended) {
    check(status->code, "call");
    ++*static_cast<uint64_t*>(ended);
  }

  void* place(uint64_t bytes, bool heap) {
    lci_memory* memory = nullptr;
    void* address = nullptr;
    if (heap) {
      address = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    } else {
      check(lci_memory_allocate(runtime_, bytes, &memory, &address), "allocate memory");
    }
    if (!address) give_up("memory");
    std::memset(address, 0, bytes);
    return address;
  }

  /// Two ranks have a processor each.
  void progress() {
    if (lci_progress(device_) != LCI_DONE && metric_.ranks > 2) sched_yield();
  }

  void make() {
    if (metric_.kind == LCI_COLLECTIVE_BROADCAST) call_.root = static_cast<uint32_t>(made_ % metric_.ranks);
    ++made_;
    for (;;) {
      const int code = lci_post_collective(context_, &call_, handler_, 0);
      check(code, "post");
      if (code < LCI_RETRY) break;
      progress();
    }
    while (ended_ < made_) progress();
  }

  Metric metric_;
  lci_device* device_ = nullptr;
  lci_group* group_ = nullptr;
  lci_context* context_ = nullptr;
  lci_comp* handler_ = nullptr;
  lci_collective call_{};
  uint64_t made_ = 0;
  uint64_t ended_ = 0;
};

/// Seconds of one call.
double measure(const std::string& directory, uint32_t rank, const Metric& metric, bool heap) {
  if (metric.ranks == 2) pin(static_cast<int>(rank));
  Member member(directory, rank, metric, heap);
  const uint64_t full = metric.bytes <= 8 ? 10'000 : (uint64_t{2} << 30) / metric.bytes / kBatches;
  const uint64_t calls = dosed(metric.ranks == 2 ? full : full / 10 + 1);
  std::vector<double> batches;
  for (uint64_t i = 0; i < kBatches; ++i) {
    const double seconds = member.batch(calls);
    if (i > 0) batches.push_back(seconds);  // the first one warms up
  }
  std::nth_element(batches.begin(), batches.begin() + batches.size() / 2, batches.end());
  return batches[batches.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool heap = argc == 3 && std::string(argv[2]) == "heap";
  const std::optional<Metric> metric = argc == 2 || heap ? parse(argv[1]) : std::nullopt;
  if (!metric) {
    std::fprintf(stderr, "usage: %s METRIC [heap]; METRIC as coll_allreduce_64k_by_ring_x4, see the source\n", argv[0]);
    return 2;
  }
  JobDirectory job;
  std::vector<pid_t> others;
  for (uint32_t rank = 1; rank < metric->ranks; ++rank) {
    others.push_back(fork());
    if (others.back() < 0) give_up("fork");
    if (others.back() > 0) continue;
    measure(job.path(), rank, *metric, heap);
    _exit(0);
  }
  const double seconds = measure(job.path(), 0, *metric, heap);
  for (const pid_t other : others) {
    int status = 0;
    if (waitpid(other, &status, 0) != other || status != 0) give_up("another rank failed");
  }
  const bool is_short = metric->bytes <= 8;
  print_metric(argv[1], is_short ? "ns" : "GB/s",
               is_short ? seconds * 1e9 : static_cast<double>(metric->bytes) / seconds * 1e-9);
  return 0;
}
