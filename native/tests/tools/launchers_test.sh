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
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}

# hydra ARGS...: each rank has the variables that join_job reads; the library does not take them.
hydra() {
  # shellcheck disable=SC2016  # it is the rank's shell that reads them
  launch mpiexec.hydra -n 4 sh -c 'LCI_RANK=$PMI_RANK LCI_SIZE=$PMI_SIZE exec "$@"' sh "$@"
}

# open_mpi ARGS...: the same. PMIx keeps memory until the process ends, and is not built for ThreadSanitizer.
open_mpi() {
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 TSAN_OPTIONS=${TSAN_OPTIONS:-}:ignore_noninstrumented_modules=1
  # shellcheck disable=SC2016
  launch mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 \
    sh -c 'LCI_RANK=$OMPI_COMM_WORLD_RANK LCI_SIZE=$OMPI_COMM_WORLD_SIZE exec "$@"' sh "$@"
}

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

# ranks_that_cannot_find_each_other_say_so LAUNCHER WHY: none of them is taken for rank 0 of 1.
ranks_that_cannot_find_each_other_say_so() {
  "$1" "$reopen_job"
  [[ $code != 0 ]] || fail "it ran: $out"
  contains "$err" "a launcher has started several processes ($2"
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

# ---- Open MPI -----------------------------------------------------------------------------------------------------------

test_open_mpi_ranks_join_talk_and_leave() { ranks_join_talk_and_leave open_mpi; }
test_open_mpi_ranks_join_as_on_two_hosts() { ranks_join_as_on_two_hosts open_mpi pmix; }
test_open_mpi_ranks_open_several_runtimes() { ranks_open_several_runtimes_and_leave_the_last_one_open open_mpi pmix; }
test_open_mpi_a_rank_that_fails_fails_the_job() { a_rank_that_fails_fails_the_job open_mpi; }
test_open_mpi_ranks_that_cannot_find_each_other_say_so() {
  LCI_PMIX_LIBRARY=/there/is/none ranks_that_cannot_find_each_other_say_so open_mpi "OMPI_COMM_WORLD_SIZE is 4)"
  contains "$err" "bootstrap pmix: the library of PMIx cannot be loaded: /there/is/none"
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
