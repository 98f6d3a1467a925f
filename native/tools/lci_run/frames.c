/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

enum { INLET_CHUNK_BYTES = 64 * 1024 };

static void put_number(char* to, uint32_t value) {
  for (int i = 0; i < 4; i++) {
    to[i] = (char)(value >> 8 * i & 0xff);
  }
}

static uint32_t get_number(const char* from) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    value |= (uint32_t)(unsigned char)from[i] << 8 * i;
  }
  return value;
}

void frame_put(struct output* output, char kind, uint32_t number, const void* data, size_t size) {
  char header[FRAME_HEADER_BYTES] = {kind};
  put_number(header + 1, number);
  put_number(header + 5, (uint32_t)size);
  output_append(output, header, sizeof header);
  output_append(output, data, size);
}

void frame_put_text(struct output* output, char kind, uint32_t number, const char* text) {
  frame_put(output, kind, number, text, strlen(text));
}

void inlet_read(struct inlet* inlet) {
  if (inlet->begin > 0) {
    memmove(inlet->data, inlet->data + inlet->begin, inlet->end - inlet->begin);
    inlet->end -= inlet->begin;
    inlet->begin = 0;
  }
  if (inlet->capacity - inlet->end < INLET_CHUNK_BYTES) {
    inlet->capacity = 2 * inlet->end + INLET_CHUNK_BYTES;
    inlet->data = grow(inlet->data, inlet->capacity);
  }
  ssize_t got = read(inlet->fd, inlet->data + inlet->end, INLET_CHUNK_BYTES);
  if (got > 0) {
    inlet->end += (size_t)got;
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    inlet->ended = true;
  }
}

bool inlet_next(struct inlet* inlet, struct frame* out) {
  size_t there = inlet->end - inlet->begin;
  if (inlet->damaged || there < FRAME_HEADER_BYTES) {
    return false;
  }
  const char* at = inlet->data + inlet->begin;
  size_t size = get_number(at + 5);
  if (size > MAX_FRAME_BYTES) {
    inlet->damaged = true;
    return false;
  }
  if (there - FRAME_HEADER_BYTES < size) {
    return false;
  }
  *out = (struct frame){.kind = at[0], .number = get_number(at + 1), .data = at + FRAME_HEADER_BYTES, .size = size};
  inlet->begin += FRAME_HEADER_BYTES + size;
  return true;
}

void inlet_close(struct inlet* inlet) {
  free(inlet->data);
  inlet->data = NULL;
  inlet->begin = inlet->end = inlet->capacity = 0;
}

char* frame_text(const struct frame* frame) {
  char* text = grow(NULL, frame->size + 1);
  memcpy(text, frame->data, frame->size);
  text[frame->size] = '\0';
  return text;
}
