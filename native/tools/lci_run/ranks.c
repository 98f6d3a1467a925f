/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

enum { PROGRAM_NOT_RUNNABLE = 126, PROGRAM_NOT_FOUND = 127 };

/** Pipe ends of one rank: its two outputs, and one that tells whether exec failed. */
struct pipes {
  int out[2], err[2], exec[2];
};

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++) {
    if (pair[i] >= 0) {
      close(pair[i]);
      pair[i] = -1;
    }
  }
}

static void close_pipes(struct pipes* pipes) {
  close_pair(pipes->out);
  close_pair(pipes->err);
  close_pair(pipes->exec);
}

static bool open_pipes(struct pipes* pipes, bool relayed) {
  *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
  if (pipe2(pipes->exec, O_CLOEXEC) == 0 &&
      (!relayed || (pipe2(pipes->out, O_CLOEXEC) == 0 && pipe2(pipes->err, O_CLOEXEC) == 0))) {
    return true;
  }
  report("cannot create a pipe: %s (each rank takes two; see ulimit -n)", strerror(errno));
  close_pipes(pipes);
  return false;
}

static void set_number(const char* name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

static void set_environment(const struct launch* launch, int number) {
  if (launch->root == NULL) {
    setenv("LCI_JOB_DIR", launch->job->path, 1);
  } else {
    char secret[sizeof launch->job->path + 16];
    snprintf(secret, sizeof secret, "%s/secret", launch->job->path);
    unsetenv("LCI_JOB_DIR"); /* It would be that of another job, whose ranks are all here. */
    setenv("LCI_ROOT", launch->root, 1);
    setenv("LCI_SECRET_FILE", secret, 1);
  }
  set_number("LCI_RANK", number);
  set_number("LCI_SIZE", launch->size);
}

static bool redirect(int number, const struct launch* launch, const struct pipes* pipes) {
  int input = number == 0 ? launch->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || (input != STDIN_FILENO && dup2(input, STDIN_FILENO) < 0)) {
    return false;
  }
  return launch->out == NULL || (dup2(pipes->out[1], STDOUT_FILENO) >= 0 && dup2(pipes->err[1], STDERR_FILENO) >= 0);
}

void child_begin(const struct guardian* guardian, pid_t launcher) {
  setpgid(0, 0);
  guardian_register(guardian);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) { /* It died before the signal was armed. */
    _exit(EXIT_FAILURE);
  }
}

void child_restore(const struct launch* launch) {
  setrlimit(RLIMIT_NOFILE, &launch->files);
  sigaction(SIGPIPE, &launch->pipe_action, NULL);
  sigprocmask(SIG_SETMASK, &launch->mask, NULL);
}

/** The child's side of rank_start(). Never returns; tells errno through the exec pipe. */
static _Noreturn void become_rank(int number, const struct launch* launch, const struct pipes* pipes, pid_t launcher) {
  child_begin(launch->guardian, launcher);
  set_environment(launch, number);
  if (redirect(number, launch, pipes)) {
    child_restore(launch);
    execvp(launch->command[0], launch->command);
  }
  int error = errno;
  write_all(pipes->exec[1], &error, sizeof error);
  _exit(PROGRAM_NOT_FOUND);
}

int child_exec_error(int fd) {
  int error = 0;
  ssize_t got;
  do {
    got = read(fd, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof error ? error : 0;
}

static void connect_stream(struct stream* stream, int number, const struct launch* launch, bool error, int pair[2]) {
  *stream = (struct stream){
      .fd = pair[0], .rank = number, .output = error ? launch->err : launch->out, .pass = launch->pass, .error = error};
  pair[0] = -1;
  if (stream->fd >= 0) {
    fcntl(stream->fd, F_SETFL, O_NONBLOCK);
  }
}

int rank_start(struct rank* rank, int number, const struct launch* launch) {
  struct pipes pipes;
  if (!open_pipes(&pipes, launch->out != NULL)) {
    return EXIT_FAILURE;
  }
  pid_t launcher = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    report("cannot start rank %d: %s", number, strerror(errno));
    close_pipes(&pipes);
    return EXIT_FAILURE;
  }
  if (pid == 0) {
    become_rank(number, launch, &pipes, launcher);
  }
  setpgid(pid, pid); /* Both sides do it: whichever comes first. Fails harmlessly after the exec. */
  rank->pid = pid;
  connect_stream(&rank->out, number, launch, false, pipes.out);
  connect_stream(&rank->err, number, launch, true, pipes.err);
  close(pipes.exec[1]);
  pipes.exec[1] = -1;
  int error = child_exec_error(pipes.exec[0]);
  close_pipes(&pipes);
  if (error == 0) {
    return 0;
  }
  report("cannot run '%s': %s", launch->command[0], strerror(error));
  return error == ENOENT || error == ENOTDIR ? PROGRAM_NOT_FOUND : PROGRAM_NOT_RUNNABLE;
}

void rank_signal(const struct rank* rank, int signal_number) {
  if (rank->pid > 0) {
    kill(-rank->pid, signal_number);
  }
}

bool rank_reap(struct rank* rank, const struct guardian* guardian, int* out_code, struct rusage* out_usage) {
  if (rank->pid == 0) {
    return false;
  }
  siginfo_t end = {0};
  if (waitid(P_PID, (id_t)rank->pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != rank->pid) {
    return false;
  }
  /* As long as it is not reaped, its number, and so its group's, cannot be another's. */
  kill(-rank->pid, SIGKILL);
  guardian_forget(guardian, rank->pid);
  int status = 0;
  wait4(rank->pid, &status, 0, out_usage);
  rank->pid = 0;
  *out_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}
