// SPDX-License-Identifier: Apache-2.0
// Cost of the resources under every message: a packet, a match, a completion. Prints one JSON object per line, with the
// median of several runs: {"metric": ..., "unit": "ns/op", "ours": ...}. Threads share the object under test; the
// figure is elapsed time by operations of one thread.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "completion/queue.hpp"
#include "matching/matching_engine.hpp"
#include "pool/packet_pool.hpp"

namespace {

constexpr uint64_t kOperations = 1'000'000;
constexpr int kRuns = 7;

/// Median nanoseconds per operation and thread of body(thread, operations).
template <typename Body>
double measure(uint32_t threads, Body body) {
  std::vector<double> results;
  for (int run = 0; run < kRuns; ++run) {
    std::latch ready(threads + 1);
    std::vector<std::thread> workers;
    for (uint32_t self = 0; self < threads; ++self) {
      workers.emplace_back([&, self] {
        ready.arrive_and_wait();
        body(self, kOperations);
      });
    }
    ready.arrive_and_wait();
    const uint64_t start = lci::now_ns();
    for (std::thread& worker : workers) worker.join();
    results.push_back(static_cast<double>(lci::now_ns() - start) / static_cast<double>(kOperations));
  }
  std::nth_element(results.begin(), results.begin() + kRuns / 2, results.end());
  return results[kRuns / 2];
}

void report(const char* metric, uint32_t threads, double nanoseconds) {
  std::printf("{\"metric\": \"%s, threads=%u\", \"unit\": \"ns/op\", \"ours\": %.2f}\n", metric, threads, nanoseconds);
}

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "resources_bench: %s\n", what);
  std::exit(1);
}

/// Chunks from one block of memory.
class Memory final : public lci::ChunkSource {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {}
  uint64_t allocate(size_t bytes) override {
    if (used_ + bytes > bytes_.size()) return 0;
    used_ += bytes;
    return used_ - bytes;
  }
  std::byte* at(uint64_t offset) override { return bytes_.data() + offset; }

 private:
  std::vector<std::byte> bytes_;
  uint64_t used_ = 64;
};

void packets(uint32_t threads, bool own_deques) {
  Memory memory(8u << 20);
  lci::PacketPool pool(memory, 8192, 256, 512, own_deques ? threads : 1);
  const double cost = measure(threads, [&](uint32_t self, uint64_t operations) {
    const uint32_t deque = own_deques ? self : 0;
    for (uint64_t done = 0; done < operations;) {
      const uint32_t handle = pool.get(deque);
      if (handle == 0) continue;  // another thread is inside the deque
      pool.put(deque, handle);
      ++done;
    }
  });
  report(own_deques ? "packet get+put, own deque" : "packet get+put, shared deque", threads, cost);
}

/// Stores a receive and matches it by a send, over keys of its own: the uncontended path that messages take.
void matching(uint32_t threads, lci::MatchingEngineType type, const char* metric) {
  const auto engine = lci::MatchingEngine::create(type, 65536);
  const double cost = measure(threads, [&](uint32_t self, uint64_t operations) {
    int value = 0;
    for (uint64_t i = 0; i < operations; ++i) {
      const uint64_t key = lci::make_key(self, i % 4096, LCI_POLICY_RANK_TAG);
      engine->insert(key, &value, lci::Side::kReceive);
      if (engine->insert(key, &value, lci::Side::kSend) == nullptr) stop("a send found no receive");
    }
  });
  report(metric, threads, cost);
}

void queue(uint32_t threads) {
  lci::CompletionQueue completions(65536);
  const double cost = measure(threads, [&](uint32_t self, uint64_t operations) {
    lci_status status{};
    status.rank = self;
    for (uint64_t i = 0; i < operations; ++i) {
      if (completions.signal(status) != LCI_DONE) stop("the queue is full");
      while (completions.pop(&status) != LCI_DONE) std::this_thread::yield();
    }
  });
  report("queue push+pop", threads, cost);
}

}  // namespace

int main() {
  for (const uint32_t threads : {1u, 2u}) {
    packets(threads, true);
    if (threads > 1) packets(threads, false);
    matching(threads, lci::MatchingEngineType::kMap, "matching insert pair, map");
    queue(threads);
  }
  matching(1, lci::MatchingEngineType::kQueue, "matching insert pair, queue");
}
