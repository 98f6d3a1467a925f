/* SPDX-License-Identifier: Apache-2.0 */
/* A barrier that does not block, as a completion graph that is built once and run three times: in round k every rank
 * tells the rank 2^k after it, and waits for the one 2^k before. Each rank tells all when it entered: nobody may leave
 * earlier than the last entry. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lci/lci.h"

enum { kRuns = 3 };

static void check(int code, const char* what) {
  if (code == LCI_DONE || code == LCI_POSTED) return;
  fprintf(stderr, "%s: %s: %s\n", what, lci_code_name(code), lci_last_error());
  exit(1);
}

static lci_descriptor message(int op, uint32_t rank, uint64_t tag) {
  lci_descriptor message = {0};
  message.op = (uint8_t)op;
  message.rank = rank;
  message.tag = tag;
  return message;
}

static lci_graph* make_barrier(lci_runtime* runtime, lci_device* device) {
  const uint32_t rank = lci_runtime_rank(runtime), size = lci_runtime_size(runtime);
  lci_graph* graph;
  check(lci_graph_create(runtime, NULL, 0, &graph), "create graph");
  lci_node before = LCI_GRAPH_START;
  for (uint32_t distance = 1; distance < size; distance *= 2) {
    const lci_descriptor tell = message(LCI_OP_SEND, (rank + distance) % size, distance);
    const lci_descriptor hear = message(LCI_OP_RECV, (rank + size - distance) % size, distance);
    lci_node told, heard, round;
    check(lci_graph_add_op(graph, device, &tell, NULL, &told), "add send");
    check(lci_graph_add_op(graph, device, &hear, NULL, &heard), "add receive");
    check(lci_graph_add_function(graph, NULL, NULL, &round), "add round");
    check(lci_graph_add_edge(graph, before, told, NULL), "add edge");
    check(lci_graph_add_edge(graph, before, heard, NULL), "add edge");
    check(lci_graph_add_edge(graph, told, round, NULL), "add edge");
    check(lci_graph_add_edge(graph, heard, round, NULL), "add edge");
    before = round;
  }
  check(lci_graph_add_edge(graph, before, LCI_GRAPH_END, NULL), "add edge");
  return graph;
}

/* What is known of one run. */
typedef struct {
  uint32_t entered;
  uint64_t last_entry;
} Entries;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void note_entry(const lci_status* status, void* argument) {
  Entries* entries = argument;
  ++entries->entered;
  if (status->tag > entries->last_entry) entries->last_entry = status->tag;
}

int main(void) {
  lci_runtime* runtime;
  lci_device* device;
  Entries entries[kRuns] = {{0}};
  check(lci_runtime_create(NULL, NULL, 0, &runtime), "create runtime");
  check(lci_runtime_device(runtime, 0, &device), "get device");
  const uint32_t rank = lci_runtime_rank(runtime), size = lci_runtime_size(runtime);
  for (uint32_t run = 0; run < kRuns; ++run) {
    lci_comp* handler;
    check(lci_handler_create(runtime, note_entry, &entries[run], &handler), "create handler");
    check(lci_port_open(runtime, run + 1, "entries", handler, 0, 0), "open port");
  }
  lci_graph* barrier = make_barrier(runtime, device);
  for (uint32_t run = 0; run < kRuns; ++run) {
    if (rank == run % size) nanosleep(&(struct timespec){0, 50000000}, NULL); /* the last to enter */
    const uint64_t entry = now();
    for (uint32_t to = 0; to < size; ++to) {
      int code;
      while ((code = lci_post_am(device, to, run + 1, entry, NULL, 0, NULL, 0)) >= LCI_RETRY &&
             code < LCI_ERR_ARGUMENT) {
        lci_progress(device);
      }
      check(code, "tell of the entry");
    }
    check(lci_graph_start(barrier), "start");
    while (lci_graph_test(barrier, NULL) == LCI_RETRY) lci_progress(device);
    check(lci_graph_test(barrier, NULL), "run");
    const uint64_t left = now();
    while (entries[run].entered < size) lci_progress(device);
    if (left < entries[run].last_entry) {
      fprintf(stderr, "rank %u left run %u before the last had entered\n", rank, run);
      return 1;
    }
  }
  check(lci_graph_free(barrier), "free graph");
  check(lci_runtime_close(runtime, 10000), "close");
  return 0;
}
