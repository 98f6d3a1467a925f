#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# Tests of the launcher. Usage: lci_run_test.sh PATH-OF-lci-run
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
lci_run=$(realpath "${1:?usage: lci_run_test.sh PATH-OF-lci-run}")
readonly lci_run

# run ARGS...: the launcher with a base directory of this test's own; sets out, err and code.
run() {
  "$lci_run" --dir "$base" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}

test_help_says_what_it_is() {
  [[ $("$lci_run" --help) == "Usage: lci-run -n N"* ]] || fail "no usage"
}

test_ranks_get_number_size_and_directory() {
  run -n 3 sh -c 'echo $LCI_RANK of $LCI_SIZE; test -d $LCI_JOB_DIR && stat -c %a $LCI_JOB_DIR $LCI_JOB_DIR/secret'
  equal "$code" 0
  equal "$(sort <<< "$out")" "$(printf '[%d] %s\n' 0 '0 of 3' 0 600 0 700 1 '1 of 3' 1 600 1 700 2 '2 of 3' 2 600 2 700)"
}

test_directory_holds_secret_and_job_number_and_goes_at_the_end() {
  run -n 1 sh -c 'wc -c < $LCI_JOB_DIR/secret; cat $LCI_JOB_DIR/job; echo; mkdir -p $LCI_JOB_DIR/a/b; touch $LCI_JOB_DIR/a/b/c'
  equal "$code" 0
  [[ $out =~ ^32$'\n'[0-9a-f]{16}$ ]] || fail "got '$out'"
  is_empty "$base" || fail "left: $(find "$base")"
}

test_two_jobs_have_different_secrets() {
  run -n 1 sh -c 'od -An -tx1 $LCI_JOB_DIR/secret'; local first=$out
  run -n 1 sh -c 'od -An -tx1 $LCI_JOB_DIR/secret'
  [[ $out != "$first" ]] || fail "the same secret twice"
}

test_two_jobs_at_once_share_nothing() {
  local job='echo > $LCI_JOB_DIR/here.$LCI_RANK
    until [ $(ls $LCI_JOB_DIR/here.* | wc -l) = 4 ]; do sleep 0.05; done
    echo $LCI_JOB_DIR; sleep 0.5; exit $0' first second code=0
  "$lci_run" --dir "$base" -n 4 sh -c "$job" 3 > "$dir/first" 2> "$dir/first.err" < /dev/null & first=$!
  "$lci_run" --dir "$base" -n 4 sh -c "$job" 0 > "$dir/second" 2> "$dir/second.err" < /dev/null & second=$!
  wait "$first" || code=$?
  equal "$code" 3
  wait "$second" || fail "the second ended with $?: $(cat "$dir/second.err")"
  equal "$(wc -l < "$dir/second")" 4
  equal "$(sed 's/.*] //' "$dir/first" "$dir/second" | sort -u | wc -l)" 2
  is_empty "$base" || fail "left: $(find "$base")"
}

test_exit_code_of_the_first_failure_ends_the_job() {
  run -n 3 sh -c 'test $LCI_RANK = 1 && exit 7; exec sleep 1000'
  equal "$code" 7
  contains "$err" "rank 1 failed with exit code 7"
}

test_signal_gives_128_plus_its_number() {
  run -n 2 sh -c 'test $LCI_RANK = 0 && kill -SEGV $$; exec sleep 1000'
  equal "$code" 139
  contains "$err" "rank 0 was ended by signal 11"
}

test_success_of_one_does_not_end_the_others() {
  run -n 2 sh -c 'test $LCI_RANK = 0 || { sleep 0.3; echo late; }'
  equal "$code" 0
  equal "$out" "[1] late"
  equal "$err" ""
}

# JOIN: what a rank leaves in the job's directory when it opens a runtime.
readonly JOIN='mkdir -p $LCI_JOB_DIR/gen.0; touch $LCI_JOB_DIR/gen.0/claim.$LCI_RANK'

test_rank_that_ends_and_never_joined_ends_the_job_when_another_joins() {
  run -n 3 sh -c "test \$LCI_RANK = 1 && exit 0; sleep 0.3; test \$LCI_RANK = 2 && { $JOIN; }; exec sleep 20"
  equal "$code" 1
  equal "$err" "lci-run: rank 1 ended with exit code 0 before it joined the job; ending the others"
}

