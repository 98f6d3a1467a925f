/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci_run.c
 * Starts the ranks of a job, passes on their output, and sees to it that they end together.
 *
 * One process and one poll loop. Signals arrive through a signalfd, so nothing happens behind the loop's back; the
 * parts are in lci_run/: the job's directory, the guardian, the ranks, the relay of their output, and, for ranks on
 * other hosts, agents. An agent is this program as well: the same loop, which takes its orders from standard input and
 * tells of its ranks on standard output. The parts are included here as one translation unit, because the build makes a
 * program of each file of this folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order in which they need each other. */
// clang-format off
#include "lci_run/process.c"
#include "lci_run/job_directory.c"
#include "lci_run/guardian.c"
#include "lci_run/relay.c"
#include "lci_run/ranks.c"
#include "lci_run/options.c"
#include "lci_run/frames.c"
#include "lci_run/fleet.c"
#include "lci_run/agent.c"
// clang-format on

enum { KILL_AFTER_MS = 5000, INPUT_BYTES = 4096 };

enum phase {
  RUNNING,
  GRACE,  /**< A rank failed; the others may end by themselves. */
  ENDING, /**< They were told to. */
  KILLING
};

struct job {
  const struct options* options;
  struct launch launch;
  struct job_directory directory;
  struct guardian guardian;
  struct rank* ranks;
  int started, alive;
  int exit_code; /**< Of the first failure. */
  int absent;    /**< A rank that ended with success and never joined the job; -1: none. */
  enum phase phase;
  int64_t deadline_ms; /**< When the next phase begins; 0: never. */
  int signals;         /**< signalfd */
  struct output out, err;
  int input_pipe; /**< Write end of rank 0's standard input when that is a terminal; else -1. */
  char input[INPUT_BYTES];
  size_t input_begin, input_end;
  struct fleet* fleet; /**< Of a launcher whose ranks are elsewhere; else null. */
  bool input_wanted;   /**< Its rank 0 has taken what it was given. */
  struct order* order; /**< Of an agent; else null. */
  bool deaf[2];        /**< Agents know that nobody reads standard output, or error. */
};

/* ---- start ------------------------------------------------------------------------------------------------------- */

/** A closed standard stream would be given to the next file that is opened. */
static void open_standard_streams(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  close(fd);
}

/** If standard output and error are one file, lines of both go through one buffer, so that they stay whole. */
static bool same_file(int a, int b) {
  struct stat first, second;
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

static void pass_frame(struct stream* stream, const char* data, size_t size) {
  frame_put(stream->output, stream->error ? FRAME_ERR : FRAME_OUT, (uint32_t)stream->rank, data, size);
}

static void open_outputs(struct job* job) {
  output_open(&job->out, STDOUT_FILENO);
  output_open(&job->err, STDERR_FILENO);
  if (job->order != NULL) {
    job->launch.out = job->launch.err = &job->out;
    job->launch.pass = pass_frame;
  } else if (job->options->prefix || job->options->hosts != NULL) {
    job->launch.out = &job->out;
    job->launch.err = same_file(STDOUT_FILENO, STDERR_FILENO) ? &job->out : &job->err;
  }
}

/** A rank is not in the terminal's foreground group and would be stopped at its first read: we read for it. */
static bool open_input(struct job* job) {
  job->input_pipe = -1;
  job->launch.input = STDIN_FILENO;
  bool is_read_here = job->order != NULL ? job->order->first == 0 : isatty(STDIN_FILENO) == 1;
  if (job->fleet != NULL || !is_read_here) {
    return true;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return report("cannot create a pipe: %s", strerror(errno));
  }
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  job->launch.input = ends[0];
  job->input_pipe = ends[1];
  return true;
}

/** nohup, or a shell that starts us in the background, has some signals ignored: it stays so. */
static bool is_ignored(int signal_number) {
  struct sigaction action;
  return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static bool take_signals(struct job* job) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
    if (!is_ignored(passed_on[i])) {
      sigaddset(&mask, passed_on[i]);
    }
  }
  sigprocmask(SIG_BLOCK, &mask, &job->launch.mask);
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &ignore, &job->launch.pipe_action);
  struct sigaction standard = {.sa_handler = SIG_DFL}; /* An ignored SIGCHLD would let children vanish unseen. */
  sigaction(SIGCHLD, &standard, NULL);
  job->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  return job->signals >= 0 || report("cannot watch signals: %s", strerror(errno));
}

