# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci help, and COMMAND --help.

usage() {
  cat << 'EOF'
Usage: ./lci COMMAND

  demo                      count the k-mers of lambda-phage reads in two ranks
  build                     install missing tools (as root on Debian), build, install the modules locally
  run [-n N] PROGRAM ARGS...
                            run N ranks of a sample, a jar or an executable
  test [quick|SUITE|soak [PART]]
                            all tests in small doses; quick: the fast ones; one suite; soak: the full figures, in parts
  soak-report               join the last results of the soak, and their commits, in docs/internals/soak.md
  metrics-page              write docs/guide/metrics.md: the meters, as the sources have them
  api-diff [TAG]            compare the public Java API with that of TAG, or the last one; fails if it is incompatible
  conformance               write docs/internals/conformance.md: which rows of the specification the last ./lci test proved
  bench [GROUP] [--only METRIC] [--pairs N] [--json FILE] [--dose PART]
                            compare with the machine and with peers; GROUP: native, coll, net, resources, jvm, kmer;
                            PART of the work, for a quick look: 0.01
  bench against COMMIT [ROW...]
                            is this tree slower than COMMIT?
  info                      version, transports, limits of this machine
  net-lab up N              hosts on this machine, to try what runs on several; exec, status, down
  job new DIR -n N          what the ranks of a job need that something else starts
  format                    format all sources
  clean                     remove what was built, and .lci
  version                   print the version
  help [COMMAND]            say more; the same as COMMAND --help

Environment: JAVA_HOME (else the JDK on the PATH), LCI_JAVA_OPTS (more options for the JVMs that run and bench start),
LCI_NEWER_JDK (a JDK of 22 or newer for the calls by java.lang.foreign; else the newest in /usr/lib/jvm).
Exit codes: 0 done, 1 failed, 2 wrong command line; those of run: see ./lci run --help.
EOF
}

# usage_line COMMAND: what the general text says of it.
usage_line() { usage | sed -nE "s|^  ($1( \[[A-Z]+\])?)  +(.*)|Usage: ./lci \1\n\nWhat it does: \3.|p"; }

# help_on COMMAND: its own text if it has one.
help_on() {
  case $1 in
    run | build | demo | info | test | bench | net-lab | job) "usage_$1" ;;
    version | api-diff | soak-report | metrics-page | conformance | format | clean) usage_line "$1" ;;
    '' | help) usage ;;
    *) unknown_command "$1" ;;
  esac
}

# unknown_command WORD: with a guess at what was meant.
unknown_command() {
  local guess
  case $1 in
    quick | soak) guess="test $1" ;;
    *) guess=$(usage | sed -nE 's/^  ([a-z]+[a-z-]*) .*/\1/p' | closest "$1") ;;
  esac
  [[ -z $guess ]] || misused "unknown command '$1'; did you mean ./lci $guess? See ./lci --help"
  misused "unknown command '$1'; see ./lci --help"
}
