// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, over the file bootstrap. A child reports by its exit status: 0, or the line at which it
// gave up, with a text on stderr.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "support/job.hpp"
#include "support/job_directory.hpp"
#include "support/threads.hpp"

namespace lci_test {

using lci::test::Deadline;

inline constexpr uint32_t kPort = 9;
inline constexpr uint64_t kSeconds = 30;

/// The caller, as a default argument. std::source_location is not in all compilers that we build with. [clang 14]
struct Place {
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

/// In a child: gives up with the line, as far as an exit status can carry it, and says why.
#define CHILD_EXPECT(condition)                                                                             \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      std::fprintf(stderr, "child, line %d: %s; last error: %s\n", __LINE__, #condition, lci_last_error()); \
      _exit(1 + __LINE__ % 250);                                                                            \
    }                                                                                                       \
  } while (false)

/// As the launcher makes it: with an identity of its own, for other tests may run beside this one.
class JobDirectory : public lci::test::JobDirectory {
 public:
  explicit JobDirectory(uint32_t size) : lci::test::JobDirectory(size) {
    char id[17];
    std::snprintf(id, sizeof id, "%08x%08x", static_cast<unsigned>(getpid()), static_cast<unsigned>(lci::now_ns()));
    write("job", id);
  }
};

/// A process that runs @p body and ends with its value; killed, if need be, and reaped in the end. @p patience in
/// seconds: nobody waits longer for it.
class Child {
 public:
  explicit Child(const std::function<int()>& body, uint64_t patience = kSeconds) : patience_(patience), pid_(fork()) {
    if (pid_ != 0) return;
    alarm(static_cast<unsigned>(2 * patience));  // no child outlives a test that failed
    _exit(body());
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill();
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }
  /// Exit status; -1 when a signal or the deadline ended it.
  int wait() {
    const Deadline end(patience_);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (end.passed()) return -1;
      usleep(2000);
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  const uint64_t patience_;
  pid_t pid_;
};

inline int create_runtime(const JobDirectory& job, uint32_t rank, uint32_t size, const char* timeout_ms,
                          lci_runtime** out, const Attributes& attributes = {}) {
  lci_attrs* attrs = nullptr;
  CHILD_EXPECT(lci_attrs_create(&attrs) == LCI_DONE);
  for (const auto& [name, value] : attributes) {
    CHILD_EXPECT(lci_attrs_set(attrs, name.c_str(), value.c_str()) == LCI_DONE);
  }
  CHILD_EXPECT(lci_attrs_set(attrs, "job_dir", job.path().c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "job_rank", std::to_string(rank).c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "job_size", std::to_string(size).c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "bootstrap_timeout_ms", timeout_ms) == LCI_DONE);
  const int code = lci_runtime_create(attrs, nullptr, 0, out);
  lci_attrs_free(attrs);
  return code;
}

/// A rank in its own process, driven without a lane.
class Rank {
 public:
  Rank(const JobDirectory& job, uint32_t rank, uint32_t size, const Attributes& attributes = {}) {
    CHILD_EXPECT(create_runtime(job, rank, size, "20000", &runtime, attributes) == LCI_DONE);
    CHILD_EXPECT(lci_runtime_device(runtime, 0, &device) == LCI_DONE);
    CHILD_EXPECT(lci_queue_create(runtime, 1024, &inbox) == LCI_DONE);
    CHILD_EXPECT(lci_queue_create(runtime, 1024, &ended) == LCI_DONE);
    CHILD_EXPECT(lci_port_open(runtime, kPort, "job", inbox, 0, 0) == LCI_DONE);
  }
  /// Progresses until @p ready.
  template <typename Ready>
  void until(Ready ready, Place where = {}) {
    const Deadline end(kSeconds);
    while (!ready()) {
      if (end.passed()) describe(where);
      CHILD_EXPECT(!end.passed());
      if (lci_progress(device) != LCI_DONE) usleep(100);
    }
  }
  lci_status barrier() {
    lci_descriptor op{};
    op.op = LCI_OP_BARRIER;
    lci_status status{};
    const int code = lci_post(device, &op, ended, nullptr);
    if (code != LCI_POSTED) return {code, LCI_ANY_SOURCE, 0, nullptr, 0, 0, 0, 0};
    until([&] { return lci_queue_pop(ended, &status) == LCI_DONE; });
    return status;
  }
  /// @p count numbers to every other rank, and as many from each: sums and counts must be right.
  void exchange(uint32_t rank, uint32_t size, uint64_t count) {
    std::vector<uint64_t> sent(size), received(size);
    uint64_t done = 0;
    until([&] {
      for (uint32_t to = 0; to < size; ++to) {
        if (to == rank || sent[to] == count) continue;
        // Small and large in turn: one travels in the ring, the other in a packet.
        std::vector<uint64_t> values(sent[to] % 2 == 0 ? 1 : 500, rank * 1'000'000 + sent[to]);
        const int code = lci_post_am(device, to, kPort, sent[to], values.data(),
                                     static_cast<uint32_t>(values.size() * 8), nullptr, 0);
        CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
        sent[to] += code == LCI_DONE;
      }
      lci_status status{};
      while (lci_queue_pop(inbox, &status) == LCI_DONE) {
        const auto* values = static_cast<const uint64_t*>(status.buffer);
        const uint64_t length = status.tag % 2 == 0 ? 1 : 500;
        CHILD_EXPECT(status.rank < size && status.rank != rank && status.size == length * 8);
        CHILD_EXPECT(status.tag == received[status.rank]);  // one sender, one port, one device: in order
        CHILD_EXPECT(values[0] == status.rank * 1'000'000 + status.tag && values[length - 1] == values[0]);
        ++received[status.rank];
        ++done;
        lci_buffer_free(status.buffer);
      }
      sent[rank] = count;  // nothing is for itself
      return done == count * (size - 1) &&
             std::all_of(sent.begin(), sent.end(), [&](uint64_t n) { return n == count; });
    });
  }

  lci_runtime* runtime = nullptr;
  lci_device* device = nullptr;
  lci_comp* inbox = nullptr;
  lci_comp* ended = nullptr;

 private:
  /// Where the rank waits, and what its counters say: on stderr.
  void describe(const Place& where) const {
    std::vector<uint64_t> values(lci_runtime_snapshot(runtime, nullptr, 0));
    lci_runtime_snapshot(runtime, values.data(), static_cast<uint32_t>(values.size()));
    std::string text;
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) text += std::string(" ") + lci_counter_name(i) + "=" + std::to_string(values[i]);
    }
    std::fprintf(stderr, "child %d waits in vain at %s:%d:%s\n", getpid(), where.file, where.line, text.c_str());
  }
};

/// A byte through a pipe: how a child tells its parent that it has come so far.
class Signal {
 public:
  Signal() { EXPECT_EQ(0, pipe(ends_)); }
  ~Signal() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void give() const { CHILD_EXPECT(write(ends_[1], "x", 1) == 1); }
  bool take() const {
    char byte;
    pollfd entry{ends_[0], POLLIN, 0};
    return poll(&entry, 1, kSeconds * 1000) == 1 && read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2] = {};
};

}  // namespace lci_test
