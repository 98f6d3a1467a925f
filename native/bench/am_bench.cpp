/* SPDX-License-Identifier: Apache-2.0 */
// Messages between two processes, through lanes driven from C: `am_bench METRIC` prints one JSON line.
//   am_rate           8-byte active messages to a native handler, batches of 32
//   am_stream         the same to an inbox of the receiver's lane, with credit, each payload read
//   am_latency        half a round trip of the same
//   sendrecv_rate     8-byte matched messages, 64 receives ahead
//   sendrecv_latency  half a round trip of the same
//   bandwidth_SIZE    active messages of 1k, 16k, 64k, 1m to a native handler, 32 under way
//   allocated_SIZE    the same of 64k, 1m out of memory of lci_memory_allocate()
//   barrier           one barrier of both ranks
#include <algorithm>
#include <vector>

#include "common/messages.hpp"
#include "common/metrics.hpp"

namespace {

using namespace lci::bench;

/// What rank 1 does with a stream of @p count messages in each of some rounds; rank 0 sends, and waits for the answer.
/// The first round warms up. @return messages a second.
template <typename Send, typename Receive>
double rounds(Rank& rank, bool first, uint64_t count, uint64_t rounds, Send send, Receive receive) {
  Count back;
  if (first) rank.handle(kBackPort, count_message, &back);
  double seconds = 0;
  for (uint64_t round = 1; round <= rounds; ++round) {
    const double start = now_s();
    if (first) {
      send(round);
      await(rank, back, round);
    } else {
      receive(round);
      answer(rank, round);
    }
    if (round > 1) seconds += now_s() - start;
  }
  return static_cast<double>((rounds - 1) * count) / seconds;
}

double am_rate(Rank& rank, bool first) {
  const uint64_t messages = dosed(4'000'000);
  Count arrived;
  if (!first) rank.handle(kPort, count_message, &arrived);
  rank.control().arrival_budget = 256;
  return 1e-6 * rounds(
                    rank, first, messages, 3,
                    [&](uint64_t round) {
                      const lci_descriptor op = short_message(LCI_OP_AM, 1, kPort, round);
                      stream(rank, messages, UINT64_MAX, [&](uint64_t) -> const lci_descriptor& { return op; });
                    },
                    [&](uint64_t round) { await(rank, arrived, round * messages); });
}

double am_stream(Rank& rank, bool first) {
  const uint64_t messages = dosed(4'000'000);
  if (!first) rank.open(kPort);
  return 1e-6 * rounds(
                    rank, first, messages, 3,
                    [&](uint64_t round) {
                      const lci_descriptor op = short_message(LCI_OP_AM, 1, kPort, round);
                      stream(rank, messages, UINT64_MAX, [&](uint64_t) -> const lci_descriptor& { return op; });
                    },
                    [&](uint64_t round) {
                      uint64_t received = 0, sum = 0;
                      for (Spin spin; received < messages; spin()) {
                        rank.enter();
                        received += rank.received(&sum);
                      }
                      if (sum != messages * round) give_up("am_stream: wrong payloads");
                    });
}

double am_latency(Rank& rank, bool first) {
  const uint64_t rounds = dosed(200'000);
  Count arrived;
  rank.handle(first ? kBackPort : kPort, count_message, &arrived);
  const lci_descriptor op = short_message(LCI_OP_AM, first ? 1 : 0, first ? kPort : kBackPort, 1);
  double start = 0;
  uint64_t ended = 0;
  for (uint64_t round = 1; round <= 2 * rounds; ++round) {  // the first half warms up
    if (round == rounds + 1) start = now_s();
    if (first) rank.post(op, &ended);
    for (Spin spin; arrived.messages < round; spin()) rank.enter();
    if (!first) rank.post(op, &ended);
  }
  return (now_s() - start) / static_cast<double>(rounds) / 2 * 1e9;
}

double sendrecv_rate(Rank& rank, bool first) {
  constexpr uint64_t kAhead = 64;
  const uint64_t messages = dosed(1'000'000);
  std::vector<uint64_t> places(kAhead);
  if (!first) rank.control().arrival_budget = kBatch;  // as many as receives are posted in the same pass
  return 1e-6 * rounds(
                    rank, first, messages, 3,
                    [&](uint64_t) {
                      const lci_descriptor op = short_message(LCI_OP_SEND, 1, 0, 5);
                      stream(rank, messages, UINT64_MAX, [&](uint64_t) -> const lci_descriptor& { return op; });
                    },
                    [&](uint64_t) {
                      stream(rank, messages, kAhead,
                             [&](uint64_t i) { return with_buffer(LCI_OP_RECV, 0, 5, &places[i % kAhead], 8); });
                    });
}

double sendrecv_latency(Rank& rank, bool first) {
  const uint64_t rounds = dosed(100'000);
  uint64_t place = 0, received = 0;
  double start = 0;
  const uint32_t peer = first ? 1 : 0;
  const lci_descriptor send = short_message(LCI_OP_SEND, peer, 0, 5);
  const lci_descriptor receive = with_buffer(LCI_OP_RECV, peer, 5, &place, 8);
  rank.post(receive, &received);
  if (first) rank.post(send, &received);
  for (uint64_t round = 1; round <= 2 * rounds; ++round) {  // the first half warms up
    if (round == rounds + 1) start = now_s();
    for (Spin spin; received < round; spin()) {
      rank.enter();
      received += rank.ended();
    }
    const bool last = round == 2 * rounds;
    if (!first || !last) rank.post(send, &received);
    if (!last) rank.post(receive, &received);  // while the message is on its way
  }
  return (now_s() - start) / static_cast<double>(rounds) / 2 * 1e9;
}

template <uint32_t size, bool allocated = false>
double bandwidth(Rank& rank, bool first) {
  const uint64_t messages = dosed(std::max<uint64_t>(200, (uint64_t{1} << 30) / size), 4);
  Count arrived;
  if (!first) rank.handle(kPort, count_message, &arrived);
  rank.control().arrival_budget = 64;
  rank.control().byte_budget = 1 << 20;
  std::vector<std::byte> own(size);
  void* bytes = allocated ? rank.allocate(size) : own.data();
  std::memset(bytes, 1, size);
  return 1e-9 * size *
         rounds(
             rank, first, messages, 2,
             [&](uint64_t) {
               lci_descriptor op = with_buffer(LCI_OP_AM, 1, 0, bytes, size);
               op.port = kPort;
               stream(rank, messages, kBatch, [&](uint64_t) -> const lci_descriptor& { return op; });
             },
             [&](uint64_t round) { await(rank, arrived, round * messages); });
}

double barrier(Rank& rank, bool) {
  const uint64_t rounds = dosed(100'000);
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  double start = 0;
  for (uint64_t round = 1; round <= 2 * rounds; ++round) {  // the first half warms up
    if (round == rounds + 1) start = now_s();
    uint64_t ended = 0;
    rank.post(op, &ended);
    for (Spin spin; ended == 0; spin()) {
      rank.enter();
      ended += rank.ended();
    }
  }
  return (now_s() - start) / static_cast<double>(rounds) * 1e9;
}

const Metrics kMetrics = {
    {"am_rate", {"Mmsg/s", am_rate}},
    {"am_stream", {"Mmsg/s", am_stream}},
    {"am_latency", {"ns", am_latency}},
    {"sendrecv_rate", {"Mmsg/s", sendrecv_rate}},
    {"sendrecv_latency", {"ns", sendrecv_latency}},
    {"bandwidth_1k", {"GB/s", bandwidth<1 << 10>}},
    {"bandwidth_16k", {"GB/s", bandwidth<16 << 10>}},
    {"bandwidth_64k", {"GB/s", bandwidth<64 << 10>}},
    {"bandwidth_1m", {"GB/s", bandwidth<1 << 20>}},
    {"allocated_64k", {"GB/s", bandwidth<64 << 10, true>}},
    {"allocated_1m", {"GB/s", bandwidth<1 << 20, true>}},
    {"barrier", {"ns", barrier}},
};

}  // namespace

int main(int argc, char** argv) {
  return measure_between_ranks(argc, argv, kMetrics);
}
