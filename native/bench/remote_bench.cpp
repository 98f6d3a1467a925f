/* SPDX-License-Identifier: Apache-2.0 */
// Remote memory between two processes, through lanes driven from C: `remote_bench METRIC` prints one JSON line.
//   put_latency         8 bytes, from the post until the target sees them: half a round trip
//   get_latency         8 bytes, one get after the other
//   put_rate, get_rate  8 bytes, batches of 32
//   put_SIZE, get_SIZE  64k, 1m
//   put_messages_SIZE   64k, 1m to memory that the peer only registered: through packets
// Where nothing else is said the memory was allocated by its owner, and the initiator copies.
#include <algorithm>
#include <vector>

#include "common/messages.hpp"
#include "common/metrics.hpp"

namespace {

using namespace lci::bench;

constexpr uint64_t kRegion = 4 << 20;

lci_descriptor remote_op(lci_op_kind kind, uint64_t remote, void* local, uint64_t size) {
  lci_descriptor op = with_buffer(static_cast<uint8_t>(kind), 1, 0, local, size);
  op.u.ref.remote = remote;
  return op;
}

/// Rank 1 offers a region and progresses while rank 0 works. @p shared: allocated, so that rank 0 copies.
template <typename Work>
double on_a_region(Rank& rank, bool first, bool shared, Work work) {
  if (!first) {
    std::vector<std::byte> own(shared ? 0 : kRegion);
    rank.offer_region(0, shared ? nullptr : own.data(), kRegion, kPort);
    Count over;
    rank.handle(kBackPort, count_message, &over);
    await(rank, over, 1);
    return 0;
  }
  const double result = work(rank.open_region(kPort));
  uint64_t ended = 0;
  rank.post(short_message(LCI_OP_AM, 1, kBackPort, 1), &ended);
  return result;
}

/// Operations a second, all of the same memory; the first round warms up.
double rate_of(Rank& rank, const lci_descriptor& op, uint64_t operations) {
  double seconds = 0;
  for (int round = 1; round <= 2; ++round) {
    const double start = now_s();
    stream(rank, operations, kBatch, [&](uint64_t) -> const lci_descriptor& { return op; });
    seconds = now_s() - start;
  }
  return static_cast<double>(operations) / seconds;
}

template <lci_op_kind kind>
double rate(Rank& rank, bool first) {
  return on_a_region(rank, first, true, [&](uint64_t remote) {
    uint64_t local = 1;
    return 1e-6 * rate_of(rank, remote_op(kind, remote, &local, sizeof local), dosed(8'000'000));
  });
}

template <lci_op_kind kind, uint64_t size, bool shared = true>
double bandwidth(Rank& rank, bool first) {
  return on_a_region(rank, first, shared, [&](uint64_t remote) {
    std::vector<std::byte> local(size, std::byte{1});
    const uint64_t operations = dosed(std::max<uint64_t>(200, (uint64_t{1} << 31) / size), 4);
    return 1e-9 * size * rate_of(rank, remote_op(kind, remote, local.data(), size), operations);
  });
}

/// Enters that only post, for a scope: a copy is over when the enter returns.
class PostOnly {
 public:
  explicit PostOnly(Rank& rank) : flags_(rank.control().flags), before_(flags_) { flags_ = LCI_ENTER_POST; }
  ~PostOnly() { flags_ = before_; }
  PostOnly(const PostOnly&) = delete;
  PostOnly& operator=(const PostOnly&) = delete;

 private:
  uint32_t& flags_;
  const uint32_t before_;
};

double get_latency(Rank& rank, bool first) {
  return on_a_region(rank, first, true, [&](uint64_t remote) {
    const PostOnly post_only(rank);
    uint64_t local = 0, ended = 0;
    const lci_descriptor op = remote_op(LCI_OP_GET, remote, &local, sizeof local);
    const uint64_t rounds = dosed(1'000'000);
    double start = 0;
    for (uint64_t round = 1; round <= 2 * rounds; ++round) {  // the first half warms up
      if (round == rounds + 1) start = now_s();
      if (rank.post(op, &ended) != LCI_DONE) give_up("get_latency: not copied at once");
    }
    return (now_s() - start) / static_cast<double>(rounds) * 1e9;
  });
}

/// Each rank puts into the other's memory when it sees in its own what the other put there.
double put_latency(Rank& rank, bool first) {
  void* own = nullptr;
  uint64_t remote = 0;
  if (first) {
    remote = rank.open_region(kPort);
    own = rank.offer_region(1, nullptr, kRegion, kPort);
  } else {
    own = rank.offer_region(0, nullptr, kRegion, kPort);
    remote = rank.open_region(kPort);
  }
  std::atomic_ref<uint64_t> seen(*static_cast<uint64_t*>(own));
  uint64_t value = 0, ended = 0;
  lci_descriptor op = remote_op(LCI_OP_PUT, remote, &value, sizeof value);
  op.rank = first ? 1 : 0;
  const PostOnly post_only(rank);
  const uint64_t rounds = dosed(200'000);
  double start = 0;
  for (uint64_t round = 1; round <= 2 * rounds; ++round) {  // the first half warms up
    if (round == rounds + 1) start = now_s();
    if (!first) {
      for (Spin spin; seen.load(std::memory_order_acquire) != round;) spin();
    }
    value = round;
    if (rank.post(op, &ended) != LCI_DONE) give_up("put_latency: not copied at once");
    if (first) {
      for (Spin spin; seen.load(std::memory_order_acquire) != round;) spin();
    }
  }
  return (now_s() - start) / static_cast<double>(rounds) / 2 * 1e9;
}

const Metrics kMetrics = {
    {"put_latency", {"ns", put_latency}},
    {"get_latency", {"ns", get_latency}},
    {"put_rate", {"Mop/s", rate<LCI_OP_PUT>}},
    {"get_rate", {"Mop/s", rate<LCI_OP_GET>}},
    {"put_64k", {"GB/s", bandwidth<LCI_OP_PUT, 64 << 10>}},
    {"get_64k", {"GB/s", bandwidth<LCI_OP_GET, 64 << 10>}},
    {"put_1m", {"GB/s", bandwidth<LCI_OP_PUT, 1 << 20>}},
    {"get_1m", {"GB/s", bandwidth<LCI_OP_GET, 1 << 20>}},
    {"put_messages_64k", {"GB/s", bandwidth<LCI_OP_PUT, 64 << 10, false>}},
    {"put_messages_1m", {"GB/s", bandwidth<LCI_OP_PUT, 1 << 20, false>}},
};

}  // namespace

int main(int argc, char** argv) {
  return measure_between_ranks(argc, argv, kMetrics);
}
