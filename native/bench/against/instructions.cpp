/* SPDX-License-Identifier: Apache-2.0 */
// A fixed number of messages between two ranks of this process, on one thread that takes their turns: nobody waits, so
// that the instructions of a message can be counted. `instructions METRIC COUNT`; see ./lci bench against.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "common/messages.hpp"

namespace {

using namespace lci::bench;

class Rank {
 public:
  Rank(lci_inproc* job, uint32_t rank) {
    lci_attrs* attrs = nullptr;
    check(lci_attrs_create(&attrs), "attributes");
    check(lci_runtime_create(attrs, job, rank, &runtime_), "create runtime");
    lci_attrs_free(attrs);
  }
  void drive() { lane_ = new LaneDriver(runtime_, 0); }
  void end() { delete lane_; }
  void close() { check(lci_runtime_close(runtime_, 1000), "close"); }
  lci_runtime* runtime() { return runtime_; }
  LaneDriver& lane() { return *lane_; }

 private:
  lci_runtime* runtime_ = nullptr;
  LaneDriver* lane_ = nullptr;
};

struct Pair {
  Rank& from;
  Rank& to;
  Count arrived;

  void handle() {
    lci_comp* handler = nullptr;
    check(lci_handler_create(to.runtime(), count_message, &arrived, &handler), "create handler");
    check(lci_port_open(to.runtime(), kPort, "", handler, 0, 0), "open port");
    to.lane().control().arrival_budget = 256;
    to.lane().control().byte_budget = 1 << 20;
  }
};

/// Posts @p count operations of one rank, at most @p batch at once; @return how many ended at once.
template <typename Next>
uint64_t post(LaneDriver& lane, uint64_t count, uint32_t batch, Next next) {
  const auto entries = static_cast<uint32_t>(std::min<uint64_t>(batch, count));
  for (uint32_t i = 0; i < entries; ++i) lane.submission(i) = next(i);
  lane.control().submit_count = entries;
  lane.enter();
  uint64_t taken = 0;
  for (; taken < entries; ++taken) {
    const int outcome = lane.submission(static_cast<uint32_t>(taken)).outcome;
    check(outcome, "post");
    if (outcome >= LCI_RETRY) break;
  }
  return taken;
}

void messages(Pair& pair, uint64_t count, uint32_t batch, uint64_t size) {
  pair.handle();
  std::vector<std::byte> bytes(size, std::byte{1});
  lci_descriptor op =
      size == 8 ? short_message(LCI_OP_AM, 1, kPort, 1) : with_buffer(LCI_OP_AM, 1, 0, bytes.data(), size);
  op.port = kPort;
  for (uint64_t sent = 0; pair.arrived.messages < count;) {
    sent += post(pair.from.lane(), std::min<uint64_t>(count - sent, kBatch - (sent - pair.arrived.messages)), batch,
                 [&](uint32_t) -> const lci_descriptor& { return op; });
    pair.to.lane().enter();
    pair.to.lane().ended();
    pair.from.lane().ended();
  }
}

void matched(Pair& pair, uint64_t count, uint32_t batch) {
  std::vector<uint64_t> places(batch);
  const lci_descriptor send = short_message(LCI_OP_SEND, 1, 0, 5);
  for (uint64_t received = 0; received < count;) {
    const uint64_t now = std::min<uint64_t>(batch, count - received);
    for (uint64_t posted = 0; posted < now;) {
      posted += post(pair.to.lane(), now - posted, batch,
                     [&](uint32_t i) { return with_buffer(LCI_OP_RECV, 0, 5, &places[i], 8); });
    }
    uint64_t sent = 0, ended = 0;
    while (ended < now) {
      sent += post(pair.from.lane(), now - sent, batch, [&](uint32_t) -> const lci_descriptor& { return send; });
      pair.from.lane().ended();
      pair.to.lane().enter();
      ended += pair.to.lane().ended();
    }
    received += now;
  }
}

void puts(Pair& pair, uint64_t count, uint32_t batch) {
  lci_memory* memory = nullptr;
  void* address = nullptr;
  unsigned char handle[LCI_MEMORY_HANDLE_SIZE];
  uint64_t remote = 0, local = 1;
  check(lci_memory_allocate(pair.to.runtime(), 4096, &memory, &address), "allocate memory");
  check(lci_memory_handle(memory, handle, sizeof handle), "handle");
  check(lci_remote_open(pair.from.runtime(), 1, handle, sizeof handle, &remote, nullptr), "open region");
  lci_descriptor op = with_buffer(LCI_OP_PUT, 1, 0, &local, 8);
  op.u.ref.remote = remote;
  for (uint64_t done = 0; done < count;) {
    done += post(pair.from.lane(), count - done, batch, [&](uint32_t) -> const lci_descriptor& { return op; });
    pair.from.lane().ended();
  }
}

void run(Pair& pair, const std::string& metric, uint64_t count) {
  if (metric == "am_rate") return messages(pair, count, kBatch, 8);
  if (metric == "am_latency") return messages(pair, count, 1, 8);
  if (metric == "sendrecv_rate") return matched(pair, count, kBatch);
  if (metric == "sendrecv_latency") return matched(pair, count, 1);
  if (metric == "put_rate") return puts(pair, count, kBatch);
  if (metric == "bandwidth_1k") return messages(pair, count, kBatch, 1 << 10);
  if (metric == "bandwidth_16k") return messages(pair, count, kBatch, 16 << 10);
  if (metric == "bandwidth_64k") return messages(pair, count, kBatch, 64 << 10);
  if (metric == "bandwidth_1m") return messages(pair, count, kBatch, 1 << 20);
  std::fprintf(stderr, "no such metric: %s\n", metric.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: instructions METRIC COUNT\n");
    return 2;
  }
  lci_inproc* job = nullptr;
  check(lci_inproc_create(2, &job), "create job");
  Rank* peer = nullptr;
  std::thread joining([&] { peer = new Rank(job, 1); });  // a rank waits for all when it joins
  Rank first(job, 0);
  joining.join();
  first.drive();
  peer->drive();
  Pair pair{first, *peer, {}};
  run(pair, argv[1], std::strtoull(argv[2], nullptr, 10));
  first.end();
  peer->end();
  std::thread leaving([&] { peer->close(); });
  first.close();
  leaving.join();
  delete peer;
  lci_inproc_free(job);
  return 0;
}
