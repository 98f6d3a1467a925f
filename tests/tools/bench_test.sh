#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Does every measurement of `./lci bench` that is quick work? In a dose too small to mean anything; of a tree that is built.
#   LCI_HOME=TREE LCI_JDK=JDK LCI_NEWER_JDK=JDK|none bench_test.sh
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly bench=${LCI_HOME:?}/native/bench/run_bench.sh

# measure GROUP [OPTION...]: one round of it; the lines of the table as JSON.
measure() {
  "$bench" "$@" --pairs 1 --dose 0.001 --json "$dir/lines" > "$dir/table" 2> "$dir/err" || fail "$(cat "$dir/table" "$dir/err")"
}

# measured METRIC: ours was.
measured() {
  grep "\"metric\":\"$1\"" "$dir/lines" > "$dir/metric" || fail "$1 was not measured: $(cat "$dir/err")"
  grep -v '"ours":[0-9].*"runs":1,' "$dir/metric" && fail "$1 of ours is missing"
  true
}
# compared METRIC: ours was measured, and the ratio to each peer that the table names.
compared() {
  measured "$1"
  grep '"peer":null' "$dir/metric" && fail "$1 of a peer is missing"
  true
}
against() { grep -q "\"metric\":\"$2\".*\"peer_name\":\"$1\"" "$dir/lines" || fail "$2 was not compared with $1"; }

# peers_of METRIC: the limits of the machine and the libraries installed here that it is compared with, a line each.
peers_of() {
  case $1 in
    am_rate | bandwidth_1k) echo "raw ring" ;;
    bandwidth_* | put_64k | put_1m | get_64k | get_1m) echo "best copy" ;;
    am_latency | put_latency | barrier) echo "cache line" ;;
    put_messages_*) return ;;  # nobody else puts by messages
  esac
  if [[ $1 != barrier && $1 != *_2x2 ]] && command -v ucx_perftest > /dev/null; then
    echo UCX
    [[ ! $1 =~ _(16k|64k|1m)$ ]] || echo "UCX default"
  fi
  [[ $1 != am_* ]] || return 0
  ! command -v mpicc.mpich > /dev/null || echo MPICH
  ! command -v mpicc.openmpi > /dev/null || echo "Open MPI"
}

