// SPDX-License-Identifier: Apache-2.0
#include "conformance/world.hpp"

#include <cstdlib>
#include <memory>
#include <thread>

#include "support/processes.hpp"
#include "support/sanitized.hpp"

namespace lci_test {

World::World(lci_runtime* runtime, uint64_t seed) : runtime_(runtime), seed_(seed) {
  rank_ = lci_runtime_rank(runtime);
  size_ = lci_runtime_size(runtime);
  for (lci_device* device = nullptr; lci_runtime_device(runtime, devices_, &device) == LCI_DONE;) ++devices_;
  ended_ = queue();
  gathered_ = queue();
  open_port(kGatherPort, gathered_);
  barrier();
}

lci_device* World::device(uint32_t index) const {
  lci_device* device = nullptr;
  EXPECT_EQ(LCI_DONE, lci_runtime_device(runtime_, index, &device)) << lci_last_error();
  return device;
}

void World::add_device() {
  lci_device* added = nullptr;
  EXPECT_EQ(LCI_DONE, lci_device_add(runtime_, &added)) << lci_last_error();
  ++devices_;
}

bool World::progress() {
  bool moved = false;
  for (uint32_t i = 0; i < devices_; ++i) moved |= lci_progress(device(i)) == LCI_DONE;
  return moved;
}

int World::post(const lci_descriptor& op, lci_comp* comp, lci_status* out, uint32_t device_index) {
  int code = LCI_RETRY;
  until([&] {
    lci_descriptor attempt = op;
    code = lci_post(device(device_index), &attempt, comp, out);
    return !is_retry(code);
  });
  return code;
}

lci_status World::pop(lci_comp* queue) {
  lci_status status{};
  until([&] { return lci_queue_pop(queue, &status) == LCI_DONE; });
  return status;
}

void World::open_port(uint32_t port, lci_comp* comp, uint32_t messages, uint64_t bytes) const {
  const std::string name = "port " + std::to_string(port);
  EXPECT_EQ(LCI_DONE, lci_port_open(runtime_, port, name.c_str(), comp, messages, bytes)) << lci_last_error();
}

void World::barrier() {
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  if (post(op, ended_) != LCI_POSTED) give_up("the barrier was not posted");
  const lci_status status = pop(ended_);
  if (status.code != LCI_DONE) give_up("the barrier failed with " + std::to_string(status.code));
}

std::vector<Bytes> World::gather(const Bytes& mine) {
  for (uint32_t to = 0; to < size_; ++to) {
    const auto op = operation(LCI_OP_AM, to, kGatherPort, 0, mine.data(), static_cast<uint32_t>(mine.size()));
    if (post(op, ended_) == LCI_POSTED) pop(ended_);
  }
  std::vector<Bytes> all(size_);
  for (uint32_t i = 0; i < size_; ++i) {
    const lci_status status = pop(gathered_);
    const auto* bytes = static_cast<const uint8_t*>(status.buffer);
    if (status.size > 0) all[status.rank].assign(bytes, bytes + status.size);
    if (status.buffer) lci_buffer_free(status.buffer);
  }
  barrier();
  return all;
}

std::string World::attribute(const char* name) const {
  char text[16] = "";
  EXPECT_EQ(LCI_DONE, lci_runtime_attr(runtime_, name, text, sizeof text));
  return text;
}

bool World::peers_read_rings_only() const {
  return attribute("peer_memory") == "rings";
}

bool World::is_far(uint32_t rank) const {
  const std::string transport = attribute("transport");
  if (transport != "routed") return transport == "tcp";
  const uint32_t per_host = static_cast<uint32_t>(std::stoul(attribute("ranks_per_host")));
  return rank / per_host != rank_ / per_host;
}

uint64_t World::counter(const std::string& name) const {
  uint64_t values[256];
  const uint32_t count = lci_runtime_snapshot(runtime_, values, 256);
  for (uint32_t i = 0; i < count; ++i) {
    if (name == lci_counter_name(i)) return values[i];
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

void World::end() {
  barrier();
  const auto posted = [&] {
    uint64_t sum = 0;
    for (const char* operation : {"am", "send", "recv", "barrier", "put", "get", "atomic"}) {
      sum += counter(std::string("operations_") + operation + "_posted");
    }
    return sum;
  };
  const auto ended = [&] { return counter("signals") + counter("signals_dropped") + counter("receives_pending"); };
  until([&] {
    return counter("packets_out") == 0 && counter("backlog_push") == counter("backlog_pop") &&
           counter("sends_pending") == 0 && posted() == ended();
  });
  EXPECT_EQ(counter("packets_get"), counter("packets_put"));
  EXPECT_EQ(0u, counter("protocol_errors"));
  barrier();
}

void World::give_up(const std::string& why) const {
  throw std::runtime_error("rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ": " + why +
                           "; last error: " + lci_last_error());
}

namespace {

std::string plan(const Setting& setting) {
  const std::string text =
      "seed=" + std::to_string(setting.seed) + ",delay=0.3,ticks=12,refuse=0.15,short=0.2,stall=1@40x200";
  return setting.breaks ? text + ",cut=0.1" : text;
}

lci_runtime* create(lci_inproc* inproc, uint32_t rank, const Attributes& attributes) {
  lci_attrs* attrs = nullptr;
  EXPECT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  for (const auto& [name, value] : attributes) {
    EXPECT_EQ(LCI_DONE, lci_attrs_set(attrs, name.c_str(), value.c_str())) << lci_last_error();
  }
  lci_runtime* runtime = nullptr;
  EXPECT_EQ(LCI_DONE, lci_runtime_create(attrs, inproc, rank, &runtime)) << lci_last_error();
  lci_attrs_free(attrs);
  return runtime;
}

/// One rank's part: the body between the making and the closing of its runtime.
void run_rank(lci_inproc* inproc, uint32_t rank, const Attributes& attributes, uint64_t seed, void (*body)(World&)) {
  lci_runtime* runtime = create(inproc, rank, attributes);
  if (!runtime) return;
  try {
    World world(runtime, seed);
    body(world);
    world.end();
  } catch (const std::exception& failure) {
    ADD_FAILURE() << failure.what();
  }
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 5000)) << lci_last_error();
}

void run_threads_of(const Setting& setting, const Attributes& attributes, void (*body)(World&)) {
  lci_inproc* inproc = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(setting.ranks, &inproc)) << lci_last_error();
  lci::test::run_threads(setting.ranks, [&](uint32_t rank) { run_rank(inproc, rank, attributes, setting.seed, body); });
  lci_inproc_free(inproc);
}

void run_processes_of(const Setting& setting, const Attributes& attributes, void (*body)(World&)) {
  constexpr uint64_t kSoakPatience = 1200;  // what hangs is noticed by World::until
  const JobDirectory job(setting.ranks);
  std::vector<std::unique_ptr<Child>> children;
  for (uint32_t rank = 0; rank < setting.ranks; ++rank) {
    Attributes all = attributes;
    all.emplace_back("job_dir", job.path());
    all.emplace_back("job_rank", std::to_string(rank));
    all.emplace_back("job_size", std::to_string(setting.ranks));
    const auto process = [&, rank, all] {
      run_rank(nullptr, rank, all, setting.seed, body);
      std::fflush(nullptr);  // what failed was printed through stdio
      return testing::Test::HasFailure() ? 1 : 0;
    };
    children.push_back(std::make_unique<Child>(process, soak() ? kSoakPatience : kSeconds));
  }
  for (uint32_t rank = 0; rank < setting.ranks; ++rank) {
    EXPECT_EQ(0, children[rank]->wait()) << "process of rank " << rank;
  }
}

}  // namespace

