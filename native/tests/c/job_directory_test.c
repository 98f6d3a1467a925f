/* SPDX-License-Identifier: Apache-2.0 */
/* A launcher that makes the directory of its job while another one sweeps: whatever the sweeper finds at that moment it
 * may hold locked for a while, and it removes nothing. */
#define _GNU_SOURCE
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

static int flock_among_sweepers(int fd, int operation);

/* The launcher's own sources, as its program includes them. */
// clang-format off
#include "../../tools/lci_run/process.c"
#define flock(fd, operation) flock_among_sweepers(fd, operation)
#include "../../tools/lci_run/job_directory.c"
#undef flock
// clang-format on

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (0)

static char base[] = "/tmp/lci-job-directory.XXXXXX";
static int creating = 0; /* The launcher's own locks, not those of who sweeps in between. */
static int locks = 0;

/* Before the launcher gets its lock, another one sweeps, and a third one has come as far as to look who is alive. */
static int flock_among_sweepers(int fd, int operation) {
  if (!creating) {
    return flock(fd, operation);
  }
  locks++;
  creating = 0;
  sweep(base);
  creating = 1;
  char pattern[sizeof base + 16];
  snprintf(pattern, sizeof pattern, "%s/.new-*/owner", base);
  glob_t found;
  int held = glob(pattern, 0, NULL, &found) == 0 ? open(found.gl_pathv[0], O_RDWR | O_CLOEXEC) : -1;
  CHECK(held < 0 || flock(held, LOCK_EX | LOCK_NB) == 0);
  globfree(&found);
  /* It would not wait for ever, but we would. */
  int result = flock(fd, operation | LOCK_NB);
  if (held >= 0) {
    close(held);
  }
  return result;
}

int main(void) {
  CHECK(mkdtemp(base) != NULL);
  struct job_directory job;
  creating = 1;
  bool created = job_directory_create(&job, base, NULL);
  creating = 0;
  CHECK(created && locks == 1);
  char owner[sizeof job.path + 16];
  snprintf(owner, sizeof owner, "%s/owner", job.path);
  int fd = open(owner, O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0); /* The job's own, as long as it lives. */
  close(fd);
  sweep(base);
  CHECK(access(owner, F_OK) == 0);
  job_directory_remove(&job);
  CHECK(rmdir(base) == 0); /* Nothing else is left. */
  return 0;
}
