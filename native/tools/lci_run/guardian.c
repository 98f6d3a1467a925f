/* SPDX-License-Identifier: Apache-2.0 */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

/** What goes through the pipe, in one atomic write. */
struct entry {
  int64_t pid;
  uint64_t start; /**< 0: forget this pid. */
};

static void forget(struct entry* entries, int* count, int64_t pid) {
  for (int i = 0; i < *count; i++) {
    if (entries[i].pid == pid) {
      entries[i] = entries[--*count];
      return;
    }
  }
}

static bool is_ours(const struct entry* entry) {
  uint64_t start = process_start_time((pid_t)entry->pid);
  /* No such process: its group may live on, and its number is not given away before the group is empty. */
  return start == 0 || start == entry->start;
}

static void detach(void) {
  setsid(); /* Neither Ctrl-C nor a kill of the launcher's process group reaches the guardian. */
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_NAME, "lci-guardian");
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) { /* Else it keeps the launcher's files open for the moment that it lives longer. */
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
}

static void guard(int pipe, const struct job_directory* job, struct entry* entries, int capacity) {
  detach();
  int count = 0;
  struct entry entry;
  for (;;) {
    ssize_t got = read(pipe, &entry, sizeof entry);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got != (ssize_t)sizeof entry) {
      break; /* The launcher is gone. */
    }
    if (entry.start == 0) {
      forget(entries, &count, entry.pid);
    } else if (count < capacity) {
      entries[count++] = entry;
    }
  }
  for (int i = 0; i < count; i++) {
    if (is_ours(&entries[i])) {
      kill(-(pid_t)entries[i].pid, SIGKILL);
    }
  }
  job_directory_remove(job);
}

bool guardian_start(struct guardian* guardian, const struct job_directory* job, int ranks) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return report("cannot create a pipe: %s", strerror(errno));
  }
  struct entry* entries = grow(NULL, (size_t)ranks * sizeof *entries);
  guardian->pid = fork();
  if (guardian->pid == 0) {
    close(ends[1]);
    guard(ends[0], job, entries, ranks);
    _exit(0);
  }
  int error = errno;
  close(ends[0]);
  guardian->pipe = ends[1];
  free(entries);
  return guardian->pid > 0 || report("cannot start a process: %s", strerror(error));
}

void guardian_register(const struct guardian* guardian) {
  struct entry entry = {getpid(), process_start_time(getpid())};
  write_all(guardian->pipe, &entry, sizeof entry);
}

void guardian_forget(const struct guardian* guardian, pid_t rank) {
  struct entry entry = {rank, 0};
  write_all(guardian->pipe, &entry, sizeof entry);
}

void guardian_end(struct guardian* guardian) {
  close(guardian->pipe);
  while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR) {
  }
}
