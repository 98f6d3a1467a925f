/* SPDX-License-Identifier: Apache-2.0 */
/* Strangers at the port of a rank, from an address of the loopback device each, so that each has a line in the rank's
 * log:
 *   127.0.0.11  the greeting of a rank, without the job's secret     127.0.0.16  1 MB of garbage
 *   127.0.0.12  the same with another version                        127.0.0.17  1,000 connections, each with a byte
 *   127.0.0.13  of another job                                                   of a greeting a second
 *   127.0.0.14  of another process as a rank that is there           127.0.0.18  a scan: connections that end at once
 *   127.0.0.15  what a rank has said before, with its proof
 * Windows of so many seconds without and with them follow each other; it prints "calm NS" or "strangers NS" as each
 * begins, by CLOCK_REALTIME, and "end NS".
 *   net_stranger ADDRESS PORT HELLO PROOF SECONDS WINDOWS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kHello = 80,
  kProof = 32,
  kChallenge = 64,
  kSlow = 1000,
  kScans = 20, /* at a time */
  kGarbage = 1 << 20,
  /* Where a greeting has what: */
  kVersion = 8,
  kJob = 16,
  kIncarnation = 40,
  kNonce = 64,
};

static struct sockaddr_in rank;
static unsigned char hello[kHello], proof[kProof];

static void check(bool right, const char* what) {
  if (right) return;
  perror(what);
  exit(1);
}

static uint64_t now_ns(int clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void say(const char* what) {
  printf("%s %" PRIu64 "\n", what, now_ns(CLOCK_REALTIME));
  fflush(stdout);
}

static void read_hex(const char* text, unsigned char* bytes, size_t size) {
  check(strlen(text) == 2 * size, "what a rank has said");
  for (size_t i = 0; i < size; ++i) {
    unsigned value = 0;
    check(sscanf(text + 2 * i, "%2x", &value) == 1, "hexadecimal");
    bytes[i] = (unsigned char)value;
  }
}

/* From 127.0.0.NUMBER; -1 if there is no room at the rank's port. */
static int call(unsigned number, bool waits) {
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0);
  check(socket_ >= 0, "socket");
  /* Nobody waits for an answer that does not come, and no port stays taken. */
  const struct timeval patience = {1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const struct linger none = {1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + number)};
  check(bind(socket_, (const struct sockaddr*)&own, sizeof own) == 0, "bind");
  if (connect(socket_, (const struct sockaddr*)&rank, sizeof rank) == 0 || errno == EINPROGRESS) return socket_;
  close(socket_);
  return -1;
}

static void give(int socket_, const void* bytes, size_t size) {
  if (socket_ >= 0) send(socket_, bytes, size, MSG_NOSIGNAL);
}

/* Says a greeting that is changed at @p place; then, if it is challenged, @p claim. */
static void greet(unsigned number, int place, bool fresh, const unsigned char* claim) {
  unsigned char changed[kHello], challenge[kChallenge];
  memcpy(changed, hello, kHello);
  if (place >= 0) changed[place] ^= 1;
  if (fresh) check(getrandom(changed + kNonce, 16, 0) == 16, "random");
  const int socket_ = call(number, true);
  give(socket_, changed, kHello);
  if (socket_ >= 0 && recv(socket_, challenge, kChallenge, MSG_WAITALL) == kChallenge) {
    give(socket_, claim, kProof);
    recv(socket_, challenge, 1, 0); /* until it is closed */
  }
  if (socket_ >= 0) close(socket_);
}

static void garbage(void) {
  static unsigned char bytes[kGarbage];
  memset(bytes, 0x5a, sizeof bytes);
  const int socket_ = call(16, true);
  give(socket_, bytes, sizeof bytes);
  if (socket_ >= 0) close(socket_);
}

static struct {
  int socket;
  int said;
} slow[kSlow];

/* A byte of each of a tenth of them; whoever was closed calls again. */
static void creep(int tenth) {
  for (int i = tenth * kSlow / 10; i < (tenth + 1) * kSlow / 10; ++i) {
    if (slow[i].socket >= 0 && slow[i].said < kHello &&
        send(slow[i].socket, hello + slow[i].said, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
      ++slow[i].said;
      continue;
    }
    if (slow[i].socket >= 0) close(slow[i].socket);
    slow[i].socket = call(17, false);
    slow[i].said = 0;
  }
}

static void scan(void) {
  for (int i = 0; i < kScans; ++i) {
    const int socket_ = call(18, true);
    if (socket_ >= 0) close(socket_);
  }
}

static void attack(uint64_t until_ns) {
  for (int i = 0; i < kSlow; ++i) slow[i].socket = -1;
  for (int round = 0; now_ns(CLOCK_MONOTONIC) < until_ns; ++round) {
    if (round % 10 == 0) { /* at first before there is a crowd, in which others go before they have said anything */
      greet(11, -1, true, proof);
      greet(12, kVersion, true, proof);
      greet(13, kJob, true, proof);
      greet(14, kIncarnation, true, proof);
      greet(15, -1, false, proof);
      garbage();
    }
    creep(round % 10);
    scan();
    const struct timespec nap = {0, 100000000};
    nanosleep(&nap, NULL);
  }
  for (int i = 0; i < kSlow; ++i) {
    if (slow[i].socket >= 0) close(slow[i].socket);
  }
}

int main(int argc, char** argv) {
  check(argc == 7, "net_stranger ADDRESS PORT HELLO PROOF SECONDS WINDOWS");
  rank.sin_family = AF_INET;
  rank.sin_port = htons((uint16_t)atoi(argv[2]));
  check(inet_pton(AF_INET, argv[1], &rank.sin_addr) == 1, argv[1]);
  read_hex(argv[3], hello, kHello);
  read_hex(argv[4], proof, kProof);
  const struct rlimit files = {4 * kSlow, 4 * kSlow};
  check(setrlimit(RLIMIT_NOFILE, &files) == 0, "descriptors");
  const int seconds = atoi(argv[5]);
  for (int window = 0; window < atoi(argv[6]); ++window) {
    say(window % 2 ? "strangers" : "calm");
    const uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000000000u;
    if (window % 2) {
      attack(until_ns);
    } else {
      sleep((unsigned)seconds);
    }
  }
  say("end");
  return 0;
}
