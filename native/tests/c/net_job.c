/* SPDX-License-Identifier: Apache-2.0 */
/* A job over a network that is disturbed from outside, see net_test.sh. Ranks talk to each other all the time, or, with
 * the argument "idle" behind the others, only where it is said.
 *
 * - stop SECONDS: the last rank is stopped for so long: nobody is declared dead, and all meet afterwards
 * - halves SECONDS: each rank waits until the other half of the job has failed, says so, and goes on for so long:
 * nobody of its own half fails, and nothing comes from the other one
 * - deaths FROM TO: the other ranks wait until these have failed, and say when; what waited for them has ended
 * - fence: each rank waits until it is fenced, and exits with LCI_EXIT_FENCED, or has heard of a failure
 * - ledger SECONDS: messages and additions for so long: each comes once, nobody fails; what this rank has got, and
 * holds of the system, is printed all the time
 * - text MEGABYTES: the first rank sends so much of one text to the last one
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

enum {
  kFlood = 7,
  kHandles = 8,
  kTotals = 9,   /* ports */
  kNever = 4711, /* a tag that nobody sends */
  kMostRanks = 64,
  kPatience = 120, /* s */
  kLongSend = 100000,
};

static lci_runtime* runtime;
static lci_device* device;
static lci_comp *flood, *handles, *totals, *ended;
static bool idle;
static double end;

static struct {
  uint64_t sent, came, total; /* messages to, and from, a rank; how many it says that it has sent */
  uint64_t added, additions;  /* by this rank to the other one's word; how many the other one says */
  uint64_t remote;
  bool adding, told;
  unsigned char* seen; /* a bit for each message */
  uint64_t room;
} peers[kMostRanks];

static void say(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
}

static int state_of(uint32_t peer) {
  int32_t state = 0;
  check(lci_runtime_peer(runtime, peer, &state) == LCI_DONE, "peer state");
  return state;
}

/* It may have left, when it is through. */
static bool is_believed_alive(uint32_t peer) {
  return state_of(peer) == LCI_PEER_ALIVE || state_of(peer) == LCI_PEER_LEFT;
}

static uint64_t counter(const char* name) {
  uint64_t values[256];
  const uint32_t count = lci_runtime_snapshot(runtime, values, 256);
  for (uint32_t i = 0; i < count; ++i) {
    if (strcmp(name, lci_counter_name(i)) == 0) return values[i];
  }
  check(false, name);
  return 0;
}

/* Each message comes once. */
static void note(const lci_status* status) {
  const uint64_t number = status->tag;
  if (number / 8 >= peers[status->rank].room) {
    const uint64_t room = 2 * (number / 8) + 4096;
    unsigned char* const seen = realloc(peers[status->rank].seen, room);
    check(seen != NULL, "memory");
    memset(seen + peers[status->rank].room, 0, room - peers[status->rank].room);
    peers[status->rank].seen = seen;
    peers[status->rank].room = room;
  }
  unsigned char* const byte = &peers[status->rank].seen[number / 8];
  check((*byte >> (number % 8) & 1) == 0, "a message came twice");
  *byte |= (unsigned char)(1 << (number % 8));
  const unsigned char* const bytes = status->buffer;
  for (uint32_t i = 0; i < status->size; i += 97) {
    check(bytes[i] == (unsigned char)(number + i), "a message is not what was sent");
  }
  ++peers[status->rank].came;
}

static uint32_t size_of(uint64_t number) {
  return (uint32_t)(number * 37 % 3000);
}

/* One message to each rank that is there, as far as there is room. */
static void talk(void) {
  static unsigned char bytes[3000];
  for (uint32_t peer = 0; peer < size; ++peer) {
    if (peer == rank || state_of(peer) != LCI_PEER_ALIVE) continue;
    const uint64_t number = peers[peer].sent;
    const uint32_t length = size_of(number);
    for (uint32_t i = 0; i < length; i += 97) bytes[i] = (unsigned char)(number + i);
    const int code = lci_post_am(device, peer, kFlood, number, bytes, length, NULL, 0);
    if (code == LCI_DONE || code == LCI_DONE_BACKLOG) ++peers[peer].sent;
    check(code < LCI_ERR_ARGUMENT || code == LCI_ERR_PEER_FAILED || code == LCI_ERR_FENCED, "message");
  }
}

