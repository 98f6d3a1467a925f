/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that make three runtimes, one after another, and meet in each. Rank 0 leaves its last one open when the others
 * have gone: a process that ends with success has not failed, whatever its launcher. It says how the ranks found each
 * other: "4 ranks by pmi1". With the argument "fails", rank 1 ends without success. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lci/lci.h"

enum { kRuntimes = 3 };

static lci_runtime* runtime; /* Here a check for leaks finds the one that stays open. */

static void check(int code, const char* what) {
  if (code == LCI_DONE || code == LCI_POSTED) return;
  fprintf(stderr, "%s: %s: %s\n", what, lci_code_name(code), lci_last_error());
  exit(1);
}

static void meet(void) {
  lci_device* device;
  lci_comp* ended;
  lci_status status;
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_runtime_device(runtime, 0, &device), "device");
  check(lci_queue_create(runtime, 16, &ended), "queue");
  check(lci_post(device, &op, ended, NULL), "post barrier");
  while (lci_queue_pop(ended, &status) != LCI_DONE) lci_progress(device);
  check(status.code, "barrier");
}

static void say_how(void) {
  char name[16] = "";
  check(lci_runtime_attr(runtime, "bootstrap_used", name, sizeof name), "attribute");
  printf("%u ranks by %s\n", lci_runtime_size(runtime), name);
  fflush(stdout);
}

static void wait_for_departure(void) {
  lci_device* device;
  check(lci_runtime_device(runtime, 0, &device), "device");
  for (uint32_t rank = 1; rank < lci_runtime_size(runtime); ++rank) {
    int32_t state = LCI_PEER_ALIVE;
    while (state == LCI_PEER_ALIVE) {
      lci_progress(device);
      check(lci_runtime_peer(runtime, rank, &state), "peer");
    }
    if (state != LCI_PEER_LEFT) check(LCI_ERR_PEER_FAILED, "departure");
  }
}

int main(int argc, char** argv) {
  uint32_t rank = 0;
  for (int number = 1; number <= kRuntimes; ++number) {
    check(lci_runtime_create(NULL, NULL, 0, &runtime), "create runtime");
    rank = lci_runtime_rank(runtime);
    meet();
    if (number == kRuntimes && rank == 0) {
      say_how();
      wait_for_departure();
      return 0;
    }
    check(lci_runtime_close(runtime, 10000), "close");
  }
  return argc > 1 && strcmp(argv[1], "fails") == 0 && rank == 1 ? 3 : 0;
}
