#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Jobs of four JVMs that other launchers start, as docs/guide/deploy.md shows them: ranks greet each other, and count k-mers as one
# rank does. Hydra and Open MPI also start them on two hosts of `./lci net-lab`.
# Usage: LCI=./lci LCI_JDK=JDK LCI_REOPEN_JOB=PROGRAM launchers_test.sh READS...
# LCI_REOPEN_JOB is the program of native/tests/c that says by which bootstrap its ranks have met.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/lab.sh
source "$here/../support/lab.sh"
# shellcheck source=../support/slurm.sh
source "$here/../support/slurm.sh"
readonly lci=${LCI:?path of the lci tool} reopen_job=${LCI_REOPEN_JOB:?path of reopen_job} reads=("$@")
samples=$(realpath "${lci%/*}")/samples/target java=${LCI_JDK:?a JDK}/bin/java
readonly samples java
readonly COUNT=(kmer -k 31 --canonical) RANKS=4
((${#reads[@]} > 0)) || fail "no reads"

# Of a launcher around the test.
unset LCI_JOB_DIR LCI_ROOT LCI_RANK LCI_SIZE LCI_SECRET_FILE LCI_PMIX_LIBRARY MASTER_ADDR "${!PMI_@}" "${!PMIX_@}" "${!SLURM_@}" \
  "${!OMPI_@}"

# A program of the launchers: a JVM with a sample. It notes its network, and has a file for what it prints: launchers cut lines.
rank=$work/rank
cat > "$rank" << END
#!/bin/sh
readlink /proc/self/ns/net > "$work/said/\$\$.network"
exec "$java" -XX:MaxRAMPercentage=12 -cp "$samples/samples.jar:$samples/lib/*" io.lci.samples.Samples "\$@" > "$work/said/\$\$"
END
# In the place of ssh: options, a host, and words of a command.
agent=$work/agent
printf '%s\n' '#!/bin/sh' 'while [ "${1#-}" != "$1" ]; do shift; done' 'host=$1; shift' 'exec ip netns exec "$host" sh -c "$*"' \
  > "$agent"
chmod +x "$rank" "$agent"
readonly rank agent

# launch COMMAND...: sets out, err and code, and said, which ranks print to their files.
launch() {
  rm -rf "$work/said" && mkdir "$work/said"
  timeout $((2 * DEADLINE_S)) "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(tr -d '\0' < "$dir/out") # Open MPI says zeros
  err=$(tr -d '\0' < "$dir/err")
  said=$(find "$work/said" -type f ! -name '*.network' -exec cat {} +)
}

# ---- launchers: each starts four ranks of a program ------------------------------------------------------------------------

hydra() { launch mpiexec.hydra -n $RANKS "$@"; }
open_mpi() { launch mpirun.openmpi --allow-run-as-root --oversubscribe -n $RANKS "$@"; }
slurm_pmi2() { launch srun --mpi=pmi2 -n $RANKS --kill-on-bad-exit=1 "$@"; }
slurm_pmix() { launch srun --mpi=pmix -n $RANKS --kill-on-bad-exit=1 "$@"; }

hydra_on_lab() {
  launch ip netns exec "${lab_hosts[0]}" mpiexec.hydra -launcher ssh -launcher-exec "$agent" -iface lab0 \
    -hosts "${lab_hosts[0]},${lab_hosts[1]}" -ppn 2 -n $RANKS "$@"
}
open_mpi_on_lab() {
  launch ip netns exec "${lab_hosts[0]}" mpirun.openmpi --allow-run-as-root --oversubscribe --mca plm_rsh_agent "$agent" \
    --mca oob_tcp_if_include lab0 --host "${lab_hosts[0]}:2,${lab_hosts[1]}:2" -n $RANKS "$@"
}

# ---- what they start ---------------------------------------------------------------------------------------------------------

# expected: what one rank counts, once for all tests. Counts of one are no part of the promise.
expected() {
  [[ -s $work/expected ]] ||
    { env -u LCI_ATTR_BOOTSTRAP "$lci" run -n 1 "${COUNT[@]}" --histogram "$work/one" "${reads[@]}" > "$dir/one.log" 2>&1 &&
      from_two "$work/one" > "$work/expected"; }
  [[ -s $work/expected ]] || fail "one rank counts nothing: $(tail -n 5 "$dir/one.log")"
}
from_two() { awk '$1 >= 2' "$1"; }

# they_run LAUNCHER BOOTSTRAP HOSTS: ranks find each other by this bootstrap, on so many hosts; all hear a greeting; four count as one.
they_run() {
  local number
  "$1" "$reopen_job"
  equal "$code" 0 "$err"
  equal "$out" "$RANKS ranks by $2" "$err"
  "$1" "$rank" hello
  equal "$code" 0 "$err"
  for ((number = 0; number < RANKS; number++)); do
    contains "$said" "hello from rank $number of $RANKS"
    contains "$said" "rank $number got: greetings, rank $number, from rank 0"
  done
  equal "$(sort -u "$work"/said/*.network | wc -l)" "$3" "hosts on which ranks ran"
  expected
  "$1" "$rank" "${COUNT[@]}" --histogram "$dir/histogram" "${reads[@]}"
  equal "$code" 0 "$err"
  from_two "$dir/histogram" | cmp - "$work/expected" || fail "$RANKS ranks do not count as one does"
  echo "$1: $RANKS ranks by $2 on $3 host(s): hello, and k-mers as one rank counts them"
}

needs_lab() { ((${#lab_hosts[@]} >= 2)) || skip "it needs two hosts of net-lab, named by LCI_LAB_HOSTS"; }
needs_slurm() {
  [[ $(id -u) == 0 ]] || skip "the daemons of Slurm need root"
  # What it started may have files of its own open here: it ends before the folder goes.
  trap slurm_down EXIT
  slurm_up "$dir/slurm" $RANKS || fail "Slurm does not start"
}

test_hydra_by_pmi1() { they_run hydra pmi1 1; }
test_hydra_by_pmi2() { LCI_ATTR_BOOTSTRAP=pmi2 they_run hydra pmi2 1; }
test_open_mpi() { they_run open_mpi pmix 1; }

test_slurm() {
  needs_slurm
  they_run slurm_pmi2 pmi2 1
  they_run slurm_pmix pmix 1
  # None is taken for the only rank; the first that fails ends the others.
  launch srun --mpi=none -n $RANKS --kill-on-bad-exit=1 "$rank" hello
  [[ $code != 0 ]] || fail "srun --mpi=none: it ran: $said"
  contains "$err" "a launcher has started several processes (SLURM_STEP_NUM_TASKS is $RANKS)"
  [[ $said != *"hello from"* ]] || fail "srun --mpi=none: a rank runs: $said"
  echo "srun --mpi=none: $(grep -m 1 -o 'a launcher has started.*' "$dir/err")"
}

test_hydra_on_two_hosts() {
  needs_lab
  they_run hydra_on_lab pmi1 2
}
test_open_mpi_on_two_hosts() {
  needs_lab
  they_run open_mpi_on_lab pmix 2
}

run_tests
