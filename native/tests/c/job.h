/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that are ranks of a job share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lci/lci.h"

/* Of this process; set when it has joined. */
static uint32_t size, rank;

/* In seconds. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Ends the process, unless it is right. */
static void check(bool right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, what, lci_last_error());
  exit(1);
}