static void pass(const char* what) {
  check(now() < end, what);
  if (!idle) talk();
  if (lci_progress(device) != LCI_DONE) {
    const struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
  }
  lci_status status;
  for (int i = 0; i < 64 && lci_queue_pop(flood, &status) == LCI_DONE; ++i) {
    note(&status);
    lci_buffer_free(status.buffer);
  }
}

static void barrier(void) {
  lci_descriptor op = {0};
  op.op = LCI_OP_BARRIER;
  check(lci_post(device, &op, ended, NULL) == LCI_POSTED, "post barrier");
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) pass("barrier");
  check(status.code == LCI_DONE, "barrier failed");
}

/* --- stop */

/* A child wakes this process: nobody else knows that it sleeps. */
static void be_stopped(unsigned seconds) {
  const pid_t self = getpid();
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    sleep(seconds);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

static void stop(unsigned seconds) {
  if (rank == size - 1) {
    be_stopped(seconds);
  } else {
    for (const double until = now() + seconds; now() < until;) pass("flood");
  }
  idle = true; /* who is through says nothing more */
  barrier();
  for (uint32_t peer = 0; peer < size; ++peer) check(is_believed_alive(peer), "a living rank is called dead");
}

/* --- halves */

static bool is_mine(uint32_t peer) {
  return (peer < size / 2) == (rank < size / 2);
}

static void halves(double seconds) {
  say("ready");
  for (uint32_t peer = 0; peer < size; ++peer) {
    while (!is_mine(peer) && state_of(peer) == LCI_PEER_ALIVE) pass("hear of a death");
  }
  say("knows");
  uint64_t came[kMostRanks];
  for (uint32_t peer = 0; peer < size; ++peer) came[peer] = peers[peer].came;
  for (const double until = now() + seconds; now() < until;) {
    pass("go on");
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (is_mine(peer) != is_believed_alive(peer) && counter("fenced") == 0) {
        fprintf(stderr, "rank %u: rank %u has state %d\n", rank, peer, state_of(peer));
        exit(1);
      }
      if (is_mine(peer)) continue;
      const int code = lci_post_am(device, peer, kFlood, 0, NULL, 0, NULL, 0);
      check(code == LCI_ERR_PEER_FAILED || code == LCI_ERR_FENCED, "a message to a rank that is cut off");
      check(peers[peer].came == came[peer], "a message from a rank that is cut off");
    }
  }
  say("done");
}

/* --- deaths */

static void post_what_cannot_end(uint32_t peer, uint64_t* word, const char* bytes) {
  check(lci_post_recv(device, peer, kNever, word, sizeof *word, ended, peer, NULL) == LCI_POSTED, "receive");
  int code = LCI_RETRY;
  while (code >= LCI_RETRY && code < LCI_ERR_ARGUMENT) {
    code = lci_post_send(device, peer, kNever, bytes, kLongSend, ended, peer);
    if (code != LCI_POSTED) pass("send");
  }
  check(code == LCI_POSTED || code == LCI_ERR_PEER_FAILED, "send");
  peers[peer].told = code != LCI_POSTED;
}

