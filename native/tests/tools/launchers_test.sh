#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Do ranks that another launcher has started find each other? Hydra's mpiexec and Open MPI's mpirun start them here, as far
# as they are there.
# Usage: launchers_test.sh JOIN-JOB REOPEN-JOB, the programs of tests/c
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
join_job=$(realpath "${1:?path of join_job}") reopen_job=$(realpath "${2:?path of reopen_job}")
readonly join_job reopen_job

# Of a launcher around the test.
unset LCI_JOB_DIR LCI_ROOT LCI_RANK LCI_SIZE LCI_SECRET_FILE LCI_PMIX_LIBRARY MASTER_ADDR "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" \
  "${!OMPI_@}"

# launch COMMAND...: sets out, err and code.
launch() {
  timeout "$DEADLINE_S" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(tr -d '\0' < "$dir/out") # Open MPI says zeros
  err=$(tr -d '\0' < "$dir/err")
}

# hydra ARGS...: each rank has the variables that join_job reads; the library does not take them.
hydra() {
  # shellcheck disable=SC2016  # it is the rank's shell that reads them
  launch mpiexec.hydra -n 4 sh -c 'LCI_RANK=$PMI_RANK LCI_SIZE=$PMI_SIZE exec "$@"' sh "$@"
}

# PMIx keeps memory until the process ends, and is not built for ThreadSanitizer.
with_pmix() { export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 TSAN_OPTIONS=${TSAN_OPTIONS:-}:ignore_noninstrumented_modules=1; }

# open_mpi ARGS...: the same.
open_mpi() {
  with_pmix
  # shellcheck disable=SC2016
  launch mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 \
    sh -c 'LCI_RANK=$OMPI_COMM_WORLD_RANK LCI_SIZE=$OMPI_COMM_WORLD_SIZE exec "$@"' sh "$@"
}

# two_hosts: network namespaces $host-1 and $host-2, which know each other, and themselves by this machine's name. They are gone
# at the end of the test. $dir/agent takes the place of ssh.
two_hosts() {
  local number
  [[ $(id -u) == 0 ]] && command -v ip > /dev/null || skip "two hosts need root and the command ip"
  host=lci-launch-$$
  trap 'for number in 1 2; do ip netns del "$host-$number"; rm -rf "/etc/netns/$host-$number"; done' EXIT
  for number in 1 2; do
    ip netns add "$host-$number" || skip "there are no network namespaces"
    mkdir -p "/etc/netns/$host-$number"
    printf '%s\n' "127.0.0.1 localhost" "10.68.0.1 $host-1" "10.68.0.2 $host-2" "10.68.0.$number $(hostname)" \
      > "/etc/netns/$host-$number/hosts"
  done
  ip -n "$host-1" link add net0 type veth peer name net0 netns "$host-2"
  for number in 1 2; do
    ip -n "$host-$number" link set lo up
    ip -n "$host-$number" addr add "10.68.0.$number/24" dev net0
    ip -n "$host-$number" link set net0 up
  done
  # Options of ssh, a host, and words of a command.
  printf '%s\n' '#!/bin/sh' 'while [ "${1#-}" != "$1" ]; do shift; done' 'host=$1; shift' 'exec ip netns exec "$host" sh -c "$*"' \
    > "$dir/agent"
  chmod +x "$dir/agent"
}

# expect_two_hosts BOOTSTRAP: two of four ranks ran on each.
expect_two_hosts() {
  equal "$code" 0 "$err"
  equal "$out" "4 ranks by $1" "$err"
  equal "$(sort "$dir/networks" | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "2 2 "
}
readonly NOTE_NETWORK='readlink /proc/self/ns/net >> "$0"; exec "$1"'

# ---- by either launcher -------------------------------------------------------------------------------------------------

ranks_join_talk_and_leave() {
  "$1" "$join_job" join
  equal "$code" 0 "$err"
  contains "$out" "4 ranks: joined after"
}

# ranks_open_several_runtimes_and_leave_the_last_one_open LAUNCHER BOOTSTRAP
ranks_open_several_runtimes_and_leave_the_last_one_open() {
  "$1" "$reopen_job"
  equal "$code" 0 "$err"
  equal "$out" "4 ranks by $2" "$err"
}

ranks_join_as_on_two_hosts() { LCI_ATTR_RANKS_PER_HOST=2 ranks_open_several_runtimes_and_leave_the_last_one_open "$@"; }

