# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci run.

usage_run() {
  cat << EOF
Usage: ./lci run [-n N] [--hosts HOST,...] [OPTION...] PROGRAM [ARGUMENT...]

Runs N ranks of PROGRAM as one job: on this host, without -n one rank; with --hosts on those hosts, in blocks, without -n
one rank on each. PROGRAM is

  a sample; most say more themselves: ./lci run SAMPLE --help
$(programs "$SAMPLES")
  or, of the same kind, what measures and tests start
$(programs "$BENCHES")

  a .jar: run by \$JAVA_HOME/bin/java -jar (else that of the JDK on the PATH), with these flags, as the samples are:
    -XX:+ExitOnOutOfMemoryError
    --enable-native-access=ALL-UNNAMED  from JDK 22 on
    -XX:MaxRAMPercentage=P              with more than two ranks; P is 50 / N, at least 1
    \$LCI_JAVA_OPTS                      split at blanks; they come last, so they win

  an executable: a path, or a name on the PATH

Each rank finds in its environment LCI_JOB_DIR (the job's directory), LCI_RANK (0..N-1) and LCI_SIZE (N). With --hosts it
finds LCI_ROOT (where rank 0 answers) and LCI_SECRET_FILE (the job's secret) instead of LCI_JOB_DIR, and this command's
variables LCI_*; it starts in the folder of that name.

  -n N, --ranks N   number of ranks, 1 to 65535
  --hosts HOST,...  where the ranks run; a host may be named twice. Each needs this tree, built, at the same path
  --launch-agent COMMAND
                    what starts a program on host {}; words are split at blanks. Default: ssh {}
  --root ADDRESS    a name or address of the first host by which the others reach it; default: its name in --hosts
  --dir BASE        where the job directory is created; if BASE is missing, it is made too, and stays. Default
                    \$XDG_RUNTIME_DIR/lci if there is such a directory of yours, else /tmp/lci-UID. Must be yours and
                    not writable by others
  --no-prefix       do not put "[rank] " in front of the lines: ranks write to standard output and error themselves.
                    Always so with one rank
  --grace SECONDS   after the first failure, let the other ranks end by themselves for so long before they are ended;
                    default 0
  --usage           print processor time and peak memory of each rank when it ends
  -h, --help        print this text

Standard input goes to rank 0; the others have none. The first rank that fails ends the job: the others get SIGTERM, and
SIGKILL five seconds later. Ctrl-C, SIGTERM and SIGHUP are passed on and end the job; a second one kills. SIGQUIT is
passed on (a JVM prints its threads). Nothing is left behind on any host, even if the launcher itself is killed.

Exit code: 0 if all ranks ended with 0; else that of the first that did not, 128 + S if signal S ended it. By ./lci run:
  1    the build failed, the job could not be started, a host was lost, or, without --hosts, a rank ended with 0 and
       never joined while another joins
  2    the command line is wrong
  126  PROGRAM cannot be run
  127  PROGRAM is not there
  130  Ctrl-C; 143: SIGTERM, 129: SIGHUP
EOF
}

# need_number RANKS COMMAND
need_number() {
  [[ $1 =~ ^[0-9]{1,5}$ ]] && ((10#$1 >= 1 && 10#$1 <= 65535)) ||
    misused "-n needs a number from 1 to 65535, not '$1'; see ./lci $2 --help"
}

cmd_run() {
  local options=() ranks=each run_on=()
  while (($# > 0)); do
    case $1 in
      -n | --ranks | --dir | --grace | --hosts | --launch-agent | --root) (($# > 1)) || misused "$1 needs a value; see ./lci run --help" ;;&
      -h | --help) usage_run; exit ;;
      -n | --ranks) ranks=$2; shift 2 ;;
      -n*) ranks=${1#-n}; shift ;;
      --ranks=*) ranks=${1#*=}; shift ;;
      --hosts) options+=("$1" "$2"); IFS=, read -ra run_on <<< "$2"; shift 2 ;;
      --hosts=*) options+=("$1"); IFS=, read -ra run_on <<< "${1#*=}"; shift ;;
      --dir | --grace | --launch-agent | --root) options+=("$1" "$2"); shift 2 ;;
      --dir=* | --grace=* | --launch-agent=* | --root=* | --no-prefix | --usage) options+=("$1"); shift ;;
      --) shift; break ;;
      -*) misused "unknown option $1; see ./lci run --help" ;;
      *) break ;;
    esac
  done
  [[ $ranks != each ]] || ranks=$((${#run_on[@]} > 0 ? ${#run_on[@]} : 1))
  need_number "$ranks" run
  [[ -n ${1:-} ]] || misused "which program? see ./lci run --help"
  need_program "$1"
  build
  local program=() java=()
  program_command "$((10#$ranks))" "$@"
  exec "$launcher" -n "$((10#$ranks))" "${options[@]}" -- "${program[@]}"
}

cmd_run_quietly() { (cmd_run -n 1 "$@"); }
