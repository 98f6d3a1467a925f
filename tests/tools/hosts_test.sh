#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir and base
# Does `./lci run --hosts` run ranks on hosts that differ, and leave nothing on any of them? The hosts are those of
# `./lci net-lab`, and what would be ssh is `ip netns exec`. Of a tree that is built.
#   hosts_test.sh TREE
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${1:?}/lci AGENT='ip netns exec {}'

if [[ $(id -u) != 0 || ! -c /dev/net/tun ]]; then
  echo "SKIPPED: run --hosts, whose hosts are those of net-lab, which needs root and /dev/net/tun"
  exit 0
fi
if [[ -e /run/lci-net-lab ]]; then
  echo "SKIPPED: run --hosts, for there is a lab already: ./lci net-lab status"
  exit 0
fi
trap '[[ ! -e /run/lci-net-lab ]] || "$lci" net-lab down > /dev/null 2>&1; rm -rf "$work"' EXIT
"$lci" net-lab up 3 > /dev/null || { echo "there is no lab"; exit 1; }

# run ARGS...: on three hosts; sets out, err and code.
run() {
  "$lci" run --dir "$base" --hosts lab1,lab2,lab3 --launch-agent "$AGENT" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}
# start: a job of six sleepers, each with a child; the pids of all go to $dir/pids.
start() {
  "$lci" run --dir "$base" --hosts lab1,lab2,lab3 --launch-agent "$AGENT" -n 6 \
    sh -c "sleep 1000 & echo \$\$ >> '$dir/pids'; echo \$! >> '$dir/pids'; wait" < /dev/null > "$dir/out" 2> "$dir/err" &
  launcher=$!
  within has_lines "$dir/pids" 12
}
all_gone() { local pid; for pid in $(cat "$dir/pids"); do is_gone "$pid" || return 1; done; }
no_process_in_the_lab() { [[ -z $(ip netns pids lab1)$(ip netns pids lab2)$(ip netns pids lab3) ]]; }
nothing_left() {
  within all_gone
  within no_process_in_the_lab
  within is_empty "$base"
}

test_ranks_run_on_their_hosts_in_blocks() {
  run -n 5 sh -c 'echo $(ip -o -4 addr show dev lab0 | awk "{ print \$4 }") root $LCI_ROOT'
  equal "$code" 0 "$err"
  local root
  root=$(sed -n 's/^\[0\].* root //p' <<< "$out")
  [[ $root =~ ^10\.67\.0\.1:[0-9]+$ ]] || fail "root $root"
  equal "$(sort <<< "$out")" "$(printf "[%d] 10.67.0.%d/24 root $root\n" 0 1 1 1 2 2 3 2 4 3)"
}

# By memory within a host and by TCP between hosts, or as the user says.
test_ranks_of_different_hosts_talk() {
  local transport rank
  for transport in auto tcp; do
    LCI_ATTR_TRANSPORT=$transport run -n 6 hello
    equal "$code" 0 "$err"
    for rank in {0..5}; do [[ $out == *"[$rank] "* ]] || fail "rank $rank said nothing: $out"; done
  done
}

test_memory_is_not_shared_with_another_host() {
  LCI_ATTR_TRANSPORT=shm run -n 3 hello
  [[ $code != 0 ]] || fail "it ran"
  contains "$err" "start all on one host"
}

# The port is kept for rank 0, which other hosts reach there.
test_rank_0_is_reached_by_the_others() {
  run bash -c 'if [ $LCI_RANK = 0 ]; then
      exec perl -MSocket -e "socket(S, PF_INET, SOCK_STREAM, 0); setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1);
        (\$h, \$p) = split /:/, \$ENV{LCI_ROOT}; bind(S, sockaddr_in(\$p, inet_aton(\$h))) or die \$!; listen(S, 9);
        for (1, 2) { accept(C, S); print scalar <C> }"
    fi
    until exec 3<> /dev/tcp/${LCI_ROOT%:*}/${LCI_ROOT##*:}; do sleep 0.05; done 2> /dev/null
    echo "rank $LCI_RANK was here" >&3'
  equal "$code" 0 "$err"
  equal "$(sort <<< "$out")" $'[0] rank 1 was here\n[0] rank 2 was here'
}

test_a_rank_that_fails_ends_the_job_on_all_hosts() {
  run -n 6 sh -c "echo \$\$ >> '$dir/pids'; test \$LCI_RANK = 4 && { until [ \$(wc -l < '$dir/pids') = 6 ]; do sleep 0.02; done; exit 7; }; exec sleep 1000"
  equal "$code" 7
  equal "$err" "lci-run: rank 4 failed with exit code 7; ending the others"
  nothing_left
}

test_an_interrupt_ends_the_job_on_all_hosts() {
  start
  kill -TERM "$launcher"
  wait "$launcher"
  equal $? 143
  nothing_left
}

test_kill_9_of_the_launcher_leaves_nothing_on_any_host() {
  start
  kill -9 "$launcher"
  nothing_left
}

test_kill_9_of_an_agent_ends_the_job_on_all_hosts() {
  start
  local pid agent=
  for pid in $(ip netns pids lab2); do
    [[ $(tr '\0' ' ' < "/proc/$pid/cmdline") != *--agent* || $(cat "/proc/$pid/comm") == lci-guardian ]] || agent=$pid
  done
  kill -9 "$agent"
  wait "$launcher"
  equal $? 137
  contains "$(cat "$dir/err")" "host lab2: the agent was ended by signal 9"
  nothing_left
}

test_a_host_that_is_not_there_is_named() {
  "$lci" run --dir "$base" --hosts lab1,lab9 --launch-agent "$AGENT" true 2> "$dir/err" < /dev/null
  equal $? 1
  contains "$(cat "$dir/err")" "lci-run: host lab9: the agent ended with exit code"
  "$lci" run --dir "$base" --hosts lab1,lab2 --root lab2 --launch-agent "$AGENT" true 2> "$dir/err" < /dev/null
  equal $? 1
  contains "$(cat "$dir/err")" "lci-run on lab1: cannot take a port of 'lab2' for rank 0"
  within is_empty "$base"
}

run_tests
