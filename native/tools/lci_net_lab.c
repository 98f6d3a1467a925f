/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci_net_lab.c
 * The network of `./lci net-lab`: a TUN device in each of several network namespaces, and between them a network that
 * delays, reorders, loses and limits, for kernels without netem.
 *
 *     lci_net_lab [OPTION VALUE]... NAMESPACE...
 *
 * Namespace number K, from 1, gets the device "lab0"; its address is 10.67.0.K, which the caller assigns after the line
 * "up". What happens to packet number P from one namespace to another is a function of the seed, the two and P: a run
 * can be had again. SIGTERM and SIGINT end it; it then prints a line for each pair that talked.
 *
 * Options: --delay-us, --jitter-us (added to the delay, evenly distributed), --loss (part, 0 to 1), --reorder (0 or 1:
 * whether jitter may change the order), --rate-kbit (of what one namespace receives; 0: no limit), --seed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
  kMostNamespaces = 64,
  kMostBytes = 2048,      // of a packet
  kReadsPerTurn = 64,     // of each device
  kMostQueued = 1 << 16,  // packets under way; more are lost, as in a router
  kFirstAddress = 10 << 24 | 67 << 16,
};

struct packet {
  uint64_t due_ns;
  uint64_t number;  // of all: packets that are due at the same time keep their order
  int to;
  int size;
  unsigned char bytes[];
};

struct pair {
  uint64_t packets, lost;
  uint64_t last_due_ns;
};

static struct {
  uint64_t delay_ns, jitter_ns, rate_kbit, seed;
  double loss;
  bool reorder;
} options = {.seed = 1};

static int devices[kMostNamespaces];
static int namespaces;
static struct pair pairs[kMostNamespaces][kMostNamespaces];
static uint64_t free_at_ns[kMostNamespaces];  // when the line to each is free again

/// A heap, the packet that is due first at its top.
static struct packet* queue[kMostQueued];
static int queued;

static volatile sig_atomic_t ended;

static void end(int signal_number) {
  (void)signal_number;
  ended = 1;
}

static _Noreturn void give_up(const char* what, const char* of) {
  fprintf(stderr, "lci_net_lab: %s %s: %s\n", what, of, strerror(errno));
  exit(EXIT_FAILURE);
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// Mixes its bits well. [splitmix64]
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// In [0, 1): a function of the seed and of what it is for. @param which 0: whether it is lost, 1: its jitter
static double chance(int from, int to, uint64_t number, int which) {
  const uint64_t pair_number = (uint64_t)from << 16 | (uint64_t)to << 4 | (uint64_t)which;
  return (double)(mix(mix(mix(options.seed) ^ pair_number) ^ number) >> 11) * 0x1p-53;
}

static bool before(const struct packet* a, const struct packet* b) {
  return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void push(struct packet* packet) {
  int at = queued++;
  for (; at != 0 && before(packet, queue[(at - 1) / 2]); at = (at - 1) / 2) {
    queue[at] = queue[(at - 1) / 2];
  }
  queue[at] = packet;
}

static struct packet* pop(void) {
  struct packet* const first = queue[0];
  struct packet* const last = queue[--queued];
  int at = 0;
  for (int child; (child = 2 * at + 1) < queued; at = child) {
    if (child + 1 < queued && before(queue[child + 1], queue[child])) {
      ++child;
    }
    if (!before(queue[child], last)) {
      break;
    }
    queue[at] = queue[child];
  }
  queue[at] = last;
  return first;
}

/// The namespace that has the packet's address; -1: none.
static int destination(const unsigned char* bytes, int size) {
  if (size < 20 || bytes[0] >> 4 != 4) {
    return -1;
  }
  const uint32_t address =
      (uint32_t)bytes[16] << 24 | (uint32_t)bytes[17] << 16 | (uint32_t)bytes[18] << 8 | (uint32_t)bytes[19];
  const int64_t number = (int64_t)address - kFirstAddress;
  return number >= 1 && number <= namespaces ? (int)number - 1 : -1;
}

static uint64_t due_time(struct pair* pair, int from, int to, int size) {
  uint64_t due = now_ns();
  if (options.rate_kbit != 0) {
    const uint64_t takes_ns = (uint64_t)size * 8u * 1000000u / options.rate_kbit;
    due = (due > free_at_ns[to] ? due : free_at_ns[to]) + takes_ns;
    free_at_ns[to] = due;
  }
  due += options.delay_ns + (uint64_t)((double)options.jitter_ns * chance(from, to, pair->packets, 1));
  if (!options.reorder && due < pair->last_due_ns) {
    due = pair->last_due_ns;
  }
  pair->last_due_ns = due;
  return due;
}

static void accept_packet(int from, const unsigned char* bytes, int size) {
  static uint64_t number;
  const int to = destination(bytes, size);
  if (to < 0) {
    return;
  }
  struct pair* const pair = &pairs[from][to];
  ++pair->packets;
  if (chance(from, to, pair->packets, 0) < options.loss || queued == kMostQueued) {
    ++pair->lost;
    return;
  }
  struct packet* const packet = malloc(sizeof *packet + (size_t)size);
  if (packet == NULL) {
    ++pair->lost;
    return;
  }
  packet->due_ns = due_time(pair, from, to, size);
  packet->number = ++number;
  packet->to = to;
  packet->size = size;
  memcpy(packet->bytes, bytes, (size_t)size);
  push(packet);
}

static void deliver_due(void) {
  while (queued != 0 && queue[0]->due_ns <= now_ns()) {
    struct packet* const packet = pop();
    // A device that is down or full loses it, as a network would.
    if (write(devices[packet->to], packet->bytes, (size_t)packet->size) < 0) {
    }
    free(packet);
  }
}

static void take_new(void) {
  unsigned char bytes[kMostBytes];
  for (int from = 0; from < namespaces; ++from) {
    for (int i = 0; i < kReadsPerTurn; ++i) {
      const ssize_t size = read(devices[from], bytes, sizeof bytes);
      if (size <= 0) {
        break;
      }
      accept_packet(from, bytes, (int)size);
    }
  }
}

/// At most for a tenth of a second: a signal may come just before it.
static void wait_for_work(void) {
  struct pollfd polled[kMostNamespaces];
  for (int i = 0; i < namespaces; ++i) {
    polled[i] = (struct pollfd){.fd = devices[i], .events = POLLIN};
  }
  uint64_t left_ns = 100000000u;
  if (queued != 0) {
    const uint64_t now = now_ns(), due = queue[0]->due_ns > now ? queue[0]->due_ns - now : 0;
    left_ns = due < left_ns ? due : left_ns;
  }
  const struct timespec limit = {.tv_nsec = (long)left_ns};
  if (ppoll(polled, (nfds_t)namespaces, &limit, NULL) < 0 && errno != EINTR) {
    give_up("poll", "");
  }
}

static int open_device(const char* name) {
  char path[256];
  snprintf(path, sizeof path, "/var/run/netns/%s", name);
  const int namespace = open(path, O_RDONLY | O_CLOEXEC);
  if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0) {
    give_up("cannot enter network namespace", name);
  }
  close(namespace);
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(request.ifr_name, "lab0");
  if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) {
    give_up("cannot make a TUN device in", name);
  }
  return device;
}

