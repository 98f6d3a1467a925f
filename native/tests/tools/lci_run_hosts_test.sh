#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# Tests of the launcher with agents. They all run on this host: what would be ssh is `env`. tests/tools/hosts_test.sh has
# hosts that differ. Usage: lci_run_hosts_test.sh PATH-OF-lci-run
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
lci_run=$(realpath "${1:?usage: lci_run_hosts_test.sh PATH-OF-lci-run}")
readonly lci_run AGENT='env AGENT_HOST={}'

# run ARGS...: the launcher with two agents; sets out, err and code.
run() {
  "$lci_run" --dir "$base" --hosts localhost,localhost --launch-agent "$AGENT" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}
# start ARGS...: the same in the background, as $launcher.
start() {
  "$lci_run" --dir "$base" --hosts localhost,localhost --launch-agent "$AGENT" "$@" > "$dir/out" 2> "$dir/err" < /dev/null &
  launcher=$!
}
# agents: processes of this test's agents.
agents() {
  local pid
  for pid in $(pgrep -P "$launcher"); do
    [[ $(tr '\0' ' ' < "/proc/$pid/cmdline") != *--agent* ]] || echo "$pid"
  done
}
nothing_left() { is_empty "$base" || fail "left: $(find "$base")"; }
all_gone() { local pid; for pid in $(cat "$dir/pids"); do is_gone "$pid" || return 1; done; }
# sleepers: four ranks, each with a child in the background; the pids of both go to $dir/pids.
sleepers() { start -n 4 sh -c "sleep 1000 & echo \$\$ >> '$dir/pids'; echo \$! >> '$dir/pids'; wait"; within has_lines "$dir/pids" 8; }

test_ranks_are_dealt_in_blocks_and_know_the_root_and_the_secret() {
  run -n 5 sh -c 'echo $LCI_RANK of $LCI_SIZE $(stat -c %a:%s $LCI_SECRET_FILE) ${LCI_JOB_DIR-none}; echo at $LCI_ROOT; cksum < $LCI_SECRET_FILE'
  equal "$code" 0 "$err"
  equal "$(grep ' of ' <<< "$out" | sort)" "$(for i in 0 1 2 3 4; do echo "[$i] $i of 5 600:32 none"; done)"
  equal "$(grep -c ' at 127.0.0.1:[0-9]*$' <<< "$out")" 5
  equal "$(sed 's/^.[0-9]. //' <<< "$out" | grep -v ' of ' | sort -u | wc -l)" 2 "one root, one secret: $out"
  nothing_left
  run -n 5 sh -c 'echo $LCI_RANK $PPID'
  local parents=() rank parent
  while read -r _ rank parent; do parents[rank]=$parent; done <<< "$out"
  [[ ${parents[0]} == "${parents[1]}" && ${parents[1]} == "${parents[2]}" && ${parents[3]} == "${parents[4]}" ]] || fail "no blocks: $out"
  [[ ${parents[2]} != "${parents[3]}" ]] || fail "one agent has all: $out"
}

test_the_secret_is_in_no_argument_and_no_environment() {
  start sh -c "od -An -tx1 \$LCI_SECRET_FILE | tr -d ' \n' > '$dir/secret.'\$LCI_RANK; touch '$dir/there.'\$LCI_RANK; exec sleep 1000"
  within [ -e "$dir/there.0" ] && within [ -e "$dir/there.1" ]
  local secret pid
  secret=$(cat "$dir/secret.0")
  equal "${#secret}" 64
  for pid in $launcher $(agents) $(job_of "$base"); do
    ! od -An -v -tx1 < <(cat "/proc/$pid/cmdline" "/proc/$pid/environ" 2> /dev/null) | tr -d ' \n' | grep -q "$secret" ||
      fail "the secret is in process $pid"
  done
  kill "$launcher"
  wait "$launcher"
  equal $? 143
}
# job_of BASE: processes of ranks.
job_of() { processes_with "^LCI_SECRET_FILE=$1/"; }

test_one_rank_for_each_host_unless_it_says_otherwise() {
  run sh -c 'echo $LCI_SIZE'
  equal "$code" 0
  equal "$(sort <<< "$out")" $'[0] 2\n[1] 2'
}

test_ranks_get_the_variables_of_the_library_and_the_folder() {
  cd "$dir" || exit 1
  LCI_ATTR_DEVICES=3 LCI_RANK=77 LCI_ROOT=other:1 run sh -c 'echo $LCI_ATTR_DEVICES $LCI_RANK $(pwd)'
  equal "$(sort <<< "$out")" "$(printf '[%d] 3 %d %s\n' 0 0 "$dir" 1 1 "$dir")"
}

