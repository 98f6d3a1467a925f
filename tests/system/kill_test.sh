#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# kill -9 of a rank at a random moment: the others end with the typed error that names it, before the deadline, and
# nothing is left. Usage: LCI=./lci kill_test.sh ROUNDS
# Seed of the random moments: LCI_KILL_SEED, else a random one, which is printed.
# Mutation that must make it fail: ignore_death.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${LCI:?path of the lci tool} rounds=${1:?number of rounds}
readonly RANKS=3 LATEST_MS=1500
seed=${LCI_KILL_SEED:-$RANDOM}
RANDOM=$seed
longest_ms=0 total_ms=0

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# rank_pid RANK: the JVM of that rank, which is a child of the launcher.
rank_pid() {
  local pid
  for pid in $(cat "/proc/$launcher/task/$launcher/children" 2> /dev/null); do
    has_variable "$pid" "LCI_RANK=$1" && echo "$pid" && return
  done
  return 1
}

are_ready() { [[ $(grep -c ' ready$' "$dir/out" 2> /dev/null) == "$RANKS" ]]; }

# one_kill DIR: starts a job that would run for long, kills a rank, looks at what is left.
one_kill() {
  dir=$1
  local victim=$((RANDOM % RANKS)) moment=$((RANDOM % LATEST_MS)) code start pid others
  "$lci" run -n $RANKS --dir "$dir/job" --grace "$DEADLINE_S" traffic > "$dir/out" 2> "$dir/err" < /dev/null &
  launcher=$!
  # shellcheck disable=SC2064  # this launcher; its ranks go with it
  trap "kill -9 $launcher 2> /dev/null" EXIT
  within are_ready
  sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
  pid=$(rank_pid $victim) || fail "rank $victim ended by itself: $(cat "$dir/err")"
  start=$(now_ms)
  kill -9 "$pid"
  within is_gone "$launcher"
  wait "$launcher"
  code=$?
  took_ms=$(($(now_ms) - start))
  equal "$code" 137 "victim $victim after $moment ms: $(tail -n 5 "$dir/err")"
  others=$(grep -c "^\[[0-9]*\] .*PeerFailedException.*rank $victim" "$dir/err")
  equal "$others" $((RANKS - 1)) "ranks that named rank $victim: $(tail -n 20 "$dir/err")"
  is_empty "$dir/job" || fail "left in the job's base: $(find "$dir/job")"
  [[ -z $(job_processes "$dir/job") ]] || fail "left processes: $(job_processes "$dir/job")"
}

test_kills() {
  local round
  echo "seed $seed; replay with LCI_KILL_SEED=$seed"
  for ((round = 1; round <= rounds; round++)); do
    mkdir "$dir/$round"
    took_ms=0
    one_kill "$work/test_kills/$round"
    trap - EXIT
    total_ms=$((total_ms + took_ms))
    ((took_ms <= longest_ms)) || longest_ms=$took_ms
    dir=$work/test_kills
    rm -rf "${dir:?}/$round"
    ((round % 50 != 0)) || progress "$round of $rounds kills with seed $seed"
  done
  echo "$rounds kills: the others had ended after $((total_ms / rounds)) ms on average, $longest_ms ms at most"
}

run_tests
