/* SPDX-License-Identifier: Apache-2.0 */
/* The peer "MPI": what two ranks of any MPI library do, one JSON line per metric.
 *   mpiexec -n 2 ./mpi_bench METRIC
 *   sendrecv_latency, sendrecv_rate, bandwidth_1k | 16k | 64k | 1m   matched send-receive
 *   sendrecv_rate_2x2   two threads in each rank, on its one processor
 *   put_latency, get_latency, put_rate, get_rate, put_64k | 1m, get_64k | 1m   a window allocated by MPI
 *   barrier
 *
 * Rates: windows of 64 non-blocking operations, an empty acknowledgement (puts and gets: a flush) after the
 * last. Processes are pinned by rank. Environment LCI_BENCH_DOSE: the part of the messages to do. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, DATA_TAG = 1, END_TAG = 2, ROUNDS = 2 /* the first warms up */, THREADS = 2 };

struct metric {
  const char* name;
  void (*run)(int rank, const struct metric* metric, char* buffer);
  int size;
  int messages;
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
static void stream_tagged(int rank, const struct metric* metric, char* buffer, int pair) {
  const int data_tag = pair + DATA_TAG, end_tag = pair + END_TAG;
  MPI_Request requests[WINDOW];
  MPI_Status statuses[WINDOW];
  for (int i = 0; i < metric->messages; i += WINDOW) {
    for (int j = 0; j < WINDOW; j++) {
      char* mine = buffer + (size_t)j * (size_t)metric->size;
      if (rank == 0) {
        MPI_Isend(mine, metric->size, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, &requests[j]);
      } else {
        MPI_Irecv(mine, metric->size, MPI_BYTE, 0, data_tag, MPI_COMM_WORLD, &requests[j]);
      }
    }
    MPI_Waitall(WINDOW, requests, statuses);
  }
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, end_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, 0, end_tag, MPI_COMM_WORLD);
  }
}

static void stream(int rank, const struct metric* metric, char* buffer) {
  stream_tagged(rank, metric, buffer, 0);
}

struct worker {
  pthread_t thread;
  int rank, pair;
  const struct metric* metric;
};

static void* stream_of_thread(void* argument) {
  const struct worker* self = argument;
  char* buffer = malloc((size_t)WINDOW * (size_t)self->metric->size);
  if (buffer == NULL) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  struct metric share = *self->metric;
  share.messages /= THREADS;
  stream_tagged(self->rank, &share, buffer, self->pair);
  free(buffer);
  return NULL;
}

static void threads_stream(int rank, const struct metric* metric, char* buffer) {
  (void)buffer;
  struct worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (struct worker){.rank = rank, .pair = (i + 1) << 8, .metric = metric};
    if (pthread_create(&workers[i].thread, NULL, stream_of_thread, &workers[i]) != 0) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
  }
}

/* Memory of this rank that the other one reads and writes, as long as a metric is measured. */
static MPI_Win window;
static char* window_memory;

static void put_ping_pong(int rank, const struct metric* metric, char* buffer) {
  volatile long* seen = (volatile long*)window_memory;
  long* value = (long*)buffer;
  static long count = 0; /* rounds go on counting */
  const long last = count + metric->messages;
  for (long i = ++count; i <= last; i = ++count) {
    for (int turn = 0; turn < 2; turn++) {
      if (turn == rank) {
        *value = i;
        MPI_Put(value, metric->size, MPI_BYTE, 1 - rank, 0, metric->size, MPI_BYTE, window);
        MPI_Win_flush(1 - rank, window);
      } else {
        while (*seen != i) {
          int ignored; /* some libraries put by messages that the target must progress */
          MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &ignored, MPI_STATUS_IGNORE);
          MPI_Win_sync(window);
        }
      }
    }
  }
  count = last;
}