test_rank_that_joined_may_end_first() {
  run -n 2 sh -c "$JOIN; test \$LCI_RANK = 1 && exit 0; sleep 1; echo late"
  equal "$code" 0
  equal "$out" "[0] late"
  equal "$err" ""
}

test_rank_that_ignores_sigterm_is_killed() {
  run -n 2 bash -c 'test $LCI_RANK = 1 && { sleep 0.3; exit 3; }; trap "" TERM; while :; do sleep 1; done'
  equal "$code" 3
  contains "$err" "killing them"
}

test_grace_lets_the_others_end_by_themselves() {
  run -n 2 --grace 600 sh -c 'test $LCI_RANK = 1 && exit 3; sleep 0.5; echo saw it; exit 4'
  equal "$code" 3
  equal "$out" "[0] saw it"
  contains "$err" "lci-run: rank 1 failed with exit code 3; the others have 600 s to end by themselves"
}

test_no_ranks_are_refused() {
  for ranks in 0 -1 65536 2x ''; do
    run -n "$ranks" true
    equal "$code" 2 "-n '$ranks'"
    contains "$err" "-n needs a number"
  done
}

test_wrong_command_lines_are_refused() {
  local line
  for line in "" "-n" "-n 2" "true" "-n 2 --no-such true" "-n 2 --grace x true" "-n 2 --dir= true"; do
    # shellcheck disable=SC2086  # words on purpose
    run $line
    equal "$code" 2 "$line"
    equal "$(wc -l < "$dir/err")" 1 "one line for: $line"
  done
}

test_missing_program_gives_127() {
  run -n 4 "$dir/no-such-program"
  equal "$code" 127
  equal "$err" "lci-run: cannot run '$dir/no-such-program': No such file or directory"
  is_empty "$base" || fail "left: $(find "$base")"
}

test_file_that_is_no_program_gives_126() {
  touch "$dir/data"
  run -n 2 "$dir/data"
  equal "$code" 126
}

test_lines_stay_whole_and_streams_apart() {
  local lines=3000
  # shellcheck disable=SC2016  # expanded by the rank
  run -n 3 awk -v n=$lines 'BEGIN { r = ENVIRON["LCI_RANK"]
    for (i = 0; i < n; i++) { printf "out "; printf "%d\n", i; printf "err %d\n", i > "/dev/stderr" } }'
  equal "$code" 0
  local rank
  for rank in 0 1 2; do
    equal "$(grep -c "^\[$rank\] out [0-9]*$" "$dir/out")" $lines
    equal "$(grep -c "^\[$rank\] err [0-9]*$" "$dir/err")" $lines
    equal "$(sed -n "s/^\[$rank\] out //p" "$dir/out" | cksum)" "$(seq 0 $((lines - 1)) | cksum)" "order"
  done
  equal "$(wc -l < "$dir/out")" $((3 * lines))
}

test_streams_that_share_a_file_keep_lines_whole() {
  "$lci_run" --dir "$base" -n 2 awk 'BEGIN { for (i = 0; i < 2000; i++) { s = sprintf("%200d", i)
    print "o" s; print "e" s > "/dev/stderr" } }' > "$dir/both" 2>&1 || fail "exit code $?"
  equal "$(wc -l < "$dir/both")" 8000
  equal "$(grep -cvE '^\[[01]\] [oe] *[0-9]+$' "$dir/both")" 0
}

test_bytes_are_passed_on_unchanged() {
  head -c 300000 /dev/urandom | tr -d '\n\r' > "$dir/bytes"
  printf '\0\377\n' >> "$dir/bytes"
  run -n 2 sh -c "test \$LCI_RANK = 1 || cat '$dir/bytes'"
  equal "$code" 0
  cmp <(tail -c +5 "$dir/out") "$dir/bytes" || fail "bytes differ"
}

