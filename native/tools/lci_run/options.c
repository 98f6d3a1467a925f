/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

static const char* const HELP =
    "Usage: lci-run -n N [--dir BASE] [--no-prefix] [--grace SECONDS] [--usage]\n"
    "               [--hosts HOST,... [--launch-agent COMMAND] [--root ADDRESS]] [--] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs N ranks of PROGRAM on this host as one job. Each rank finds in its environment LCI_JOB_DIR (the job's\n"
    "directory), LCI_RANK (0..N-1) and LCI_SIZE (N).\n"
    "With --hosts the ranks run on the hosts named, in blocks. Each finds in its environment LCI_ROOT (where rank 0\n"
    "answers), LCI_SECRET_FILE, LCI_RANK and LCI_SIZE, and the variables LCI_* of this launcher.\n"
    "\n"
    "  -n N, --ranks N   number of ranks, 1 to 65535; with --hosts as many as hosts unless it says otherwise\n"
    "  --hosts HOST,...  where the ranks run; a host may be named twice\n"
    "  --launch-agent COMMAND\n"
    "                    what starts a program on host {}; words are split at blanks. Default: ssh {}\n"
    "  --root ADDRESS    where other hosts reach the first one; default: its name in --hosts\n"
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

/** What starts with "-" would be an option of ssh. */
static bool is_host(const char* name) {
  return name[0] != '\0' && name[0] != '-' && strpbrk(name, " \t\n'\"") == NULL;
}

static bool parse_hosts(const char* text, struct options* options) {
  options_free(options);
  for (const char* at = text;; at++) {
    size_t length = strcspn(at, ",");
    options->hosts = grow(options->hosts, ((size_t)options->host_count + 1) * sizeof *options->hosts);
    char* name = strndup(at, length);
    if (name == NULL || !is_host(name)) {
      free(name);
      return report("--hosts needs names with commas between them, not '%s'", text);
    }
    options->hosts[options->host_count++] = name;
    at += length;
    if (*at == '\0') {
      return true;
    }
  }
}

static bool check_hosts(struct options* options) {
  if (options->host_count == 0) {
    return options->root == NULL || report("--root goes with --hosts; see lci-run --help");
  }
  if (options->ranks == 0) {
    options->ranks = options->host_count;
  }
  return options->ranks >= options->host_count ||
         report("%d hosts, and no more than %d ranks: each host needs one", options->host_count, options->ranks);
}

void options_free(struct options* options) {
  for (int i = 0; i < options->host_count; i++) {
    free(options->hosts[i]);
  }
  free(options->hosts);
  options->hosts = NULL;
  options->host_count = 0;
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
    case 'H':
      return parse_hosts(optarg, options);
    case 'l':
      options->launch_agent = optarg;
      return strstr(optarg, "{}") != NULL ||
             report("--launch-agent needs {} where the host's name goes, not '%s'", optarg);
    case 'r':
      options->root = optarg;
      return optarg[0] != '\0' || report("--root needs an address");
    case 'h':
      exit(write_all(STDOUT_FILENO, HELP, strlen(HELP)) ? EXIT_SUCCESS : EXIT_FAILURE);
    case ':':
      return report("%s needs a value; see lci-run --help", word);
    default:
      return report("unknown option %s; see lci-run --help", word);
  }
}

bool options_parse(int argc, char** argv, struct options* options) {
  static const struct option names[] = {{"ranks", required_argument, NULL, 'n'},
                                        {"dir", required_argument, NULL, 'd'},
                                        {"no-prefix", no_argument, NULL, 'p'},
                                        {"grace", required_argument, NULL, 'g'},
                                        {"usage", no_argument, NULL, 'u'},
                                        {"hosts", required_argument, NULL, 'H'},
                                        {"launch-agent", required_argument, NULL, 'l'},
                                        {"root", required_argument, NULL, 'r'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  *options = (struct options){.prefix = true, .launch_agent = "ssh {}"};
  opterr = 0;
  /* '+': options end at the program's name, what follows is the program's. */
  for (int option; (option = getopt_long(argc, argv, "+:n:h", names, NULL)) != -1;) {
    if (!parse_option(option, argv[optind - 1], options)) {
      return false;
    }
  }
  options->command = argv + optind;
  if (!check_hosts(options)) {
    return false;
  }
  if (options->ranks == 0) {
    return report("how many ranks? -n N is missing; see lci-run --help");
  }
  if (options->command[0] == NULL || options->command[0][0] == '\0') {
    return report("which program? see lci-run --help");
  }
  options->prefix = options->prefix && options->ranks > 1;
  return true;
}
