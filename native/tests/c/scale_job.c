/* SPDX-License-Identifier: Apache-2.0 */
/* What a job costs by its size: all ranks join, meet in a barrier, and each tells each other one a number. Rank 0
 * prints what each of the three took, of all ranks: seconds, memory, TCP connections. scale_test.sh starts it on many
 * hosts. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "job.h"

enum { kNumbers = 7, kReports = 8 /* ports */, kStages = 3, kMostRanks = 1024, kPatience = 300 /* s */ };

struct report {
  double seconds;       /* since the program began */
  uint64_t memory;      /* KiB; what ranks share is divided among them */
  uint64_t connections; /* of TCP */
};

static const char* const names[kStages] = {"joined", "barrier", "all to all"};
static struct report mine[kStages];
static double start;
static lci_device* device;
static lci_comp *numbers, *reports, *ended;

static void pass(const char* what) {
  check(now() < start + kPatience, what);
  if (lci_progress(device) != LCI_DONE) {
    const struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
  }
}

static uint64_t memory(void) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  unsigned long kib = 0;
  check(file != NULL, "/proc/self/smaps_rollup");
  for (char line[256]; fgets(line, sizeof line, file) != NULL && sscanf(line, "Pss: %lu kB", &kib) != 1;) continue;
  fclose(file);
  return kib;
}

static uint64_t connections(void) {
  DIR* const files = opendir("/proc/self/fd");
  check(files != NULL, "/proc/self/fd");
  uint64_t count = 0;
  for (struct dirent* entry; (entry = readdir(files)) != NULL;) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (getpeername(atoi(entry->d_name), (struct sockaddr*)&peer, &length) == 0) {
      count += peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
    }
  }
  closedir(files);
  return count;
}

static void note(int stage) {
  mine[stage].seconds = now() - start;
  mine[stage].memory = memory();
  mine[stage].connections = connections();
}

static void barrier(void) {
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_post(device, &op, ended, NULL) == LCI_POSTED, "post barrier");
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) pass("barrier");
  check(status.code == LCI_DONE, "barrier failed");
}

static void tell(uint32_t to, uint32_t port, const void* bytes, uint32_t count) {
  int code = LCI_RETRY;
  while (code != LCI_DONE) {
    code = lci_post_am(device, to, port, 0, bytes, count, NULL, 0);
    check(code < LCI_ERR_ARGUMENT, "send");
    if (code != LCI_DONE) pass("send");
  }
}

/* The next message there; its buffer is to be freed. */
static lci_status hear(lci_comp* queue, uint32_t count) {
  lci_status status;
  while (lci_queue_pop(queue, &status) != LCI_DONE) pass("receive");
  check(status.code == LCI_DONE && status.size == count, "a message of another size");
  return status;
}

/* Each begins with its neighbour, so that not all call the same. */
static void all_to_all(void) {
  static bool heard[kMostRanks];
  for (uint32_t i = 1; i < size; ++i) {
    const uint32_t to = (rank + i) % size, number = rank * size + to;
    tell(to, kNumbers, &number, sizeof number);
  }
  for (uint32_t i = 1; i < size; ++i) {
    const lci_status status = hear(numbers, sizeof(uint32_t));
    uint32_t number;
    memcpy(&number, status.buffer, sizeof number);
    check(number == status.rank * size + rank && !heard[status.rank], "not the number of that rank, or twice");
    heard[status.rank] = true;
    lci_buffer_free(status.buffer);
  }
}

static void print(const struct report (*all)[kStages]) {
  for (int stage = 0; stage < kStages; ++stage) {
    double seconds = 0;
    uint64_t sum = 0, total = 0, least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < size; ++i) {
      const struct report* const one = &all[i][stage];
      if (one->seconds > seconds) seconds = one->seconds;
      if (one->connections < least) least = one->connections;
      if (one->connections > most) most = one->connections;
      sum += one->memory;
      total += one->connections;
    }
    printf("%u ranks, %s: %.2f s, %.2f MiB a rank, %.1f connections a rank (%llu to %llu)\n", size, names[stage],
           seconds, (double)sum / 1024 / size, (double)total / size, (unsigned long long)least,
           (unsigned long long)most);
  }
  fflush(stdout);
}

static void collect(void) {
  static struct report all[kMostRanks][kStages];
  memcpy(all[0], mine, sizeof mine);
  for (uint32_t i = 1; i < size; ++i) {
    const lci_status status = hear(reports, sizeof mine);
    memcpy(all[status.rank], status.buffer, sizeof mine);
    lci_buffer_free(status.buffer);
  }
  print((const struct report(*)[kStages])all);
}

static lci_comp* inbox(lci_runtime* runtime, uint32_t port, const char* name) {
  lci_comp* queue = NULL;
  check(lci_queue_create(runtime, 4096, &queue) == LCI_DONE, "queue");
  check(lci_port_open(runtime, port, name, queue, 0, 0) == LCI_DONE, "port");
  return queue;
}

int main(void) {
  lci_runtime* runtime = NULL;
  start = now();
  check(lci_runtime_create(NULL, NULL, 0, &runtime) == LCI_DONE, "join");
  rank = lci_runtime_rank(runtime);
  size = lci_runtime_size(runtime);
  check(size <= kMostRanks, "too many ranks");
  note(0);
  check(lci_runtime_device(runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(runtime, 16, &ended) == LCI_DONE, "queue");
  numbers = inbox(runtime, kNumbers, "numbers");
  reports = inbox(runtime, kReports, "reports");
  barrier();
  note(1);
  all_to_all();
  barrier(); /* nobody leaves while others call */
  note(2);
  if (rank == 0) {
    collect();
  } else {
    tell(0, kReports, mine, sizeof mine);
  }
  barrier();
  check(lci_runtime_close(runtime, kPatience * 1000) == LCI_DONE, "close"); /* else it counts as failed */
  return 0;
}
