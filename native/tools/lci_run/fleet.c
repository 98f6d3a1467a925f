/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

enum { MAX_AGENT_WORDS = 64 };

extern char** environ;

/* ---- start ------------------------------------------------------------------------------------------------------- */

/** This program, on each host. A shell over there may read the path: nothing may mean something to it. */
static bool find_own_path(char out[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
  if (length <= 0) {
    return report("cannot find out where this program is: %s", strerror(errno));
  }
  out[length] = '\0';
  for (const char* at = out; *at != '\0'; at++) {
    if (!isalnum((unsigned char)*at) && strchr("/._+-@:,=%", *at) == NULL) {
      return report("%s runs on each host, and its path must have letters, digits and / . _ + - @ : , = %% only", out);
    }
  }
  return true;
}

/** A word with the host's name in place of {}. */
static char* with_host(const char* word, size_t length, const char* host) {
  size_t size = 0;
  char* out = grow(NULL, length * (strlen(host) + 1) + 1);
  for (size_t i = 0; i < length;) {
    if (word[i] == '{' && i + 1 < length && word[i + 1] == '}') {
      size += (size_t)sprintf(out + size, "%s", host);
      i += 2;
    } else {
      out[size++] = word[i++];
    }
  }
  out[size] = '\0';
  return out;
}

/** The words of the command that starts an agent; each is to be freed. False after a message. */
static bool split_command(const char* command, const char* host, char* words[MAX_AGENT_WORDS + 3]) {
  int count = 0;
  for (const char* at = command + strspn(command, " \t"); *at != '\0'; at += strspn(at, " \t")) {
    size_t length = strcspn(at, " \t");
    if (count == MAX_AGENT_WORDS) {
      return report("--launch-agent has more than %d words", MAX_AGENT_WORDS);
    }
    words[count++] = with_host(at, length, host);
    at += length;
  }
  char path[PATH_MAX];
  if (!find_own_path(path)) {
    return false;
  }
  words[count++] = with_host(path, strlen(path), host);
  words[count++] = with_host("--agent", strlen("--agent"), host);
  words[count] = NULL;
  return true;
}

/** The child's side of agent_start(). Never returns. */
static _Noreturn void become_agent(char** words, const struct launch* launch, int in, int out, int told,
                                   pid_t launcher) {
  child_begin(launch->guardian, launcher);
  if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
    child_restore(launch);
    execvp(words[0], words);
  }
  int error = errno;
  write_all(told, &error, sizeof error);
  _exit(EXIT_FAILURE);
}

static bool fork_agent(struct agent* agent, char** words, const struct launch* launch) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, told[2] = {-1, -1};
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0) {
    return report("cannot create a pipe: %s (each host takes two; see ulimit -n)", strerror(errno));
  }
  pid_t launcher = getpid();
  agent->pid = fork();
  if (agent->pid < 0) {
    agent->pid = 0;
    return report("cannot start a process: %s", strerror(errno));
  }
  if (agent->pid == 0) {
    become_agent(words, launch, in[0], out[1], told[1], launcher);
  }
  setpgid(agent->pid, agent->pid);
  close(in[0]);
  close(out[1]);
  close(told[1]);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  output_open(&agent->to, in[1]);
  agent->from = (struct inlet){.fd = out[0]};
  int error = child_exec_error(told[0]);
  close(told[0]);
  return error == 0 || report("cannot start an agent on host %s by '%s': %s", agent->host, words[0], strerror(error));
}

static bool agent_start(struct agent* agent, const char* command, const struct launch* launch) {
  char* words[MAX_AGENT_WORDS + 3] = {NULL};
  bool started = split_command(command, agent->host, words) && fork_agent(agent, words, launch);
  for (int i = 0; words[i] != NULL; i++) {
    free(words[i]);
  }
  return started;
}

static bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/** The ranks get the library's variables, but those that are this launcher's own. */
static bool is_passed_on(const char* variable) {
  static const char* const own[] = {"LCI_JOB_DIR=", "LCI_RANK=", "LCI_SIZE=", "LCI_ROOT=", "LCI_SECRET_FILE="};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    if (starts_with(variable, own[i])) {
      return false;
    }
  }
  return starts_with(variable, "LCI_");
}

static void give_orders(struct agent* agent, const struct options* options, const struct launch* launch,
                        const unsigned char* secret) {
  struct output* to = &agent->to;
  char directory[PATH_MAX];
  frame_put(to, FRAME_SECRET, 0, secret, SECRET_BYTES);
  frame_put_text(to, FRAME_NAME, 0, agent->host);
  frame_put(to, FRAME_FIRST, (uint32_t)agent->first, NULL, 0);
  frame_put(to, FRAME_COUNT, (uint32_t)agent->count, NULL, 0);
  frame_put(to, FRAME_SIZE, (uint32_t)launch->size, NULL, 0);
  if (options->base != NULL) {
    frame_put_text(to, FRAME_BASE, 0, options->base);
  }
  if (getcwd(directory, sizeof directory) != NULL) {
    frame_put_text(to, FRAME_DIRECTORY, 0, directory);
  }
  for (char** variable = environ; *variable != NULL; variable++) {
    if (is_passed_on(*variable)) {
      frame_put_text(to, FRAME_ENVIRONMENT, 0, *variable);
    }
  }
  for (char* const* word = launch->command; *word != NULL; word++) {
    frame_put_text(to, FRAME_ARGUMENT, 0, *word);
  }
}

