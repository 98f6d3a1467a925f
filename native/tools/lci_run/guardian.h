/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file guardian.h
 * A tiny process per job that outlives the launcher by a moment.
 *
 * The parent-death signal kills the ranks when the launcher dies, but not what the ranks started, and it is lost when a
 * rank executes a set-user-id program. The guardian holds the read end of a pipe whose write end the launcher has;
 * ranks register themselves through it before they execute their program. When the pipe closes, the guardian kills the
 * process groups that are still registered and removes the job directory.
 */
#ifndef LCI_TOOLS_LCI_RUN_GUARDIAN_H_
#define LCI_TOOLS_LCI_RUN_GUARDIAN_H_

#include <stdbool.h>
#include <sys/types.h>

#include "job_directory.h"

struct guardian {
  pid_t pid;
  int pipe; /**< Write end. Ranks have it between fork and exec only. */
};

/** Starts the guardian of a job with at most @p ranks ranks. Call before any rank is forked. False after a message. */
bool guardian_start(struct guardian* guardian, const struct job_directory* job, int ranks);
/** Called by a rank before it executes its program: its process group is in the guardian's care from now on. */
void guardian_register(const struct guardian* guardian);
/** Called by the launcher before it reaps a rank: the pid may mean another process from then on. */
void guardian_forget(const struct guardian* guardian, pid_t rank);
/** Lets the guardian go, and waits for it. */
void guardian_end(struct guardian* guardian);

#endif
