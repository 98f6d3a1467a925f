# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The parts of ./lci test soak.

# Parts of `./lci test soak`: name, deadline in seconds, description. The work is done by function soak_NAME.
readonly SOAK_PARTS='
oracle        3600  all 36 combinations of k, strands, ranks and chaos against jellyfish
oracle-collectives 3600  collectives of 1 to 9 ranks by each of their algorithms against Open MPI and MPICH, and a model in C
kill          3600  1,000 kills at random moments
kill-kmer     3600  100 kills at random moments of the k-mer job
kv-service    3600  20 kills of a random rank of the sample kv-service under load, at random moments
slow-consumer 3600  4 million messages to a consumer that is slow for 10 s, in heaps of 64 MiB, three ways; a shuffle of as many items
chaos         3600  200 seeds of delays, reordering and refusals in the core
net-kill      3600  1,000 kills at random moments of ranks on two hosts
net-faults    3600  hosts that are lost, links that are cut, one way or both, 50 times each; resets, strangers and more for long
net-java      3600  all tests of lci-reactive, all ranks by TCP, then two ranks to a host
launchers     1800  Hydra, Open MPI and Slurm start four JVMs: greetings, and k-mers as one rank counts them; also on two hosts of net-lab
net-scale     1200  2 to 64 native ranks on up to 16 hosts of net-lab: they join, meet, and each tells each; memory, connections
net-loss      2400  two native ranks where 1 % is lost and packets take 20 to 30 ms, beside iperf3, 10 pairs of 30 s; memory
net-system    3600  on hosts of net-lab: k-mer counts of 16 ranks on 8, also under chaos, the slow consumer, 10 kills of kv-service
conformance   3600  the tests of rows of the specification, under 200 seeds
peer-memory   3600  conformance, 300 kills and the oracle where a rank reads only what was sent to it
stress        3600  stress and multiprocess tests of the core, 20 times
stress-tsan   3600  the same under thread sanitizer, 5 times
java          3600  all tests of the Maven modules, 5 times
ffm           3600  all tests of bridge and API but the TCK, in a JDK of 22 or newer
progress      1800  tests of flow control, calls and rows once more, over two loops that help each other at random
races         5400  the races of jcstress, a quarter of a second for each, in each of its 16 ways to compile
fuzz          3600  random input for everything that the core reads from others, 10 minutes for each target
mutations     3600  each deliberate fault in the core is noticed by its test, 10 times in a row
api           1800  ./lci api-diff finds what would break whoever uses the API, and nothing else
'

# soak_build PART: the build that it needs, if any. It is made before the part's time begins.
soak_build() {
  case $1 in
    chaos | conformance | launchers | net-kill | net-faults | net-loss | net-scale | peer-memory | stress) echo build_native_tests ;;
    stress-tsan) echo build_native_tsan ;;
    fuzz) echo build_native_asan ;;
    mutations) echo build_native_faulty ;;
  esac
}

soak_oracle() { oracle soak; }
soak_oracle-collectives() { oracle_collectives soak; }
soak_kill() { two_at_a_time kill_ranks 500 500; }
soak_kill-kmer() { LCI=$home/lci short_lived "$home/tests/system/kill_kmer_test.sh" 100; }
soak_kv-service() { kv_service 400 10 20; }
soak_fuzz() { fuzz 600; }

# A million operations, or echoes, in the tests that have them, once.
soak_java() { java_tests -Dlci.test.operations=1000000 && for _ in {1..4}; do java_tests || return 1; done; }

# The rules of Reactive Streams know nothing of calls.
soak_ffm() { ffm_tests '-Dsurefire.excludes=**/*$*,**/TckTest*'; }

soak_progress() {
  local tests=RpcTest,InboxTest,ClosedPortTest,ReopenedInboxTest,ReplyRoomTest,BulkSendTest,PartitionsTest,SharedLoopTest,FirstFluxTest
  maven -Dlci.native.test.skip -Dspotless.check.skip -pl lci-native-bridge,lci-reactive -Dlci.progress=random:1 -Dlci.loops=2 \
    -Dsurefire.failIfNoSpecifiedTests=false \
    "-Dtest=$tests,RetainedMessageTest,MatchingEnginesTest,ChaosTest,PostingRowsTest,ObjectRowsTest" test
}

