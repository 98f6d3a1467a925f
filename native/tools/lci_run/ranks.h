/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks.h Starts, signals and reaps the processes of a job, each the leader of a process group of its own. */
#ifndef LCI_TOOLS_LCI_RUN_RANKS_H_
#define LCI_TOOLS_LCI_RUN_RANKS_H_

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "guardian.h"
#include "job_directory.h"
#include "relay.h"

struct rank {
  pid_t pid; /**< 0 once it was reaped. */
  struct stream out, err;
};

/** What a rank needs to know to start. */
struct launch {
  const struct job_directory* job;
  const struct guardian* guardian;
  char* const* command; /**< Program and arguments, null-terminated. */
  int first;            /**< The rank that is started first here; */
  int size;             /**< of so many in the job. */
  const char* root;     /**< Where rank 0 answers, if ranks run on other hosts as well; else null. */
  int input;            /**< Standard input of rank 0. */
  struct output* out;   /**< Null: ranks inherit standard output and error. */
  struct output* err;
  void (*pass)(struct stream* stream, const char* data, size_t size); /**< Of struct stream. */
  sigset_t mask; /**< Signal mask, limit of files, and so on, as the launcher found them. */
  struct sigaction pipe_action;
  struct rlimit files;
};

/**
 * Starts one rank. Returns when its program runs.
 * @return 0, or the exit code for a program that cannot be run (126, 127) or a system that is out of something (1),
 *         after a message.
 */
int rank_start(struct rank* rank, int number, const struct launch* launch);
/**
 * In a child of the launcher, @p launcher: it leads a process group, in the guardian's care, and dies with the
 * launcher. If that is dead already it ends.
 */
void child_begin(const struct guardian* guardian, pid_t launcher);
/** In a child, before it executes its program: what the launcher has changed for itself. */
void child_restore(const struct launch* launch);
/** Waits until the child that has the other end of a pipe runs its program. 0, or why it cannot. */
int child_exec_error(int pipe);

/** Sends a signal to the rank and all it started. Does nothing once it was reaped. */
void rank_signal(const struct rank* rank, int signal_number);
/**
 * If the rank has ended, kills what it left behind in its process group and reaps it.
 * @param out_code exit code, or 128 + signal.
 * @param out_usage of the rank and the children it waited for.
 * @return true if it was reaped now.
 */
bool rank_reap(struct rank* rank, const struct guardian* guardian, int* out_code, struct rusage* out_usage);

#endif
