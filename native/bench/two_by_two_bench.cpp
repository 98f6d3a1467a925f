/* SPDX-License-Identifier: Apache-2.0 */
// Two threads in each of two processes: `two_by_two_bench METRIC` prints one JSON line.
//   sendrecv_rate_2x2  8-byte matched messages from each thread to its partner, 64 receives ahead, a device and a lane
//                      for each thread; all threads of a process run on one processor
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "common/messages.hpp"
#include "common/two_ranks.hpp"

namespace {

using namespace lci::bench;

constexpr uint32_t kThreads = 2, kAhead = 64;
constexpr uint64_t kDataTag = 1, kEndTag = 2;

class Process : public RankRuntime {
 public:
  Process(const std::string& directory, uint32_t rank) : RankRuntime(directory, rank, kThreads) {}
  lci_runtime* runtime() { return runtime_; }
};

struct Times {
  double start, end;
};

void await(LaneDriver& lane, uint64_t ended, uint64_t wanted) {
  for (Spin spin; ended < wanted; spin()) {
    lane.enter();
    ended += lane.ended();
  }
}

/// A thread of the sending process: the second round counts, the first warms up.
Times send_all(LaneDriver& lane, uint64_t messages, uint64_t pair) {
  Times times{};
  for (int round = 0; round < 2; ++round) {
    uint64_t place = 0, ended = 0;
    lane.post(with_buffer(LCI_OP_RECV, 1, pair | kEndTag, &place, 8), &ended);
    times.start = now_s();
    const lci_descriptor op = short_message(LCI_OP_SEND, 1, 0, pair | kDataTag);
    stream(
        lane, messages, UINT64_MAX, [&](uint64_t) -> const lci_descriptor& { return op; }, &ended);
    await(lane, ended, 1);
    times.end = now_s();
  }
  return times;
}

/// Its partner.
void receive_all(LaneDriver& lane, uint64_t messages, uint64_t pair) {
  std::vector<uint64_t> places(kAhead);
  lane.control().arrival_budget = kBatch;  // as many as receives are posted in the same pass
  for (int round = 0; round < 2; ++round) {
    stream(lane, messages, kAhead,
           [&](uint64_t i) { return with_buffer(LCI_OP_RECV, 0, pair | kDataTag, &places[i % kAhead], 8); });
    uint64_t ended = 0;
    lane.post(short_message(LCI_OP_SEND, 0, 0, pair | kEndTag), &ended);
  }
}

double sendrecv_rate() {
  const uint64_t messages = dosed(500'000);
  JobDirectory job;
  std::vector<Times> times(kThreads);
  auto run = [&](uint32_t rank) {
    Process process(job.path(), rank);
    std::vector<std::thread> threads;
    for (uint32_t self = 0; self < kThreads; ++self) {
      threads.emplace_back([&, self] {
        LaneDriver lane(process.runtime(), self);
        const uint64_t pair = uint64_t{self} << 8;
        if (rank == 0) {
          times[self] = send_all(lane, messages, pair);
        } else {
          receive_all(lane, messages, pair);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  in_two_processes([&] { run(0); }, [&] { run(1); });
  const double start = std::min(times[0].start, times[1].start), end = std::max(times[0].end, times[1].end);
  return 1e-6 * static_cast<double>(kThreads * messages) / (end - start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "sendrecv_rate_2x2") != 0) {
    std::fprintf(stderr, "usage: %s sendrecv_rate_2x2\n", argv[0]);
    return 2;
  }
  print_metric(argv[1], "Mmsg/s", sendrecv_rate());
  return 0;
}
