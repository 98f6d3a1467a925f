#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# A consumer that asks for one message a second, then for all: its sender stops, memory stays, nothing is lost. So it is
# of a stream of a group. [X11, J24]
# Usage: LCI=./lci LCI_MUTATED_LIBRARY=liblci.so slow_consumer_test.sh MESSAGES SECONDS
# With LCI_LAB_HOSTS the two are on those hosts of `./lci net-lab`.
# Mutation that must make it fail: ignore_demand, in a library built with LCI_MUTATIONS.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/lab.sh
source "$here/../support/lab.sh"
readonly lci=${LCI:?path of the lci tool}
readonly messages=${1:?number of messages} seconds=${2:?how long it is slow}

# slow_consumer MODE [RANKS]: JVMs with heaps of 64 MiB. What they print ends up in $dir/out and $dir/err.
slow_consumer() {
  LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} -Xmx64m ${java_opts:-}" timeout 1200 "$lci" run "${lab_options[@]}" -n "${2:-2}" --dir "$dir/job" slow-consumer \
    --mode "$1" --messages "$messages" --seconds "$seconds" > "$dir/out" 2> "$dir/err" < /dev/null
}

# holds MODE [RANKS]: it does what it should, and says so.
holds() {
  slow_consumer "$@" || fail "exit $?: $(tail -n 5 "$dir/out" "$dir/err")"
  sed "s/^/$1 /" "$dir/out"
  equal "$(grep -c 'memory grew by' "$dir/out")" "${2:-2}" "ranks that measured"
  contains "$(cat "$dir/out")" "checksum right"
}

test_direct() { holds direct; }
test_publish_on() { holds publish_on; }
test_two_ports() {
  holds two_ports
  contains "$(cat "$dir/out")" "while the other was slow"
}

# A stream of four, of which one asks for nothing, which the log says; then for one a second, then for all.
test_shuffle() {
  LCI_ATTR_STALL_WARNING_MS=500 holds shuffle 4
  local rank
  for rank in 0 1 3; do
    contains "$(grep "rank $rank: shuffle stream of a group did not move" "$dir/err")" "rank 2 has not begun it"
  done
}

test_is_noticed_when_demand_is_ignored() {
  java_opts=-Dlci.native.path=${LCI_MUTATED_LIBRARY:?a library with mutations}
  slow_consumer direct || fail "the library with mutations does not work: $(tail -n 5 "$dir/err")"
  LCI_MUTATION=ignore_demand slow_consumer direct && fail "not noticed"
  echo "with ignore_demand: $(grep -h -m 1 -i 'OutOfMemory\|exception\|slow-consumer:' "$dir/err")"
}

run_tests
