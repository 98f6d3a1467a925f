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
 * whether jitter may change the order), --rate-kbit (of what one namespace receives; 0: no limit), --reset-ms (how
 * often all are reset, as below; 0: never), --seed.
 *
 * Commands, a line each, come by the standard input; A and B are numbers of namespaces: "drop A B" loses what goes from
 * A to B, until "pass A B"; "reset A B" makes a reset of the next packet of each TCP connection from A to B, so that B
 * takes it for broken, and A does not know; "lose A B" loses what goes from A to B on the TCP connections that there
 * are.
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
  kFlows = 64,  // TCP connections of a pair that are told apart
  kTcp = 6,
  kTcpHeader = 20,
  kSyn = 0x02,
  kRst = 0x04,
  kAck = 0x10,
};

struct packet {
  uint64_t due_ns;
  uint64_t number;  // of all: packets that are due at the same time keep their order
  int to;
  int size;
  unsigned char bytes[];
};

struct flow {
  uint32_t ports;
  uint64_t resets, losses;  // of its pair, when it was opened or had one
};

struct pair {
  uint64_t packets, lost, reset;
  uint64_t last_due_ns;
  bool drops;
  uint64_t resets, losses;  // that were asked for
  struct flow flows[kFlows];
  int next_flow;
};

static struct {
  uint64_t delay_ns, jitter_ns, rate_kbit, reset_ns, seed;
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

static uint32_t sum_of(const unsigned char* bytes, int size) {
  uint32_t sum = 0;
  for (int i = 0; i < size; i += 2) {
    sum += (uint32_t)bytes[i] << 8 | (i + 1 < size ? bytes[i + 1] : 0u);
  }
  return sum;
}

static void put_checksum(unsigned char* at, uint32_t sum) {
  while (sum >> 16 != 0) {
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  at[0] = (unsigned char)(~sum >> 8);
  at[1] = (unsigned char)~sum;
}

static struct flow* find_flow(struct pair* pair, uint32_t ports) {
  for (int i = 0; i < kFlows; ++i) {
    if (pair->flows[i].ports == ports) {
      return &pair->flows[i];
    }
  }
  struct flow* const flow = &pair->flows[pair->next_flow];
  pair->next_flow = (pair->next_flow + 1) % kFlows;
  *flow = (struct flow){.ports = ports};
  return flow;
}

static unsigned char* tcp_of(unsigned char* bytes, int size) {
  const int header = (bytes[0] & 15) * 4;
  return bytes[9] == kTcp && size >= header + kTcpHeader ? bytes + header : NULL;
}

/// That of a packet.
static struct flow* flow_of(struct pair* pair, const unsigned char* tcp) {
  uint32_t ports = 0;
  memcpy(&ports, tcp, sizeof ports);
  struct flow* const flow = find_flow(pair, ports);
  if ((tcp[13] & (kSyn | kRst)) != 0) {  // a new one
    flow->resets = pair->resets;
    flow->losses = pair->losses;
  }
  return flow;
}

static bool is_lost_for_good(struct pair* pair, unsigned char* bytes, int size) {
  const unsigned char* const tcp = pair->losses == 0 ? NULL : tcp_of(bytes, size);
  return tcp != NULL && flow_of(pair, tcp)->losses != pair->losses;
}

/// Makes a reset of a packet if its connection is to have one: what is left of it. Its place in the stream is right, so
/// the receiver believes it.
static int reset_if_asked(struct pair* pair, unsigned char* bytes, int size) {
  unsigned char* const tcp = pair->resets == 0 ? NULL : tcp_of(bytes, size);
  if (tcp == NULL) {
    return size;
  }
  const int header = (int)(tcp - bytes);
  struct flow* const flow = flow_of(pair, tcp);
  if (flow->resets == pair->resets || (tcp[13] & kAck) == 0) {
    return size;
  }
  flow->resets = pair->resets;
  ++pair->reset;
  const int length = header + kTcpHeader;
  bytes[2] = 0;
  bytes[3] = (unsigned char)length;
  bytes[10] = bytes[11] = 0;
  put_checksum(bytes + 10, sum_of(bytes, header));
  tcp[12] = (unsigned char)(kTcpHeader / 4 << 4);
  tcp[13] = kRst | kAck;
  memset(tcp + 14, 0, 6);  // window, checksum, urgent
  put_checksum(tcp + 16, sum_of(tcp, kTcpHeader) + sum_of(bytes + 12, 8) + kTcp + (uint32_t)kTcpHeader);
  return length;
}

static void accept_packet(int from, unsigned char* bytes, int size) {
  static uint64_t number;
  const int to = destination(bytes, size);
  if (to < 0) {
    return;
  }
  struct pair* const pair = &pairs[from][to];
  ++pair->packets;
  if (pair->drops || is_lost_for_good(pair, bytes, size) || chance(from, to, pair->packets, 0) < options.loss ||
      queued == kMostQueued) {
    ++pair->lost;
    return;
  }
  size = reset_if_asked(pair, bytes, size);
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

static void reset_all_in_time(void) {
  static uint64_t next_ns;
  const uint64_t now = now_ns();
  if (options.reset_ns == 0 || now < next_ns) {
    return;
  }
  next_ns = now + options.reset_ns;
  for (int from = 0; from < namespaces; ++from) {
    for (int to = 0; to < namespaces; ++to) {
      ++pairs[from][to].resets;
    }
  }
}

static void obey(const char* line) {
  char what[8];
  int from = 0, to = 0;
  char rest = 0;
  const bool whole = sscanf(line, "%7s %d %d %c", what, &from, &to, &rest) == 3;
  if (!whole || from < 1 || from > namespaces || to < 1 || to > namespaces || from == to) {
    fprintf(stderr, "lci_net_lab: no command: %s", line);
    return;
  }
  struct pair* const pair = &pairs[from - 1][to - 1];
  if (strcmp(what, "drop") == 0) {
    pair->drops = true;
  } else if (strcmp(what, "pass") == 0) {
    pair->drops = false;
  } else if (strcmp(what, "reset") == 0) {
    ++pair->resets;
  } else if (strcmp(what, "lose") == 0) {
    ++pair->losses;
  } else {
    fprintf(stderr, "lci_net_lab: no command: %s", line);
  }
}

/// -1: the standard input has ended.
static int commands = STDIN_FILENO;

/// Lines are shorter than what a pipe takes at once.
static void take_commands(void) {
  char bytes[512];
  struct pollfd polled = {.fd = commands, .events = POLLIN};
  if (commands < 0 || poll(&polled, 1, 0) <= 0) {
    return;
  }
  const ssize_t size = read(commands, bytes, sizeof bytes - 1);
  if (size <= 0) {
    commands = -1;
    return;
  }
  bytes[size] = '\0';
  for (char* line = bytes; *line != '\0';) {
    char* const end_of_line = strchr(line, '\n');
    char* const next = end_of_line == NULL ? line + strlen(line) : end_of_line + 1;
    const char kept = *next;
    *next = '\0';
    obey(line);
    *next = kept;
    line = next;
  }
}

/// At most for a tenth of a second: a signal may come just before it.
static void wait_for_work(void) {
  struct pollfd polled[kMostNamespaces + 1];
  for (int i = 0; i < namespaces; ++i) {
    polled[i] = (struct pollfd){.fd = devices[i], .events = POLLIN};
  }
  polled[namespaces] = (struct pollfd){.fd = commands, .events = POLLIN};
  uint64_t left_ns = 100000000u;
  if (queued != 0) {
    const uint64_t now = now_ns(), due = queue[0]->due_ns > now ? queue[0]->due_ns - now : 0;
    left_ns = due < left_ns ? due : left_ns;
  }
  const struct timespec limit = {.tv_nsec = (long)left_ns};
  if (ppoll(polled, (nfds_t)namespaces + 1, &limit, NULL) < 0 && errno != EINTR) {
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
  } else if (strcmp(option, "--reset-ms") == 0) {
    options.reset_ns = (uint64_t)(number_of(option, text, most / 1e6) * 1e6);
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
        printf("%d to %d: %" PRIu64 " packets, %" PRIu64 " lost", from + 1, to + 1, pair->packets, pair->lost);
        if (pair->reset != 0) {
          printf(", %" PRIu64 " reset", pair->reset);
        }
        puts("");
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
    take_commands();
    reset_all_in_time();
    deliver_due();
    take_new();
    deliver_due();
    wait_for_work();
  }
  print_pairs();
  return EXIT_SUCCESS;
}
