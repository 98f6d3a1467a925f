#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Jobs of 2 to 64 ranks on hosts of `./lci net-lab`, four ranks to a host: all join, meet in a barrier, and each tells each a number.
# Prints what that took (docs/scaling.md has it). Time and memory are told, not tested; connections are counted.
# Usage: LCI=./lci LCI_LAB_HOSTS=lab1,... LCI_SCALE_JOB=PROGRAM scale_test.sh
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/lab.sh
source "$here/../support/lab.sh"
readonly lci=${LCI:?path of the lci tool} job=${LCI_SCALE_JOB:?path of scale_job}
((${#lab_hosts[@]} >= 16)) || fail "LCI_LAB_HOSTS names fewer than 16 hosts"

# scale RANKS HOSTS: sets lines, what rank 0 printed.
scale() {
  local hosts start=$EPOCHREALTIME
  hosts=$(IFS=,; echo "${lab_hosts[*]:0:$2}")
  timeout 300 "$lci" run --hosts "$hosts" --launch-agent 'ip netns exec {}' -n "$1" "$job" > "$dir/out" 2> "$dir/err" < /dev/null ||
    fail "$1 ranks on $2 hosts: exit $?: $(tail -n 5 "$dir/err")"
  lines=$(sed -n 's/^\[0\] //p' "$dir/out")
  awk -v from="$start" -v to="$EPOCHREALTIME" -v hosts="$2" '{ print } END { printf "    on %d hosts, %.2f s with the launcher\n", hosts, to - from }' \
    <<< "$lines"
}

# connections STAGE LEAST MOST: each rank has so many.
connections() {
  local least most
  read -r least most < <(sed -nE "s/^[0-9]+ ranks, $1: .*\(([0-9]+) to ([0-9]+)\)$/\1 \2/p" <<< "$lines")
  ((least >= $2 && most <= $3)) || fail "$1: $least to $most connections a rank, not $2 to $3"
}

# goes RANKS HOSTS: a rank has a link to each rank of other hosts when all have talked. With at most each of them it has
# connections that watch it and by which it watches it; and one to rank 0, which has one to each.
goes() {
  local others=$(($1 - $1 / $2))
  scale "$@"
  equal "$(grep -c . <<< "$lines")" 3 "$lines"
  connections joined 1 $((3 * others + $1))
  connections "all to all" $((others + 1)) $((3 * others + $1))
}

test_2_ranks() { goes 2 2; }
test_4_ranks() { goes 4 2; }
test_8_ranks() { goes 8 2; }
test_16_ranks() { goes 16 4; }
test_32_ranks() { goes 32 8; }
test_64_ranks() { goes 64 16; }

# For rank 0: it has a connection to each of the others while they join.
test_too_few_descriptors_are_said() {
  LCI_ATTR_BOOTSTRAP_TIMEOUT_MS=15000 \
    "$lci" run --hosts "$LCI_LAB_HOSTS" --launch-agent 'ip netns exec {}' -n 64 sh -c 'ulimit -n 60; exec "$0"' "$job" \
    > "$dir/out" 2> "$dir/err" < /dev/null && fail "it ran"
  contains "$(cat "$dir/out" "$dir/err")" "rank 0 may not open so many files"
}

run_tests