test_native() {
  local metric peer peers
  measure native
  grep 'here (Debian' "$dir/err" || true  # who is not compared, and what to install
  for metric in am_{rate,latency} sendrecv_{rate,latency} bandwidth_{1k,16k,64k,1m} {put,get}_{latency,rate,64k,1m} \
    put_messages_{64k,1m} barrier sendrecv_rate_2x2; do
    measured "$metric"
    mapfile -t peers < <(peers_of "$metric")
    ((${#peers[@]} == 0)) || compared "$metric"
    for peer in "${peers[@]}"; do against "$peer" "$metric"; done
  done
}

# Our side of all metrics; of each form of them one with all peers, whose processes take half a second to start.
test_coll() {
  local metric
  for metric in coll_{barrier,allreduce_8,{allreduce,broadcast,allgather,alltoall}_{64k,1m}}{,_x4} \
    coll_allreduce_64k_by_{doubling,rabenseifner,ring} coll_broadcast_64k_by_{binomial,knomial,chain,scatter} \
    coll_allgather_64k_by_{bruck,doubling,ring,neighbour} coll_alltoall_64k_by_{bruck,pairwise}; do
    LCI_BENCH_DOSE=0.001 "$LCI_HOME/lci-native-bridge/target/native/coll_bench" "$metric" > "$dir/line" 2> "$dir/err" ||
      fail "$metric: $(cat "$dir/err")"
    contains "$(cat "$dir/line")" "\"metric\":\"$metric\""
  done
}

test_coll_beside_peers() {
  local metric
  for metric in coll_barrier coll_alltoall_1m_x4 coll_broadcast_64k_by_chain; do
    measure coll --only "$metric"
    measured "$metric"
    [[ $metric != *64k* ]] || against heap "$metric"
    [[ $metric == *_by_* || $metric == *_x4 ]] || ! command -v mpicc.mpich > /dev/null || against MPICH "$metric"
    command -v mpicc.openmpi > /dev/null || continue
    against "Open MPI" "$metric"
    [[ $metric == *_by_* ]] || against "Open MPI sm" "$metric"
  done
}

# All of them are tested in one JVM, by CollectiveBenchTest.
test_coll_between_jvms() {
  local peer
  measure coll --only coll_mono_allreduce_8
  measured coll_mono_allreduce_8
  for peer in "LCI in C" heap parked; do against "$peer" coll_mono_allreduce_8; done
  ! command -v mpicc.mpich > /dev/null || against MPICH coll_mono_allreduce_8
  ! command -v mpicc.openmpi > /dev/null || against "Open MPI sm" coll_mono_allreduce_8
}

# libfabric has a ping-pong alone.
test_net() {
  local metric
  measure net
  grep 'here (Debian' "$dir/err" || true
  for metric in net_{am,sendrecv}_{rate,latency} net_bandwidth_{64k,1m}; do
    compared "$metric"
    against sealed "$metric"
    ! command -v ucx_perftest > /dev/null || against UCX "$metric"
    ! command -v mpicc.openmpi > /dev/null || against "Open MPI" "$metric"
    ! command -v fi_pingpong > /dev/null || [[ $metric != *_latency ]] || against "libfabric net" "$metric"
  done
  for metric in net_am_stream net_am_round_trip; do
    compared "$metric"
    for peer in "LCI in C" "Aeron UDP" RSocket netty; do against "$peer" "$metric"; done
  done
}

test_resources() {
  local name threads
  measure resources
  for threads in 1 2; do
    for name in queue_array matching_{map,queue} packets_{own,shared} array remote devices lanes completions lock; do
      compared "${name}_t$threads"
    done
    [[ $(uname -m) != x86_64 ]] || compared "queue_lcrq_t$threads"
  done
  compared handover_array_t2
  compared cancel_1k_t1
  compared cancel_1m_t1
  for name in {sum,min,max}_{f32,f64,i32,i64}_{32k,8m}; do compared "$name"; done
  [[ $(uname -m) != x86_64 ]] || compared handover_lcrq_t2
}

# Every side of group jvm, in one metric; all metrics of all of them are tested in one JVM, by the tests of package
# io.lci.samples.bench.jvm.
test_jvm() {
  local peer
  measure jvm --only am_stream
  if [[ $(/sbin/ldconfig -p) == *'libucp.so.0 '* ]]; then
    against JUCX am_stream
  else
    contains "$(cat "$dir/err")" "JUCX is not compared: no UCX here (Debian: libucx0)"
  fi
  compared am_stream
  for peer in "LCI in C" "Aeron IPC" RSocket "RSocket, unix" netty "netty, unix" "with metrics"; do against "$peer" am_stream; done
}

# The rows of the group that are not two JVMs over streams.
test_jvm_lane_and_idle() {
  measure jvm --only lane_stream
  compared lane_stream
  against C lane_stream
  measure jvm --only idle_cpu
  measured idle_cpu
}

test_jvm_held_loops() {
  measure jvm --only stuck_sleep_p99
  compared stuck_sleep_p99
  against local stuck_sleep_p99
}

test_jvm_hops() {
  measure jvm --only hop_busy
  compared hop_busy
  against "on the loop" hop_busy
  measure jvm --only hop_idle_wakes
  measured hop_idle_wakes
}

# A side is what its arguments make it: none gets lost on the way to the program.
test_every_argument_reaches_the_program() {
  mkdir -p "$dir/tree"
  printf '%s\n' '#!/bin/sh' 'echo "$*" >> "$(dirname "$0")/runs"; exit 1' > "$dir/tree/lci"
  chmod +x "$dir/tree/lci"
  LCI_HOME=$dir/tree "$bench" jvm --only am_stream --pairs 1 --dose 0.001 > "$dir/out" 2> "$dir/err" && fail "it measured something"
  LCI_HOME=$dir/tree "$bench" net --only net_am_stream --pairs 1 --dose 0.001 > "$dir/out" 2>> "$dir/err" && fail "it measured something"
  for run in "aeron-bench am_stream" "aeron-bench am_stream udp" "flux-bench am_stream" "flux-bench am_stream metrics" "rsocket-bench am_stream" "rsocket-bench am_stream unix" \
    "netty-bench am_stream" "netty-bench am_stream unix"; do
    grep -qx "run -n 2 $run" "$dir/tree/runs" || fail "nobody ran $run: $(cat "$dir/tree/runs" "$dir/err")"
  done
}

# In the newer JDK, or a word that there is none.
test_jvm_ffm() {
  if [[ ${LCI_NEWER_JDK:?} == none ]]; then
    "$bench" jvm --only op_window_ffm --pairs 1 --dose 0.001 > "$dir/table" 2> "$dir/err" && fail "something was measured"
    contains "$(cat "$dir/err")" "no JDK of 22 or newer here"
  else
    measure jvm --only op_window_ffm
    measured op_window_ffm
    measure jvm --only lane_stream_ffm
    against C lane_stream_ffm
    against "JNA, same JDK" lane_stream_ffm
  fi
}

# A measurement that fails is left out, said, and fails the whole.
test_failures_are_said() {
  local home=$dir/home code=0
  mkdir -p "$home/lci-native-bridge/target/native" "$home/samples"
  ln -s "$LCI_HOME/samples/target" "$home/samples/target"
  cp "$LCI_HOME"/lci-native-bridge/target/native/{line_roundtrip,resources_bench} "$home/lci-native-bridge/target/native"
  printf '#!/bin/sh\necho "devices_bench: on purpose" >&2\nexit 1\n' > "$home/lci-native-bridge/target/native/devices_bench"
  chmod +x "$home/lci-native-bridge/target/native/devices_bench"
  LCI_HOME=$home "$bench" resources --pairs 1 --dose 0.001 > "$dir/table" 2> "$dir/err" || code=$?
  equal "$code" 1
  contains "$(cat "$dir/err")" "devices_dedicated devices_t1 failed"
  contains "$(cat "$dir/err")" "on purpose"
  contains "$(cat "$dir/table")" "queue_array_t1"
}

test_wrong_arguments() {
  local arguments code
  for arguments in "nothing" "--dose 2" "--dose 0" "--dose" "--pairs 0" "--json" "--only"; do
    code=0
    # shellcheck disable=SC2086  # several words on purpose
    "$bench" $arguments > "$dir/out" 2> "$dir/err" || code=$?
    equal "$code" 2 "$arguments"
    contains "$(cat "$dir/err")" "see ./lci bench --help"
  done
}

run_tests