/** The first host's name in the network: without the user that ssh may want. */
static const char* root_of(const struct options* options) {
  if (options->root != NULL) {
    return options->root;
  }
  const char* at = strrchr(options->hosts[0], '@');
  return at != NULL ? at + 1 : options->hosts[0];
}

static bool has_other_hosts(const struct options* options) {
  for (int i = 1; i < options->host_count; i++) {
    if (strcmp(options->hosts[i], options->hosts[0]) != 0) {
      return true;
    }
  }
  return false;
}

/** In blocks: the first hosts have one more if it does not come out even. */
static void deal(struct fleet* fleet, const struct options* options) {
  int each = options->ranks / fleet->count, more = options->ranks % fleet->count, next = 0;
  for (int i = 0; i < fleet->count; i++) {
    int count = each + (i < more);
    fleet->agents[i] = (struct agent){.host = options->hosts[i],
                                      .first = next,
                                      .count = count,
                                      .from = {.fd = -1},
                                      .to = {.fd = -1},
                                      .unfinished = count};
    next += count;
  }
}

bool fleet_start(struct fleet* fleet, const struct options* options, const struct launch* launch,
                 const struct fleet_events* events) {
  unsigned char secret[SECRET_BYTES];
  *fleet = (struct fleet){.count = options->host_count, .guardian = launch->guardian, .events = *events};
  fleet->agents = grow(NULL, (size_t)fleet->count * sizeof *fleet->agents);
  deal(fleet, options);
  if (!random_bytes(secret, sizeof secret)) {
    return false;
  }
  bool started = true;
  for (int i = 0; i < fleet->count && started; i++) {
    started = agent_start(&fleet->agents[i], options->launch_agent, launch);
    if (started) {
      give_orders(&fleet->agents[i], options, launch, secret);
    }
  }
  explicit_bzero(secret, sizeof secret);
  if (started) {
    frame_put_text(&fleet->agents[0].to, FRAME_ROOT, has_other_hosts(options), root_of(options));
  }
  return started;
}

/* ---- while it runs ----------------------------------------------------------------------------------------------- */

void fleet_watch(const struct fleet* fleet, bool reads, struct pollfd* polls) {
  for (int i = 0; i < fleet->count; i++) {
    const struct agent* agent = &fleet->agents[i];
    polls[2 * i] = (struct pollfd){.fd = reads && !agent->from.ended ? agent->from.fd : -1, .events = POLLIN};
    polls[2 * i + 1] = (struct pollfd){.fd = output_waits(&agent->to) ? agent->to.fd : -1, .events = POLLOUT};
  }
}

static void tell_all(struct fleet* fleet, char kind, uint32_t number, const char* text) {
  for (int i = 0; i < fleet->count; i++) {
    if (fleet->agents[i].to.fd >= 0) {
      frame_put_text(&fleet->agents[i].to, kind, number, text);
    }
  }
}

static bool has_rank(const struct agent* agent, uint32_t rank) {
  return rank >= (uint32_t)agent->first && rank - (uint32_t)agent->first < (uint32_t)agent->count;
}

static void rank_has_ended(struct fleet* fleet, struct agent* agent, const struct frame* frame) {
  struct rank_end end;
  char* text = frame_text(frame);
  bool understood = sscanf(text, "%d %lld %ld", &end.code, &end.processor_us, &end.peak_kib) == 3;
  free(text);
  if (!understood || agent->unfinished == 0) {
    agent->from.damaged = true;
    return;
  }
  agent->unfinished--;
  fleet->events.rank_ended(fleet->events.job, (int)frame->number, &end);
}

static void take_frame(struct fleet* fleet, struct agent* agent, const struct frame* frame) {
  const struct fleet_events* events = &fleet->events;
  bool of_a_rank = frame->kind == FRAME_OUT || frame->kind == FRAME_ERR || frame->kind == FRAME_END;
  if (of_a_rank && !has_rank(agent, frame->number)) {
    agent->from.damaged = true;
  } else if (frame->kind == FRAME_OUT || frame->kind == FRAME_ERR) {
    events->output(events->job, (int)frame->number, frame->kind == FRAME_ERR, frame->data, frame->size);
  } else if (frame->kind == FRAME_END) {
    rank_has_ended(fleet, agent, frame);
  } else if (frame->kind == FRAME_PORT) {
    char* root = frame_text(frame);
    tell_all(fleet, FRAME_GO, 0, root);
    free(root);
    events->input_wanted(events->job); /* After the order it may come. */
  } else if (frame->kind == FRAME_FAILED) {
    agent->failed = true;
    events->cannot_start(events->job, (int)frame->number);
  } else if (frame->kind == FRAME_TAKEN) {
    events->input_wanted(events->job);
  } else {
    agent->from.damaged = true;
  }
}