# Few states at once: they share a loop, whose turns take as long as what all of them wait for.
soak_races() { races -f 1 -iters 1 -time 250 -strideSize 64 -strideCount 4; }

soak_slow-consumer() { slow_consumer 4000000 10; }
# A share without such a test passes: there must be some.
soak_chaos() {
  build_native_tests > /dev/null || return
  export GTEST_FILTER='Chaos*'
  "$native_test_build/lci_unit_tests" --gtest_list_tests | grep '^Chaos' && native_tests "$native_test_build" -R '^unit_[0-9]'
}
soak_api() { LCI_HOME=$home "$home/tests/tools/api_diff_test.sh"; }
soak_mutations() { for _ in {1..10}; do suite_mutations || return 1; done; }
soak_stress() { build_native_tests > /dev/null && native_tests "$native_test_build" -LE 'unit|conformance' --repeat until-fail:20; }

soak_peer-memory() {
  export LCI_ATTR_PEER_MEMORY=rings
  soak_conformance && two_at_a_time kill_ranks 150 150 && oracle soak
}

soak_net-kill() {
  build_native_tests > /dev/null && LCI_NET_KILLS=1000 LCI_TESTS=test_a_rank_that_is_killed_is_named_by_all \
    "$home/native/tests/c/net_test.sh" "$native_test_build"
}

# A cut of 100 s once. All but the kills 50 times, of which half are idle; strangers two minutes in all, which leave nine tenths of
# the rate.
soak_net-faults() {
  build_native_tests > /dev/null || return
  LCI_NET_FAULTS=1 LCI_NET_CUT_S=100 LCI_TESTS=test_what_nothing_goes_through_separates \
    "$home/native/tests/c/net_test.sh" "$native_test_build" &&
    LCI_NET_FAULTS=50 LCI_NET_STOP_S=60 LCI_NET_RESET_S=300 LCI_NET_KILLS=1 LCI_NET_STRANGERS_S=60 LCI_NET_STRANGERS_RATE=0.9 \
      "$home/native/tests/c/net_test.sh" "$native_test_build"
}

soak_net-java() {
  local setting
  for setting in LCI_ATTR_TRANSPORT=tcp LCI_ATTR_RANKS_PER_HOST=2; do
    java_under "$setting" 'io/lci/**/*Test,!BlockHoundTest' || return
  done
}

# All of them from Debian. Slurm's daemons, key and folders are the test's own.
soak_launchers() {
  local reads=()
  need_command mpiexec.hydra mpich
  need_command mpirun.openmpi openmpi-bin
  need_command slurmctld slurmctld
  need_command slurmd slurmd
  need_command srun slurm-client
  need_command munged munge
  need_pmix_of_slurm
  demo_reads
  build_native_tests > /dev/null || return
  if has_lab; then on_lab 2 launchers; else launchers; fi
}
launchers() {
  LCI=$home/lci LCI_JDK=$jdk LCI_REOPEN_JOB=$native_test_build/reopen_job "$home/tests/system/launchers_test.sh" "${reads[@]}"
}

soak_net-scale() {
  has_lab || return 0
  build_native_tests > /dev/null && LCI_SCALE_JOB=$native_test_build/scale_job on_lab 16 "$home/tests/system/scale_test.sh"
}

soak_net-loss() {
  need_command iperf3 iperf3
  has_lab || return 0
  build_native_tests > /dev/null || return
  LCI_FLOW_JOB=$native_test_build/flow_job on_lab_with '--delay 20 --jitter 10 --loss 0.01' 2 "$home/tests/system/net_loss_test.sh" 10 30
}

soak_net-system() {
  has_lab || return 0
  on_lab 8 oracle hosts && on_lab 2 slow_consumer_on_lab 4000000 10 && on_lab 2 kv_service_on_lab 400 10
}

soak_conformance() { build_native_tests > /dev/null && native_tests "$native_test_build" -L conformance; }
soak_stress-tsan() { build_native_tsan > /dev/null && native_tests "$native_tsan" -LE 'unit|conformance' --repeat until-fail:5; }
