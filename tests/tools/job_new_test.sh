#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Do ranks find each other by what `./lci job new` makes and prints? Of a tree that is built.
#   LCI_JDK=JDK job_new_test.sh TREE
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
home=$(realpath "${1:?usage: job_new_test.sh TREE}")
readonly home
unset LCI_JOB_DIR LCI_ROOT LCI_RANK LCI_SIZE LCI_SECRET_FILE MASTER_ADDR

# new ARGS...: sets out, err and code.
new() {
  "$home/lci" job new "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}
refused() { # CODE HINT ARGS...
  local expected=$1 hint=$2
  shift 2
  new "$@"
  equal "$code" "$expected" "$*: $err"
  contains "$err" "$hint"
  equal "$out" ""
}

# start_ranks: as the page of the command says; their output to $dir/ranks, whether all ended well to $dir/failed.
start_ranks() {
  local settings hello pids=() pid failed=0
  hello=$(printf '%q ' timeout "$DEADLINE_S" "${LCI_JDK:?}/bin/java" -cp "$home/samples/target/samples.jar:$home/samples/target/lib/*" \
    io.lci.samples.Samples hello)
  while read -r settings; do
    eval "$settings $hello" >> "$dir/ranks" 2>&1 < /dev/null &
    pids+=($!)
  done < "$dir/out"
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  equal "$failed" 0 "$(cat "$dir/ranks")"
  equal "$(grep -c "$1" "$dir/ranks")" "$2" "$(cat "$dir/ranks")"
}

test_ranks_of_one_host_find_each_other() {
  new "$dir/a job" -n 3
  equal "$code" 0 "$err"
  equal "$(wc -l <<< "$out")" 3
  equal "$(head -n 1 <<< "$out")" "LCI_JOB_DIR=$dir/a\\ job LCI_RANK=0 LCI_SIZE=3"
  equal "$(stat -c %a "$dir/a job" "$dir/a job/secret" "$dir/a job/job" | tr '\n' ' ')" "700 600 600 "
  start_ranks "of 3" 3
}

test_ranks_that_may_be_on_several_hosts_find_each_other() {
  # Below those from which the system takes ports by itself.
  new "$dir/job" --ranks 2 --root "127.0.0.1:$((20000 + RANDOM % 10000))"
  equal "$code" 0 "$err"
  [[ $(head -n 1 <<< "$out") =~ ^LCI_ROOT=127\.0\.0\.1:2[0-9]{4}\ LCI_SECRET_FILE=$dir/job/secret\ LCI_RANK=0\ LCI_SIZE=2$ ]] || fail "$out"
  equal "$(ls "$dir/job")" secret
  start_ranks "of 2" 2
}

test_jobs_have_secrets_and_numbers_of_their_own() {
  local file
  new "$dir/one" -n 1
  new "$dir/two" -n 1
  for file in secret job; do ! cmp -s "$dir/one/$file" "$dir/two/$file" || fail "the same $file"; done
  equal "$(wc -c < "$dir/one/secret")" 32
  [[ $(cat "$dir/one/job") =~ ^[0-9a-f]{16}$ ]] || fail "$(cat "$dir/one/job")"
}

test_an_empty_directory_of_ones_own_becomes_private() {
  mkdir -m 755 "$dir/empty"
  new "$dir/empty" -n 1
  equal "$code" 0 "$err"
  equal "$(stat -c %a "$dir/empty")" 700
}

test_what_cannot_be_used_is_refused() {
  mkdir "$dir/full" && touch "$dir/full/x" "$dir/file"
  ln -s "$dir/full" "$dir/link"
  refused 1 "directory $dir/full is not empty" "$dir/full" -n 1
  equal "$(ls "$dir/full")" x
  refused 1 "$dir/file is there already, and is no directory" "$dir/file" -n 1
  refused 1 "$dir/link is there already, and is no directory" "$dir/link" -n 1
  refused 1 "directory $dir/none/job cannot be made: No such file or directory" "$dir/none/job" -n 1
  refused 1 "directory /proc/job cannot be made" /proc/job -n 1
}

test_what_is_of_another_user_is_refused() {
  [[ $(id -u) == 0 ]] || skip "only root can make a directory of another user"
  mkdir "$dir/theirs" && chown nobody "$dir/theirs"
  refused 1 "directory $dir/theirs is not yours" "$dir/theirs" -n 1
}

test_wrong_arguments() {
  local root ranks
  refused 2 "job new in which directory?" -n 1
  refused 2 "needs the number of ranks, -n N" "$dir/job"
  refused 2 "-n needs a value" "$dir/job" -n
  refused 2 "not '$dir/job' and 'more'" "$dir/job" more -n 1
  refused 2 "no option '--hosts'" "$dir/job" --hosts a -n 1
  for ranks in 0 65536 two -1; do refused 2 "-n needs a number from 1 to 65535, not '$ranks'; see ./lci job --help" "$dir/job" -n "$ranks"; done
  for root in host host: :1 host:0 host:65536 a:b:1 "a b:1" host:http '[::1]'; do
    refused 2 "--root needs HOST:PORT or [ADDRESS]:PORT, not '$root'" "$dir/job" -n 1 --root "$root"
  done
  [[ ! -e $dir/job ]] || fail "something was made"
  for root in host:1 10.0.0.1:65535 '[fe80::1]:4711'; do new "$dir/${root//[^0-9]/}" -n 1 --root "$root" && equal "$code" 0 "$err"; done
  "$home/lci" job old 2> "$dir/err"
  equal $? 2
  contains "$(cat "$dir/err")" "job what? new; see ./lci job --help"
}

run_tests