static void take_frames(struct fleet* fleet, struct agent* agent) {
  struct frame frame;
  while (inlet_next(&agent->from, &frame)) {
    take_frame(fleet, agent, &frame);
  }
  if (agent->from.damaged && !agent->from.ended) {
    report("host %s: what the agent says makes no sense; does '--launch-agent' print something itself?", agent->host);
    agent->from.ended = true;
    if (agent->pid != 0) { /* 0 would be our own group. */
      kill(-agent->pid, SIGKILL);
    }
  }
}

void fleet_serve(struct fleet* fleet, const struct pollfd* polls) {
  for (int i = 0; i < fleet->count; i++) {
    struct agent* agent = &fleet->agents[i];
    if (polls[2 * i].revents != 0) {
      inlet_read(&agent->from);
      take_frames(fleet, agent);
    }
    if (polls[2 * i + 1].revents != 0) {
      output_write(&agent->to);
    }
  }
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

/** What a dead agent left in its pipe. Another process may have it open: no more than is there. */
static void drain(struct fleet* fleet, struct agent* agent) {
  struct pollfd poll_one = {.fd = agent->from.fd, .events = POLLIN};
  while (!agent->from.ended && poll(&poll_one, 1, 0) == 1) {
    inlet_read(&agent->from);
    take_frames(fleet, agent);
  }
  agent->from.ended = true;
}

static void tell_of(const struct agent* agent, int status) {
  if (WIFSIGNALED(status)) {
    report("host %s: the agent was ended by signal %d, and its ranks with it; ending the others", agent->host,
           WTERMSIG(status));
  } else {
    report("host %s: the agent ended with exit code %d before its ranks did; ending the others", agent->host,
           WEXITSTATUS(status));
  }
}

static void agent_is_gone(struct fleet* fleet, struct agent* agent, int status) {
  drain(fleet, agent);
  close(agent->from.fd);
  close(agent->to.fd);
  agent->from.fd = agent->to.fd = -1;
  int lost = agent->unfinished;
  agent->unfinished = 0;
  if (lost == 0) {
    return;
  }
  /* One that talked nonsense was ended here, which has been said. */
  bool ended_itself = !agent->from.damaged;
  int code = WIFSIGNALED(status) && ended_itself ? 128 + WTERMSIG(status) : EXIT_FAILURE;
  if (!fleet->ends && !agent->failed && ended_itself) {
    tell_of(agent, status);
  }
  fleet->events.lost(fleet->events.job, lost, code);
}

void fleet_reap(struct fleet* fleet) {
  for (int i = 0; i < fleet->count; i++) {
    struct agent* agent = &fleet->agents[i];
    siginfo_t end = {0};
    if (agent->pid == 0 || waitid(P_PID, (id_t)agent->pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_pid != agent->pid) {
      continue;
    }
    kill(-agent->pid, SIGKILL);
    guardian_forget(fleet->guardian, agent->pid);
    int status = 0;
    waitpid(agent->pid, &status, 0);
    agent->pid = 0;
    agent_is_gone(fleet, agent, status);
  }
}

void fleet_signal(struct fleet* fleet, int signal_number) {
  bool goes_on = signal_number == SIGQUIT || signal_number == SIGSTOP || signal_number == SIGCONT;
  fleet->ends = fleet->ends || !goes_on;
  tell_all(fleet, FRAME_SIGNAL, (uint32_t)signal_number, "");
}

void fleet_input(struct fleet* fleet, const char* data, size_t size) {
  if (fleet->agents[0].to.fd >= 0) {
    frame_put(&fleet->agents[0].to, FRAME_INPUT, 0, data, size);
  }
}

void fleet_deaf(struct fleet* fleet, bool error) {
  tell_all(fleet, FRAME_DEAF, error, "");
}

void fleet_flush(struct fleet* fleet) {
  const int patience_ms = 1000;
  for (int i = 0; i < fleet->count; i++) {
    struct output* to = &fleet->agents[i].to;
    struct pollfd poll_one = {.fd = to->fd, .events = POLLOUT};
    while (to->fd >= 0 && output_waits(to) && poll(&poll_one, 1, patience_ms) == 1) {
      output_write(to);
    }
  }
}

bool fleet_is_over(const struct fleet* fleet) {
  for (int i = 0; i < fleet->count; i++) {
    if (fleet->agents[i].pid != 0) {
      return false;
    }
  }
  return true;
}

void fleet_kill(struct fleet* fleet) {
  for (int i = 0; i < fleet->count; i++) {
    if (fleet->agents[i].pid != 0) {
      report("host %s: the agent does not end; killing it here", fleet->agents[i].host);
      kill(-fleet->agents[i].pid, SIGKILL);
    }
  }
}

void fleet_free(struct fleet* fleet) {
  for (int i = 0; i < fleet->count; i++) {
    inlet_close(&fleet->agents[i].from);
    output_close(&fleet->agents[i].to);
  }
  free(fleet->agents);
}
