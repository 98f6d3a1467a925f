#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir and work
# Two ranks over a network that loses packets, beside iperf3 over the same, in turns: each message comes once, and memory stays.
# The rates and their ratio are told, not tested.
# Usage: LCI=./lci LCI_LAB_HOSTS=lab1,lab2 LCI_FLOW_JOB=PROGRAM net_loss_test.sh PAIRS SECONDS [BYTES]
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/lab.sh
source "$here/../support/lab.sh"
readonly lci=${LCI:?path of the lci tool} job=${LCI_FLOW_JOB:?path of flow_job}
readonly pairs=${1:?number of pairs} seconds=${2:?seconds of each run} bytes=${3:-8000}
readonly MOST_GROWTH=64 # MiB
((${#lab_hosts[@]} == 2)) || fail "LCI_LAB_HOSTS does not name two hosts"

# Both have the congestion control of the namespace. Mbit/s by the receiver's count; sets theirs.
iperf() {
  local server address
  address=$(ip netns exec "${lab_hosts[1]}" getent hosts "${lab_hosts[1]}" | cut -d ' ' -f 1)
  ip netns exec "${lab_hosts[1]}" iperf3 --server --one-off --forceflush > "$dir/server" 2>&1 &
  server=$!
  trap 'kill "$server" 2> /dev/null' EXIT
  within grep -qs listening "$dir/server"
  ip netns exec "${lab_hosts[0]}" iperf3 --client "$address" --time "$seconds" --format m > "$dir/client" 2>&1 ||
    fail "iperf3: $(tail -n 3 "$dir/client")"
  wait "$server"
  trap - EXIT
  theirs=$(sed -nE 's/.* ([0-9.]+) Mbits\/sec +receiver.*/\1/p' "$dir/client")
  [[ -n $theirs ]] || fail "iperf3 says no rate: $(tail -n 3 "$dir/client")"
}

# Sets ours, and line.
flow() {
  "$lci" run "${lab_options[@]}" -n 2 "$job" "$seconds" "$bytes" > "$dir/out" 2> "$dir/err" < /dev/null ||
    fail "exit $?: $(tail -n 5 "$dir/out" "$dir/err")"
  line=$(sed -n 's/^\[1\] //p' "$dir/out")
  ours=$(sed -nE 's/.* ([0-9.]+) Mbit\/s, .*/\1/p' <<< "$line")
  [[ -n $ours ]] || fail "the ranks say no rate: $line"
}

# grown LINE: both ranks did so by less than may be.
grown() {
  local sender receiver
  read -r sender receiver < <(sed -nE 's/.*grew by ([0-9]+)\..* and ([0-9]+)\..*/\1 \2/p' <<< "$1")
  ((sender < MOST_GROWTH && receiver < MOST_GROWTH)) || fail "memory grew: $1"
}

test_beside_iperf3() {
  local pair theirs ours line
  for ((pair = 1; pair <= pairs; pair++)); do
    # What is first in one pair is second in the next.
    if ((pair % 2)); then iperf && flow; else flow && iperf; fi
    grown "$line"
    awk -v p="$pair" -v o="$ours" -v t="$theirs" -v l="$line" 'BEGIN { printf "pair %d: %.2f (%.1f of %.1f Mbit/s); %s\n", p, o / t, o, t, l }' |
      tee -a "$work/pairs"
  done
  sed -E 's/^pair [0-9]+: ([0-9.]+) .*/\1/' "$work/pairs" | sort -n |
    awk '{ r[NR] = $1 } END { printf "%d pairs: the median ratio is %.2f\n", NR, (r[int((NR + 1) / 2)] + r[int(NR / 2) + 1]) / 2 }'
}

run_tests