test_lines_over_the_limit_come_in_pieces_and_whole_in_bytes() {
  run -n 2 sh -c 'test $LCI_RANK = 1 || { head -c 5000000 /dev/zero | tr "\0" x; echo; }'
  equal "$(wc -l < "$dir/out")" 1
  equal "$(wc -c < "$dir/out")" 5000005
}

test_unfinished_last_line_gets_a_line_end() {
  run -n 2 sh -c 'printf "no end $LCI_RANK"'
  equal "$(sort "$dir/out")" "$(printf '[0] no end 0\n[1] no end 1')"
}

test_progress_lines_are_passed_on_at_once() {
  run -n 2 sh -c 'test $LCI_RANK = 1 || printf "10%%\r20%%\rdone\r\n"'
  equal "$(od -An -c "$dir/out" | tr -d ' \n')" '[0]10%\r[0]20%\r[0]done\r\n'
}

test_return_and_newline_in_two_writes_are_one_line_end() {
  run -n 2 sh -c 'test $LCI_RANK = 1 || { printf "a\r"; sleep 0.2; printf "\nb\n"; }'
  equal "$(od -An -c "$dir/out" | tr -d ' \n')" '[0]a\r\n[0]b\n'
}

test_no_prefix_and_single_rank_print_as_they_are() {
  run -n 2 --no-prefix sh -c 'test $LCI_RANK = 1 || echo plain'
  equal "$out" plain
  run -n 1 echo alone
  equal "$out" alone
}

test_input_goes_to_rank_0_only() {
  "$lci_run" --dir "$base" -n 3 sh -c 'echo "got $(cat)"' < <(echo words) > "$dir/out" || fail "exit code $?"
  equal "$(sort "$dir/out")" "$(printf '[0] got words\n[1] got \n[2] got ')"
}

test_reader_that_leaves_ends_the_writer() {
  timeout "$DEADLINE_S" "$lci_run" --dir "$base" -n 2 yes 2> /dev/null | head -n 3 > "$dir/out"
  local codes=("${PIPESTATUS[@]}")
  equal "${codes[0]}" 141 "SIGPIPE ends yes, as without a launcher"
  equal "$(wc -l < "$dir/out")" 3
}

# start_sleepers: a job of two ranks, each with a child in the background; their pids go to $dir/pids.
start_sleepers() {
  "$lci_run" --dir "$base" -n 2 sh -c "sleep 1000 & echo \$\$ >> '$dir/pids'; echo \$! >> '$dir/pids'; wait" \
    < /dev/null > /dev/null 2>&1 &
  launcher=$!
  within has_lines "$dir/pids" 4
}

all_gone() { local pid; for pid in $(cat "$dir/pids"); do is_gone "$pid" || return 1; done; }