static void deaths(uint32_t from, uint32_t to) {
  static uint64_t words[kMostRanks];
  static char bytes[kLongSend];
  const bool doomed = rank >= from && rank <= to;
  for (uint32_t peer = from; peer <= to && !doomed; ++peer) post_what_cannot_end(peer, &words[peer], bytes);
  say("ready");
  while (doomed) pass("wait for the end");
  int open = 0;
  for (uint32_t peer = from; peer <= to; ++peer) {
    while (state_of(peer) == LCI_PEER_ALIVE) pass("hear of a death");
    check(state_of(peer) == LCI_PEER_FAILED, "a rank that was killed is said to have left");
    open += peers[peer].told ? 1 : 2;
  }
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  printf("knows %" PRIu64 "\n", (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
  fflush(stdout);
  for (lci_status status; open != 0;) {
    if (lci_queue_pop(ended, &status) != LCI_DONE) {
      pass("what waited for the dead");
      continue;
    }
    check(status.code == LCI_ERR_PEER_FAILED && status.user_context >= from && status.user_context <= to,
          "what waited for the dead ends otherwise");
    --open;
  }
  for (uint32_t peer = 0; peer < size; ++peer) {
    if (peer < from || peer > to) check(is_believed_alive(peer), "a living rank is called dead");
  }
  say("done");
}

/* --- fence */

static void fence(void) {
  say("ready");
  for (;;) {
    pass("hear of a failure");
    uint32_t failed = 0;
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      if (state_of(peer) == LCI_PEER_FENCED) exit(LCI_EXIT_FENCED);
      failed += state_of(peer) == LCI_PEER_FAILED;
    }
    if (failed != 0 && counter("fenced") == 0 && access("end", F_OK) == 0) break;
  }
  say("done");
}

/* --- ledger */

static void exchange_words(uint64_t** word) {
  lci_memory* memory = NULL;
  void* address = NULL;
  unsigned char handle[LCI_MEMORY_HANDLE_SIZE];
  check(lci_memory_allocate(runtime, sizeof **word, &memory, &address) == LCI_DONE, "allocate");
  check(lci_memory_handle(memory, handle, sizeof handle) == LCI_DONE, "handle");
  *word = address;
  **word = 0;
  for (uint32_t peer = 0; peer < size; ++peer) {
    int code = LCI_RETRY;
    while (peer != rank && code != LCI_DONE) {
      code = lci_post_am(device, peer, kHandles, 0, handle, sizeof handle, NULL, 0);
      check(code < LCI_ERR_ARGUMENT, "tell the handle");
      if (code != LCI_DONE) pass("tell the handle");
    }
  }
  lci_status status;
  for (uint32_t known = 1; known < size;) {
    if (lci_queue_pop(handles, &status) != LCI_DONE) {
      pass("handles");
      continue;
    }
    check(
        lci_remote_open(runtime, status.rank, status.buffer, status.size, &peers[status.rank].remote, NULL) == LCI_DONE,
        "open remote");
    lci_buffer_free(status.buffer);
    ++known;
  }
}

static void add(void) {
  for (uint32_t peer = 0; peer < size; ++peer) {
    if (peer == rank || peers[peer].adding) continue;
    lci_descriptor op = {0};
    op.op = LCI_OP_ATOMIC;
    op.policy = LCI_ATOMIC_ADD;
    op.rank = peer;
    op.size = sizeof(uint64_t);
    op.user_context = peer;
    op.u.atomic.operand = 1;
    op.u.atomic.remote = peers[peer].remote;
    const int code = lci_post(device, &op, ended, NULL);
    check(code < LCI_ERR_ARGUMENT, "add");
    if (code == LCI_DONE || code == LCI_POSTED) ++peers[peer].added;
    peers[peer].adding = code == LCI_POSTED;
  }
}

static bool take_sums(void) {
  lci_status status;
  while (lci_queue_pop(ended, &status) == LCI_DONE) {
    check(status.code == LCI_DONE, "an addition failed");
    peers[status.user_context].adding = false;
  }
  for (uint32_t peer = 0; peer < size; ++peer) {
    if (peers[peer].adding) return false;
  }
  return true;
}

static void tell_totals(void) {
  for (uint32_t peer = 0; peer < size; ++peer) {
    const uint64_t mine[2] = {peers[peer].sent, peers[peer].added};
    int code = LCI_RETRY;
    while (peer != rank && code != LCI_DONE) {
      code = lci_post_am(device, peer, kTotals, 0, mine, sizeof mine, NULL, 0);
      check(code < LCI_ERR_ARGUMENT, "tell the totals");
      if (code != LCI_DONE) pass("tell the totals");
    }
  }
  lci_status status;
  for (uint32_t known = 1; known < size;) {
    if (lci_queue_pop(totals, &status) != LCI_DONE) {
      pass("totals");
      continue;
    }
    uint64_t theirs[2];
    memcpy(theirs, status.buffer, sizeof theirs);
    peers[status.rank].total = theirs[0];
    peers[status.rank].additions = theirs[1];
    lci_buffer_free(status.buffer);
    ++known;
  }
}

static int open_descriptors(void) {
  DIR* const folder = opendir("/proc/self/fd");
  check(folder != NULL, "descriptors");
  int count = -3; /* the folder's own, and its names of itself and of the one above */
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static long resident_kib(void) {
  FILE* const file = fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  check(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2, "memory");
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* When, how many messages have come, kilobytes of memory without the ledger, and descriptors; now and then. */
static void measure(void) {
  static double due;
  if (now() < due) return;
  due = now() + 0.1;
  uint64_t came = 0, noted = 0;
  for (uint32_t peer = 0; peer < size; ++peer) {
    came += peers[peer].came;
    noted += peers[peer].room;
  }
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  printf("at %" PRIu64 " %" PRIu64 " %ld %d\n", (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec, came,
         resident_kib() - (long)(noted / 1024), open_descriptors());
  fflush(stdout);
}

static void ledger(double seconds) {
  uint64_t *word = NULL, messages = 0, additions = 0;
  exchange_words(&word);
  say("ready");
  for (const double until = now() + seconds; now() < until;) {
    if (!idle) add();
    take_sums();
    measure();
    pass("traffic");
  }
  idle = true;
  while (!take_sums()) pass("additions");
  tell_totals();
  for (uint32_t peer = 0; peer < size; ++peer) {
    while (peers[peer].came != peers[peer].total) pass("messages are missing");
    messages += peers[peer].came;
    additions += peers[peer].additions;
  }
  barrier();
  check(*word == additions, "additions were lost, or came twice");
  check(counter("peers_failed") == 0 && counter("protocol_errors") == 0, "a living rank is called dead");
  printf("ledger %" PRIu64 " messages %" PRIu64 " additions %" PRIu64 " resumed\n", messages, additions,
         counter("links_resumed"));
  fflush(stdout);
}

/* --- text */

static void text(double megabytes) {
  static const char kText[] = "a known text that nobody else is to read; ";
  static char bytes[kLongSend];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = kText[i % (sizeof kText - 1)];
  const int messages = (int)(megabytes * 1e6 / sizeof bytes);
  idle = true;
  for (int i = 0; i < messages; ++i) {
    int code = LCI_RETRY;
    while (rank == 0 && code >= LCI_RETRY && code < LCI_ERR_ARGUMENT) {
      code = lci_post_send(device, size - 1, kNever, bytes, sizeof bytes, ended, 0);
      if (code != LCI_POSTED) pass("send");
    }
    if (rank == size - 1) {
      check(lci_post_recv(device, 0, kNever, bytes, sizeof bytes, ended, 0, NULL) == LCI_POSTED, "receive");
    }
    if (rank != 0 && rank != size - 1) continue;
    lci_status status;
    while (lci_queue_pop(ended, &status) != LCI_DONE) pass("text");
    check(status.code == LCI_DONE, "text");
  }
  barrier();
}

static lci_comp* inbox(uint32_t port, const char* name) {
  lci_comp* queue = NULL;
  check(lci_queue_create(runtime, 4096, &queue) == LCI_DONE, "queue");
  check(lci_port_open(runtime, port, name, queue, 0, 0) == LCI_DONE, "port");
  return queue;
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "stop";
  const double first = argc > 2 ? atof(argv[2]) : 3, second = argc > 3 ? atof(argv[3]) : 0;
  idle = strcmp(argv[argc - 1], "idle") == 0;
  end = now() + kPatience + first;
  rank = (uint32_t)atoi(getenv("LCI_RANK"));
  size = (uint32_t)atoi(getenv("LCI_SIZE"));
  check(size <= kMostRanks, "too many ranks");
  check(lci_runtime_create(NULL, NULL, 0, &runtime) == LCI_DONE, "join");
  check(lci_runtime_device(runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(runtime, 4096, &ended) == LCI_DONE, "queue");
  flood = inbox(kFlood, "flood");
  handles = inbox(kHandles, "handles");
  totals = inbox(kTotals, "totals");
  barrier();
  if (strcmp(mode, "halves") == 0) {
    halves(first);
  } else if (strcmp(mode, "deaths") == 0) {
    deaths((uint32_t)first, (uint32_t)second);
  } else if (strcmp(mode, "fence") == 0) {
    fence();
  } else if (strcmp(mode, "ledger") == 0) {
    ledger(first);
  } else if (strcmp(mode, "text") == 0) {
    text(first);
  } else {
    stop((unsigned)first);
  }
  check(lci_runtime_close(runtime, 10000) == LCI_DONE, "close");
  return 0;
}
