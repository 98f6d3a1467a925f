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

#include "lci/lci.h"
#include "yardstick.hpp"

namespace lci::bench {

inline void check(int code, const char* what) {
  if (code < LCI_ERR_ARGUMENT) {
    return;
  }
  std::fprintf(stderr, "%s: %s: %s\n", what, lci_code_name(code), lci_last_error());
  _exit(EXIT_FAILURE);
}

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

/// One rank with one lane.
class Rank {
 public:
  Rank(const std::string& directory, uint32_t rank) {
    lci_attrs* attrs = nullptr;
    check(lci_attrs_create(&attrs), "attributes");
    check(lci_attrs_set(attrs, "job_dir", directory.c_str()), "attributes");
    check(lci_attrs_set(attrs, "job_rank", std::to_string(rank).c_str()), "attributes");
    check(lci_attrs_set(attrs, "job_size", "2"), "attributes");
    check(lci_runtime_create(attrs, nullptr, 0, &runtime_), "create runtime");
    lci_attrs_free(attrs);
    check(lci_lane_create(runtime_, 0, 1, &lane_), "create lane");
    uint64_t base = 0, length = 0;
    check(lci_lane_memory(lane_, &base, &length), "lane memory");
    uint64_t layout[LCI_LAYOUT_COUNT];
    lci_layout(layout, LCI_LAYOUT_COUNT);
    control_ = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
    submissions_ = reinterpret_cast<lci_descriptor*>(base + layout[LCI_LAYOUT_SUBMISSION_OFFSET]);
    records_ = reinterpret_cast<lci_record*>(base + layout[LCI_LAYOUT_COMPLETION_OFFSET]);
    demands_ = reinterpret_cast<lci_demand*>(base + layout[LCI_LAYOUT_DEMAND_OFFSET]);
    mask_ = static_cast<uint32_t>(layout[LCI_LAYOUT_COMPLETION_COUNT]) - 1;
    control_->flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
  }
  ~Rank() {
    check(lci_lane_free(lane_), "free lane");
    check(lci_runtime_close(runtime_, 1000), "close");
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Opens a port with a native handler.
  void handle(uint32_t port, lci_handler_fn function, void* argument) {
    lci_comp* handler = nullptr;
    check(lci_handler_create(runtime_, function, argument, &handler), "create handler");
    check(lci_port_open(runtime_, port, "", handler, 0, 0), "open port");
  }
  /// Opens a port whose messages come as records, with demand without end.
  void open(uint32_t port) {
    uint32_t index = 0;
    uint64_t base = 0, length = 0;
    check(lci_lane_open_port(lane_, port, "", 0, 0, &index, &base, &length), "open port");
    demands_[index].requested = UINT64_MAX / 2;
  }
  /// Reads all records; adds the first eight payload bytes of each message to @p sum, and counts the messages.
  uint64_t received(uint64_t* sum) {
    uint64_t count = 0;
    while (control_->cq_head != control_->cq_tail) {
      const lci_record& record = records_[control_->cq_head & mask_];
      if (record.kind == LCI_RECORD_MESSAGE) {
        uint64_t value;
        std::memcpy(&value, record.u.inline_payload, sizeof value);
        *sum += value;
        ++count;
      }
      control_->cq_head += record.kind == LCI_RECORD_PAD ? record.size : 1;
    }
    return count;
  }
  lci_lane_control& control() { return *control_; }
  lci_descriptor& submission(uint32_t index) { return submissions_[index]; }
  void enter() { check(lci_lane_enter(lane_), "enter"); }
  /// Counts the operations that ended since the last call.
  uint64_t ended() {
    uint64_t count = 0;
    for (; control_->cq_head != control_->cq_tail; ++control_->cq_head) {
      const lci_record& record = records_[control_->cq_head & mask_];
      if (record.kind == LCI_RECORD_OP) {
        check(record.code, "operation");
        ++count;
      }
    }
    return count;
  }
  /// Enters with one descriptor until it is taken; reads records meanwhile and adds them to @p ended_count.
  int post(const lci_descriptor& op, uint64_t* ended_count) {
    for (Spin spin;; spin()) {
      submissions_[0] = op;
      control_->submit_count = 1;
      enter();
      const int code = submissions_[0].outcome;
      check(code, "post");
      *ended_count += ended();
      if (code < LCI_RETRY) {
        return code;
      }
    }
  }

 private:
  lci_runtime* runtime_ = nullptr;
  lci_lane* lane_ = nullptr;
  lci_lane_control* control_ = nullptr;
  lci_descriptor* submissions_ = nullptr;
  lci_record* records_ = nullptr;
  lci_demand* demands_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace lci::bench

#endif
