/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI from C: two ranks, a thread each, over liblci.so. An active message there, a matched message back, queues
 * at both ends; errors are codes with a text; sizes are those that the library says. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lci/lci.h"

enum { RANKS = 2, PORT = 5, TAG = 77, ROUNDS = 1000, LARGE = 100000, DEADLINE_S = 60 };

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, lci_last_error()); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

struct rank {
  lci_inproc* job;
  uint32_t number;
  pthread_t thread;
};

/* What one rank works with. */
struct node {
  lci_runtime* runtime;
  lci_device* device;
  lci_comp* inbox;
  lci_comp* ended;
};

static int is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}

static void progress(struct node* self) {
  static _Thread_local time_t start;
  int code = lci_progress(self->device);
  CHECK(code == LCI_DONE || is_retry(code));
  if (start == 0) start = time(NULL);
  CHECK(time(NULL) - start < DEADLINE_S);
}

static void pop(struct node* self, lci_comp* queue, lci_status* status) {
  while (lci_queue_pop(queue, status) != LCI_DONE) progress(self);
  CHECK(status->code == LCI_DONE);
}

static void sizes_are_those_of_the_library(void) {
  uint64_t layout[LCI_LAYOUT_COUNT];
  CHECK(lci_layout(layout, LCI_LAYOUT_COUNT) == LCI_LAYOUT_COUNT);
  CHECK(layout[LCI_LAYOUT_ABI] == LCI_ABI_VERSION);
  CHECK(layout[LCI_LAYOUT_DESCRIPTOR_SIZE] == sizeof(lci_descriptor));
  CHECK(layout[LCI_LAYOUT_RECORD_SIZE] == sizeof(lci_record));
  CHECK(layout[LCI_LAYOUT_DESCRIPTOR_TAG] == offsetof(lci_descriptor, tag));
  CHECK(layout[LCI_LAYOUT_DESCRIPTOR_PAYLOAD] == offsetof(lci_descriptor, u));
  CHECK(layout[LCI_LAYOUT_RECORD_CONTEXT] == offsetof(lci_record, context));
}

static void errors_are_codes_with_a_text(struct node* self) {
  uint64_t value = 0;
  CHECK(lci_post_am(self->device, RANKS, PORT, 0, &value, sizeof value, NULL, 0) == LCI_ERR_RANK);
  CHECK(strstr(lci_last_error(), "rank 2") != NULL);
  CHECK(lci_post_am(NULL, 0, PORT, 0, &value, sizeof value, NULL, 0) == LCI_ERR_ARGUMENT);
  CHECK(lci_post_send(self->device, 0, LCI_MAX_TAG + 1, &value, sizeof value, NULL, 0) == LCI_ERR_TAG);
  CHECK(lci_runtime_device(self->runtime, 99, &self->device) != LCI_DONE);
  CHECK(strcmp(lci_code_name(LCI_ERR_TAG), "error_tag") == 0);
  CHECK(strcmp(lci_code_name(12345), "unknown") == 0);
}

/* Rank 0 sends a number, rank 1 sends its double back, matched by tag. */
static void active_message_and_matched_answer(struct node* self, uint32_t rank) {
  lci_status status;
  for (uint64_t i = 0; i < ROUNDS; ++i) {
    uint64_t number = i, doubled = 0;
    int code;
    if (rank == 0) {
      code = lci_post_recv(self->device, 1, TAG, &doubled, sizeof doubled, self->ended, i, &status);
      CHECK(code == LCI_POSTED || code == LCI_DONE);
      int sent;
      while (is_retry(sent = lci_post_am(self->device, 1, PORT, i, &number, sizeof number, NULL, 0))) progress(self);
      CHECK(sent == LCI_DONE);
      if (code == LCI_POSTED) pop(self, self->ended, &status);
      CHECK(status.rank == 1 && status.tag == TAG && status.size == sizeof doubled && status.user_context == i);
      CHECK(doubled == 2 * i);
    } else {
      pop(self, self->inbox, &status);
      CHECK(status.rank == 0 && status.port == PORT && status.tag == i && status.size == sizeof number);
      memcpy(&number, status.buffer, sizeof number);
      lci_buffer_free(status.buffer);
      number *= 2;
      while (is_retry(code = lci_post_send(self->device, 0, TAG, &number, sizeof number, NULL, 0))) progress(self);
      CHECK(code == LCI_DONE);
    }
  }
}

