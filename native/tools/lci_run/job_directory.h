/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job_directory.h
 * The directory by which the ranks of one job find each other (bootstrap "file").
 *
 *     BASE/job-<16 hex digits>/   0700
 *       owner                     pid and start time of the launcher; locked (flock) from when it has this name, as
 *                                 long as the job lives
 *       secret                    32 random bytes, 0600: strangers stay out
 *       job                       the 16 hex digits
 *       dead                      number of the first rank that failed, once there is one
 *
 * The ranks put what they like beside these. The launcher removes everything at the end; its guardian does so when the
 * launcher was killed; the next launcher sweeps what is left when both were.
 */
#ifndef LCI_TOOLS_LCI_RUN_JOB_DIRECTORY_H_
#define LCI_TOOLS_LCI_RUN_JOB_DIRECTORY_H_

#include <limits.h>
#include <stdbool.h>

enum { SECRET_BYTES = 32 };

struct job_directory {
  char path[PATH_MAX];
  int owner_fd; /**< Keeps the lock on `owner`. Inherited by the guardian, closed in the ranks. */
};

/**
 * Sweeps the base directory, then creates a job directory in it.
 * @param base null: $XDG_RUNTIME_DIR/lci if that is ours, else /tmp/lci-UID. Created if missing; it must be a real
 *        directory (no link), ours, and not writable by others.
 * @param secret of the job; null: a fresh one.
 * @return false after a message.
 */
bool job_directory_create(struct job_directory* job, const char* base, const unsigned char* secret);

/** Whether a rank has opened a runtime: the first one that it opens leaves its claim in the first generation. */
bool job_directory_has_joined(const struct job_directory* job, int rank);

/** Tells ranks that still join that one of them has failed: they wait for it in vain, and may have no sign of it. */
void job_directory_tell_death(const struct job_directory* job, int rank);

/** Removes the directory and all in it. Quiet when it is gone already. */
void job_directory_remove(const struct job_directory* job);

#endif
