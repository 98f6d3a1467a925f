/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fleet.h
 * The launcher's agents on other hosts: processes that it starts (ssh, say), each of which runs lci_run --agent there.
 *
 * An agent has ranks of its own, a guardian and a job directory, and ends with the ranks. It kills them when its
 * standard input ends, as it does when the launcher is killed.
 */
#ifndef LCI_TOOLS_LCI_RUN_FLEET_H_
#define LCI_TOOLS_LCI_RUN_FLEET_H_

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "frames.h"
#include "options.h"
#include "ranks.h"

struct agent {
  const char* host;
  int first, count; /**< Its ranks. */
  pid_t pid;        /**< 0 once it was reaped. */
  struct inlet from;
  struct output to;
  int unfinished; /**< Ranks of which it has not said that they have ended. */
  bool failed;    /**< It said that a rank cannot be started. */
};

/** What the job hears. */
struct fleet_events {
  void* job;
  void (*output)(void* job, int rank, bool error, const char* data, size_t size);
  void (*rank_ended)(void* job, int rank, const struct rank_end* end);
  void (*cannot_start)(void* job, int code);
  void (*input_wanted)(void* job);
  /** An agent has gone before its ranks had ended; a message was printed. */
  void (*lost)(void* job, int ranks, int code);
};

struct fleet {
  struct agent* agents;
  int count;
  bool ends; /**< It was told to end: that agents go is no news any more. */
  const struct guardian* guardian;
  struct fleet_events events;
};

/** Starts the agents and tells them what to do; their ranks start once all of that has arrived. False after a message.
 */
bool fleet_start(struct fleet* fleet, const struct options* options, const struct launch* launch,
                 const struct fleet_events* events);
/** Polls two descriptors for each agent. @p reads: whether there is room for what ranks print. */
void fleet_watch(const struct fleet* fleet, bool reads, struct pollfd* polls);
void fleet_serve(struct fleet* fleet, const struct pollfd* polls);
/** Looks which agents have ended. */
void fleet_reap(struct fleet* fleet);
void fleet_signal(struct fleet* fleet, int signal_number);
/** For rank 0; no more before events.input_wanted. */
void fleet_input(struct fleet* fleet, const char* data, size_t size);
void fleet_deaf(struct fleet* fleet, bool error);
/** Sends what waits to be sent, unless that takes long: before the launcher is stopped. */
void fleet_flush(struct fleet* fleet);
bool fleet_is_over(const struct fleet* fleet);
/** Ends agents that do not end by themselves. */
void fleet_kill(struct fleet* fleet);
void fleet_free(struct fleet* fleet);

#endif
