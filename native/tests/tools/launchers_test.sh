#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Do ranks that another launcher has started find each other? Hydra's mpiexec starts them here, if there is one.
# Usage: launchers_test.sh JOIN-JOB REOPEN-JOB, the programs of tests/c
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
join_job=$(realpath "${1:?path of join_job}") reopen_job=$(realpath "${2:?path of reopen_job}")
readonly join_job reopen_job

if ! command -v mpiexec.hydra > /dev/null; then
  echo "SKIPPED: ranks under mpiexec.hydra, which is not here (Debian: mpich)"
  exit 0
fi
# Of a launcher around the test.
unset LCI_JOB_DIR LCI_ROOT LCI_RANK LCI_SIZE LCI_SECRET_FILE MASTER_ADDR "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" "${!OMPI_@}"

# hydra ARGS...: sets out, err and code. Each rank has the variables that join_job reads; the library does not take them.
hydra() {
  # shellcheck disable=SC2016  # it is the rank's shell that reads them
  timeout "$DEADLINE_S" mpiexec.hydra -n 4 sh -c 'LCI_RANK=$PMI_RANK LCI_SIZE=$PMI_SIZE exec "$@"' sh "$@" \
    > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}

test_ranks_join_talk_and_leave() {
  hydra "$join_job" join
  equal "$code" 0 "$err"
  contains "$out" "4 ranks: joined after"
}

test_ranks_join_as_on_two_hosts() {
  LCI_ATTR_RANKS_PER_HOST=2 hydra "$reopen_job"
  equal "$code" 0 "$err"
  equal "$out" "4 ranks by pmi1" "$err"
}

test_ranks_open_several_runtimes_and_leave_the_last_one_open() {
  local version
  for version in pmi1 pmi2; do
    LCI_ATTR_BOOTSTRAP=$version hydra "$reopen_job"
    equal "$code" 0 "$err"
    equal "$out" "4 ranks by $version" "$err"
  done
}

test_a_rank_that_fails_fails_the_job() {
  hydra "$reopen_job" fails
  equal "$code" 3 "$err"
}

# None of them is taken for rank 0 of 1.
test_ranks_that_cannot_find_each_other_say_so() {
  LCI_ATTR_BOOTSTRAP='tcp;local' hydra "$reopen_job"
  [[ $code != 0 ]] || fail "it ran: $out"
  contains "$err" "a launcher has started several processes (PMI_SIZE is 4)"
}

run_tests
