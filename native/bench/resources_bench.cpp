// SPDX-License-Identifier: Apache-2.0
// Throughput of the resources under every message, against what else one could take: `resources_bench NAME_tTHREADS
// SIDE` prints one JSON line. All threads use one object; an operation is
//   queue_array, queue_lcrq            a status pushed and one popped by the same thread
//   handover_array, handover_lcrq      a status pushed by a thread and popped by another: half of them push
//   packets_own, packets_shared        a packet got and put; with a deque for each thread, or one for all
//   matching_map, matching_queue       a receive stored and matched by a send, over keys of the thread's own
//   cancel_1k, cancel_1m               a receive posted and cancelled, with that many others pending; one thread
//   left                               a node left for an owner, who takes all that were left; each thread does both
//   array                              an entry of a table read that others may change meanwhile
#include <cstdlib>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/growing_array.hpp"
#include "base/mpsc_stack.hpp"
#include "common/threads.hpp"
#include "completion/queue.hpp"
#include "matching/matching_engine.hpp"
#include "pool/packet_pool.hpp"
#include "rma/copy_guard.hpp"
#include "rma/remote_table.hpp"

namespace {

using namespace lci::bench;

const uint64_t kOperations = dosed(2'000'000);

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "resources_bench: %s\n", what);
  std::exit(1);
}

// ---- completion queues ---------------------------------------------------------------------------------------------

/// Push and pop of anything that has them: pop answers whether there was something.
template <typename Queue>
double push_and_pop(uint32_t threads, Queue& queue) {
  return throughput(threads, kOperations, [&](uint32_t self, uint64_t operations) {
    lci_status status{};
    status.rank = self;
    for (uint64_t i = 0; i < operations; ++i) {
      while (!queue.push(status)) std::this_thread::yield();
      while (!queue.pop(&status)) std::this_thread::yield();
    }
  });
}

/// The same where a thread does one of the two; what one pushes and another pops is one operation.
template <typename Queue>
double hand_over(uint32_t threads, Queue& queue) {
  if (threads % 2 != 0) std::exit(3);
  return throughput(threads, kOperations,
                    [&](uint32_t self, uint64_t operations) {
                      lci_status status{};
                      for (uint64_t i = 0; i < operations; ++i) {
                        while (!(self % 2 == 0 ? queue.push(status) : queue.pop(&status))) std::this_thread::yield();
                      }
                    }) /
         2;
}

constexpr uint32_t kQueued = 65536;  // most statuses in a queue, as by default

template <lci::QueueType type>
struct OurQueue {
  OurQueue() {
    if (!lci::CompletionQueue::offers(type)) std::exit(3);
    queue = lci::CompletionQueue::create(type, kQueued);
  }
  bool push(const lci_status& status) { return queue->signal(status) == LCI_DONE; }
  bool pop(lci_status* status) { return queue->pop(status) == LCI_DONE; }

  std::unique_ptr<lci::CompletionQueue> queue;
};

using ArrayStatuses = OurQueue<lci::QueueType::kArray>;
using LcrqStatuses = OurQueue<lci::QueueType::kLcrq>;

struct MutexQueue {
  bool push(const lci_status& status) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (queue.size() == kQueued) return false;
    queue.push_back(status);
    return true;
  }
  bool pop(lci_status* status) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (queue.empty()) return false;
    *status = queue.front();
    queue.pop_front();
    return true;
  }

  std::mutex mutex;
  std::deque<lci_status> queue;
};

template <typename Queue>
double queue(uint32_t threads) {
  Queue queue;
  return push_and_pop(threads, queue);
}
template <typename Queue>
double handover(uint32_t threads) {
  Queue queue;
  return hand_over(threads, queue);
}

// ---- packet pool ---------------------------------------------------------------------------------------------------

constexpr uint32_t kPacketBytes = 8192;

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

template <bool own_deques>
double packets(uint32_t threads) {
  Memory memory(8u << 20);
  lci::PacketPool pool(memory, kPacketBytes, 256, 512, own_deques ? threads : 1);
  return throughput(threads, kOperations, [&](uint32_t self, uint64_t operations) {
    const uint32_t deque = own_deques ? self : 0;
    for (uint64_t done = 0; done < operations;) {
      const uint32_t handle = pool.get(deque);
      if (handle == 0) continue;  // another thread is inside the deque
      pool.put(deque, handle);
      ++done;
    }
  });
}