a_rank_that_fails_fails_the_job() {
  "$1" "$reopen_job" fails
  equal "$code" 3 "$err"
}

# ranks_that_cannot_find_each_other_say_so LAUNCHER WHY: none of them is taken for rank 0 of 1. Sets said, which goes to a file
# of theirs: when all ranks end at once, mpiexec.hydra may die of SIGPIPE and pass on nothing.
ranks_that_cannot_find_each_other_say_so() {
  # shellcheck disable=SC2016  # it is the rank's shell that reads them
  "$1" sh -c 'exec "$@" 2>> "$0"' "$dir/said" "$reopen_job"
  ((code != 0)) || fail "it ran: $out"
  ((code != 124)) || fail "it still runs after $DEADLINE_S s: $err"
  said=$(< "$dir/said")
  contains "$said" "a launcher has started several processes ($2"
}

# ---- Hydra --------------------------------------------------------------------------------------------------------------

test_hydra_ranks_join_talk_and_leave() { ranks_join_talk_and_leave hydra; }
test_hydra_ranks_join_as_on_two_hosts() { ranks_join_as_on_two_hosts hydra pmi1; }
test_hydra_ranks_open_several_runtimes() {
  local version
  for version in pmi1 pmi2; do
    LCI_ATTR_BOOTSTRAP=$version ranks_open_several_runtimes_and_leave_the_last_one_open hydra $version
  done
}
test_hydra_a_rank_that_fails_fails_the_job() { a_rank_that_fails_fails_the_job hydra; }
test_hydra_ranks_that_cannot_find_each_other_say_so() {
  LCI_ATTR_BOOTSTRAP='tcp;local' ranks_that_cannot_find_each_other_say_so hydra "PMI_SIZE is 4)"
}

test_hydra_ranks_on_two_hosts() {
  two_hosts
  launch ip netns exec "$host-1" mpiexec.hydra -launcher ssh -launcher-exec "$dir/agent" -iface net0 -hosts "$host-1,$host-2" -ppn 2 \
    -n 4 sh -c "$NOTE_NETWORK" "$dir/networks" "$reopen_job"
  expect_two_hosts pmi1
}

# ---- Open MPI -----------------------------------------------------------------------------------------------------------

test_open_mpi_ranks_join_talk_and_leave() { ranks_join_talk_and_leave open_mpi; }
test_open_mpi_ranks_join_as_on_two_hosts() { ranks_join_as_on_two_hosts open_mpi pmix; }
test_open_mpi_ranks_open_several_runtimes() { ranks_open_several_runtimes_and_leave_the_last_one_open open_mpi pmix; }
test_open_mpi_a_rank_that_fails_fails_the_job() { a_rank_that_fails_fails_the_job open_mpi; }
test_open_mpi_ranks_that_cannot_find_each_other_say_so() {
  LCI_PMIX_LIBRARY=/there/is/none ranks_that_cannot_find_each_other_say_so open_mpi "OMPI_COMM_WORLD_SIZE is 4)"
  contains "$said" "bootstrap pmix: the library of PMIx cannot be loaded: /there/is/none"
}

test_open_mpi_ranks_on_two_hosts() {
  two_hosts
  with_pmix
  launch ip netns exec "$host-1" mpirun.openmpi --allow-run-as-root --oversubscribe --mca plm_rsh_agent "$dir/agent" \
    --mca oob_tcp_if_include net0 --host "$host-1:2,$host-2:2" -n 4 sh -c "$NOTE_NETWORK" "$dir/networks" "$reopen_job"
  expect_two_hosts pmix
}

# Ranks that wait for it are not left behind.
test_open_mpi_a_rank_that_is_killed_ends_the_job() {
  # shellcheck disable=SC2016  # it is the rank's shell that reads it
  open_mpi sh -c '[ $LCI_RANK != 2 ] || kill -9 $$; exec "$0"' "$reopen_job"
  equal "$code" 137 "$err"
}

# without COMMAND PREFIX WHAT PACKAGES: leaves tests out if there is no such command.
without() {
  local name
  ! command -v "$1" > /dev/null || return 0
  echo "SKIPPED: ranks under $3, which is not here (Debian: $4)"
  for name in $(declare -F | sed -n "s/^declare -f \(test_$2_.*\)/\1/p"); do unset -f "$name"; done
}
without mpiexec.hydra hydra mpiexec.hydra mpich
without mpirun.openmpi open_mpi "Open MPI's mpirun" openmpi-bin

! declare -F | grep -q ' test_' || run_tests