test_a_rank_that_fails_ends_the_job_everywhere() {
  run -n 4 sh -c "echo \$\$ >> '$dir/pids'; test \$LCI_RANK = 3 && { until [ \$(wc -l < '$dir/pids') = 4 ]; do sleep 0.02; done; exit 7; }; exec sleep 1000"
  equal "$code" 7
  equal "$err" "lci-run: rank 3 failed with exit code 7; ending the others"
  all_gone || fail "left processes"
  nothing_left
}

test_a_signal_gives_128_plus_its_number() {
  run sh -c 'test $LCI_RANK = 0 && kill -SEGV $$; exec sleep 1000'
  equal "$code" 139
  contains "$err" "rank 0 was ended by signal 11"
}

test_a_rank_that_ignores_sigterm_is_killed() {
  run bash -c 'test $LCI_RANK = 1 && { sleep 0.3; exit 3; }; trap "" TERM; while :; do sleep 1; done'
  equal "$code" 3
  contains "$err" "killing them"
}

test_grace_lets_the_others_end_by_themselves() {
  run --grace 600 sh -c 'test $LCI_RANK = 1 && exit 3; sleep 0.5; echo saw it; exit 4'
  equal "$code" 3
  equal "$out" "[0] saw it"
}

test_missing_program_gives_127_and_one_that_is_none_126() {
  run "$dir/no-such-program"
  equal "$code" 127
  contains "$err" "lci-run on localhost: cannot run '$dir/no-such-program': No such file or directory"
  touch "$dir/data"
  run "$dir/data"
  equal "$code" 126
  nothing_left
}

test_lines_stay_whole_and_streams_apart() {
  local lines=2000 rank
  # shellcheck disable=SC2016  # expanded by the rank
  run -n 3 awk -v n=$lines 'BEGIN { r = ENVIRON["LCI_RANK"]
    for (i = 0; i < n; i++) { printf "out "; printf "%d\n", i; printf "err %d\n", i > "/dev/stderr" } }'
  equal "$code" 0
  for rank in 0 1 2; do
    equal "$(sed -n "s/^\[$rank\] out //p" "$dir/out" | cksum)" "$(seq 0 $((lines - 1)) | cksum)" "order"
    equal "$(sed -n "s/^\[$rank\] err //p" "$dir/err" | cksum)" "$(seq 0 $((lines - 1)) | cksum)" "order of errors"
  done
  equal "$(wc -l < "$dir/out")" $((3 * lines))
}

test_bytes_are_passed_on_unchanged() {
  head -c 300000 /dev/urandom > "$dir/bytes"
  run --no-prefix sh -c "test \$LCI_RANK = 1 || cat '$dir/bytes'"
  equal "$code" 0
  cmp "$dir/out" "$dir/bytes" || fail "bytes differ"
  run sh -c 'printf "no end"'
  equal "$(sort "$dir/out")" $'[0] no end\n[1] no end'
}

test_input_goes_to_rank_0_only() {
  head -c 1000000 /dev/urandom > "$dir/bytes"
  "$lci_run" --dir "$base" --hosts localhost,localhost --launch-agent "$AGENT" sh -c 'echo "got $(cksum)"' \
    < "$dir/bytes" > "$dir/out" || fail "exit code $?"
  equal "$(sort "$dir/out")" "$(printf '[0] got %s\n[1] got %s' "$(cksum < "$dir/bytes")" "$(cksum < /dev/null)")"
}

test_a_reader_that_leaves_ends_the_writers() {
  timeout "$DEADLINE_S" "$lci_run" --dir "$base" --hosts localhost,localhost --launch-agent "$AGENT" yes 2> /dev/null < /dev/null |
    head -n 3 > "$dir/out"
  local codes=("${PIPESTATUS[@]}")
  equal "${codes[0]}" 141 "SIGPIPE ends yes, as without a launcher"
}

test_usage_is_told_for_each_rank() {
  run --usage true
  equal "$(grep -cE '^lci-run: rank [01]: [0-9]+\.[0-9] s of processor time, peak memory [0-9]+ MiB$' "$dir/err")" 2
}

test_sigterm_ends_the_job() {
  sleepers
  kill -TERM "$launcher"
  wait "$launcher"
  equal $? 143
  all_gone || fail "left processes"
  nothing_left
}

test_interrupt_is_passed_on() {
  env --default-signal=INT "$lci_run" --dir "$base" --hosts localhost,localhost --launch-agent "$AGENT" bash -c "
    trap 'echo caught; exit 0' INT; echo \$\$ >> '$dir/pids'; while :; do sleep 0.05; done" < /dev/null > "$dir/out" 2>&1 &
  local launcher=$!
  within has_lines "$dir/pids" 2
  kill -INT "$launcher"
  wait "$launcher"
  equal $? 130
  equal "$(grep -c caught "$dir/out")" 2
  equal "$(grep '^lci-run' "$dir/out")" "lci-run: interrupted; ending the ranks"
}

