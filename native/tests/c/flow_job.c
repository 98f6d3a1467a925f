/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 sends to the last rank for some seconds, as fast as posts are taken: flow_job SECONDS BYTES. The receiver
 * checks that each message comes once and is what was sent, and prints the rate of its whole run and how far its memory
 * and its sender's have grown. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

enum { kFlow = 7, kEnds = 8 /* ports */, kMostBytes = 1 << 20, kPatience = 120 /* s */ };

static uint32_t bytes;
static double end;
static lci_runtime* runtime;
static lci_device* device;
static lci_comp *flow, *ends, *ended;
static unsigned char buffer[kMostBytes];

static struct {
  uint64_t count;
  uint64_t grown; /* KiB */
} sent, came;

/* Numbers below `all` have come, and those behind it whose bit is set. */
static struct {
  uint64_t all, room; /* room: a power of two */
  unsigned char* seen;
} ledger;

/* KiB that this process has in memory. */
static uint64_t resident(void) {
  FILE* const file = fopen("/proc/self/statm", "r");
  uint64_t pages = 0;
  check(file != NULL && fscanf(file, "%*u %" SCNu64, &pages) == 1, "/proc/self/statm");
  fclose(file);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void progress(const char* what) {
  check(now() < end, what);
  if (lci_progress(device) != LCI_DONE) {
    const struct timespec nap = {0, 50000};
    nanosleep(&nap, NULL);
  }
}

static void barrier(void) {
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_post(device, &op, ended, NULL) == LCI_POSTED, "post barrier");
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) progress("barrier");
  check(status.code == LCI_DONE, "barrier failed");
}

/* So many bytes of each message depend on its number. */
static void mark(uint64_t number) {
  memcpy(buffer, &number, sizeof number);
  memcpy(buffer + bytes - sizeof number, &number, sizeof number);
}

static void check_mark(const lci_status* status) {
  const unsigned char* const data = status->buffer;
  check(status->size == bytes && memcmp(data, &status->tag, sizeof status->tag) == 0 &&
            memcmp(data + bytes - sizeof status->tag, &status->tag, sizeof status->tag) == 0,
        "a message is not what was sent");
}

static void grow(void) {
  const uint64_t room = ledger.room == 0 ? 1 << 16 : 2 * ledger.room;
  unsigned char* const seen = calloc(room, 1);
  check(seen != NULL, "memory");
  for (uint64_t i = ledger.all; i < ledger.all + ledger.room; ++i) seen[i % room] = ledger.seen[i % ledger.room];
  free(ledger.seen);
  ledger.seen = seen;
  ledger.room = room;
}

/* Each message comes once. */
static void note(uint64_t number) {
  check(number >= ledger.all, "a message came twice");
  while (number - ledger.all >= ledger.room) grow();
  unsigned char* const seen = &ledger.seen[number % ledger.room];
  check(*seen == 0, "a message came twice");
  *seen = 1;
  for (; ledger.seen[ledger.all % ledger.room] != 0; ++ledger.all) ledger.seen[ledger.all % ledger.room] = 0;
  ++came.count;
}

static void tell_end(void) {
  int code = LCI_RETRY;
  while (code != LCI_DONE) {
    code = lci_post_am(device, size - 1, kEnds, 0, &sent, sizeof sent, NULL, 0);
    check(code < LCI_ERR_ARGUMENT, "tell the end");
    if (code != LCI_DONE) progress("tell the end");
  }
}

/* Done: the message is taken, and may have gone. Posted: it is read until it ends. */
static void send_all(double seconds) {
  uint64_t under_way = 0;
  for (const double until = now() + seconds; now() < until;) {
    mark(sent.count);
    const int code = lci_post_am(device, size - 1, kFlow, sent.count, buffer, bytes, ended, 0);
    check(code < LCI_ERR_ARGUMENT, "message");
    if (code == LCI_DONE || code == LCI_DONE_BACKLOG || code == LCI_POSTED) ++sent.count;
    if (code == LCI_POSTED) ++under_way;
    if (code >= LCI_RETRY || under_way != 0) progress("message");
    lci_status status;
    while (under_way != 0) {
      if (lci_queue_pop(ended, &status) != LCI_DONE) {
        progress("end of a message");
        continue;
      }
      check(status.code == LCI_DONE, "a message failed");
      --under_way;
    }
  }
}

static bool take(void) {
  lci_status status;
  if (lci_queue_pop(flow, &status) == LCI_DONE) {
    check_mark(&status);
    note(status.tag);
    lci_buffer_free(status.buffer);
    return true;
  }
  return false;
}

static void receive_all(void) {
  const double start = now();
  uint64_t total = UINT64_MAX;
  while (came.count != total) {
    lci_status status;
    bool some = false;
    for (int i = 0; i < 256 && take(); ++i) some = true;
    if (!some) progress("messages are missing");
    if (some) lci_progress(device);
    if (total == UINT64_MAX && lci_queue_pop(ends, &status) == LCI_DONE) {
      memcpy(&sent, status.buffer, sizeof sent);
      total = sent.count;
      lci_buffer_free(status.buffer);
    }
  }
  const double seconds = now() - start;
  check(ledger.all == total, "numbers are missing");
  printf("%" PRIu64 " messages of %u bytes, each once, %.1f Mbit/s", total, bytes,
         (double)total * bytes * 8e-6 / seconds);
}

/* With room for what a long path that loses packets has under way. */
static lci_comp* inbox(uint32_t port, const char* name) {
  lci_comp* queue = NULL;
  check(lci_queue_create(runtime, 4096, &queue) == LCI_DONE, "queue");
  check(lci_port_open(runtime, port, name, queue, 4096, 32u << 20) == LCI_DONE, "port");
  return queue;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.1;
  bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 4000;
  check(bytes >= 16 && bytes <= kMostBytes, "a message has from 16 bytes to 1 MiB");
  end = now() + seconds + kPatience;
  check(lci_runtime_create(NULL, NULL, 0, &runtime) == LCI_DONE, "join");
  rank = lci_runtime_rank(runtime);
  size = lci_runtime_size(runtime);
  check(lci_runtime_device(runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(runtime, 4096, &ended) == LCI_DONE, "queue");
  flow = inbox(kFlow, "flow");
  ends = inbox(kEnds, "ends");
  barrier();
  const uint64_t before = resident();
  if (rank == 0) {
    send_all(seconds);
    sent.grown = resident() - before;
    tell_end();
  } else if (rank == size - 1) {
    receive_all();
    came.grown = resident() - before;
    printf(", memory grew by %.1f and %.1f MiB\n", (double)sent.grown / 1024, (double)came.grown / 1024);
    fflush(stdout);
  }
  barrier();
  check(lci_runtime_close(runtime, 10000) == LCI_DONE, "close");
  return 0;
}
