/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of coll_bench over MPI: `mpi_coll_bench METRIC` prints one JSON line at rank 0. Whoever starts it says
 * how many ranks there are, and forces algorithms. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 21

enum kind { BARRIER, ALLREDUCE, BROADCAST, ALLGATHER, ALLTOALL, KINDS };
static const char* const NAMES[KINDS] = {"barrier", "allreduce", "broadcast", "allgather", "alltoall"};

static int rank, size;

/* To one of the processors, as coll_bench does. */
static void pin(int index) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, &allowed) && index-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

static void call(enum kind kind, int number, int bytes, const double* in, double* out) {
  const int count = bytes / 8;
  switch (kind) {
    case BARRIER:
      MPI_Barrier(MPI_COMM_WORLD);
      return;
    case ALLREDUCE:
      MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      return;
    case BROADCAST:
      MPI_Bcast(out, count, MPI_DOUBLE, number % size, MPI_COMM_WORLD);
      return;
    case ALLGATHER:
      MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
      return;
    default:
      MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
  }
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Seconds of one call: the median of batches, of which the first one warms up. */
static double measure(enum kind kind, int bytes) {
  const char* dose = getenv("LCI_BENCH_DOSE");
  const double full = bytes <= 8 ? 10000 : 2147483648.0 / bytes / BATCHES;
  int calls = (int)((size == 2 ? full : full / 10 + 1) * (dose != NULL ? atof(dose) : 1));
  if (calls < 1) calls = 1;
  const size_t memory = ((size_t)bytes * (size_t)size + 4096) / 4096 * 4096;
  double* in = aligned_alloc(4096, memory);
  double* out = aligned_alloc(4096, memory);
  double batches[BATCHES];
  if (in == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(in, 0, memory);
  memset(out, 0, memory);
  for (int batch = 0, number = 0; batch < BATCHES; batch++) {
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) call(kind, number++, bytes, in, out);
    batches[batch] = (MPI_Wtime() - start) / calls;
  }
  qsort(batches + 1, BATCHES - 1, sizeof *batches, compare);
  free(in);
  free(out);
  return batches[1 + (BATCHES - 1) / 2];
}

static int bytes_of(const char* metric) {
  if (strstr(metric, "_64k") != NULL) return 64 << 10;
  if (strstr(metric, "_1m") != NULL) return 1 << 20;
  return strstr(metric, "_8") != NULL ? 8 : 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 2) pin(rank);
  int kind = 0;
  while (argc == 2 && kind < KINDS && strstr(argv[1], NAMES[kind]) == NULL) kind++;
  if (argc != 2 || kind == KINDS) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = bytes_of(argv[1]);
  const double seconds = measure((enum kind)kind, bytes);
  if (rank == 0) {
    printf("{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", argv[1], bytes <= 8 ? "ns" : "GB/s",
           bytes <= 8 ? seconds * 1e9 : bytes / seconds * 1e-9);
  }
  MPI_Finalize();
  return 0;
}
