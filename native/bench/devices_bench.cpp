/* SPDX-License-Identifier: Apache-2.0 */
// What threads of one rank get out of devices, with messages to the rank itself: `devices_bench NAME_tTHREADS SIDE`
// prints one JSON line. An operation is
//   devices      an active message posted and handled: "dedicated", a device for each thread, or "shared", one for all
//   lanes        the same: "lane", a lane for each thread, batches of 32, or "post", a device and a call for each
//   message completions  a matched receive of which the thread hears: 64 ahead, through one "queue", or by polling 64
//                "synchronizers"
//   lock         an active message posted through one of as many devices as threads, all shared: at a locked device the
//                thread takes the next one ("try"), or waits ("spin")
#include <algorithm>
#include <atomic>
#include <memory>

#include "common/messages.hpp"
#include "common/threads.hpp"

namespace {

using namespace lci::bench;

const uint64_t kMessages = dosed(500'000);
constexpr uint32_t kMaxThreads = 255;

/// Messages that came to one thread's port, through any device: whoever progresses it counts.
struct alignas(64) Arrivals {
  std::atomic<uint64_t> count{0};
  uint64_t expected = 0;
};

/// A runtime that is alone, and a port for each thread.
class Alone {
 public:
  Alone(uint32_t threads, uint32_t devices) : arrivals_(threads), lanes_(threads) {
    if (threads > kMaxThreads) give_up("devices_bench: too many threads");
    lci_attrs* attrs = nullptr;
    check(lci_attrs_create(&attrs), "attributes");
    check(lci_attrs_set(attrs, "devices", std::to_string(devices).c_str()), "attributes");
    check(lci_runtime_create(attrs, nullptr, 0, &runtime_), "create runtime");
    lci_attrs_free(attrs);
    for (uint32_t thread = 0; thread < threads; ++thread) {
      lci_comp* handler = nullptr;
      check(lci_handler_create(runtime_, count, &arrivals_[thread], &handler), "create handler");
      check(lci_port_open(runtime_, port(thread), "", handler, 0, 0), "open port");
    }
    for (uint32_t device = 0; device < devices; ++device) {
      devices_.emplace_back();
      check(lci_runtime_device(runtime_, device, &devices_.back()), "device");
    }
  }
  ~Alone() {
    lanes_.clear();
    check(lci_runtime_close(runtime_, 1000), "close");
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  static uint32_t port(uint32_t thread) { return 1 + thread; }
  lci_runtime* runtime() { return runtime_; }
  lci_device* device(uint32_t index) { return devices_[index]; }
  /// The lane of a thread, over the device of that number.
  LaneDriver& lane(uint32_t thread) {
    if (!lanes_[thread]) lanes_[thread] = std::make_unique<LaneDriver>(runtime_, thread);
    return *lanes_[thread];
  }

  /// One message to a thread's port; false: not now. @p code: why.
  bool post(lci_device* device, uint32_t thread, int* code = nullptr) {
    lci_descriptor op = short_message(LCI_OP_AM, 0, port(thread), 7);
    const int outcome = lci_post(device, &op, nullptr, nullptr);
    check(outcome, "post");
    if (code) *code = outcome;
    return outcome < LCI_RETRY;
  }
  void expect(uint32_t thread, uint64_t more) { arrivals_[thread].expected += more; }
  bool complete(uint32_t thread) const {
    return arrivals_[thread].count.load(std::memory_order_acquire) == arrivals_[thread].expected;
  }

 private:
  static void count(const lci_status*, void* argument) {
    static_cast<Arrivals*>(argument)->count.fetch_add(1, std::memory_order_release);
  }

  lci_runtime* runtime_ = nullptr;
  std::vector<Arrivals> arrivals_;
  std::vector<lci_device*> devices_;
  std::vector<std::unique_ptr<LaneDriver>> lanes_;
};

template <bool dedicated>
double devices(uint32_t threads) {
  Alone alone(threads, dedicated ? threads : 1);
  return throughput(threads, kMessages, [&](uint32_t self, uint64_t operations) {
    lci_device* device = alone.device(dedicated ? self : 0);
    alone.expect(self, operations);
    for (uint64_t sent = 0; sent < operations;) {
      for (uint32_t i = 0; i < kBatch && sent < operations; ++i) sent += alone.post(device, self);
      lci_progress(device);
    }
    for (Spin spin; !alone.complete(self); spin()) lci_progress(device);
  });
}

double lanes(uint32_t threads) {
  Alone alone(threads, threads);
  for (uint32_t i = 0; i < threads; ++i) alone.lane(i);
  return throughput(threads, kMessages, [&](uint32_t self, uint64_t operations) {
    LaneDriver& lane = alone.lane(self);
    const lci_descriptor op = short_message(LCI_OP_AM, 0, Alone::port(self), 7);
    alone.expect(self, operations);
    stream(lane, operations, UINT64_MAX, [&](uint64_t) -> const lci_descriptor& { return op; });
    for (Spin spin; !alone.complete(self); spin()) {
      lane.enter();
      lane.ended();
    }
  });
}

template <bool spinning>
double lock(uint32_t threads) {
  Alone alone(threads, threads);
  return throughput(threads, kMessages, [&](uint32_t self, uint64_t operations) {
    alone.expect(self, operations);
    uint32_t at = self;
    for (uint64_t sent = 0; sent < operations;) {
      for (uint32_t i = 0; i < kBatch && sent < operations; ++i) {
        int code = LCI_DONE;
        sent += alone.post(alone.device(at % threads), self, &code);
        if (code != LCI_RETRY_LOCK || !spinning) ++at;
      }
      lci_progress(alone.device(at % threads));
    }
    for (Spin spin; !alone.complete(self); spin()) lci_progress(alone.device(++at % threads));
  });
}

constexpr uint32_t kAhead = 64;

/// Keeps kAhead receives under way; the thread sends to itself what each of them matches. @p completion(i) is signalled
/// by the i-th; @p poll calls its argument with the number of each receive that has ended.
template <typename Completion, typename Poll>
void receive_all(lci_device* device, uint32_t self, uint64_t operations, Completion completion, Poll poll) {
  std::vector<uint64_t> places(kAhead);
  std::vector<uint32_t> idle(kAhead);
  for (uint32_t i = 0; i < kAhead; ++i) idle[i] = i;
  uint64_t started = 0, ended = 0;
  for (Spin spin; ended < operations;) {
    while (!idle.empty() && started < operations) {
      const uint32_t slot = idle.back();
      const uint64_t tag = uint64_t{self} * kAhead + slot;
      check(lci_post_recv(device, 0, tag, &places[slot], 8, completion(slot), slot, nullptr), "receive");
      lci_descriptor send = short_message(LCI_OP_SEND, 0, 0, tag);
      for (;;) {
        const int code = lci_post(device, &send, nullptr, nullptr);
        check(code, "send");
        if (code < LCI_RETRY) break;
        lci_progress(device);
      }
      idle.pop_back();
      ++started;
    }
    lci_progress(device);
    const uint64_t before = ended;
    poll([&](uint32_t slot) {
      idle.push_back(slot);
      ++ended;
    });
    if (ended == before) spin();
  }
}

double by_queue(uint32_t threads) {
  Alone alone(threads, threads);
  return throughput(threads, kMessages, [&](uint32_t self, uint64_t operations) {
    lci_comp* queue = nullptr;
    check(lci_queue_create(alone.runtime(), 1024, &queue), "queue");
    receive_all(
        alone.device(self), self, operations, [&](uint32_t) { return queue; },
        [&](auto ended) {
          for (lci_status status; lci_queue_pop(queue, &status) == LCI_DONE;) {
            ended(static_cast<uint32_t>(status.user_context));
          }
        });
    check(lci_comp_free(queue), "free queue");
  });
}

double by_synchronizers(uint32_t threads) {
  Alone alone(threads, threads);
  return throughput(threads, kMessages, [&](uint32_t self, uint64_t operations) {
    std::vector<lci_comp*> synchronizers(kAhead);
    for (auto& each : synchronizers) check(lci_synchronizer_create(alone.runtime(), 1, &each), "synchronizer");
    receive_all(
        alone.device(self), self, operations, [&](uint32_t slot) { return synchronizers[slot]; },
        [&](auto ended) {
          lci_status status;
          for (uint32_t slot = 0; slot < kAhead; ++slot) {
            if (lci_synchronizer_test(synchronizers[slot], &status) == LCI_DONE) ended(slot);
          }
        });
    for (lci_comp* each : synchronizers) check(lci_comp_free(each), "free synchronizer");
  });
}

const std::map<std::string, Sides> kMetrics = {
    {"devices", {{"dedicated", devices<true>}, {"shared", devices<false>}}},
    {"lanes", {{"lane", lanes}, {"post", devices<true>}}},
    {"completions", {{"queue", by_queue}, {"synchronizers", by_synchronizers}}},
    {"lock", {{"try", lock<false>}, {"spin", lock<true>}}},
};

}  // namespace

int main(int argc, char** argv) {
  return measure_threads(argc, argv, kMetrics);
}
