/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frames.h
 * What the launcher and its agents on other hosts say to each other, over an agent's standard input and output.
 *
 * A frame is a kind (1 byte), a number (4 bytes), the length of what follows (4 bytes), and that; numbers have their
 * lowest byte first. The agent's standard error is not framed: it has what the agent, and whatever starts it, has to
 * say to people.
 */
#ifndef LCI_TOOLS_LCI_RUN_FRAMES_H_
#define LCI_TOOLS_LCI_RUN_FRAMES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay.h"

enum frame_kind {
  /* To an agent, before the ranks start. */
  FRAME_SECRET = 'K',      /**< The secret of the job. */
  FRAME_NAME = 'N',        /**< What the host is called. */
  FRAME_FIRST = 'F',       /**< Number of its first rank. */
  FRAME_COUNT = 'C',       /**< How many ranks it has. */
  FRAME_SIZE = 'Z',        /**< How many the job has. */
  FRAME_BASE = 'B',        /**< Where the job's directory is made. */
  FRAME_DIRECTORY = 'D',   /**< Where the ranks run. */
  FRAME_ENVIRONMENT = 'V', /**< A variable of theirs: NAME=VALUE. */
  FRAME_ARGUMENT = 'A',    /**< Their program, then each argument. */
  FRAME_ROOT = 'R',        /**< The agent keeps a port of this host for rank 0. Number 1: other hosts reach it. */
  FRAME_GO = 'G',          /**< Where rank 0 answers, ADDRESS:PORT. The ranks start. */
  /* To an agent, while they run. */
  FRAME_SIGNAL = 'S', /**< Its number. */
  FRAME_INPUT = 'I',  /**< For rank 0; empty: the end. The next one comes when this one is taken. */
  FRAME_DEAF = 'Q',   /**< Nobody reads standard output (number 0) or error (1) any more. */
  /* From an agent. */
  FRAME_PORT = 'p',   /**< The answer to FRAME_ROOT: ADDRESS:PORT. */
  FRAME_OUT = 'o',    /**< What a rank, by its number, writes to standard output, */
  FRAME_ERR = 'e',    /**< and to standard error. */
  FRAME_END = 'x',    /**< A rank has ended: struct rank_end. */
  FRAME_FAILED = 'f', /**< A rank could not be started; the number is the exit code of the job. */
  FRAME_TAKEN = 't'   /**< FRAME_INPUT was taken. */
};

enum { FRAME_HEADER_BYTES = 9, MAX_FRAME_BYTES = 16 * 1024 * 1024 };

struct frame {
  char kind;
  uint32_t number;
  const char* data; /**< Until the next call for the inlet. */
  size_t size;
};

/** As text in FRAME_END: exit code, microseconds of processor time, KiB of peak memory. */
struct rank_end {
  int code;
  long long processor_us;
  long peak_kib;
};

/** Where frames come from. */
struct inlet {
  int fd; /**< Non-blocking. */
  char* data;
  size_t begin, end, capacity;
  bool ended;   /**< Nothing more comes. */
  bool damaged; /**< What came is no frame. */
};

/** Puts a frame behind what waits to be written. */
void frame_put(struct output* output, char kind, uint32_t number, const void* data, size_t size);
void frame_put_text(struct output* output, char kind, uint32_t number, const char* text);
/** Reads what is there. */
void inlet_read(struct inlet* inlet);
/** The next frame that is whole; false if there is none. */
bool inlet_next(struct inlet* inlet, struct frame* out);
void inlet_close(struct inlet* inlet);
/** The text of a frame, with a zero behind it, which the caller frees. */
char* frame_text(const struct frame* frame);

#endif
