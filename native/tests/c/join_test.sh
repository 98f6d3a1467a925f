#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# Many ranks of the shipped library on one host: they join, meet and leave; and they hear of those that die, be it
# before they join, while they join, or afterwards together with the ranks that watch them.
# Usage: join_test.sh LAUNCHER JOB RANKS, with the programs lci_run and join_job
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
readonly launcher=${1:?path of lci_run} job=${2:?path of join_job} ranks=${3:?number of ranks}

# run_job RANKS PART: its exit code in $code, its lines in $dir/out and $dir/err.
run_job() {
  code=0
  "$launcher" -n "$1" --dir "$dir/job" --grace "$DEADLINE_S" --no-prefix "$job" "$2" > "$dir/out" 2> "$dir/err" \
    < /dev/null || code=$?
}

test_all_join() {
  local count
  for count in $((ranks / 2)) "$ranks"; do
    run_job "$count" join
    equal "$code" 0 "$(tail -n 5 "$dir/err")"
    contains "$(cat "$dir/out")" "$count ranks: joined after"
    progress "$(cat "$dir/out")"
    cat "$dir/out"
  done
}

# A quarter of the ranks: each of them is told of one that is killed while another has not come yet.
test_a_death_while_joining_is_named() {
  run_job $((ranks / 4)) early
  equal "$code" 142 "$(tail -n 5 "$dir/err")"
  equal "$(grep -c '^named the dead rank$' "$dir/out")" $((ranks / 4 - 2)) "$(tail -n 5 "$dir/err")"
}

test_a_death_before_joining_is_named() {
  run_job $((ranks / 4)) before
  equal "$code" 137 "$(tail -n 5 "$dir/err")"
  equal "$(grep -c '^named the dead rank$' "$dir/out")" $((ranks / 4 - 1)) "$(tail -n 5 "$dir/err")"
}

test_deaths_of_neighbours_and_watchers_are_heard_of() {
  run_job $((ranks / 4)) deaths
  equal "$code" 137 "$(tail -n 5 "$dir/err")"
  contains "$(cat "$dir/out")" "survivors know of 5 deaths"
}

run_tests