test_stop_and_continue_reach_the_ranks() {
  set -m
  sleepers
  set +m
  kill -TSTP "$launcher"
  local rank; rank=$(head -n 1 "$dir/pids")
  within is_stopped "$rank"
  within is_stopped "$launcher"
  kill -CONT "$launcher"
  within eval "! is_stopped $rank"
  kill -TERM "$launcher"
  wait "$launcher"
  all_gone || fail "left processes"
}

test_kill_9_of_the_launcher_leaves_nothing() {
  sleepers
  kill -9 "$launcher"
  within all_gone
  within is_empty "$base"
}

# number N: four bytes, the lowest first. frame KIND NUMBER TEXT: as frames.h says.
number() { printf "$(printf '\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)))"; }
frame() { printf '%s' "$1"; number "$2"; number "${#3}"; printf '%s' "$3"; }

# Behind ssh, all that an agent sees of the end of its launcher is that its standard input ends.
test_an_agent_ends_with_its_standard_input() {
  mkfifo "$dir/orders"
  "$lci_run" --agent < "$dir/orders" > "$dir/out" 2> "$dir/err" &
  local agent=$!
  exec 9> "$dir/orders"
  {
    frame K 0 "$(printf '%032d' 0)"
    frame N 0 here; frame F 0 ""; frame C 2 ""; frame Z 2 ""; frame B 0 "$base"
    frame A 0 sh; frame A 0 -c; frame A 0 "sleep 1000 & echo \$\$ >> '$dir/pids'; echo \$! >> '$dir/pids'; wait"
    frame G 0 127.0.0.1:1
  } >&9
  within has_lines "$dir/pids" 4
  exec 9>&-
  within all_gone
  wait "$agent"
  within is_empty "$base"
  equal "$(cat "$dir/err")" ""
}

test_kill_9_of_an_agent_ends_the_job() {
  sleepers
  local agent
  agent=$(agents | head -n 1)
  kill -9 "$agent"
  wait "$launcher"
  equal $? 137
  contains "$(cat "$dir/err")" "lci-run: host localhost: the agent was ended by signal 9, and its ranks with it; ending the others"
  within all_gone
  within is_empty "$base"
}

test_what_cannot_start_an_agent_is_named() {
  run_with() { "$lci_run" --dir "$base" --hosts one,two --launch-agent "$1" true > "$dir/out" 2> "$dir/err" < /dev/null; code=$?; err=$(cat "$dir/err"); }
  run_with 'false {}'
  equal "$code" 1
  contains "$err" "the agent ended with exit code 1 before its ranks did"
  run_with '/no/such/program {}'
  equal "$code" 1
  contains "$err" "lci-run: cannot start an agent on host one by '/no/such/program': No such file or directory"
  run_with "echo {} and something"
  equal "$code" 1
  contains "$err" "what the agent says makes no sense; does '--launch-agent' print something itself?"
  run_with 'env HOST={}'
  equal "$code" 1
  contains "$err" "no address for 'one', by which other hosts reach rank 0"
  nothing_left
}

test_an_address_that_others_do_not_reach_is_refused_as_root() {
  "$lci_run" --dir "$base" --hosts localhost,elsewhere --launch-agent "$AGENT" true 2> "$dir/err" < /dev/null
  equal $? 1
  contains "$(cat "$dir/err")" "'localhost' is an address that other hosts do not reach; give one that they do by --root"
  "$lci_run" --dir "$base" --hosts one,one --root localhost --launch-agent "$AGENT" true 2> "$dir/err" < /dev/null
  equal $? 0 "$(cat "$dir/err")"
}

# An agent is not for people, and does nothing that was not ordered whole.
test_an_agent_without_an_order_does_nothing() {
  "$lci_run" --agent < /dev/null > "$dir/out" 2> "$dir/err"
  equal $? 1
  equal "$(cat "$dir/out" "$dir/err")" ""
  head -c 100000 /dev/urandom | tr '\0\1\2\3\4' xxxxx | "$lci_run" --agent > "$dir/out" 2> "$dir/err"
  equal "${PIPESTATUS[2]}" 1
}

test_wrong_command_lines_are_refused() {
  local line
  for line in "--hosts ,a true" "--hosts a, true" "--hosts= true" "--hosts -oProxyCommand=x true" "--hosts a --launch-agent ssh true" \
    "--root x -n 1 true" "--hosts a --root= true" "--hosts a,b -n 1 true" "--hosts a"; do
    # shellcheck disable=SC2086  # words on purpose
    "$lci_run" --dir "$base" $line > "$dir/out" 2> "$dir/err" < /dev/null
    equal $? 2 "$line"
    equal "$(wc -l < "$dir/err")" 1 "one line for: $line"
  done
}

run_tests
