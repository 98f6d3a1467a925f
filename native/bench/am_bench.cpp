/* SPDX-License-Identifier: Apache-2.0 */
// The core between two processes, through lanes driven from C: `am_bench METRIC` prints one JSON line.
//   am_rate           8-byte active messages to a native handler, batches of 32
//   am_stream         the same to an inbox of the receiver's lane, with credit, each payload read
//   am_latency        half a round trip of the same
//   sendrecv_rate     8-byte matched messages, 64 receives ahead
//   sendrecv_latency  half a round trip of the same
//   bandwidth_SIZE    active messages of 1k, 16k, 64k, 1m to a native handler
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "common/two_ranks.hpp"

namespace {

using namespace lci::bench;

constexpr uint32_t kPort = 1, kBackPort = 2;
constexpr uint32_t kBatch = 32;

struct Count {
  uint64_t messages = 0;
};
void count_message(const lci_status*, void* argument) {
  ++static_cast<Count*>(argument)->messages;
}

lci_descriptor short_message(uint8_t kind, uint32_t rank, uint32_t port, uint64_t tag) {
  lci_descriptor op{};
  op.op = kind;
  op.rank = rank;
  op.port = static_cast<uint16_t>(port);
  op.size = 8;
  op.tag = tag;
  std::memcpy(op.u.inline_payload, &tag, 8);
  return op;
}

/// Posts @p count copies of @p op in batches of kBatch, as fast as they are taken.
void stream(Rank& rank, const lci_descriptor& op, uint64_t count) {
  uint64_t sent = 0;
  while (sent < count) {
    const auto batch = static_cast<uint32_t>(std::min<uint64_t>(kBatch, count - sent));
    for (uint32_t i = 0; i < batch; ++i) rank.submission(i) = op;
    rank.control().submit_count = batch;
    rank.enter();
    rank.ended();
    for (uint32_t i = 0; i < batch; ++i) {
      check(rank.submission(i).outcome, "post");
      sent += rank.submission(i).outcome < LCI_RETRY;
    }
  }
}

void await(Rank& rank, const Count& counter, uint64_t messages) {
  for (Spin spin; counter.messages < messages; spin()) {
    rank.enter();
    rank.ended();
  }
}

double am_rate(Rank& rank, bool first) {
  constexpr uint64_t kMessages = 4'000'000;
  Count arrived;
  rank.handle(first ? kBackPort : kPort, count_message, &arrived);
  rank.control().arrival_budget = 256;
  double seconds = 0;
  for (uint64_t round = 1; round <= 3; ++round) {  // the first one warms up
    const double start = now_s();
    if (first) {
      stream(rank, short_message(LCI_OP_AM, 1, kPort, round), kMessages);
      await(rank, arrived, round);
    } else {
      await(rank, arrived, round * kMessages);
      uint64_t ended = 0;
      rank.post(short_message(LCI_OP_AM, 0, kBackPort, round), &ended);
    }
    if (round > 1) seconds += now_s() - start;
  }
  return 2 * kMessages / seconds * 1e-6;
}

double am_stream(Rank& rank, bool first) {
  constexpr uint64_t kMessages = 4'000'000;
  Count back;
  if (first) {
    rank.handle(kBackPort, count_message, &back);
  } else {
    rank.open(kPort);
  }
  double seconds = 0;
  for (uint64_t round = 1; round <= 3; ++round) {  // the first one warms up
    const double start = now_s();
    if (first) {
      stream(rank, short_message(LCI_OP_AM, 1, kPort, round), kMessages);
      await(rank, back, round);
    } else {
      uint64_t received = 0, sum = 0;
      for (Spin spin; received < kMessages; spin()) {
        rank.enter();
        received += rank.received(&sum);
      }
      if (sum != kMessages * round) give_up("am_stream: wrong payloads");
      uint64_t ended = 0;
      rank.post(short_message(LCI_OP_AM, 0, kBackPort, round), &ended);
    }
    if (round > 1) seconds += now_s() - start;
  }
  return 2 * kMessages / seconds * 1e-6;
}

double am_latency(Rank& rank, bool first) {
  constexpr uint64_t kRounds = 200'000;
  Count arrived;
  rank.handle(first ? kBackPort : kPort, count_message, &arrived);
  const lci_descriptor op = short_message(LCI_OP_AM, first ? 1 : 0, first ? kPort : kBackPort, 1);
  double start = 0;
  uint64_t ended = 0;
  for (uint64_t round = 1; round <= 2 * kRounds; ++round) {
    if (round == kRounds + 1) start = now_s();
    if (first) rank.post(op, &ended);
    for (Spin spin; arrived.messages < round; spin()) rank.enter();
    if (!first) rank.post(op, &ended);
  }
  return (now_s() - start) / kRounds / 2 * 1e9;
}

lci_descriptor receive(uint32_t from, uint64_t tag, void* place, uint32_t size) {
  lci_descriptor op{};
  op.op = LCI_OP_RECV;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = from;
  op.tag = tag;
  op.size = size;
  op.u.ref.address = reinterpret_cast<uint64_t>(place);
  return op;
}

double sendrecv_rate(Rank& rank, bool first) {
  constexpr uint64_t kMessages = 1'000'000, kAhead = 64;
  Count done;
  rank.handle(kBackPort, count_message, &done);
  rank.control().arrival_budget = 256;
  double seconds = 0;
  std::vector<uint64_t> places(kAhead);
  for (uint64_t round = 1; round <= 3; ++round) {
    const double start = now_s();
    if (first) {
      stream(rank, short_message(LCI_OP_SEND, 1, 0, 5), kMessages);
      await(rank, done, round);
    } else {
      uint64_t posted = 0, received = 0;
      while (received < kMessages) {
        const auto batch =
            static_cast<uint32_t>(std::min({uint64_t{kBatch}, kMessages - posted, kAhead - (posted - received)}));
        for (uint32_t i = 0; i < batch; ++i) rank.submission(i) = receive(0, 5, &places[(posted + i) % kAhead], 8);
        rank.control().submit_count = batch;
        rank.enter();
        for (uint32_t i = 0; i < batch; ++i) {
          check(rank.submission(i).outcome, "receive");
          posted += rank.submission(i).outcome < LCI_RETRY;
        }
        received += rank.ended();
      }
      uint64_t ended = 0;
      rank.post(short_message(LCI_OP_AM, 0, kBackPort, round), &ended);
    }
    if (round > 1) seconds += now_s() - start;
  }
  return 2 * kMessages / seconds * 1e-6;
}

double sendrecv_latency(Rank& rank, bool first) {
  constexpr uint64_t kRounds = 100'000;
  uint64_t place = 0, ended = 0, received = 0;
  double start = 0;
  const uint32_t peer = first ? 1 : 0;
  const lci_descriptor send = short_message(LCI_OP_SEND, peer, 0, 5);
  for (uint64_t round = 1; round <= 2 * kRounds; ++round) {
    if (round == kRounds + 1) start = now_s();
    ended = 0;
    rank.post(receive(peer, 5, &place, 8), &ended);
    if (first) rank.post(send, &ended);
    received += ended;
    for (Spin spin; received < round; spin()) {
      rank.enter();
      received += rank.ended();
    }
    ended = 0;
    if (!first) rank.post(send, &ended);
    received += ended;
  }
  return (now_s() - start) / kRounds / 2 * 1e9;
}

double bandwidth(Rank& rank, bool first, uint32_t size) {
  const uint64_t messages = std::max<uint64_t>(200, (uint64_t{1} << 30) / size);
  constexpr uint64_t kWindow = 32;
  Count arrived;
  rank.handle(first ? kBackPort : kPort, count_message, &arrived);
  rank.control().arrival_budget = 64;
  rank.control().byte_budget = 1 << 20;
  std::vector<std::byte> bytes(size, std::byte{1});
  double seconds = 0;
  for (uint64_t round = 1; round <= 2; ++round) {
    const double start = now_s();
    if (first) {
      lci_descriptor op{};
      op.op = LCI_OP_AM;
      op.flags = LCI_FLAG_BUFFER;
      op.rank = 1;
      op.port = kPort;
      op.size = size;
      op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
      uint64_t posted = 0, ended = 0;
      for (uint64_t i = 0; i < messages; ++i) {
        posted += rank.post(op, &ended) == LCI_POSTED;
        for (Spin spin; posted - ended > kWindow; spin()) {
          rank.enter();
          ended += rank.ended();
        }
      }
      await(rank, arrived, round);
    } else {
      await(rank, arrived, round * messages);
      uint64_t ended = 0;
      rank.post(short_message(LCI_OP_AM, 0, kBackPort, round), &ended);
    }
    if (round > 1) seconds += now_s() - start;
  }
  return static_cast<double>(messages) * size / seconds * 1e-9;
}

struct Metric {
  const char* unit;
  double (*run)(Rank&, bool);
};

const std::map<std::string, Metric> kMetrics = {
    {"am_rate", {"Mmsg/s", am_rate}},
    {"am_stream", {"Mmsg/s", am_stream}},
    {"am_latency", {"ns", am_latency}},
    {"sendrecv_rate", {"Mmsg/s", sendrecv_rate}},
    {"sendrecv_latency", {"ns", sendrecv_latency}},
    {"bandwidth_1k", {"GB/s", [](Rank& rank, bool first) { return bandwidth(rank, first, 1 << 10); }}},
    {"bandwidth_16k", {"GB/s", [](Rank& rank, bool first) { return bandwidth(rank, first, 16 << 10); }}},
    {"bandwidth_64k", {"GB/s", [](Rank& rank, bool first) { return bandwidth(rank, first, 64 << 10); }}},
    {"bandwidth_1m", {"GB/s", [](Rank& rank, bool first) { return bandwidth(rank, first, 1 << 20); }}},
};

}  // namespace

int main(int argc, char** argv) {
  const auto metric = argc == 2 ? kMetrics.find(argv[1]) : kMetrics.end();
  if (metric == kMetrics.end()) {
    std::fprintf(stderr, "usage: am_bench METRIC; metrics:");
    for (const auto& [name, ignored] : kMetrics) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  JobDirectory job;
  double value = 0;
  auto run = [&](uint32_t index) {
    Rank rank(job.path(), index);
    const double measured = metric->second.run(rank, index == 0);
    if (index == 0) value = measured;
  };
  in_two_processes([&] { run(0); }, [&] { run(1); });
  print_metric(metric->first.c_str(), metric->second.unit, value);
  return 0;
}
