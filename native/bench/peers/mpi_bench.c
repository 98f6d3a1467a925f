/* SPDX-License-Identifier: Apache-2.0 */
/* The peer "MPI": matched send-receive between two ranks of any MPI library, one JSON line per metric.
 *   mpiexec -n 2 ./mpi_bench sendrecv_latency | sendrecv_rate | bandwidth_1k | bandwidth_16k | bandwidth_64k |
 * bandwidth_1m Rates: windows of 64 non-blocking operations, an empty acknowledgement after the last. Processes are
 * pinned by rank. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, DATA_TAG = 1, END_TAG = 2, ROUNDS = 2 /* the first warms up */ };

struct metric {
  const char* name;
  int size;
  int messages;
};

static const struct metric METRICS[] = {
    {"sendrecv_latency", 8, 100000},        {"sendrecv_rate", 8, WINDOW * 20000},
    {"bandwidth_1k", 1024, WINDOW * 8000},  {"bandwidth_16k", 16384, WINDOW * 1000},
    {"bandwidth_64k", 65536, WINDOW * 250}, {"bandwidth_1m", 1048576, WINDOW * 16},
};

static void pin(int index) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, &allowed) && index-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

static void ping_pong(int rank, const struct metric* metric, char* buffer) {
  for (int i = 0; i < metric->messages; i++) {
    for (int turn = 0; turn < 2; turn++) {
      if (turn == rank) {
        MPI_Send(buffer, metric->size, MPI_BYTE, 1 - rank, DATA_TAG, MPI_COMM_WORLD);
      } else {
        MPI_Recv(buffer, metric->size, MPI_BYTE, 1 - rank, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
}

/* Each request of a window has memory of its own, as an application's would. */
static void stream(int rank, const struct metric* metric, char* buffer) {
  MPI_Request requests[WINDOW];
  MPI_Status statuses[WINDOW];
  for (int i = 0; i < metric->messages; i += WINDOW) {
    for (int j = 0; j < WINDOW; j++) {
      char* mine = buffer + (size_t)j * (size_t)metric->size;
      if (rank == 0) {
        MPI_Isend(mine, metric->size, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD, &requests[j]);
      } else {
        MPI_Irecv(mine, metric->size, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD, &requests[j]);
      }
    }
    MPI_Waitall(WINDOW, requests, statuses);
  }
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, 0, END_TAG, MPI_COMM_WORLD);
  }
}

static void print_metric(const struct metric* metric, double seconds) {
  double value = metric->messages / seconds / 1e6;
  const char* unit = "Mmsg/s";
  if (strcmp(metric->name, "sendrecv_latency") == 0) {
    value = seconds / metric->messages / 2 * 1e9;
    unit = "ns";
  } else if (strncmp(metric->name, "bandwidth", 9) == 0) {
    value = (double)metric->messages * metric->size / seconds / 1e9;
    unit = "GB/s";
  }
  printf("{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", metric->name, unit, value);
}

static void measure(int rank, const struct metric* metric) {
  char* buffer = malloc((size_t)WINDOW * (size_t)metric->size);
  if (buffer == NULL) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(buffer, rank, (size_t)WINDOW * (size_t)metric->size);
  double seconds = 0;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (strcmp(metric->name, "sendrecv_latency") == 0) {
      ping_pong(rank, metric, buffer);
    } else {
      stream(rank, metric, buffer);
    }
    seconds = MPI_Wtime() - start;
  }
  if (rank == 0) {
    print_metric(metric, seconds);
  }
  free(buffer);
}

int main(int argc, char** argv) {
  int rank, size, found = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    fprintf(stderr, "mpi_bench: two ranks are needed\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pin(rank);
  for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++) {
    if (argc < 2 || strcmp(argv[1], METRICS[i].name) == 0) {
      measure(rank, &METRICS[i]);
      found = 1;
    }
  }
  MPI_Finalize();
  return found ? 0 : 2;
}
