/* SPDX-License-Identifier: Apache-2.0 */
/* A large job on one host: all ranks join, each hears of its neighbour, all meet in a barrier and leave. With the
 * argument "deaths", neighbours and their watchers die at once after that: every survivor hears of each of them. With
 * "early" one rank dies while it joins, with "before" one dies before: all others are told its name. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

enum { kPort = 7, kPatience = 100 /* s */, kDead = 5 };

static lci_runtime* runtime;
static lci_device* device;
static lci_comp *inbox, *ended;

static void pass(double end, const char* what) {
  check(now() < end, what);
  if (lci_progress(device) != LCI_DONE) {
    struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
  }
}

/* Ranks that die: neighbours in a row, so that those who watch them die with them, across the end of the ranks. */
static uint32_t dying(uint32_t i) {
  return (size - 2 + i) % size;
}

static bool dies(uint32_t which) {
  for (uint32_t i = 0; i < kDead; ++i) {
    if (dying(i) == which) return true;
  }
  return false;
}

/* Lines of a file, or entries of a folder of links, that contain @p text. */
static uint32_t count_lines(const char* path, const char* text) {
  FILE* file = fopen(path, "r");
  check(file != NULL, path);
  uint32_t count = 0;
  for (char line[512]; fgets(line, sizeof line, file);) count += strstr(line, text) != NULL;
  fclose(file);
  return count;
}

static uint32_t count_files(const char* text) {
  DIR* files = opendir("/proc/self/fd");
  check(files != NULL, "/proc/self/fd");
  uint32_t count = 0;
  for (struct dirent* entry; (entry = readdir(files)) != NULL;) {
    char target[256] = "";
    if (readlinkat(dirfd(files), entry->d_name, target, sizeof target - 1) > 0) count += strstr(target, text) != NULL;
  }
  closedir(files);
  return count;
}

/* A rank sees the memory of those with which it talks: its neighbours, and two for each round of a barrier; and it
 * watches two processes, however many ranks there are. */
static void check_costs(void) {
  uint32_t rounds = 0;
  while (1u << rounds < size) ++rounds;
  const uint32_t arenas = count_lines("/proc/self/maps", "/memfd:lci (deleted)");
  const uint32_t watched = count_files("[pidfd]");
  if (arenas > 2 + 2 * rounds || watched > 2) {
    fprintf(stderr, "rank %u of %u: %u arenas mapped, %u processes watched\n", rank, size, arenas, watched);
    exit(1);
  }
}

static int join(void) {
  lci_attrs* attrs;
  check(lci_attrs_create(&attrs) == LCI_DONE, "attributes");
  check(lci_attrs_set(attrs, "packets", "16") == LCI_DONE && lci_attrs_set(attrs, "packets_max", "64") == LCI_DONE &&
            lci_attrs_set(attrs, "bootstrap_timeout_ms", "100000") == LCI_DONE,
        "attributes");
  const int code = lci_runtime_create(attrs, NULL, 0, &runtime);
  lci_attrs_free(attrs);
  return code;
}

static void barrier(double end) {
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_post(device, &op, ended, NULL) == LCI_POSTED, "post barrier");
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) pass(end, "barrier");
  check(status.code == LCI_DONE, "barrier failed");
}

static void tell(uint32_t to, uint64_t tag, double end) {
  while (lci_post_am(device, to, kPort, tag, &rank, sizeof rank, NULL, 0) != LCI_DONE) pass(end, "send");
}

static uint32_t hear(uint64_t tag, double end) {
  lci_status status;
  while (lci_queue_pop(inbox, &status) != LCI_DONE) pass(end, "receive");
  check(status.tag == tag && status.size == sizeof rank && memcmp(status.buffer, &status.rank, sizeof rank) == 0,
        "a message of another kind");
  lci_buffer_free(status.buffer);
  return status.rank;
}

static void see_deaths(double end) {
  for (uint32_t i = 0; i < kDead; ++i) {
    int32_t state = LCI_PEER_ALIVE;
    while (state == LCI_PEER_ALIVE) {
      pass(end, "hear of a death");
      check(lci_runtime_peer(runtime, dying(i), &state) == LCI_DONE, "peer state");
    }
    check(state == LCI_PEER_FAILED, "a dead rank is said to have left");
    check(lci_post_am(device, dying(i), kPort, 0, &rank, sizeof rank, NULL, 0) == LCI_ERR_PEER_FAILED,
          "a message to a dead rank is taken");
  }
}

static int tell_of_early_death(bool joins) {
  const uint32_t victim = size / 2;
  if (rank == victim && !joins) raise(SIGKILL);
  if (rank == victim) alarm(1); /* While it joins: one rank is later still. */
  if (rank == victim + 1 && joins) {
    sleep(3); /* Never comes. */
    return 1;
  }
  const int code = join();
  if (code == LCI_ERR_PEER_FAILED && lci_last_error_rank() == (int)victim) {
    printf("named the dead rank\n");
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  const double start = now(), end = start + kPatience;
  rank = (uint32_t)atoi(getenv("LCI_RANK"));
  size = (uint32_t)atoi(getenv("LCI_SIZE"));
  const char* part = argc > 1 ? argv[1] : "join";
  if (strcmp(part, "early") == 0) return tell_of_early_death(true);
  if (strcmp(part, "before") == 0) return tell_of_early_death(false);
  check(join() == LCI_DONE, "join");
  const double joined = now();
  check(lci_runtime_device(runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(runtime, 1024, &inbox) == LCI_DONE && lci_queue_create(runtime, 16, &ended) == LCI_DONE,
        "queues");
  check(lci_port_open(runtime, kPort, "join", inbox, 0, 0) == LCI_DONE, "port");
  tell((rank + 1) % size, 1, end);
  check(hear(1, end) == (rank + size - 1) % size, "a message of another rank");
  barrier(end);
  check_costs();
  if (rank == 0) {
    printf("%u ranks: joined after %.2f s, met after %.2f s\n", size, joined - start, now() - start);
    fflush(stdout);
  }
  if (strcmp(part, "deaths") == 0) {
    if (dies(rank)) raise(SIGKILL);
    see_deaths(end);
    const uint32_t first = (size + kDead - 2) % size; /* The first survivor hears of all others. */
    if (rank != first) tell(first, 2, end);
    for (uint32_t i = 0; rank == first && i < size - kDead - 1; ++i) hear(2, end);
    if (rank == first) {
      printf("%u survivors know of %d deaths after %.2f s\n", size - kDead, kDead, now() - start);
      fflush(stdout);
    }
  }
  check(lci_runtime_close(runtime, 10000) == LCI_DONE, "close");
  return 0;
}