double heap_packets(uint32_t threads) {
  return throughput(threads, kOperations, [](uint32_t, uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) {
      void* volatile packet = std::malloc(kPacketBytes);
      std::free(packet);
    }
  });
}

// ---- matching engines ----------------------------------------------------------------------------------------------

/// Insert answers with what matches, or null.
template <typename Insert>
double insert_pairs(uint32_t threads, Insert insert) {
  return throughput(threads, kOperations, [&](uint32_t self, uint64_t operations) {
    int value = 0;
    for (uint64_t i = 0; i < operations; ++i) {
      const uint64_t key = lci::make_key(self, i % 4096, LCI_POLICY_RANK_TAG);
      insert(key, &value, lci::Side::kReceive);
      if (insert(key, &value, lci::Side::kSend) == nullptr) stop("a send found no receive");
    }
  });
}

template <lci::MatchingEngineType type>
double matching(uint32_t threads) {
  const auto engine = lci::MatchingEngine::create(type, 65536);
  return insert_pairs(threads,
                      [&](uint64_t key, void* value, lci::Side side) { return engine->insert(key, value, side); });
}

double mutex_matching(uint32_t threads) {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::deque<void*>> stored[2];
  return insert_pairs(threads, [&](uint64_t key, void* value, lci::Side side) -> void* {
    const std::lock_guard<std::mutex> guard(mutex);
    auto& others = stored[side == lci::Side::kSend];
    const auto found = others.find(key);
    if (found == others.end()) {
      stored[side != lci::Side::kSend][key].push_back(value);
      return nullptr;
    }
    void* matched = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) others.erase(found);
    return matched;
  });
}

// ---- cancelled receives --------------------------------------------------------------------------------------------

/// post(context) and cancel(context), the oldest pending one each time.
template <typename Post, typename Cancel>
double post_and_cancel(uint32_t threads, uint64_t pending, Post post, Cancel cancel) {
  if (threads != 1) std::exit(3);
  uint64_t next = 0;
  while (next < pending) post(next++);
  return throughput(threads, kOperations, [&](uint32_t, uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i, ++next) {
      post(next);
      cancel(next - pending);
    }
  });
}

template <uint64_t pending>
double cancel(uint32_t threads) {
  lci_runtime* runtime = nullptr;
  lci_device* device = nullptr;
  lci_comp* ended = nullptr;
  if (lci_runtime_create(nullptr, nullptr, 0, &runtime) != LCI_DONE ||
      lci_runtime_device(runtime, 0, &device) != LCI_DONE || lci_counter_create(runtime, &ended) != LCI_DONE) {
    stop(lci_last_error());
  }
  char buffer[8];
  const double result = post_and_cancel(
      threads, pending,
      [&](uint64_t context) {
        const int code =
            lci_post_recv(device, 0, context % LCI_MAX_TAG, buffer, sizeof buffer, ended, context, nullptr);
        if (code != LCI_POSTED) stop("a receive was not posted");
      },
      [&](uint64_t context) {
        if (lci_post_cancel(device, context) != LCI_DONE) stop("a receive was not cancelled");
      });
  lci_runtime_close(runtime, 0);
  return result;
}

template <uint64_t pending>
double mutex_cancel(uint32_t threads) {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::unique_ptr<lci_status>> stored;
  return post_and_cancel(
      threads, pending,
      [&](uint64_t context) {
        const std::lock_guard<std::mutex> guard(mutex);
        stored.emplace(context, std::make_unique<lci_status>());
      },
      [&](uint64_t context) {
        const std::lock_guard<std::mutex> guard(mutex);
        if (stored.erase(context) != 1) stop("a receive got lost");
      });
}

// ---- array read without a lock -------------------------------------------------------------------------------------

constexpr size_t kEntries = 4096;

template <typename Get>
double read_all(uint32_t threads, Get get) {
  return throughput(threads, kOperations, [&](uint32_t, uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) {
      if (get(i % kEntries) != i % kEntries) stop("an element has changed");
    }
  });
}

double array(uint32_t threads) {
  lci::GrowingArray<uint64_t> array;
  for (size_t i = 0; i < kEntries; ++i) array.append(i);
  return read_all(threads, [&](size_t index) { return array.get(index); });
}

double shared_mutex_array(uint32_t threads) {
  std::shared_mutex mutex;
  std::vector<uint64_t> array;
  for (size_t i = 0; i < kEntries; ++i) array.push_back(i);
  return read_all(threads, [&](size_t index) {
    const std::shared_lock<std::shared_mutex> guard(mutex);
    return array[index];
  });
}

