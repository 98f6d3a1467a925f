/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci_run.c
 * Starts the ranks of a job on this host, passes on their output, and sees to it that they end together.
 *
 * One process and one poll loop. Signals arrive through a signalfd, so nothing happens behind the loop's back; the
 * parts are in lci_run/: the job's directory, the guardian, the ranks, the relay of their output. They are included
 * here as one translation unit, because the build makes a program of each file of this folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
// clang-format on

enum { USAGE_ERROR = 2, MAX_RANKS = 65535, KILL_AFTER_MS = 5000, MAX_GRACE_SECONDS = 86400, INPUT_BYTES = 4096 };

static const char* const HELP =
    "Usage: lci-run -n N [--dir BASE] [--no-prefix] [--grace SECONDS] [--usage]\n"
    "               [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs N ranks of PROGRAM on this host as one job. Each rank finds in its environment LCI_JOB_DIR (the job's\n"
    "directory), LCI_RANK (0..N-1) and LCI_SIZE (N).\n"
    "\n"
    "  -n N, --ranks N   number of ranks, 1 to 65535\n"
    "  --dir BASE        where the job directory is created; default $XDG_RUNTIME_DIR/lci if there is such a "
    "directory\n"
    "                    of yours, else /tmp/lci-UID. Must be yours and not writable by others\n"
    "  --no-prefix       do not put \"[rank] \" in front of the lines: ranks write to standard output and error\n"
    "                    themselves. Always so with one rank\n"
    "  --grace SECONDS   after the first failure, let the other ranks end by themselves for so long before they are\n"
    "                    ended; default 0\n"
    "  --usage           print processor time and peak memory of each rank when it ends\n"
    "  -h, --help        print this text and exit\n"
    "\n"
    "Standard input goes to rank 0; the others have none. Lines are passed on whole; those over 1 MiB in pieces.\n"
    "When a rank ends, what it left running in its process group is killed.\n"
    "The first rank that fails ends the job: the others get SIGTERM, and SIGKILL five seconds later.\n"
    "Ctrl-C, SIGTERM and SIGHUP are passed on and end the job; a second one kills. SIGQUIT is passed on (a JVM prints\n"
    "its threads). If lci-run itself is killed, the ranks and their children are killed too.\n"
    "\n"
    "Exit code: 0 if all ranks ended with 0; else that of the first that did not, 128 + N if signal N ended it;\n"
    "127 or 126 if PROGRAM is not found or cannot be run; 2 for a wrong command line; 1 if the job cannot be started,\n"
    "or if a rank ended with 0 and never joined while another joins, which would wait for it in vain.\n";

struct options {
  int ranks;
  int grace_ms;
  bool prefix;
  bool usage;
  const char* base;
  char* const* command;
};

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
};

/* ---- command line ------------------------------------------------------------------------------------------------ */

static bool parse_number(const char* text, long low, long high, int* out) {
  char* end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
    return false;
  }
  *out = (int)value;
  return true;
}

/** @param word the word of the command line that the option came from. */
static bool parse_option(int option, const char* word, struct options* options) {
  switch (option) {
    case 'n':
      return parse_number(optarg, 1, MAX_RANKS, &options->ranks) ||
             report("-n needs a number from 1 to %d, not '%s'", MAX_RANKS, optarg);
    case 'd':
      options->base = optarg;
      return optarg[0] != '\0' || report("--dir needs a path");
    case 'p':
      options->prefix = false;
      return true;
    case 'u':
      options->usage = true;
      return true;
    case 'g': {
      int seconds;
      if (!parse_number(optarg, 0, MAX_GRACE_SECONDS, &seconds)) {
        return report("--grace needs a number of seconds from 0 to %d, not '%s'", MAX_GRACE_SECONDS, optarg);
      }
      options->grace_ms = seconds * 1000;
      return true;
    }
    case 'h':
      exit(write_all(STDOUT_FILENO, HELP, strlen(HELP)) ? EXIT_SUCCESS : EXIT_FAILURE);
    case ':':
      return report("%s needs a value; see lci-run --help", word);
    default:
      return report("unknown option %s; see lci-run --help", word);
  }
}

