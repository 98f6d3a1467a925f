#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Do the tests of the whole system notice a fault of the core? As native/tests/mutations/mutations.sh, for the tests that run JVMs:
# for each row the test passes without the fault, and fails with it. The slow consumer's test looks for itself.
#
#   LCI=./lci LCI_MUTATED_LIBRARY=liblci.so mutations.sh java|programs READS...
#
# java: the rows whose tests Maven runs; programs: the others. Both may run at a time, for most of it is waiting.
# Needs a build with LCI_MUTATIONS, the modules installed (./lci build) and their tests compiled.
set -uo pipefail

# mutation | test | selection | what the fault is
readonly TABLE='
drop_delayed                | oracle    | 31 canonical 2 chaos                 | a message that chaos held back is never sent
post_twice                  | oracle    | 31 canonical 2 chaos                 | a message is sent twice
ring_receives_into_sum      | oracle_collectives | 3 counts                    | a ring receives where the sum lies that it sends
alltoall_in_place_received_at_once | oracle_collectives | 3 counts             | an alltoall in place overwrites a block that it has yet to send
ignore_death                | kill      | 1                                    | a process that died is taken for a living one
attributes_ignore_unknown   | bad_input | test_unknown_attribute               | a misspelt option is silently ignored
fence_delivers_at_once      | java      | DrainedEverywhereTest#aDeviceThat*   | what was written to a rank counts as delivered
drop_delayed                | java      | ChaosTest#bulkSendsOfEverySize       | a message that chaos held back is never sent
post_twice                  | java      | ChaosTest#bulkSendsOfEverySize       | a message is sent twice
refusal_blocks_all          | java      | BulkSendTest#aSlowRank*+aMixed*      | one refused key holds up the others of its batch
post_twice                  | java      | BulkSendTest#aSlowRank*+aMixed*      | a message is sent twice
leak_packet                 | java      | InboxTest                            | packets that come back do not reach the pool
skip_wake                   | java      | LoopTest                             | nobody wakes a parked loop
'
# A fault may show as waiting for ever; without it a busy machine may take its time. MPI takes most: its ranks wait for each other
# by turning round, and what is cut off tells nothing.
readonly PATIENCE_S=40 MPI_PATIENCE_S=160 SOUND_PATIENCE_S=300

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly here
readonly lci=${LCI:?path of the lci tool} library=${LCI_MUTATED_LIBRARY:?a library with mutations}
# How it calls itself for one row: --test TEST SELECTION READS...
only='' part=
if [[ ${1:-} == --test ]]; then only=$2 selection=$3; shift 3; else part=${1:?java or programs}; shift; fi
readonly reads=("$@")
readonly log=${TMPDIR:-/tmp}/lci-system-mutations.$$
[[ -n $only ]] || trap 'rm -f "$log"' EXIT
export LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} -Dlci.native.path=$library"

run_oracle() { "$here/oracle_test.sh" "$1" "${reads[@]}"; }
run_oracle_collectives() {
  LCI_LAUNCHER=$here/../../lci-native-bridge/target/native/lci_run LCI_LIBRARY=$library "$here/oracle_collectives_test.sh" "$1"
}
run_kill() { "$here/kill_test.sh" "$1"; }
run_bad_input() { LCI_TESTS=$1 "$here/bad_input_test.sh"; }
run_java() {
  cd "$here/../.." &&
    mvn -q -ntp -B -pl lci-reactive surefire:test@default-test -Dtest="$1" -Dlci.native.path="$library"
}

# run_test TEST SELECTION MUTATION: its exit code; that of timeout when it was not done in time.
run_test() {
  local patience=$SOUND_PATIENCE_S deadline=${LCI_TEST_DEADLINE_S:-}
  # The tests' own deadlines are to be shorter than our patience.
  [[ -z $3 ]] || patience=$PATIENCE_S deadline=15
  [[ -z $3 || $1 != oracle_collectives ]] || patience=$MPI_PATIENCE_S
  LCI=$lci LCI_MUTATION=$3 LCI_TEST_DEADLINE_S=$deadline \
    timeout --kill-after=5 "$patience" "$0" --test "$1" "$2" "${reads[@]}" > "$log" 2>&1 < /dev/null
}

# judge MUTATION TEST SELECTION FAULT: prints its line; fails when the test does not tell the fault from its absence.
judge() {
  local code=0
  if [[ $sound != *"|$2/$3|"* ]]; then
    run_test "$2" "$3" '' || {
      printf '%-26s FAILED  %s fails without the fault:\n' "$1" "$2: $3"
      tail -n 20 "$log"
      return 1
    }
    sound+="|$2/$3|"
  fi
  run_test "$2" "$3" "$1" || code=$?
  case $code in
    0) printf '%-26s FAILED  not noticed by %s: %s\n' "$1" "$2: $3" "$4"; return 1 ;;
    124 | 137) printf '%-26s ok      %s: not done in time: %s\n' "$1" "$2" "$4" ;;
    *) printf '%-26s ok      %s: noticed: %s\n' "$1" "$2" "$4" ;;
  esac
}

main() {
  local passed=0 failed=0 mutation name selection fault
  sound=
  while IFS='|' read -r mutation name selection fault; do
    read -r mutation <<< "$mutation"
    read -r name <<< "$name"
    read -r selection <<< "$selection"
    read -r fault <<< "$fault"
    [[ $part == $([[ $name == java ]] && echo java || echo programs) ]] || continue
    if judge "$mutation" "$name" "$selection" "$fault"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done < <(grep . <<< "$TABLE")
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
}

if [[ -n $only ]]; then "run_$only" "$selection"; else main; fi
