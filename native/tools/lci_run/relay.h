/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file relay.h
 * Passes on what the ranks print, line by line, each line with the rank in front. Bytes are never looked at, but for
 * the two line ends: '\n', and '\r', which a progress line ends with.
 *
 * Data flows from a stream (the read end of a rank's pipe) through the output's buffer to standard output or error. No
 * call blocks: the caller polls, and stops reading streams while their output has too much waiting.
 */
#ifndef LCI_TOOLS_LCI_RUN_RELAY_H_
#define LCI_TOOLS_LCI_RUN_RELAY_H_

#include <stdbool.h>
#include <stddef.h>

/** Where lines go. */
struct output {
  int fd;
  char* data; /**< What waits to be written: [begin, end). */
  size_t begin, end, capacity;
  struct stream* open_line; /**< The stream whose unfinished line was written in pieces; else null. */
  bool terminal;
  bool progress; /**< The last line ended with '\r': the next one has to wipe it from the terminal. */
  bool broken;   /**< Nobody reads it any more. */
};

/** Where lines come from. */
struct stream {
  int fd; /**< Non-blocking read end; -1 when it has ended. */
  int rank;
  struct output* output;
  char* line; /**< The unfinished line. */
  size_t length, capacity;
  bool after_return; /**< The last chunk ended with '\r': a '\n' that follows belongs to it. */
  bool plain;        /**< Lines are passed on without the rank. */
  /** Where chunks go instead; null: line by line to the output. */
  void (*pass)(struct stream* stream, const char* data, size_t size);
  bool error; /**< It is standard error. */
};

void output_open(struct output* output, int fd);
/** Drops what waits; the descriptor stays open. */
void output_close(struct output* output);
static inline bool output_waits(const struct output* output) {
  return output->begin < output->end;
}
/** True while the output has room: reading one chunk more is fine. */
bool output_has_room(const struct output* output);
/** Writes what the file takes at once. Call when poll says that it is writable. */
void output_write(struct output* output);
/** Puts bytes behind what waits. */
void output_append(struct output* output, const char* data, size_t size);
/** Passes on what a stream had, whatever way it came. */
void stream_take(struct stream* stream, const char* data, size_t size);
/** Reads one chunk, if there is one; closes the stream at its end. */
void stream_read(struct stream* stream);
/**
 * Reads what is there now, and ends the stream. No more than that: a process that escaped from its rank's group may
 * hold the other end open, and write faster than lines are passed on.
 */
void stream_drain(struct stream* stream);
/** Ends the stream: an unfinished line is passed on with a line end. */
void stream_close(struct stream* stream);
/** The same, for one without a descriptor. */
void stream_finish(struct stream* stream);

#endif