bool soak() {
  const char* tier = std::getenv("LCI_TIER");
  return tier && std::string(tier) == "soak";
}

std::vector<Setting> settings() {
  std::vector<Setting> all = {{"inproc", 3, false, 0}, {"processes2", 2, true, 0}, {"processes4", 4, true, 0}};
  all.push_back({"rings", 3, false, 0, true});
  all.push_back({"rings2", 2, true, 0, true});
  all.push_back({"tcp", 3, false, 0, false, "tcp"});
  all.push_back({"tcp4", 4, true, 0, false, "tcp"});
  all.push_back({"tcpsealed", 3, false, 0, false, "tcp", false, true});
  all.push_back({"routed4", 4, true, 0, false, "routed"});
  const char* given = std::getenv("LCI_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given || kSanitized ? 1 : soak() ? 200 : 3;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    all.push_back({"chaos" + std::to_string(seed), 3, false, seed});
  }
  for (uint64_t seed = first; seed < first + (kSanitized ? 1 : std::max<uint64_t>(count, 8)); seed += 7) {
    all.push_back({"ringschaos" + std::to_string(seed), 3, false, seed, true});
    all.push_back({"tcpchaos" + std::to_string(seed), 3, false, seed, false, "tcp"});
    all.push_back({"tcpcut" + std::to_string(seed), 3, false, seed, false, "tcp", true});
    all.push_back({"routedchaos" + std::to_string(seed), 3, false, seed, false, "routed"});
  }
  return all;
}

void run_everywhere(const Setting& setting, const Attributes& attributes, void (*body)(World&)) {
  Attributes all = {{"packets", "64"}, {"packets_max", "256"}};  // small: hundreds of jobs run on small machines
  if (kSanitized) all.emplace_back("arena_bytes", kSanitizedArena);
  all.insert(all.end(), attributes.begin(), attributes.end());
  if (setting.rings) all.emplace_back("peer_memory", "rings");
  if (!setting.transport.empty()) all.emplace_back("transport", setting.transport);
  if (setting.seals) all.emplace_back("net_security", "sealed");
  if (setting.transport == "routed") all.emplace_back("ranks_per_host", "2");
  if (setting.seed != 0) {
    SCOPED_TRACE("replay with LCI_SEED=" + std::to_string(setting.seed));
    all.emplace_back("chaos", plan(setting));
    return run_threads_of(setting, all, body);
  }
  setting.processes ? run_processes_of(setting, all, body) : run_threads_of(setting, all, body);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Conformance, testing::ValuesIn(settings()),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace lci_test
