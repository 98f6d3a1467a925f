/* SPDX-License-Identifier: Apache-2.0 */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "options.h"
#include "process.h"

/* ---- rank 0's port ------------------------------------------------------------------------------------------------
 */

static bool is_loopback(const struct sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in* four = (const void*)address;
    return ntohl(four->sin_addr.s_addr) >> 24 == 127;
  }
  const struct sockaddr_in6* six = (const void*)address;
  return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/** "ADDRESS:PORT" of a bound socket; the port is what the system chose. */
static bool name_of(int fd, char* out, size_t size) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getsockname(fd, (struct sockaddr*)&address, &length) != 0 ||
      getnameinfo((struct sockaddr*)&address, length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return report("cannot find out the address of rank 0");
  }
  const char* form = address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s";
  snprintf(out, size, form, host, port);
  return true;
}

/** Takes a port without listening: others are not given it, and rank 0, which asks for the same right, is. */
static int bind_port(const struct addrinfo* address) {
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd, address->ai_addr, address->ai_addrlen) == 0) {
    return fd;
  }
  int error = errno;
  if (fd >= 0) {
    close(fd);
  }
  errno = error;
  return -1;
}

static bool hold_port(struct order* order, const char* root, bool reached_by_others) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  int error = getaddrinfo(root, NULL, &hints, &found);
  if (error != 0) {
    return report("no address for '%s', by which other hosts reach rank 0: %s; give one by --root", root,
                  gai_strerror(error));
  }
  bool near = false;
  errno = 0;
  for (const struct addrinfo* each = found; each != NULL && order->held_port < 0; each = each->ai_next) {
    near = near || is_loopback(each->ai_addr);
    if (!reached_by_others || !is_loopback(each->ai_addr)) {
      order->held_port = bind_port(each);
    }
  }
  freeaddrinfo(found);
  if (order->held_port >= 0) {
    return true;
  }
  if (errno == 0 && near) {
    return report("'%s' is an address that other hosts do not reach; give one that they do by --root", root);
  }
  return report("cannot take a port of '%s' for rank 0: %s; give an address of this host by --root", root,
                strerror(errno));
}

/** The answer goes out at once: nothing else is to be written yet. */
static bool answer_port(int fd) {
  char name[NI_MAXHOST + NI_MAXSERV + 4];
  struct output out;
  output_open(&out, STDOUT_FILENO);
  bool done = name_of(fd, name, sizeof name);
  if (done) {
    frame_put_text(&out, FRAME_PORT, 0, name);
    done = write_all(out.fd, out.data + out.begin, out.end - out.begin);
  }
  output_close(&out);
  return done;
}

/* ---- the order ----------------------------------------------------------------------------------------------------
 */

static void replace(char** text, const struct frame* frame) {
  free(*text);
  *text = frame_text(frame);
}

static void add_word(struct order* order, const struct frame* frame) {
  order->command = grow(order->command, ((size_t)order->words + 2) * sizeof *order->command);
  order->command[order->words++] = frame_text(frame);
  order->command[order->words] = NULL;
}

static void set_variable(const struct frame* frame) {
  char* text = frame_text(frame);
  char* equals = strchr(text, '=');
  if (equals != NULL) {
    *equals = '\0';
    setenv(text, equals + 1, 1);
  }
  free(text);
}

static bool prepare_root(struct order* order, const struct frame* frame) {
  char* root = frame_text(frame);
  bool done = hold_port(order, root, frame->number == 1) && answer_port(order->held_port);
  free(root);
  return done;
}

static void take_secret(struct order* order, const struct frame* frame) {
  order->has_secret = frame->size == SECRET_BYTES;
  if (order->has_secret) {
    memcpy(order->secret, frame->data, SECRET_BYTES);
  }
}

static void take_name(struct order* order, const struct frame* frame) {
  char* host = frame_text(frame);
  snprintf(order->name, sizeof order->name, "lci-run on %s", host);
  free(host);
  report_name = order->name;
}

/** False: there is nothing more to wait for. */
static bool take_order(struct order* order, const struct frame* frame) {
  switch (frame->kind) {
    case FRAME_SECRET:
      take_secret(order, frame);
      return true;
    case FRAME_NAME:
      take_name(order, frame);
      return true;
    case FRAME_FIRST:
      order->first = (int)frame->number;
      return true;
    case FRAME_COUNT:
      order->count = (int)frame->number;
      return true;
    case FRAME_SIZE:
      order->size = (int)frame->number;
      return true;
    case FRAME_BASE:
      replace(&order->base, frame);
      return true;
    case FRAME_DIRECTORY:
      replace(&order->directory, frame);
      return true;
    case FRAME_ENVIRONMENT:
      set_variable(frame);
      return true;
    case FRAME_ARGUMENT:
      add_word(order, frame);
      return true;
    case FRAME_ROOT:
      return prepare_root(order, frame);
    case FRAME_GO:
      replace(&order->root, frame);
      return false;
    default: /* A signal: the job ends before it has begun. */
      return false;
  }
}

static bool no_order(void) {
  return report("what came on standard input is no order: the launcher starts agents, nobody else does");
}

static bool is_complete(const struct order* order) {
  bool numbers = order->first >= 0 && order->count > 0 && order->size <= MAX_RANKS && order->first < order->size &&
                 order->count <= order->size - order->first;
  return (order->has_secret && numbers && order->words > 0 && order->command[0][0] != '\0') || no_order();
}

bool order_receive(struct order* order) {
  *order = (struct order){.held_port = -1, .in = {.fd = STDIN_FILENO}};
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  struct pollfd poll_one = {.fd = STDIN_FILENO, .events = POLLIN};
  struct frame frame;
  bool more = true;
  while (more) {
    if (!inlet_next(&order->in, &frame)) {
      if (order->in.ended || order->in.damaged) {
        break;
      }
      if (poll(&poll_one, 1, -1) > 0) {
        inlet_read(&order->in);
      }
      continue;
    }
    more = take_order(order, &frame);
  }
  if (order->in.damaged) {
    return no_order();
  }
  if (order->root == NULL || !is_complete(order)) {
    return false;
  }
  return order->directory == NULL || chdir(order->directory) == 0 ||
         report("cannot enter %s, where the ranks are to run: %s", order->directory, strerror(errno));
}

void order_free(struct order* order) {
  explicit_bzero(order->secret, sizeof order->secret);
  inlet_close(&order->in);
  for (int i = 0; i < order->words; i++) {
    free(order->command[i]);
  }
  free(order->command);
  free(order->base);
  free(order->directory);
  free(order->root);
  if (order->held_port >= 0) {
    close(order->held_port);
  }
}