test_kill_9_of_the_launcher_leaves_nothing() {
  start_sleepers
  local guardian
  guardian=$(grep -lx lci-guardian /proc/*/comm 2>/dev/null | cut -d/ -f3 |
    while read -r pid; do awk -v p=$launcher -v pid="$pid" '$1 == "PPid:" && $2 == p { print pid }' "/proc/$pid/status"; done)
  [[ -n $guardian ]] || fail "no guardian"
  kill -9 "$launcher"
  within all_gone
  within is_gone "$guardian"
  is_empty "$base" || fail "left: $(find "$base")"
}

test_kill_9_of_the_launchers_group_leaves_nothing() {
  setsid "$lci_run" --dir "$base" -n 2 sh -c "sleep 1000 & echo \$\$ >> '$dir/pids'; echo \$! >> '$dir/pids'; wait" \
    < /dev/null > /dev/null 2>&1 &
  local group=$!
  within has_lines "$dir/pids" 4
  kill -9 -- "-$group"
  within all_gone
  within is_empty "$base"
}

test_ranks_die_with_the_launcher_without_the_guardian() {
  "$lci_run" --dir "$base" -n 2 sh -c "echo \$\$ >> '$dir/pids'; exec sleep 1000" < /dev/null > /dev/null 2>&1 &
  local launcher=$! pid
  within has_lines "$dir/pids" 2
  for pid in $(cat "/proc/$launcher/task/$launcher/children"); do
    [[ $(cat "/proc/$pid/comm") == lci-guardian ]] && kill -9 "$pid"
  done
  kill -9 "$launcher"
  within all_gone
  [[ -n $(ls -A "$base") ]] || fail "who removed the job directory?"
  run -n 1 true
  is_empty "$base" || fail "the next run did not sweep: $(find "$base")"
}

test_sigterm_ends_the_job() {
  start_sleepers
  kill -TERM "$launcher"
  wait "$launcher"
  equal $? 143
  all_gone || fail "left processes"
  is_empty "$base" || fail "left: $(find "$base")"
}

test_interrupt_is_passed_on() {
  # A shell starts background jobs with SIGINT ignored, and lci-run respects that; env gives it back.
  env --default-signal=INT "$lci_run" --dir "$base" -n 2 bash -c "trap 'echo caught; exit 0' INT
    echo \$\$ >> '$dir/pids'; while :; do sleep 0.05; done" < /dev/null > "$dir/out" 2>&1 &
  local launcher=$!
  within has_lines "$dir/pids" 2
  kill -INT "$launcher"
  wait "$launcher"
  equal $? 130
  equal "$(grep -c caught "$dir/out")" 2
  equal "$(grep '^lci-run: ' "$dir/out")" "lci-run: interrupted; ending the ranks"
}

test_ignored_hangup_stays_ignored() {
  mkfifo "$dir/fifo"  # before the ranks open it
  nohup "$lci_run" --dir "$base" -n 2 sh -c "echo \$\$ >> '$dir/pids'; exec cat '$dir/fifo'" < /dev/null > "$dir/out" 2>&1 &
  local launcher=$!
  within has_lines "$dir/pids" 2
  kill -HUP "$launcher"
  sleep 0.2
  is_gone "$launcher" && fail "hangup ended it"
  kill -TERM "$launcher"
  wait "$launcher"
  equal $? 143
}

test_second_signal_kills() {
  "$lci_run" --dir "$base" -n 2 bash -c "trap '' TERM; echo \$\$ >> '$dir/pids'; while :; do sleep 0.1; done" \
    < /dev/null > /dev/null 2>&1 &
  local launcher=$! start=$SECONDS
  within has_lines "$dir/pids" 2
  kill -TERM "$launcher"
  sleep 0.2
  kill -TERM "$launcher"
  wait "$launcher"
  equal $? 143
  all_gone || fail "left processes after $((SECONDS - start)) s"
}

test_stop_and_continue_reach_the_ranks() {
  # A session of its own would make the launcher's group an orphan, whose SIGTSTP the kernel discards; job control here.
  set -m
  start_sleepers
  set +m
  kill -TSTP "$launcher"
  local rank; rank=$(head -n 1 "$dir/pids")
  within is_stopped "$rank"
  kill -CONT "$launcher"
  within eval "! is_stopped $rank"
  kill -TERM "$launcher"
  wait "$launcher"
  all_gone || fail "left processes"
}

test_what_a_rank_leaves_behind_is_killed() {
  run -n 2 sh -c "sleep 1000 & echo \$! >> '$dir/pids'"
  equal "$code" 0
  within all_gone
}

test_sweep_removes_the_dead_and_spares_the_living() {
  mkdir -m 700 "$base"
  mkdir "$base/job-dead" "$base/job-reused" "$base/job-living" "$base/.new-fresh" "$base/.new-old" "$base/other"
  echo "999999999 1" > "$base/job-dead/owner"
  echo "$$ 1" > "$base/job-reused/owner" # our pid, another start time
  local self=$BASHPID
  echo "$self $(awk '{ sub(/.*\) /, ""); print $20 }' /proc/$self/stat)" > "$base/job-living/owner"
  touch -d '1 hour ago' "$base/.new-old"
  run -n 1 true
  equal "$code" 0
  equal "$(ls -A "$base" | sort | tr '\n' ' ')" ".new-fresh job-living other "
}

test_sweep_spares_a_locked_directory() {
  mkdir -m 700 "$base"
  mkdir "$base/job-locked"
  echo "999999999 1" > "$base/job-locked/owner" # as a launcher in another pid namespace looks
  (
    flock -x 9
    run -n 1 true 9>&-
    [[ -d $base/job-locked ]] || fail "swept a living job"
  ) 9< "$base/job-locked/owner" || exit 1
  run -n 1 true
  [[ ! -d $base/job-locked ]] || fail "not swept when the lock was gone"
}

# Each sweeps what the others are just making.
test_many_launchers_start_at_once() {
  local i
  for ((i = 0; i < 400; i++)); do
    while (($(jobs -rp | wc -l) >= 16)); do wait -n; done
    { "$lci_run" --dir "$base" -n 1 true || echo "launcher $i: $?"; } >> "$dir/all" 2>&1 < /dev/null &
  done
  wait
  equal "$(cat "$dir/all")" ""
  is_empty "$base" || fail "left: $(find "$base")"
}

test_sweep_does_not_follow_links() {
  mkdir -m 700 "$base"
  mkdir "$dir/precious" "$base/job-dead"
  touch "$dir/precious/file"
  echo "999999999 1" > "$base/job-dead/owner"
  ln -s "$dir/precious" "$base/job-dead/link"
  ln -s "$dir/precious" "$base/job-link"
  run -n 1 true
  [[ -f $dir/precious/file && ! -e $base/job-dead ]] || fail "followed a link"
}

test_base_directory_of_doubtful_kind_is_refused() {
  mkdir -m 700 "$dir/real"
  ln -s "$dir/real" "$base"
  run -n 1 true
  equal "$code" 1
  contains "$err" "symbolic link"
  rm "$base"
  mkdir -m 777 "$base"
  chmod 777 "$base"
  run -n 1 true
  equal "$code" 1
  contains "$err" "writable by others"
}

test_base_directory_of_another_user_is_refused() {
  [[ $(id -u) == 0 ]] || skip "only root can give files away"
  mkdir -m 700 "$base"
  chown 12345 "$base"
  run -n 1 true
  equal "$code" 1
  contains "$err" "belongs to user 12345"
}

test_default_base_is_the_runtime_directory() {
  mkdir -m 700 "$dir/xdg"
  local printed
  # shellcheck disable=SC2016
  printed=$(XDG_RUNTIME_DIR=$dir/xdg "$lci_run" -n 1 sh -c 'echo $LCI_JOB_DIR')
  [[ $printed == "$dir/xdg/lci/job-"* ]] || fail "got '$printed'"
  # shellcheck disable=SC2016
  printed=$(XDG_RUNTIME_DIR=$dir/none "$lci_run" -n 1 sh -c 'echo $LCI_JOB_DIR')
  [[ $printed == "/tmp/lci-$(id -u)/job-"* ]] || fail "got '$printed'"
}

test_usage_is_told_for_each_rank() {
  run -n 2 --usage sh -c 'exit 0'
  equal "$code" 0
  equal "$(grep -cE '^lci-run: rank [01]: [0-9]+\.[0-9] s of processor time, peak memory [0-9]+ MiB$' "$dir/err")" 2
}

# What its ranks left in their pipes is all that a launcher takes when they are gone: else it would read, and keep, as
# long as those write faster. A large pipe is never empty then.
test_who_escaped_from_a_dead_rank_does_not_hold_the_launcher() {
  command -v perl > /dev/null || skip "no perl, to make a pipe larger"
  local fast='$_ = "y\n" x 32768; fcntl STDOUT, 1031, 1 << 20 or die; open my $here, ">", shift; 1 while syswrite STDOUT, $_'
  (
    ulimit -v 500000
    timeout "$DEADLINE_S" "$lci_run" --dir "$base" -n 2 sh -c 'setsid perl -e "$0" "$1.$LCI_RANK" &
      until [ -e "$1.0" ] && [ -e "$1.1" ]; do sleep 0.02; done
      echo done >&2' "$fast" "$dir/started" > /dev/null 2> "$dir/err" < /dev/null
  ) || fail "ended with $?: $(cat "$dir/err")"
  equal "$(sort "$dir/err")" $'[0] done\n[1] done'
  is_empty "$base" || fail "left: $(find "$base")"
}

test_many_ranks() {
  run -n 64 sh -c 'echo here'
  equal "$code" 0
  equal "$(sort -u "$dir/out" | wc -l)" 64
}

run_tests
