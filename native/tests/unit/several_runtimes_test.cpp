// SPDX-License-Identifier: Apache-2.0
// Runtimes are made, used, freed, and live side by side.
#include <dirent.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/posting.hpp"

namespace lci_test {
namespace {

uint32_t open_files() {
  uint32_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

/// Mappings of arenas.
uint32_t shared_mappings() {
  uint32_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

void create_use_and_close() {
  lci_runtime* runtime = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_create(nullptr, nullptr, 0, &runtime)) << lci_last_error();
  lci_device* device = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_device(runtime, 0, &device));
  lci_comp* inbox = make_queue(runtime, 4);
  ASSERT_EQ(LCI_DONE, lci_port_open(runtime, 1, "", inbox, 0, 0));
  const auto bytes = pattern(4000, 3);
  ASSERT_EQ(LCI_DONE, lci_post_am(device, 0, 1, 5, bytes.data(), 4000, nullptr, 0)) << lci_last_error();
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_wait(inbox, &device, 1, 30'000, &status)) << lci_last_error();
  EXPECT_EQ(0, compare(bytes.data(), status.buffer, 4000));
  lci_buffer_free(status.buffer);
  ASSERT_EQ(LCI_DONE, lci_runtime_close(runtime, 1000)) << lci_last_error();
}

// Fifty times; nothing stays open or mapped. What stays allocated the address sanitizer tells.
// Proves: A2
TEST(Runtimes, ComeAndGo) {
  create_use_and_close();
  const uint32_t files = open_files(), mappings = shared_mappings();
  for (int i = 0; i < 50; ++i) {
    create_use_and_close();
    ASSERT_FALSE(HasFailure()) << "round " << i;
  }
  EXPECT_EQ(files, open_files());
  EXPECT_EQ(mappings, shared_mappings());
}

// A job whose runtimes are closed has nothing left but its name.
// Proves: A2
TEST(Runtimes, AClosedJobKeepsNoMemory) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(1, &job));
  const uint32_t files = open_files(), mappings = shared_mappings();
  lci_runtime* runtime = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_create(nullptr, job, 0, &runtime)) << lci_last_error();
  lci_memory* memory = nullptr;
  void* address = nullptr;
  ASSERT_EQ(LCI_DONE, lci_memory_allocate(runtime, 1 << 20, &memory, &address));
  ASSERT_EQ(LCI_DONE, lci_runtime_close(runtime, 1000)) << lci_last_error();
  EXPECT_EQ(files, open_files());
  EXPECT_EQ(mappings, shared_mappings());
  lci_inproc_free(job);
}

// Two jobs in one process, the same ranks, port, engine and tag: each has its own numbers, and nothing crosses.
// Proves: A3
TEST(Runtimes, SideBySideDoNotMeet) {
  Job first(2), second(2);
  Job* jobs[] = {&first, &second};
  lci_comp *inbox[2], *ended[2];
  uint64_t received[2] = {};
  for (uint64_t j = 0; j < 2; ++j) {
    Job& job = *jobs[j];
    inbox[j] = make_queue(job.runtime(1));
    ended[j] = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 9, "", inbox[j], 0, 0));
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 7, &received[j], 8, ended[j], j, nullptr));
  }
  EXPECT_EQ(lci_comp_id(inbox[0]), lci_comp_id(inbox[1])) << "numbers of their own, from the same start";
  const auto send = [&](uint64_t j) {
    Job& job = *jobs[j];
    const uint64_t value = 100 + j;
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, 7, &value, 8, nullptr, 0)) << lci_last_error();
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, 1, 9, 7, &value, 8), nullptr));
  };
  const auto settle = [&] {
    for (Job* job : jobs) job->settle();
  };
  send(1);
  settle();
  lci_status status{};
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox[0], &status));
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended[0], &status));
  EXPECT_EQ(0u, received[0]);
  send(0);
  settle();
  for (uint64_t j = 0; j < 2; ++j) {
    ASSERT_EQ(LCI_DONE, lci_queue_pop(inbox[j], &status));
    EXPECT_EQ(100 + j, *static_cast<uint64_t*>(status.buffer));
    lci_buffer_free(status.buffer);
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox[j], &status));
    ASSERT_EQ(LCI_DONE, lci_queue_pop(ended[j], &status));
    EXPECT_EQ(j, status.user_context);
    EXPECT_EQ(100 + j, received[j]);
    jobs[j]->check_ledgers();
  }
  first.close(0, 1000);
  first.close(1, 1000);
  send(1);
  settle();
  ASSERT_EQ(LCI_DONE, lci_queue_pop(inbox[1], &status)) << "the end of one does not concern the other";
  lci_buffer_free(status.buffer);
  ASSERT_EQ(LCI_POSTED, lci_post_recv(second.device(1), 0, 8, &received[1], 8, ended[1], 5, nullptr))
      << "nor its engine";
  ASSERT_EQ(LCI_DONE, lci_post_cancel(second.device(1), 5));
}

}  // namespace
}  // namespace lci_test