/* A large message to each other: posted, and signalled in a queue. */
static void large_messages_cross(struct node* self, uint32_t rank) {
  unsigned char* out = malloc(LARGE);
  unsigned char* in = calloc(1, LARGE);
  lci_status status;
  CHECK(out && in);
  memset(out, (int)rank + 1, LARGE);
  CHECK(lci_post_recv(self->device, 1 - rank, TAG, in, LARGE, self->ended, 1, &status) == LCI_POSTED);
  int code;
  while (is_retry(code = lci_post_send(self->device, 1 - rank, TAG, out, LARGE, self->ended, 2))) progress(self);
  CHECK(code == LCI_POSTED);
  uint64_t contexts = 0;
  for (int i = 0; i < 2; ++i) {
    pop(self, self->ended, &status);
    contexts += status.user_context;
  }
  CHECK(contexts == 3 && lci_queue_length(self->ended) == 0);
  CHECK(in[0] == 2 - rank && memcmp(in, in + 1, LARGE - 1) == 0);
  free(out);
  free(in);
}

static void barrier(struct node* self) {
  lci_descriptor op;
  lci_status status;
  memset(&op, 0, sizeof op);
  op.op = LCI_OP_BARRIER;
  CHECK(lci_post(self->device, &op, self->ended, NULL) == LCI_POSTED);
  pop(self, self->ended, &status);
}

static void* run(void* argument) {
  const struct rank* rank = argument;
  struct node self;
  lci_attrs* attrs;
  CHECK(lci_attrs_create(&attrs) == LCI_DONE);
  CHECK(lci_attrs_set(attrs, "packets", "32") == LCI_DONE);
  CHECK(lci_attrs_set(attrs, "no_such_attribute", "1") == LCI_ERR_ATTRIBUTE);
  CHECK(lci_runtime_create(attrs, rank->job, rank->number, &self.runtime) == LCI_DONE);
  lci_attrs_free(attrs);
  CHECK(lci_runtime_rank(self.runtime) == rank->number && lci_runtime_size(self.runtime) == RANKS);
  CHECK(lci_runtime_device(self.runtime, 0, &self.device) == LCI_DONE);
  CHECK(lci_queue_create(self.runtime, 64, &self.inbox) == LCI_DONE);
  CHECK(lci_queue_create(self.runtime, 64, &self.ended) == LCI_DONE);
  CHECK(lci_port_open(self.runtime, PORT, "numbers", self.inbox, 16, 1 << 16) == LCI_DONE);
  active_message_and_matched_answer(&self, rank->number);
  large_messages_cross(&self, rank->number);
  barrier(&self);
  {
    struct node spare = self;
    errors_are_codes_with_a_text(&spare);
  }
  CHECK(lci_port_close(self.runtime, PORT) == LCI_DONE);
  CHECK(lci_runtime_close(self.runtime, 10000) == LCI_DONE);
  return NULL;
}

/* Proves: U1 */
int main(void) {
  lci_inproc* job;
  struct rank ranks[RANKS];
  sizes_are_those_of_the_library();
  CHECK(lci_inproc_create(RANKS, &job) == LCI_DONE);
  for (uint32_t i = 0; i < RANKS; ++i) {
    ranks[i].job = job;
    ranks[i].number = i;
    CHECK(pthread_create(&ranks[i].thread, NULL, run, &ranks[i]) == 0);
  }
  for (uint32_t i = 0; i < RANKS; ++i) CHECK(pthread_join(ranks[i].thread, NULL) == 0);
  lci_inproc_free(job);
  puts("ok");
  return 0;
}
