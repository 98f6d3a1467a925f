/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as a death, and what does not. Without an argument, or with "stop", the last rank is stopped for a while
 * under a flood of messages: nobody is declared dead, and all meet afterwards. With "cut" each rank waits until it has
 * heard which ranks have failed, says so, and expects that it is the half of the job that it does not belong to. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lci/lci.h"

enum { kPort = 7, kPatience = 60 /* s */, kStopped = 3 /* s */ };

static uint32_t size, rank;
static lci_runtime* runtime;
static lci_device* device;
static lci_comp *inbox, *ended;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(bool right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, what, lci_last_error());
  exit(1);
}

static void pass(double end, const char* what) {
  check(now() < end, what);
  if (lci_progress(device) != LCI_DONE) {
    struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
  }
  lci_status status;
  while (lci_queue_pop(inbox, &status) == LCI_DONE) lci_buffer_free(status.buffer);
}

static int state_of(uint32_t peer) {
  int32_t state = 0;
  check(lci_runtime_peer(runtime, peer, &state) == LCI_DONE, "peer state");
  return state;
}

static void barrier(double end) {
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_post(device, &op, ended, NULL) == LCI_POSTED, "post barrier");
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) pass(end, "barrier");
  check(status.code == LCI_DONE, "barrier failed");
}

/* A child wakes this process: nobody else knows that it sleeps. */
static void be_stopped(void) {
  const pid_t self = getpid();
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    sleep(kStopped);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

static void stop(double end) {
  const uint32_t last = size - 1;
  if (rank == last) {
    be_stopped();
  } else {
    char bytes[4000];
    memset(bytes, 1, sizeof bytes);
    for (const double until = now() + kStopped; now() < until;) {
      const int code = lci_post_am(device, last, kPort, 0, bytes, sizeof bytes, NULL, 0);
      check(code < LCI_ERR_ARGUMENT, "flood");
      if (code != LCI_DONE) pass(end, "flood");
    }
  }
  barrier(end);
  for (uint32_t peer = 0; peer < size; ++peer) check(state_of(peer) != LCI_PEER_FAILED, "a living rank is called dead");
}

static void cut(double end) {
  printf("ready\n");
  fflush(stdout);
  const bool low = rank < size / 2;
  for (uint32_t peer = 0; peer < size; ++peer) {
    if ((peer < size / 2) == low) continue;
    while (state_of(peer) == LCI_PEER_ALIVE) pass(end, "hear of a death");
    check(state_of(peer) == LCI_PEER_FAILED, "a rank that is cut off is said to have left");
    check(lci_post_am(device, peer, kPort, 0, &rank, sizeof rank, NULL, 0) == LCI_ERR_PEER_FAILED,
          "a message to a rank that is cut off is taken");
  }
  for (uint32_t peer = 0; peer < size; ++peer) {
    if ((peer < size / 2) == low) check(state_of(peer) != LCI_PEER_FAILED, "a rank of this half is called dead");
  }
  printf("knows\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  const double end = now() + kPatience;
  rank = (uint32_t)atoi(getenv("LCI_RANK"));
  size = (uint32_t)atoi(getenv("LCI_SIZE"));
  check(lci_runtime_create(NULL, NULL, 0, &runtime) == LCI_DONE, "join");
  check(lci_runtime_device(runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(runtime, 4096, &inbox) == LCI_DONE && lci_queue_create(runtime, 16, &ended) == LCI_DONE,
        "queues");
  check(lci_port_open(runtime, kPort, "silence", inbox, 0, 0) == LCI_DONE, "port");
  barrier(end);
  if (argc > 1 && strcmp(argv[1], "cut") == 0) {
    cut(end);
  } else {
    stop(end);
  }
  check(lci_runtime_close(runtime, 10000) == LCI_DONE, "close");
  return 0;
}