// ---- what threads leave for an owner
// ----------------------------------------------------------------------------------

struct alignas(64) Left {
  Left* next = nullptr;
  std::atomic<bool> out{false};
  static Left*& next_of(Left& node) { return node.next; }
};

class MutexStack {
 public:
  void push(Left* node) {
    const std::lock_guard<std::mutex> guard(mutex_);
    node->next = first_;
    first_ = node;
  }
  Left* take_all() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::exchange(first_, nullptr);
  }

 private:
  std::mutex mutex_;
  Left* first_ = nullptr;
};

/// Each thread leaves a node of its own when that has come back, and takes what is there.
template <typename Stack>
double left(uint32_t threads) {
  Stack stack;
  std::vector<Left> nodes(threads);
  return throughput(threads, kOperations, [&](uint32_t self, uint64_t operations) {
    const auto take = [&] {
      for (Left* node = stack.take_all(); node != nullptr;) {
        Left* const next = node->next;
        node->out.store(false, std::memory_order_release);
        node = next;
      }
    };
    Left& own = nodes[self];
    for (uint64_t i = 0; i < operations; ++i) {
      while (own.out.load(std::memory_order_acquire)) {
        take();
        std::this_thread::yield();
      }
      own.out.store(true, std::memory_order_relaxed);
      stack.push(&own);
      take();
    }
    while (own.out.load(std::memory_order_acquire)) take();
  });
}

// ---- regions of others ---------------------------------------------------------------------------------------------

double remote(uint32_t threads) {
  lci::RemoteTable table;
  lci::Remote region;
  region.size = 4096;
  uint64_t id = 0;
  if (!table.add(region, &id)) stop("no remote id");
  struct alignas(64) Word {
    std::atomic<uint64_t> copying{0};
  };
  std::vector<Word> here(threads);
  std::vector<Word> words(threads);
  return throughput(threads, kOperations, [&](uint32_t self, uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) {
      lci::Remote found;
      if (!table.find(id, &found) || found.size != region.size) stop("a remote region got lost");
      const lci::CopyGuard guard({words[self].copying, here[self].copying, false});
    }
  });
}

double shared_mutex_remote(uint32_t threads) {
  std::shared_mutex mutex;
  std::unordered_map<uint64_t, lci::Remote> table;
  table[1].size = 4096;
  return throughput(threads, kOperations, [&](uint32_t, uint64_t operations) {
    for (uint64_t i = 0; i < operations; ++i) {
      const std::shared_lock<std::shared_mutex> guard(mutex);
      if (table.find(1)->second.size != 4096) stop("a remote region got lost");
    }
  });
}

const std::map<std::string, Sides> kMetrics = {
    {"queue_array", {{"ours", queue<ArrayStatuses>}, {"mutex", queue<MutexQueue>}}},
    {"queue_lcrq", {{"ours", queue<LcrqStatuses>}, {"mutex", queue<MutexQueue>}}},
    {"handover_array", {{"ours", handover<ArrayStatuses>}, {"mutex", handover<MutexQueue>}}},
    {"handover_lcrq", {{"ours", handover<LcrqStatuses>}, {"mutex", handover<MutexQueue>}}},
    {"packets_own", {{"ours", packets<true>}, {"malloc", heap_packets}}},
    {"packets_shared", {{"ours", packets<false>}, {"malloc", heap_packets}}},
    {"matching_map", {{"ours", matching<lci::MatchingEngineType::kMap>}, {"mutex", mutex_matching}}},
    {"matching_queue", {{"ours", matching<lci::MatchingEngineType::kQueue>}, {"mutex", mutex_matching}}},
    {"cancel_1k", {{"ours", cancel<1'000>}, {"mutex", mutex_cancel<1'000>}}},
    {"cancel_1m", {{"ours", cancel<1'000'000>}, {"mutex", mutex_cancel<1'000'000>}}},
    {"left", {{"ours", left<lci::MpscStack<Left, &Left::next_of>>}, {"mutex", left<MutexStack>}}},
    {"array", {{"ours", array}, {"mutex", shared_mutex_array}}},
    {"remote", {{"ours", remote}, {"mutex", shared_mutex_remote}}},
};

}  // namespace

int main(int argc, char** argv) {
  return measure_threads(argc, argv, kMetrics);
}
