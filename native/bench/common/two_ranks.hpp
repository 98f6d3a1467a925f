/* SPDX-License-Identifier: Apache-2.0 */
/// @file two_ranks.hpp
/// A job of two processes, each with a lane driven from C: what the benchmarks of the core share.
#ifndef LCI_BENCH_COMMON_TWO_RANKS_HPP_
#define LCI_BENCH_COMMON_TWO_RANKS_HPP_

#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "lane.hpp"

namespace lci::bench {

/// A job directory as the launcher makes it; removed by whoever created it.
class JobDirectory {
 public:
  JobDirectory() {
    char path[] = "/tmp/lci-bench-XXXXXX";
    if (!mkdtemp(path)) {
      give_up("mkdtemp");
    }
    path_ = path;
    std::string secret(32, '\0');
    if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
      give_up("getrandom");
    }
    write("secret", secret);
    char id[17];
    std::snprintf(id, sizeof id, "%016llx",
                  static_cast<unsigned long long>(now_s() * 1e9) ^ static_cast<unsigned long long>(getpid()) << 40);
    write("job", id);
  }
  ~JobDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  void write(const char* name, const std::string& bytes) {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << bytes;
    chmod(file.c_str(), 0600);
  }
  std::string path_;
};

/// What holds a rank's runtime: made before its lane, closed after it.
class RankRuntime {
 public:
  RankRuntime(const std::string& directory, uint32_t rank, uint32_t devices = 1, uint32_t ranks = 2) {
    lci_attrs* attrs = nullptr;
    check(lci_attrs_create(&attrs), "attributes");
    check(lci_attrs_set(attrs, "job_dir", directory.c_str()), "attributes");
    check(lci_attrs_set(attrs, "job_rank", std::to_string(rank).c_str()), "attributes");
    check(lci_attrs_set(attrs, "job_size", std::to_string(ranks).c_str()), "attributes");
    check(lci_attrs_set(attrs, "devices", std::to_string(devices).c_str()), "attributes");
    check(lci_runtime_create(attrs, nullptr, 0, &runtime_), "create runtime");
    lci_attrs_free(attrs);
  }
  ~RankRuntime() { check(lci_runtime_close(runtime_, 1000), "close"); }
  RankRuntime(const RankRuntime&) = delete;
  RankRuntime& operator=(const RankRuntime&) = delete;

 protected:
  lci_runtime* runtime_ = nullptr;
};

/// One rank with one lane.
class Rank : public RankRuntime, public LaneDriver {
 public:
  Rank(const std::string& directory, uint32_t rank) : RankRuntime(directory, rank), LaneDriver(runtime_, 0) {}

  /// Opens a port with a native handler.
  void handle(uint32_t port, lci_handler_fn function, void* argument) {
    lci_comp* handler = nullptr;
    check(lci_handler_create(runtime_, function, argument, &handler), "create handler");
    check(lci_port_open(runtime_, port, "", handler, 0, 0), "open port");
  }
  /// Memory that peers can read; it goes with the runtime.
  void* allocate(uint64_t bytes) {
    lci_memory* memory = nullptr;
    void* address = nullptr;
    check(lci_memory_allocate(runtime_, bytes, &memory, &address), "allocate memory");
    return address;
  }
  /// Offers a region to rank @p to, by a message to @p port: @p own, or allocated memory if null. @return its address.
  void* offer_region(uint32_t to, void* own, uint64_t bytes, uint32_t port) {
    lci_memory* memory = nullptr;
    void* address = own;
    check(own ? lci_memory_register(runtime_, own, bytes, &memory)
              : lci_memory_allocate(runtime_, bytes, &memory, &address),
          "region");
    lci_descriptor ops[2] = {};
    ops[0].op = LCI_OP_AM;
    ops[0].rank = to;
    ops[0].port = static_cast<uint16_t>(port);
    ops[0].size = LCI_MEMORY_HANDLE_SIZE;
    check(lci_memory_handle(memory, ops[0].u.inline_payload, LCI_MEMORY_HANDLE_SIZE), "handle");
    for (Spin spin;; spin()) {
      std::memcpy(&submission(0), ops, sizeof ops);
      control().submit_count = 2;
      enter();
      check(submission(0).outcome, "offer");
      if (submission(0).outcome < LCI_RETRY) return address;
    }
  }
  /// Opens the region that the other rank offers.
  uint64_t open_region(uint32_t port) {
    struct Offer {
      lci_runtime* runtime;
      uint64_t id;
    } offer{runtime_, 0};
    handle(
        port,
        [](const lci_status* status, void* argument) {
          auto* taken = static_cast<Offer*>(argument);
          check(lci_remote_open(taken->runtime, status->rank, status->buffer, status->size, &taken->id, nullptr),
                "open region");
        },
        &offer);
    for (Spin spin; offer.id == 0; spin()) {
      enter();
      ended();
    }
    check(lci_port_close(runtime_, port), "close port");
    return offer.id;
  }
};

}  // namespace lci::bench

#endif
