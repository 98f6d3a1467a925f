/* SPDX-License-Identifier: Apache-2.0 */
/* Listens to what goes over the network device "lab0" of this namespace, and appends what TCP carries, of all
 * connections, to a file, until SIGTERM. Of the first rank that calls another one at this host it prints
 *   greeting ADDRESS PORT HELLO PROOF
 * with where it called, and what it said to prove itself, in hexadecimal.
 *   net_eavesdropper FILE */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kHello = 80, kProof = 32, kMostBytes = 1 << 16, kRoom = 64 << 20, kMostWaiting = 100000 };

/* How each greeting of a rank begins. */
static const unsigned char kMagic[8] = {0x4c, 0x00, 0x43, 0x49, 0x54, 0x43, 0x50, 0x31};

static volatile sig_atomic_t ended;
static void end(int signal) {
  (void)signal;
  ended = 1;
}

static void check(bool right, const char* what) {
  if (right) return;
  perror(what);
  exit(1);
}

static int listen_to(const char* device) {
  const int socket_ = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
  check(socket_ >= 0, "packet socket");
  const int room = kRoom;
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  const struct timeval patience = {0, 50000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const struct sockaddr_ll address = {
      .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device)};
  check(bind(socket_, (const struct sockaddr*)&address, sizeof address) == 0, device);
  return socket_;
}

static void print_hex(const unsigned char* bytes, size_t size) {
  putchar(' ');
  for (size_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
}

static struct {
  bool is_there, is_proved;
  uint32_t from, to; /* addresses and ports as they travel */
  uint16_t from_port, to_port;
  unsigned char hello[kHello];
} greeting;

static void look_for_greeting(const struct iphdr* ip, const struct tcphdr* tcp, const unsigned char* bytes, size_t size,
                              bool outgoing) {
  if (outgoing || greeting.is_proved) return;
  /* The last one: an earlier caller may have been called itself, and given up. */
  if (size == kHello && memcmp(bytes, kMagic, sizeof kMagic) == 0) {
    greeting.is_there = true;
    greeting.from = ip->saddr;
    greeting.to = ip->daddr;
    greeting.from_port = tcp->source;
    greeting.to_port = tcp->dest;
    memcpy(greeting.hello, bytes, size);
    return;
  }
  const bool same = greeting.is_there && ip->saddr == greeting.from && ip->daddr == greeting.to &&
                    tcp->source == greeting.from_port && tcp->dest == greeting.to_port;
  if (!same || size != kProof) return;
  greeting.is_proved = true;
  char address[INET_ADDRSTRLEN];
  printf("greeting %s %u", inet_ntop(AF_INET, &greeting.to, address, sizeof address), ntohs(greeting.to_port));
  print_hex(greeting.hello, kHello);
  print_hex(bytes, kProof);
  putchar('\n');
  fflush(stdout);
}

int main(int argc, char** argv) {
  check(argc == 2, "net_eavesdropper FILE");
  const struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  const int socket_ = listen_to("lab0");
  FILE* const file = fopen(argv[1], "wb");
  check(file != NULL, argv[1]);
  printf("listens\n");
  fflush(stdout);
  static unsigned char bytes[kMostBytes];
  /* What waits when it is to end is written, too; what comes meanwhile may go on for ever. */
  int left = kMostWaiting;
  for (bool more = true; !ended || (more && --left > 0);) {
    struct sockaddr_ll from;
    socklen_t length = sizeof from;
    const ssize_t came =
        recvfrom(socket_, bytes, sizeof bytes, ended ? MSG_DONTWAIT : 0, (struct sockaddr*)&from, &length);
    more = came > 0;
    const struct iphdr* const ip = (const struct iphdr*)bytes;
    if (came < (ssize_t)sizeof *ip || ip->version != 4 || ip->protocol != IPPROTO_TCP) continue;
    const size_t head = (size_t)ip->ihl * 4, all = ntohs(ip->tot_len);
    const struct tcphdr* const tcp = (const struct tcphdr*)(bytes + head);
    if (all > (size_t)came || all < head + sizeof *tcp || all < head + (size_t)tcp->doff * 4) continue;
    const unsigned char* const payload = bytes + head + (size_t)tcp->doff * 4;
    const size_t size = all - head - (size_t)tcp->doff * 4;
    fwrite(payload, 1, size, file);
    look_for_greeting(ip, tcp, payload, size, from.sll_pkttype == PACKET_OUTGOING);
  }
  check(fclose(file) == 0, argv[1]);
  return 0;
}
