#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Are the hosts of `./lci net-lab` joined as it says, and is nothing left of them? Of a tree that is built.
#   net_lab_test.sh TREE
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${1:?}/lci

if [[ $(id -u) != 0 || ! -c /dev/net/tun ]]; then
  echo "SKIPPED: net-lab, which needs root and /dev/net/tun"
  exit 0
fi
if [[ -e /run/lci-net-lab ]]; then
  echo "SKIPPED: net-lab, for there is a lab already: ./lci net-lab status"
  exit 0
fi
trap '[[ ! -e /run/lci-net-lab ]] || "$lci" net-lab down > /dev/null 2>&1; rm -rf "$work"' EXIT

# on HOST COMMAND: a line of bash.
on() { "$lci" net-lab exec "$1" bash -c "$2"; }
# refuses HOST OTHER: the other host answers, though nobody listens there: packets go both ways.
refuses() { contains "$(on "$1" "echo > /dev/tcp/$2/9" 2>&1)" "Connection refused"; }
# nothing_left: no namespace, no process, no file.
nothing_left() {
  equal "$(ip netns list)" "$namespaces_before"
  local pid
  for pid in $(pgrep -x lci_net_lab); do within is_gone "$pid"; done  # one that was ended may be about to go
  [[ ! -e /run/lci-net-lab && -z $(ls -d /etc/netns/lab* 2> /dev/null) ]] || fail "files are left"
}
namespaces_before=$(ip netns list)

test_the_kernel_joins_hosts_that_know_each_other_by_name() {
  contains "$("$lci" net-lab up 3)" "3 hosts, lab1 to lab3, 10.67.0.1 to 10.67.0.3, joined by the kernel"
  local from to
  for from in lab1 lab2 lab3; do
    for to in lab1 lab2 lab3; do refuses $from $to || fail "$from does not reach $to"; done
    equal "$(on "$from" 'getent hosts "$(hostname)"' | cut -d ' ' -f 1)" "10.67.0.${from#lab}" "$from, by this machine's name"
  done
  equal "$("$lci" net-lab down)" ""
  nothing_left
}

# lost SEED: how many of 1,000 packets from lab1 to lab2 were lost. Where the system sent one of its own between them it
# is tried again: a seed decides by a packet's number.
lost() {
  local count='' i
  for ((i = 0; i < 5 && ${#count} == 0; i++)); do
    "$lci" net-lab up 2 --loss 0.1 --seed "$1" > "$dir/out"
    # shellcheck disable=SC2016  # for the other bash
    on lab1 'for ((i = 0; i < 1000; i++)); do echo > /dev/udp/10.67.0.2/9; done'
    "$lci" net-lab down > "$dir/out"
    count=$(sed -n 's/^1 to 2: 1000 packets, \([0-9]*\) lost$/\1/p' "$dir/out")
  done
  echo "${count:-$(< "$dir/out")}"
}

test_a_seed_loses_the_same_packets_again() {
  local first
  first=$(lost 7)
  [[ $first =~ ^[0-9]+$ && $first -gt 50 && $first -lt 200 ]] || fail "of 1,000 packets, $first were lost, not about 100"
  equal "$(lost 7)" "$first"
  [[ $(lost 8) != "$first" || $(lost 9) != "$first" ]] || fail "other seeds lose as many"
  nothing_left
}

# Whether it takes its time is for benchmarks; that nothing gets lost by it is the test.
test_delay_jitter_and_rate_lose_nothing() {
  "$lci" net-lab up 2 --delay 100 --jitter 50 --reorder --rate 0.08 > "$dir/out"
  contains "$(< "$dir/out")" "joined by lci_net_lab --delay-us 100000 --jitter-us 50000 --reorder 1 --rate-kbit 80"
  # shellcheck disable=SC2016  # for the other bash
  on lab1 'for ((i = 0; i < 10; i++)); do printf "%01000d" 0 > /dev/udp/10.67.0.2/9; done'
  refuses lab1 lab2
  "$lci" net-lab down > "$dir/out"
  contains "$(< "$dir/out")" "1 to 2: 1"
  contains "$(< "$dir/out")" " packets, 0 lost"
  nothing_left
}

# lost_of_ten COMMAND: what became of ten packets before it, and ten after it. As with lost(), some may be the system's own.
lost_of_ten() {
  local line='' i
  for ((i = 0; i < 5 && ${#line} == 0; i++)); do
    "$lci" net-lab up 2 --delay 0 > "$dir/out"
    # shellcheck disable=SC2016  # for the other bash
    on lab1 'for ((i = 0; i < 10; i++)); do echo > /dev/udp/10.67.0.2/9; done'
    # shellcheck disable=SC2086  # several words on purpose
    "$lci" net-lab $1 > "$dir/out"
    # shellcheck disable=SC2016  # for the other bash
    on lab1 'for ((i = 0; i < 10; i++)); do echo > /dev/udp/10.67.0.2/9; done'
    "$lci" net-lab down > "$dir/out"
    line=$(grep '^1 to 2: 20 packets' "$dir/out")
  done
  echo "${line:-$(< "$dir/out")}"
}

test_what_is_dropped_goes_one_way_until_it_may_pass() {
  equal "$(lost_of_ten 'drop lab1 lab2')" "1 to 2: 20 packets, 10 lost"
  equal "$(lost_of_ten 'drop lab2 lab1')" "1 to 2: 20 packets, 0 lost"
  equal "$(lost_of_ten 'pass lab1 lab2')" "1 to 2: 20 packets, 0 lost"
  nothing_left
}

# Exit codes, and one line that says what to do.
test_wrong_use() {
  local arguments code
  for arguments in "" "up" "up 1" "up 65" "up 2 --loss 2" "up 2 --delay" "up 2 --nothing 1" "exec" "exec lab1" "nothing" "drop" "reset lab1" \
    "up 2 --reset x"; do
    code=0
    # shellcheck disable=SC2086  # several words on purpose
    "$lci" net-lab $arguments > "$dir/out" 2> "$dir/err" || code=$?
    equal "$code" 2 "$arguments"
    contains "$(< "$dir/err")" "see ./lci net-lab --help"
  done
  for arguments in "status" "down" "exec lab1 true" "drop lab1 lab2"; do
    code=0
    # shellcheck disable=SC2086
    "$lci" net-lab $arguments > "$dir/out" 2> "$dir/err" || code=$?
    equal "$code" 1 "$arguments"
    contains "$(< "$dir/err")" "there is no lab; ./lci net-lab up N makes one"
  done
}

test_a_second_lab_and_an_unknown_host_are_refused() {
  "$lci" net-lab up 2 > "$dir/out"
  ! "$lci" net-lab up 2 2> "$dir/err" || fail "a second lab"
  contains "$(< "$dir/err")" "./lci net-lab down removes it"
  ! on lab3 true 2> "$dir/err" || fail "a third host"
  contains "$(< "$dir/err")" "no such host in the lab: lab3; they are lab1 to lab2"
  ! "$lci" net-lab drop lab1 lab2 2> "$dir/err" || fail "the kernel drops nothing"
  contains "$(< "$dir/err")" "make the lab with an option"
  ! "$lci" net-lab drop lab1 lab7 2> "$dir/err" || fail "a seventh host"
  contains "$(< "$dir/err")" "no such host in the lab: lab7"
  local code=0
  on lab2 "exit 7" || code=$?
  equal "$code" 7
  "$lci" net-lab down > "$dir/out"
  nothing_left
}

run_tests