static void get_one_by_one(int rank, const struct metric* metric, char* buffer) {
  for (int i = 0; rank == 0 && i < metric->messages; i++) {
    MPI_Get(buffer, metric->size, MPI_BYTE, 1, 0, metric->size, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}

static void put_stream(int rank, const struct metric* metric, char* buffer) {
  for (int i = 0; rank == 0 && i < metric->messages; i += WINDOW) {
    for (int j = 0; j < WINDOW; j++) {
      MPI_Put(buffer, metric->size, MPI_BYTE, 1, 0, metric->size, MPI_BYTE, window);
    }
    MPI_Win_flush(1, window);
  }
}

static void get_stream(int rank, const struct metric* metric, char* buffer) {
  for (int i = 0; rank == 0 && i < metric->messages; i += WINDOW) {
    for (int j = 0; j < WINDOW; j++) {
      MPI_Get(buffer, metric->size, MPI_BYTE, 1, 0, metric->size, MPI_BYTE, window);
    }
    MPI_Win_flush(1, window);
  }
}

static void barriers(int rank, const struct metric* metric, char* buffer) {
  (void)rank;
  (void)buffer;
  for (int i = 0; i < metric->messages; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static const struct metric METRICS[] = {
    {"sendrecv_latency", ping_pong, 8, 100000},
    {"sendrecv_rate", stream, 8, WINDOW * 20000},
    {"bandwidth_1k", stream, 1024, WINDOW * 8000},
    {"bandwidth_16k", stream, 16384, WINDOW * 1000},
    {"bandwidth_64k", stream, 65536, WINDOW * 250},
    {"bandwidth_1m", stream, 1048576, WINDOW * 16},
    {"put_latency", put_ping_pong, 8, 100000},
    {"get_latency", get_one_by_one, 8, 1000000},
    {"put_rate", put_stream, 8, WINDOW * 60000},
    {"get_rate", get_stream, 8, WINDOW * 60000},
    {"put_64k", put_stream, 65536, WINDOW * 500},
    {"get_64k", get_stream, 65536, WINDOW * 500},
    {"put_1m", put_stream, 1048576, WINDOW * 32},
    {"get_1m", get_stream, 1048576, WINDOW * 32},
    {"barrier", barriers, 0, 100000},
    {"sendrecv_rate_2x2", threads_stream, 8, WINDOW * 4000},
};

/* Whole windows, at least one. */
static int dosed(int messages) {
  const char* dose = getenv("LCI_BENCH_DOSE");
  const int windows = (int)(messages / WINDOW * (dose != NULL ? atof(dose) : 1));
  return windows > 0 ? windows * WINDOW : WINDOW;
}

static void print_metric(const struct metric* metric, double seconds) {
  const int size = metric->size;
  double value = metric->messages / seconds / 1e6;
  const char* unit = metric->run == stream || metric->run == threads_stream ? "Mmsg/s" : "Mop/s";
  if (metric->run == ping_pong || metric->run == put_ping_pong) {
    value = seconds / metric->messages / 2 * 1e9;
    unit = "ns";
  } else if (metric->run == get_one_by_one || metric->run == barriers) {
    value = seconds / metric->messages * 1e9;
    unit = "ns";
  } else if (size > 8) {
    value = (double)metric->messages * size / seconds / 1e9;
    unit = "GB/s";
  }
  printf("{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", metric->name, unit, value);
}

static void measure(int rank, const struct metric* metric) {
  const size_t bytes = (size_t)WINDOW * (size_t)(metric->size > 8 ? metric->size : 8);
  char* buffer = malloc(bytes);
  if (buffer == NULL) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(buffer, rank, bytes);
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  memset(window_memory, 0, bytes);
  double seconds = 0;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    metric->run(rank, metric, buffer);
    seconds = MPI_Wtime() - start;
  }
  if (rank == 0) {
    print_metric(metric, seconds);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  free(buffer);
}

int main(int argc, char** argv) {
  int rank, size, found = 0;
  const int threads = argc == 2 && strcmp(argv[1], "sendrecv_rate_2x2") == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (threads && provided < MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "mpi_bench: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    fprintf(stderr, "mpi_bench: two ranks are needed\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pin(rank);
  for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++) {
    if (argc == 2 && strcmp(argv[1], METRICS[i].name) == 0) {
      struct metric metric = METRICS[i];
      metric.messages = dosed(metric.messages);
      measure(rank, &metric);
      found = 1;
    }
  }
  MPI_Finalize();
  return found ? 0 : 2;
}
