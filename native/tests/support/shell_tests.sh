# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What shell tests share. A test is a function test_*; it runs in a subshell, in a folder of its own, and fails by a
# non-zero exit. Waiting is always for a condition, with a deadline that only a broken subject meets. Source this file,
# define tests, call run_tests.
set -uo pipefail

readonly DEADLINE_S=${LCI_TEST_DEADLINE_S:-60}
work=$(mktemp -d "${TMPDIR:-/tmp}/lci-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly work
readonly SKIPPED=77

fail() { echo "    $*" >&2; exit 1; }
# skip REASON: for what this machine cannot do; it is counted and said.
skip() { echo "skipped ${FUNCNAME[1]}: $*"; exit $SKIPPED; }
equal() { [[ $1 == "$2" ]] || fail "expected '$2', got '$1'${3:+ ($3)}"; }
contains() { [[ $1 == *"$2"* ]] || fail "no '$2' in '$1'"; }

# progress TEXT...: to who watches `./lci test` at once; what else a suite prints goes into its log.
progress() { [[ -z ${LCI_PROGRESS:-} ]] || echo "    $*" >&"$LCI_PROGRESS"; }

# within CONDITION...: waits until the command succeeds.
within() {
  local end=$((SECONDS + DEADLINE_S))
  until "$@"; do
    ((SECONDS < end)) || fail "not within $DEADLINE_S s: $*"
    sleep 0.05 # seldom, for it is a process each time
  done
}

# process_state PID: a letter as in ps; nothing if there is no such process.
process_state() {
  local line
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 0
  line=${line##*) }
  echo "${line%% *}"
}
# is_gone PID: no such process, or a zombie that only waits for its parent.
is_gone() { local state; state=$(process_state "$1"); [[ -z $state || $state == Z ]]; }
is_stopped() { [[ $(process_state "$1") == T ]]; }
is_empty() { [[ -z $(ls -A "$1") ]]; }
has_lines() { [[ -f $1 && $(wc -l < "$1") -ge $2 ]]; }

# has_variable PID NAME=VALUE: in its environment.
has_variable() { grep -qszFx "$2" "/proc/$1/environ"; }
# processes_with PATTERN: pids of those with such a variable, NAME=VALUE.
processes_with() { grep -lsz "$1" /proc/[0-9]*/environ | tr -cd '0-9\n' || true; }
# job_processes BASE: pids of all processes that belong to a job whose directory is under BASE.
job_processes() { processes_with "^LCI_JOB_DIR=$1/"; }

# run_tests: runs all tests (LCI_TESTS: only those), prints the failed ones and "N passed, N failed".
run_tests() {
  local name code passed=0 failed=0 skipped=0
  for name in ${LCI_TESTS:-$(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p')}; do
    code=0
    # SECONDS goes on from test to test, by as much as the machine is busy: who takes it for a test's own time fails at once.
    # shellcheck disable=SC2034  # the tests use both
    (SECONDS=100000 dir=$work/$name base=$work/$name/base && mkdir "$dir" && "$name") || code=$?
    case $code in
      0) passed=$((passed + 1)) ;;
      "$SKIPPED") skipped=$((skipped + 1)) ;;
      *) echo "FAILED $name"; failed=$((failed + 1)) ;;
    esac
  done
  echo "$passed passed, $failed failed$( ((skipped == 0)) || echo ", $skipped skipped")"
  ((failed == 0 && passed > 0))
}