static bool parse_options(int argc, char** argv, struct options* options) {
  static const struct option names[] = {{"ranks", required_argument, NULL, 'n'},
                                        {"dir", required_argument, NULL, 'd'},
                                        {"no-prefix", no_argument, NULL, 'p'},
                                        {"grace", required_argument, NULL, 'g'},
                                        {"usage", no_argument, NULL, 'u'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  *options = (struct options){.prefix = true};
  opterr = 0;
  /* '+': options end at the program's name, what follows is the program's. */
  for (int option; (option = getopt_long(argc, argv, "+:n:h", names, NULL)) != -1;) {
    if (!parse_option(option, argv[optind - 1], options)) {
      return false;
    }
  }
  options->command = argv + optind;
  if (options->ranks == 0) {
    return report("how many ranks? -n N is missing; see lci-run --help");
  }
  if (options->command[0] == NULL || options->command[0][0] == '\0') {
    return report("which program? see lci-run --help");
  }
  options->prefix = options->prefix && options->ranks > 1;
  return true;
}

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

static void open_outputs(struct job* job) {
  output_open(&job->out, STDOUT_FILENO);
  output_open(&job->err, STDERR_FILENO);
  if (job->options->prefix) {
    job->launch.out = &job->out;
    job->launch.err = same_file(STDOUT_FILENO, STDERR_FILENO) ? &job->out : &job->err;
  }
}

/** A rank is not in the terminal's foreground group and would be stopped at its first read: we read for it. */
static bool open_input(struct job* job) {
  job->input_pipe = -1;
  job->launch.input = STDIN_FILENO;
  if (isatty(STDIN_FILENO) != 1) {
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
  if (!job_directory_create(&job->directory, job->options->base)) {
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
  job->launch.size = job->options->ranks;
  job->ranks = grow(NULL, (size_t)job->options->ranks * sizeof *job->ranks);
  return true;
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

static void signal_all(struct job* job, int signal_number) {
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
    enter_phase(job, KILLING, -1);
  } else {
    enter_phase(job, ENDING, KILL_AFTER_MS);
  }
}

static void deadline_passed(struct job* job) {
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

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void report_usage(int rank, const struct rusage* usage) {
  report("rank %d: %.1f s of processor time, peak memory %ld MiB", rank,
         seconds(usage->ru_utime) + seconds(usage->ru_stime), usage->ru_maxrss / 1024);
}

static void job_failed(struct job* job, int code) {
  job->exit_code = code;
  if (job->phase == RUNNING) {
    enter_phase(job, GRACE, job->options->grace_ms);
  }
}

static void rank_ended(struct job* job, int rank, int code) {
  job->alive--;
  if (code == 0 && job->absent < 0 && !job_directory_has_joined(&job->directory, rank)) {
    job->absent = rank;
  }
  if (code == 0 || job->exit_code != 0) {
    return;
  }
  if (job->options->ranks > 1 || code > 128) {
    announce_failure(job, rank, code);
  }
  job_directory_tell_death(&job->directory, rank);
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
  for (int i = 0; i < job->started; i++) {
    int code;
    struct rusage usage;
    if (rank_reap(&job->ranks[i], &job->guardian, &code, &usage)) {
      if (job->options->usage) {
        report_usage(i, &usage);
      }
      rank_ended(job, i, code);
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

static void read_input(struct job* job) {
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) {
    return; /* In the background what is typed is not for us; reading would stop us. */
  }
  ssize_t got = read(STDIN_FILENO, job->input, sizeof job->input);
  if (got > 0) {
    job->input_begin = 0;
    job->input_end = (size_t)got;
  } else if (got == 0 || errno != EINTR) {
    close_input(job);
  }
}

static void write_input(struct job* job) {
  ssize_t written = write(job->input_pipe, job->input + job->input_begin, job->input_end - job->input_begin);
  if (written > 0) {
    job->input_begin += (size_t)written;
  } else if (errno != EAGAIN && errno != EINTR) {
    close_input(job);
  }
}

enum { SLOT_SIGNALS, SLOT_OUT, SLOT_ERR, SLOT_INPUT, SLOT_STREAMS };

static void watch_stream(struct pollfd* poll, const struct stream* stream) {
  bool wanted = stream->fd >= 0 && (stream->output->broken || output_has_room(stream->output));
  *poll = (struct pollfd){.fd = wanted ? stream->fd : -1, .events = POLLIN};
}

static void watch_input(struct job* job, struct pollfd* poll) {
  *poll = (struct pollfd){.fd = -1};
  if (job->input_pipe >= 0 && job->input_begin < job->input_end) {
    *poll = (struct pollfd){.fd = job->input_pipe, .events = POLLOUT};
  } else if (job->input_pipe >= 0 && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
    *poll = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
  }
}

static void watch(struct job* job, struct pollfd* polls) {
  polls[SLOT_SIGNALS] = (struct pollfd){.fd = job->signals, .events = POLLIN};
  polls[SLOT_OUT] = (struct pollfd){.fd = output_waits(&job->out) ? job->out.fd : -1, .events = POLLOUT};
  polls[SLOT_ERR] = (struct pollfd){.fd = output_waits(&job->err) ? job->err.fd : -1, .events = POLLOUT};
  watch_input(job, &polls[SLOT_INPUT]);
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
  bool look_again = job->input_pipe >= 0 || (job->absent >= 0 && job->phase == RUNNING);
  if (look_again && (timeout < 0 || timeout > look_again_ms)) {
    timeout = look_again_ms;
  }
  return (int)timeout;
}

static void serve_input(struct job* job, const struct pollfd* poll) {
  if (poll->revents == 0 || job->input_pipe < 0) {
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
  for (int i = 0; i < job->started; i++) {
    stream_drain(&job->ranks[i].out);
    stream_drain(&job->ranks[i].err);
  }
}

static bool is_finished(const struct job* job) {
  bool waits = output_waits(&job->out) || output_waits(&job->err);
  return job->alive == 0 && (!waits || job->phase == KILLING);
}

static void run_loop(struct job* job) {
  struct pollfd* polls = grow(NULL, (SLOT_STREAMS + 2 * (size_t)job->started) * sizeof *polls);
  bool drained = false;
  while (!is_finished(job) || !drained) {
    if (job->alive == 0 && !drained) {
      drain_all(job);
      drained = true;
      continue;
    }
    watch(job, polls);
    if (poll(polls, SLOT_STREAMS + 2 * (nfds_t)job->started, poll_timeout(job)) > 0) {
      serve(job, polls);
    }
    end_vain_waiting(job);
    if (job->alive > 0 && job->deadline_ms != 0 && now_ms() >= job->deadline_ms) {
      deadline_passed(job);
    }
  }
  free(polls);
}

static void start_ranks(struct job* job) {
  for (int i = 0; i < job->options->ranks && job->exit_code == 0; i++) {
    int code = rank_start(&job->ranks[i], i, &job->launch);
    bool forked = job->ranks[i].pid > 0;
    job->started += forked;
    job->alive += forked;
    if (code != 0) {
      job->exit_code = code;
      end_ranks(job, SIGTERM);
    }
  }
  if (job->launch.input != STDIN_FILENO) {
    close(job->launch.input); /* Rank 0 has it. */
  }
}

int main(int argc, char** argv) {
  struct options options;
  if (!parse_options(argc, argv, &options)) {
    return USAGE_ERROR;
  }
  open_standard_streams();
  struct job job = {.options = &options, .absent = -1};
  if (!prepare(&job)) {
    return EXIT_FAILURE;
  }
  memset(job.ranks, 0, (size_t)options.ranks * sizeof *job.ranks);
  start_ranks(&job);
  run_loop(&job);
  job_directory_remove(&job.directory);
  guardian_end(&job.guardian);
  output_close(&job.out);
  output_close(&job.err);
  free(job.ranks);
  return job.exit_code;
}