/// @return the value of an option, at least 0
static double number_of(const char* option, const char* text, double most) {
  char* rest = NULL;
  const double value = text == NULL ? NAN : strtod(text, &rest);
  if (!(value >= 0 && value <= most) || rest == text || *rest != '\0') {
    fprintf(stderr, "lci_net_lab: %s needs a number from 0 to %g, not '%s'\n", option, most, text ? text : "");
    exit(2);
  }
  return value;
}

static void set(const char* option, const char* text) {
  const double most = 1e15;
  if (strcmp(option, "--delay-us") == 0) {
    options.delay_ns = (uint64_t)(number_of(option, text, most / 1e3) * 1e3);
  } else if (strcmp(option, "--jitter-us") == 0) {
    options.jitter_ns = (uint64_t)(number_of(option, text, most / 1e3) * 1e3);
  } else if (strcmp(option, "--loss") == 0) {
    options.loss = number_of(option, text, 1);
  } else if (strcmp(option, "--reorder") == 0) {
    options.reorder = number_of(option, text, 1) != 0;
  } else if (strcmp(option, "--rate-kbit") == 0) {
    options.rate_kbit = (uint64_t)number_of(option, text, most);
  } else if (strcmp(option, "--seed") == 0) {
    options.seed = (uint64_t)number_of(option, text, most);
  } else {
    fprintf(stderr, "lci_net_lab: no such option: %s\n", option);
    exit(2);
  }
}

static void print_pairs(void) {
  for (int from = 0; from < namespaces; ++from) {
    for (int to = 0; to < namespaces; ++to) {
      const struct pair* const pair = &pairs[from][to];
      if (pair->packets != 0) {
        printf("%d to %d: %" PRIu64 " packets, %" PRIu64 " lost\n", from + 1, to + 1, pair->packets, pair->lost);
      }
    }
  }
}

int main(int count, char** arguments) {
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  int at = 1;
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; at += 2) {
    set(arguments[at], at + 1 < count ? arguments[at + 1] : NULL);
  }
  if (at >= count || count - at > kMostNamespaces) {
    fprintf(stderr, "lci_net_lab: 1 to %d namespaces are needed\n", kMostNamespaces);
    return 2;
  }
  for (; at < count; ++at) {
    devices[namespaces] = open_device(arguments[at]);
    ++namespaces;
  }
  puts("up");
  fflush(stdout);
  while (!ended) {
    deliver_due();
    take_new();
    deliver_due();
    wait_for_work();
  }
  print_pairs();
  return EXIT_SUCCESS;
}
