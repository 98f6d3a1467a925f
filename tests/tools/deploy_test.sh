#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Do the patterns of deploy/ fit together, and does its script give a rank what it needs? Usage: deploy_test.sh TREE
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
home=$(realpath "${1:?usage: deploy_test.sh TREE}")
readonly home

# on HOST [NAME=VALUE...] PROGRAM...: a rank on a host of that name; sets out, err and code.
on() {
  local host=$1
  shift
  mkdir -p "$dir/bin"
  printf '#!/bin/sh\necho %s\n' "$host" > "$dir/bin/hostname"
  chmod +x "$dir/bin/hostname"
  env -i PATH="$dir/bin:$PATH" TMPDIR="$dir" "$@" > "$dir/out" 2> "$dir/err"
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}
readonly rank=$home/deploy/rank.sh

test_the_rank_is_the_number_of_the_host() {
  on lci-12 "$rank" sh -c 'echo $LCI_RANK $1' sh "a  b"
  equal "$code" 0 "$err"
  equal "$out" "12 a b"
}

test_a_rank_that_is_given_wins() {
  on lci-1 LCI_RANK=7 "$rank" sh -c 'echo $LCI_RANK ${LCI_SECRET_FILE-none}'
  equal "$out" "7 none" "$err"
}

test_a_host_without_a_number_is_refused() {
  local host
  for host in lci lci- lci-a 'lci-1x'; do
    on "$host" "$rank" echo ran
    equal "$code" 2 "$host"
    equal "$out" ""
    contains "$err" "does not end in -NUMBER: $host"
  done
}

test_the_secret_becomes_the_ranks_own() {
  head -c 32 /dev/urandom > "$dir/mounted"
  chmod 444 "$dir/mounted"
  on lci-0 LCI_MOUNTED_SECRET="$dir/mounted" "$rank" sh -c 'stat -c %a "$LCI_SECRET_FILE" && cmp "$LCI_SECRET_FILE" "$LCI_MOUNTED_SECRET"'
  equal "$code" 0 "$err"
  equal "$out" 600
}

test_a_secret_that_is_missing_starts_nothing() {
  on lci-0 LCI_MOUNTED_SECRET="$dir/none" "$rank" echo ran
  [[ $code != 0 && -z $out ]] || fail "it ran: $out"
  contains "$err" "$dir/none"
}

test_the_manifest_agrees_with_itself() {
  local manifest=$home/deploy/kubernetes/job.yaml replicas name
  replicas=$(sed -n 's/^  replicas: //p' "$manifest")
  name=$(sed -n 's/^  serviceName: //p' "$manifest")
  equal "$(grep -A 1 'name: LCI_SIZE' "$manifest" | sed -n 's/.*value: "\(.*\)"/\1/p')" "$replicas"
  equal "$(grep -A 1 'name: LCI_ROOT' "$manifest" | sed -n 's/.*value: \(.*\):[0-9]*$/\1/p')" "$name-0.$name"
  equal "$(grep -c "^  name: $name\$" "$manifest")" 2 "the service and the set have that name"
  equal "$(grep -A 1 'name: LCI_MOUNTED_SECRET' "$manifest" | sed -n 's/.*value: //p')" \
    "$(grep -B 1 -A 1 'mountPath: .*mounted' "$manifest" | sed -n 's/.*mountPath: //p')/secret"
}

test_systemd_understands_the_unit() {
  command -v systemd-analyze > /dev/null || skip "there is no systemd-analyze"
  # Programs of the unit need not be here.
  sed 's|^ExecStart=.*|ExecStart=/bin/true|' "$home/deploy/systemd/lci-rank@.service" > "$dir/lci-rank@.service"
  equal "$(systemd-analyze verify --man=no "$dir/lci-rank@0.service" 2>&1)" ""
}

run_tests
