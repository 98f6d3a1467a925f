/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

enum {
  CHUNK_BYTES = 64 * 1024,
  MAX_WAITING_BYTES = 1024 * 1024,
  MAX_LINE_BYTES = 1024 * 1024, /**< A longer line is passed on in pieces. */
  FILE_WRITE_BYTES = 1024 * 1024
};

void output_open(struct output* output, int fd) {
  *output = (struct output){.fd = fd, .terminal = isatty(fd) == 1};
}

void output_close(struct output* output) {
  free(output->data);
  output->data = NULL;
}

bool output_has_room(const struct output* output) {
  return output->end - output->begin < MAX_WAITING_BYTES;
}

void output_append(struct output* output, const char* data, size_t size) {
  if (output->broken || size == 0) {
    return;
  }
  if (output->end + size > output->capacity && output->begin > 0) {
    memmove(output->data, output->data + output->begin, output->end - output->begin);
    output->end -= output->begin;
    output->begin = 0;
  }
  if (output->end + size > output->capacity) {
    output->capacity = 2 * (output->end + size);
    output->data = grow(output->data, output->capacity);
  }
  memcpy(output->data + output->end, data, size);
  output->end += size;
}

void output_write(struct output* output) {
  struct stat status;
  bool is_file = fstat(output->fd, &status) == 0 && S_ISREG(status.st_mode);
  /* A writable pipe takes PIPE_BUF bytes without blocking. O_NONBLOCK would change the file for others who share it. */
  size_t most = is_file ? FILE_WRITE_BYTES : PIPE_BUF;
  size_t waiting = output->end - output->begin;
  ssize_t written = write(output->fd, output->data + output->begin, waiting < most ? waiting : most);
  if (written >= 0) {
    output->begin += (size_t)written;
  } else if (errno != EINTR && errno != EAGAIN) {
    if (errno != EPIPE) {
      report("cannot write output: %s", strerror(errno));
    }
    output->broken = true;
    output->begin = output->end = 0;
  }
}

static void begin_line(struct stream* stream) {
  struct output* output = stream->output;
  if (output->open_line != NULL && output->open_line != stream) {
    output_append(output, "\n", 1); /* Two lines are never mixed, even if one of them is too long to be kept whole. */
    output->open_line = NULL;
  }
  if (output->progress && output->terminal) {
    output_append(output, "\033[K", 3);
  }
  output->progress = false;
  if (output->open_line != stream) {
    char prefix[32];
    int length = snprintf(prefix, sizeof prefix, "[%d] ", stream->rank);
    output_append(output, prefix, (size_t)length);
  }
}

/** Passes on a line end and what precedes it. */
static void end_line(struct stream* stream, const char* text, size_t size) {
  begin_line(stream);
  output_append(stream->output, stream->line, stream->length);
  output_append(stream->output, text, size);
  stream->output->progress = text[size - 1] == '\r';
  stream->output->open_line = NULL;
  stream->length = 0;
}

static void keep(struct stream* stream, const char* text, size_t size) {
  if (stream->length + size > MAX_LINE_BYTES) {
    begin_line(stream);
    output_append(stream->output, stream->line, stream->length);
    stream->output->open_line = stream;
    stream->length = 0;
  }
  if (stream->length + size > stream->capacity) {
    stream->capacity = 2 * (stream->length + size);
    stream->line = grow(stream->line, stream->capacity);
  }
  memcpy(stream->line + stream->length, text, size);
  stream->length += size;
}

/** Bytes up to and with the first line end ("\n", "\r\n" or "\r"); 0 if there is none. */
static size_t line_length(const char* text, size_t size) {
  const char* newline = memchr(text, '\n', size);
  size_t until = newline != NULL ? (size_t)(newline - text) : size;
  const char* carriage = memchr(text, '\r', until);
  if (carriage == NULL) {
    return newline != NULL ? until + 1 : 0;
  }
  size_t length = (size_t)(carriage - text) + 1;
  return length < size && text[length] == '\n' ? length + 1 : length;
}

static void relay(struct stream* stream, const char* text, size_t size) {
  if (stream->after_return && text[0] == '\n') {
    output_append(stream->output, text, 1); /* The second half of "\r\n". */
    stream->output->progress = false;
    text++;
    size--;
  }
  stream->after_return = false;
  while (size > 0) {
    size_t length = line_length(text, size);
    if (length == 0) {
      keep(stream, text, size);
      return;
    }
    end_line(stream, text, length);
    text += length;
    size -= length;
  }
  stream->after_return = text[-1] == '\r';
}

void stream_take(struct stream* stream, const char* data, size_t size) {
  if (size == 0) {
    return;
  }
  if (stream->pass != NULL) {
    stream->pass(stream, data, size);
  } else if (stream->plain) {
    output_append(stream->output, data, size);
  } else {
    relay(stream, data, size);
  }
}

/** Reads one chunk. How much; 0 when there was nothing to read now, or at the end, where it closes the stream. */
static size_t read_chunk(struct stream* stream, size_t most) {
  static char chunk[CHUNK_BYTES];
  if (stream->output->broken) { /* The rank shall see that nobody reads, as it would without a launcher. */
    stream_close(stream);
    return 0;
  }
  ssize_t got = read(stream->fd, chunk, most < sizeof chunk ? most : sizeof chunk);
  if (got > 0) {
    stream_take(stream, chunk, (size_t)got);
    return (size_t)got;
  }
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    stream_close(stream);
  }
  return 0;
}

void stream_read(struct stream* stream) {
  read_chunk(stream, CHUNK_BYTES);
}

void stream_drain(struct stream* stream) {
  int waiting = 0;
  if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &waiting) != 0) {
    waiting = 0;
  }
  for (size_t left = (size_t)waiting, got = left; left > 0 && got > 0; left -= got) {
    got = read_chunk(stream, left);
  }
  stream_close(stream);
}

void stream_close(struct stream* stream) {
  if (stream->fd < 0) {
    return;
  }
  close(stream->fd);
  stream->fd = -1;
  stream_finish(stream);
}

void stream_finish(struct stream* stream) {
  if (stream->length > 0 || stream->output->open_line == stream) {
    end_line(stream, "\n", 1);
  }
  free(stream->line);
  stream->line = NULL;
}