static void raise_file_limit(struct job* job) {
  getrlimit(RLIMIT_NOFILE, &job->launch.files);
  struct rlimit most = {job->launch.files.rlim_max, job->launch.files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &most);
}

static bool prepare(struct job* job) {
  if (!job_directory_create(&job->directory, job->options->base, job->order != NULL ? job->order->secret : NULL)) {
    return false;
  }
  if (!take_signals(job) || !guardian_start(&job->guardian, &job->directory, job->options->ranks) || !open_input(job)) {
    job_directory_remove(&job->directory);
    return false;
  }
  raise_file_limit(job);
  open_outputs(job);
  job->launch.job = &job->directory;
  job->launch.guardian = &job->guardian;
  job->launch.command = job->options->command;
  job->launch.size = job->order != NULL ? job->order->size : job->options->ranks;
  job->launch.first = job->order != NULL ? job->order->first : 0;
  job->launch.root = job->order != NULL ? job->order->root : NULL;
  job->ranks = grow(NULL, (size_t)job->options->ranks * sizeof *job->ranks);
  memset(job->ranks, 0, (size_t)job->options->ranks * sizeof *job->ranks);
  return true;
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

static void signal_all(struct job* job, int signal_number) {
  if (job->fleet != NULL) {
    fleet_signal(job->fleet, signal_number);
    return;
  }
  for (int i = 0; i < job->started; i++) {
    rank_signal(&job->ranks[i], signal_number);
  }
}

static void enter_phase(struct job* job, enum phase phase, int after_ms) {
  job->phase = phase;
  job->deadline_ms = after_ms < 0 ? 0 : now_ms() + after_ms;
}

static void end_ranks(struct job* job, int signal_number) {
  signal_all(job, signal_number);
  signal_all(job, SIGCONT); /* A stopped rank could not obey. */
  if (signal_number == SIGKILL) {
    enter_phase(job, KILLING, job->fleet != NULL ? KILL_AFTER_MS : -1);
  } else {
    enter_phase(job, ENDING, KILL_AFTER_MS);
  }
}

static void deadline_passed(struct job* job) {
  if (job->phase == KILLING) { /* A host that cannot be reached any more, perhaps. */
    fleet_kill(job->fleet);
    enter_phase(job, KILLING, -1);
    return;
  }
  if (job->phase == ENDING) {
    report("ranks did not end within %d seconds; killing them", KILL_AFTER_MS / 1000);
  }
  end_ranks(job, job->phase == GRACE ? SIGTERM : SIGKILL);
}

/** What becomes of the ranks that are left. */
static const char* fate_of_others(const struct job* job, char out[64]) {
  if (job->alive == 0) {
    return "";
  }
  if (job->options->grace_ms == 0) {
    return "; ending the others";
  }
  snprintf(out, 64, "; the others have %d s to end by themselves", job->options->grace_ms / 1000);
  return out;
}

static void announce_failure(const struct job* job, int rank, int code) {
  char what[64];
  char fate[64];
  if (code > 128) {
    snprintf(what, sizeof what, "was ended by signal %d (%s)", code - 128, strsignal(code - 128));
  } else {
    snprintf(what, sizeof what, "failed with exit code %d", code);
  }
  report("rank %d %s%s", rank, what, fate_of_others(job, fate));
}

static long long microseconds(struct timeval time) {
  return (long long)time.tv_sec * 1000000 + time.tv_usec;
}

static struct rank_end rank_end_of(int code, const struct rusage* usage) {
  return (struct rank_end){code, microseconds(usage->ru_utime) + microseconds(usage->ru_stime), usage->ru_maxrss};
}

static void report_usage(int rank, const struct rank_end* end) {
  report("rank %d: %.1f s of processor time, peak memory %ld MiB", rank, (double)end->processor_us / 1e6,
         end->peak_kib / 1024);
}

static void job_failed(struct job* job, int code) {
  job->exit_code = code;
  if (job->phase == RUNNING) {
    enter_phase(job, GRACE, job->options->grace_ms);
  }
}

/** An agent leaves it to the launcher what becomes of the job. */
static void tell_end(struct job* job, int rank, const struct rank_end* end) {
  char text[96];
  snprintf(text, sizeof text, "%d %lld %ld", end->code, end->processor_us, end->peak_kib);
  frame_put_text(&job->out, FRAME_END, (uint32_t)rank, text);
}

static void rank_ended(struct job* job, int rank, const struct rank_end* end) {
  int code = end->code;
  job->alive--;
  if (job->order != NULL) {
    tell_end(job, rank, end);
    return;
  }
  if (job->options->usage) {
    report_usage(rank, end);
  }
  /* Ranks that run elsewhere leave no sign here. */
  if (code == 0 && job->absent < 0 && job->fleet == NULL && !job_directory_has_joined(&job->directory, rank)) {
    job->absent = rank;
  }
  if (code == 0 || job->exit_code != 0) {
    return;
  }
  if (job->options->ranks > 1 || code > 128) {
    announce_failure(job, rank, code);
  }
  if (job->fleet == NULL) {
    job_directory_tell_death(&job->directory, rank);
  }
  job_failed(job, code);
}

/** Only then may a rank wait for another: programs that do not use the library end as they like. */
static bool somebody_joins(const struct job* job) {
  for (int i = 0; i < job->started; i++) {
    if (job->ranks[i].pid > 0 && job_directory_has_joined(&job->directory, i)) {
      return true;
    }
  }
  return false;
}

/** Who joins waits for all ranks, so for one that will never come: until its deadline, and without a word. */
static void end_vain_waiting(struct job* job) {
  if (job->absent >= 0 && job->phase == RUNNING && somebody_joins(job)) {
    char fate[64];
    report("rank %d ended with exit code 0 before it joined the job%s", job->absent, fate_of_others(job, fate));
    job_failed(job, EXIT_FAILURE);
  }
}

static void reap(struct job* job) {
  if (job->fleet != NULL) {
    fleet_reap(job->fleet);
    return;
  }
  for (int i = 0; i < job->started; i++) {
    int code;
    struct rusage usage;
    if (rank_reap(&job->ranks[i], &job->guardian, &code, &usage)) {
      const struct rank_end end = rank_end_of(code, &usage);
      rank_ended(job, job->launch.first + i, &end);
    }
  }
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void interrupted(struct job* job, int signal_number) {
  bool again = job->phase >= ENDING;
  const char* what = signal_number == SIGINT ? "interrupted" : strsignal(signal_number);
  report("%s; %s the ranks", what, again ? "killing" : "ending");
  if (job->exit_code == 0) {
    job->exit_code = 128 + signal_number;
  }
  end_ranks(job, again ? SIGKILL : signal_number);
}

static void stop(struct job* job) {
  signal_all(job, SIGSTOP);
  if (job->fleet != NULL) {
    fleet_flush(job->fleet);
  }
  raise(SIGSTOP);
  signal_all(job, SIGCONT);
}

static void handle_signals(struct job* job) {
  struct signalfd_siginfo signal;
  while (read(job->signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
    switch ((int)signal.ssi_signo) {
      case SIGCHLD:
        reap(job);
        break;
      case SIGQUIT:
        signal_all(job, SIGQUIT);
        break;
      case SIGTSTP:
        stop(job);
        break;
      case SIGCONT:
        signal_all(job, SIGCONT);
        break;
      default:
        interrupted(job, (int)signal.ssi_signo);
    }
  }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void close_input(struct job* job) {
  close(job->input_pipe);
  job->input_pipe = -1;
}

/** In the background what is typed is not for us; reading would stop us. */
static bool may_read_input(const struct job* job) {
  return (job->fleet != NULL && isatty(STDIN_FILENO) != 1) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void input_was_read(struct job* job, ssize_t got) {
  if (job->fleet != NULL) {
    job->input_wanted = false;
    fleet_input(job->fleet, job->input, (size_t)got);
  } else if (got > 0) {
    job->input_begin = 0;
    job->input_end = (size_t)got;
  } else {
    close_input(job);
  }
}

static void read_input(struct job* job) {
  if (!may_read_input(job)) {
    return;
  }
  ssize_t got = read(STDIN_FILENO, job->input, sizeof job->input);
  if (got >= 0 || (errno != EINTR && errno != EAGAIN)) {
    input_was_read(job, got < 0 ? 0 : got);
  }
}

static void write_input(struct job* job) {
  ssize_t written = write(job->input_pipe, job->input + job->input_begin, job->input_end - job->input_begin);
  if (written > 0) {
    job->input_begin += (size_t)written;
  } else if (errno != EAGAIN && errno != EINTR) {
    close_input(job);
  }
  if (job->order != NULL && job->input_pipe >= 0 && job->input_begin == job->input_end) {
    frame_put(&job->out, FRAME_TAKEN, 0, NULL, 0);
  }
}

/* ---- an agent's part ----------------------------------------------------------------------------------------------
 */

/** If rank 0 has closed its input, what it was to get stays where it is. */
static void take_input(struct job* job, const struct frame* frame) {
  if (job->input_pipe < 0 || frame->size > sizeof job->input) {
    return;
  }
  if (frame->size == 0) {
    close_input(job);
    return;
  }
  memcpy(job->input, frame->data, frame->size);
  job->input_begin = 0;
  job->input_end = frame->size;
}

static void stop_reading(struct job* job, bool error) {
  for (int i = 0; i < job->started; i++) {
    stream_close(error ? &job->ranks[i].err : &job->ranks[i].out);
  }
}

/** The launcher, or the way to it, is gone: there is nobody for whom the ranks could go on. */
static void launcher_is_gone(struct job* job) {
  job->out.broken = true;
  job->out.begin = job->out.end = 0;
  end_ranks(job, SIGKILL);
}

static void take_orders(struct job* job) {
  struct frame frame;
  while (inlet_next(&job->order->in, &frame)) {
    if (frame.kind == FRAME_SIGNAL) {
      signal_all(job, (int)frame.number);
    } else if (frame.kind == FRAME_INPUT) {
      take_input(job, &frame);
    } else if (frame.kind == FRAME_DEAF) {
      stop_reading(job, frame.number == 1);
    }
  }
  if (job->order->in.ended || job->order->in.damaged) {
    job->order->in.ended = true;
    launcher_is_gone(job);
  }
}

/* ---- what a launcher hears from its agents ------------------------------------------------------------------------
 */

static void agent_output(void* to, int rank, bool error, const char* data, size_t size) {
  struct job* job = to;
  stream_take(error ? &job->ranks[rank].err : &job->ranks[rank].out, data, size);
}

static void agent_rank_ended(void* to, int rank, const struct rank_end* end) {
  rank_ended(to, rank, end);
}

static void fail_with(struct job* job, int code) {
  if (job->exit_code == 0) {
    job->exit_code = code;
  }
  if (job->phase < ENDING) {
    end_ranks(job, SIGTERM);
  }
}

static void agent_cannot_start(void* to, int code) {
  fail_with(to, code);
}

static void agent_lost(void* to, int ranks, int code) {
  struct job* job = to;
  job->alive -= ranks;
  fail_with(job, code);
}

static void agent_input_wanted(void* to) {
  ((struct job*)to)->input_wanted = true;
}

static const struct fleet_events AGENT_EVENTS = {.output = agent_output,
                                                 .rank_ended = agent_rank_ended,
                                                 .cannot_start = agent_cannot_start,
                                                 .input_wanted = agent_input_wanted,
                                                 .lost = agent_lost};

/** Ranks shall see that nobody reads what they print, as they would without a launcher. */
static void tell_deaf(struct job* job) {
  const struct output* outputs[2] = {&job->out, &job->err};
  for (int i = 0; i < 2; i++) {
    if (outputs[i]->broken && !job->deaf[i]) {
      job->deaf[i] = true;
      fleet_deaf(job->fleet, i == 1);
    }
  }
}

/* ---- the loop -----------------------------------------------------------------------------------------------------
 */

enum { SLOT_SIGNALS, SLOT_OUT, SLOT_ERR, SLOT_INPUT, SLOT_ORDERS, SLOT_STREAMS };

static void watch_stream(struct pollfd* poll, const struct stream* stream) {
  bool wanted = stream->fd >= 0 && (stream->output->broken || output_has_room(stream->output));
  *poll = (struct pollfd){.fd = wanted ? stream->fd : -1, .events = POLLIN};
}

static void watch_input(struct job* job, struct pollfd* poll) {
  *poll = (struct pollfd){.fd = -1};
  if (job->fleet != NULL) {
    bool reads = job->input_wanted && may_read_input(job);
    *poll = (struct pollfd){.fd = reads ? STDIN_FILENO : -1, .events = POLLIN};
  } else if (job->input_pipe >= 0 && job->input_begin < job->input_end) {
    *poll = (struct pollfd){.fd = job->input_pipe, .events = POLLOUT};
  } else if (job->input_pipe >= 0 && job->order == NULL && may_read_input(job)) {
    *poll = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
  }
}

static void watch(struct job* job, struct pollfd* polls) {
  polls[SLOT_SIGNALS] = (struct pollfd){.fd = job->signals, .events = POLLIN};
  polls[SLOT_OUT] = (struct pollfd){.fd = output_waits(&job->out) ? job->out.fd : -1, .events = POLLOUT};
  polls[SLOT_ERR] = (struct pollfd){.fd = output_waits(&job->err) ? job->err.fd : -1, .events = POLLOUT};
  watch_input(job, &polls[SLOT_INPUT]);
  bool ordered = job->order != NULL && !job->order->in.ended;
  polls[SLOT_ORDERS] = (struct pollfd){.fd = ordered ? job->order->in.fd : -1, .events = POLLIN};
  if (job->fleet != NULL) {
    tell_deaf(job);
    bool reads = (job->out.broken || output_has_room(&job->out)) && (job->err.broken || output_has_room(&job->err));
    fleet_watch(job->fleet, reads, polls + SLOT_STREAMS);
    return;
  }
  for (int i = 0; i < job->started; i++) {
    watch_stream(&polls[SLOT_STREAMS + 2 * i], &job->ranks[i].out);
    watch_stream(&polls[SLOT_STREAMS + 2 * i + 1], &job->ranks[i].err);
  }
}

static int poll_timeout(const struct job* job) {
  const int look_again_ms = 500;
  int64_t timeout = -1;
  if (job->deadline_ms != 0) {
    int64_t left = job->deadline_ms - now_ms();
    timeout = left < 0 ? 0 : left;
  }
  /* Nobody tells us when we come to the terminal's foreground, or when a rank joins. */
  bool may_come_to_the_front = job->input_pipe >= 0 || (job->input_wanted && isatty(STDIN_FILENO) == 1);
  bool look_again = may_come_to_the_front || (job->absent >= 0 && job->phase == RUNNING);
  if (look_again && (timeout < 0 || timeout > look_again_ms)) {
    timeout = look_again_ms;
  }
  return (int)timeout;
}

static void serve_input(struct job* job, const struct pollfd* poll) {
  if (poll->revents == 0 || (job->input_pipe < 0 && job->fleet == NULL)) {
    return;
  }
  if (poll->fd == STDIN_FILENO) {
    read_input(job);
  } else {
    write_input(job);
  }
}

static void serve(struct job* job, const struct pollfd* polls) {
  if (polls[SLOT_OUT].revents != 0) {
    output_write(&job->out);
  }
  if (polls[SLOT_ERR].revents != 0) {
    output_write(&job->err);
  }
  serve_input(job, &polls[SLOT_INPUT]);
  if (polls[SLOT_ORDERS].revents != 0) {
    inlet_read(&job->order->in);
    take_orders(job);
  }
  if (job->fleet != NULL) {
    fleet_serve(job->fleet, polls + SLOT_STREAMS);
  }
  for (int i = 0; i < job->started; i++) {
    if (polls[SLOT_STREAMS + 2 * i].revents != 0) {
      stream_read(&job->ranks[i].out);
    }
    if (polls[SLOT_STREAMS + 2 * i + 1].revents != 0) {
      stream_read(&job->ranks[i].err);
    }
  }
  if (polls[SLOT_SIGNALS].revents != 0) {
    handle_signals(job);
  }
}

/** What dead ranks left in their pipes. */
static void drain_all(struct job* job) {
  for (int i = 0; job->fleet != NULL && i < job->options->ranks; i++) {
    stream_finish(&job->ranks[i].out);
    stream_finish(&job->ranks[i].err);
  }
  for (int i = 0; i < job->started; i++) {
    stream_drain(&job->ranks[i].out);
    stream_drain(&job->ranks[i].err);
  }
}

/** All ranks have ended, and so have the agents that have them. */
static bool all_ended(const struct job* job) {
  return job->fleet != NULL ? fleet_is_over(job->fleet) : job->alive == 0;
}

static bool is_finished(const struct job* job) {
  bool waits = output_waits(&job->out) || output_waits(&job->err);
  return all_ended(job) && (!waits || job->phase == KILLING);
}

static void run_loop(struct job* job) {
  size_t slots = SLOT_STREAMS + 2 * (size_t)(job->fleet != NULL ? job->fleet->count : job->started);
  struct pollfd* polls = grow(NULL, slots * sizeof *polls);
  bool drained = false;
  while (!is_finished(job) || !drained) {
    if (all_ended(job) && !drained) {
      drain_all(job);
      drained = true;
      continue;
    }
    watch(job, polls);
    if (poll(polls, (nfds_t)slots, poll_timeout(job)) > 0) {
      serve(job, polls);
    }
    end_vain_waiting(job);
    if (!all_ended(job) && job->deadline_ms != 0 && now_ms() >= job->deadline_ms) {
      deadline_passed(job);
    }
  }
  free(polls);
}

static void start_ranks(struct job* job) {
  for (int i = 0; i < job->options->ranks && job->exit_code == 0; i++) {
    int code = rank_start(&job->ranks[i], job->launch.first + i, &job->launch);
    bool forked = job->ranks[i].pid > 0;
    job->started += forked;
    job->alive += forked;
    if (code != 0) {
      job->exit_code = code;
      end_ranks(job, SIGTERM);
      if (job->order != NULL) {
        frame_put(&job->out, FRAME_FAILED, (uint32_t)code, NULL, 0);
      }
    }
  }
  if (job->launch.input != STDIN_FILENO) {
    close(job->launch.input); /* Rank 0 has it. */
  }
}

static void start_agents(struct job* job) {
  struct fleet_events events = AGENT_EVENTS;
  events.job = job;
  for (int i = 0; i < job->options->ranks; i++) {
    bool plain = !job->options->prefix;
    job->ranks[i].out = (struct stream){.fd = -1, .rank = i, .output = job->launch.out, .plain = plain};
    job->ranks[i].err = (struct stream){.fd = -1, .rank = i, .output = job->launch.err, .plain = plain};
  }
  bool started = fleet_start(job->fleet, job->options, &job->launch, &events);
  for (int i = 0; i < job->fleet->count; i++) {
    job->alive += job->fleet->agents[i].pid != 0 ? job->fleet->agents[i].count : 0;
  }
  if (!started) {
    fail_with(job, EXIT_FAILURE);
  }
}

/** Runs a job from its start to its end. */
static int run(struct job* job) {
  if (!prepare(job)) {
    return EXIT_FAILURE;
  }
  if (job->fleet != NULL) {
    start_agents(job);
  } else {
    start_ranks(job);
  }
  if (job->order != NULL) {
    take_orders(job); /* What came with the last of what was waited for. */
  }
  run_loop(job);
  job_directory_remove(&job->directory);
  guardian_end(&job->guardian);
  output_close(&job->out);
  output_close(&job->err);
  free(job->ranks);
  return job->exit_code;
}

/** On each host of a job. Its exit code says whether it did what it was told; the launcher knows how ranks ended. */
static int run_agent(void) {
  struct order order;
  int code = EXIT_FAILURE;
  if (order_receive(&order)) {
    const struct options options = {.ranks = order.count, .base = order.base, .command = order.command};
    struct job job = {.options = &options, .absent = -1, .order = &order};
    code = run(&job) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  order_free(&order);
  return code;
}

int main(int argc, char** argv) {
  open_standard_streams();
  if (argc == 2 && strcmp(argv[1], "--agent") == 0) {
    return run_agent();
  }
  struct options options;
  if (!options_parse(argc, argv, &options)) {
    options_free(&options);
    return USAGE_ERROR;
  }
  struct fleet fleet = {0};
  struct job job = {.options = &options, .absent = -1, .fleet = options.hosts != NULL ? &fleet : NULL};
  int code = run(&job);
  if (job.fleet != NULL && job.fleet->agents != NULL) {
    fleet_free(&fleet);
  }
  options_free(&options);
  return code;
}
