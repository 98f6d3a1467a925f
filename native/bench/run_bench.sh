#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares us with the machine's limits and with peers; called by `./lci bench`, which builds first.
#
#   run_bench.sh [GROUP] [--only METRIC] [--pairs N] [--json FILE] [--dose PART]
#
# Every round measures the cache-line round trip, then ours, then each peer, metric by metric: what is compared was
# taken within seconds. A group is a function group_NAME that calls `compare`; a side is a function that prints one JSON
# line {"metric","unit","value"} for the metric it is given, or returns 3 when it has none for it.
set -euo pipefail

readonly home=${LCI_HOME:?set by ./lci} jdk=${LCI_JDK:?set by ./lci} newer_jdk=${LCI_NEWER_JDK:?set by ./lci}
readonly native=$home/lci-native-bridge/target/native
readonly state=$home/.lci/bench cache=$home/.lci/cache
readonly GROUPS_ALL='native coll net resources jvm kmer'
readonly NOT_OFFERED=3
readonly PEER_TIMEOUT_S=120

pairs=7
only=
json=
groups=$GROUPS_ALL

die() { echo "lci bench: $*" >&2; exit 1; }
wrong() { echo "lci bench: $*; see ./lci bench --help" >&2; exit 2; }

parse_arguments() {
  while (($# > 0)); do
    case $1 in
      --pairs) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || wrong "--pairs needs a number above 0"; pairs=$2; shift 2 ;;
      --only) [[ -n ${2:-} ]] || wrong "--only needs a metric"; only=$2; shift 2 ;;
      --json) [[ -n ${2:-} ]] || wrong "--json needs a file"; json=$2; shift 2 ;;
      --dose)
        [[ ${2:-} =~ ^(1|0?\.[0-9]*[1-9][0-9]*)$ ]] || wrong "--dose needs a number above 0, at most 1"
        export LCI_BENCH_DOSE=$2
        shift 2
        ;;
      *) [[ " $GROUPS_ALL " == *" $1 "* ]] || wrong "no such group: $1; groups: $GROUPS_ALL"; groups=$1; shift ;;
    esac
  done
}

# ---- measuring --------------------------------------------------------------------------------------------------------

# value_of FUNCTION METRIC: prints "unit<TAB>value" of the one JSON line that the function prints.
value_of() {
  local line code=0
  line=$("$1" "$2" 2> "$state/side.log") || code=$?
  ((code != NOT_OFFERED)) || return $NOT_OFFERED
  ((code == 0)) || { echo "lci bench: $1 $2 failed:" >&2; tail -n 5 "$state/side.log" >&2; return 1; }
  sed -n 's/^{"metric":"'"$2"'","unit":"\([^"]*\)","value":\([-+.e0-9]*\)}$/\1\t\2/p' <<< "$line" | grep . ||
    { echo "lci bench: $1 $2 printed no such metric: $line" >&2; return 1; }
}

# sample PAIR SIDE NAME METRIC FUNCTION: measures one value and notes it.
sample() {
  local value code=0
  value=$(value_of "$5" "$4") || code=$?
  ((code != NOT_OFFERED)) || return 0
  # What fails is left out of the table and said once; the rest is still worth having.
  ((code == 0)) || { failed=1; return 0; }
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$value" >> "$samples"
}

side_line() { "$native/line_roundtrip" | sed "s/line_roundtrip/$1/"; }

# wanted METRICS: those of them that are to be measured.
wanted() {
  local metric
  for metric in $1; do
    [[ -n $only && $metric != "$only" ]] || echo "$metric"
  done
}

# compare METRICS OURS [NAME=FUNCTION...]: all pairs of all metrics.
compare() {
  local metrics ours=$2 pair metric peer
  metrics=$(wanted "$1")
  shift 2
  for ((pair = 1; pair <= pairs; pair++)); do
    for metric in $metrics; do
      sample "$pair" line line "$metric" side_line
      sample "$pair" ours LCI "$metric" "$ours"
      for peer in "$@"; do
        sample "$pair" peer "${peer%=*}" "$metric" "${peer##*=}"
      done
    done
    [[ ! -t 2 ]] || printf '\rround %d of %d' "$pair" "$pairs" >&2
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

print_table() {
  local options=()
  [[ -z $json ]] || options=(--json "$json")
  "$jdk/bin/java" -cp "$home/samples/target/samples.jar:$home/samples/target/lib/*" io.lci.samples.bench.BenchTable \
    "${options[@]}" < "$samples"
}

# ---- native: the core in C, two processes on this host ----------------------------------------------------------------

native_ours() {
  case $1 in
    put_* | get_*) timeout $PEER_TIMEOUT_S "$native/remote_bench" "$1" ;;
    *_2x2) timeout $PEER_TIMEOUT_S "$native/two_by_two_bench" "$1" ;;
    *) timeout $PEER_TIMEOUT_S "$native/am_bench" "$1" ;;
  esac
}

native_ring() {
  case $1 in
    am_rate | bandwidth_1k) "$native/raw_ring_bench" "$1" ;;
    *) return $NOT_OFFERED ;;
  esac
}

# Long messages need not go through a ring: their limit is one copy.
is_long() { [[ $1 =~ ^(bandwidth|put|get)_(16k|64k|1m)$ ]]; }
native_copy() {
  is_long "$1" || return $NOT_OFFERED
  "$native/copy_limit" "$1"
}

# line_as METRIC DIVISOR: no message can be faster than half a round trip of a cache line, no barrier than a whole one.
line_as() {
  "$native/line_roundtrip" | awk -F '"value":' -v m="$1" -v d="$2" '{ printf "{\"metric\":\"%s\",\"unit\":\"ns\",\"value\":%.6g}\n", m, $2 / d }'
}
native_line() {
  case $1 in
    am_latency | put_latency) line_as "$1" 2 ;;
    barrier) line_as "$1" 1 ;;
    *) return $NOT_OFFERED ;;
  esac
}

# listens PORT SERVER: a server listens a moment after it starts, and says so nowhere.
listens() {
  local tries=0
  until grep -qi ":$(printf '%04X' "$1") .*:0000 0A" /proc/net/tcp /proc/net/tcp6; do
    ((++tries < 200)) && kill -0 "$2" 2> /dev/null || { kill "$2" 2> /dev/null; return 1; }
    sleep 0.02
  done
}

# ucx_run VALUE UNIT METRIC COUNT ARGS...: two processes of UCX's own benchmark on two processors, COUNT operations.
# VALUE is an awk expression over the columns of its output: $6 overall bandwidth in MiB/s, $8 overall messages a second.
ucx_run() {
  local ucx_transports=${ucx_transports-posix,self} value=$1 unit=$2 metric=$3 count=$4 port=$((20000 + RANDOM % 10000)) server
  shift 4
  set -- "$@" -n "$(awk -v n="$count" -v d="${LCI_BENCH_DOSE:-1}" 'BEGIN { n = int(n * d); print n < 10 ? 10 : n }')"
  # Empty: whatever UCX chooses, which is single copy by the kernel for what is long.
  [[ -z $ucx_transports ]] || export UCX_TLS=$ucx_transports
  export UCX_LOG_LEVEL=fatal
  ucx_perftest -c 0 -p "$port" "$@" > "$state/ucx-server.log" 2>&1 &
  server=$!
  listens "$port" "$server" || return 1
  timeout $PEER_TIMEOUT_S ucx_perftest localhost -c 1 -p "$port" -f -v "$@" | awk -F , -v u="$unit" -v m="$metric" '
    END { printf "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", m, u, '"$value"' }'
  local code=$?
  wait "$server" || true
  return $code
}
ucx_latency() { ucx_run '1e9 / $8' ns "$@"; }
ucx_rate() { ucx_run '$8 * 1e-6' "$@"; }
ucx_bandwidth() { ucx_run '$6 * 1048576e-9' GB/s "$@"; }

native_ucx() {
  local lowest=(-d memory -x posix -D short)
  case $1 in
    am_latency) ucx_latency "$1" 200000 -t am_lat "${lowest[@]}" -s 8 ;;
    am_rate) ucx_rate Mmsg/s "$1" 4000000 -t am_bw "${lowest[@]}" -s 8 ;;
    sendrecv_latency) ucx_latency "$1" 200000 -t tag_lat -s 8 ;;
    sendrecv_rate) ucx_rate Mmsg/s "$1" 2000000 -t tag_bw -s 8 ;;
    bandwidth_1k) ucx_bandwidth "$1" 500000 -t ucp_am_bw -s 1024 ;;
    bandwidth_16k) ucx_bandwidth "$1" 60000 -t ucp_am_bw -s 16384 ;;
    bandwidth_64k) ucx_bandwidth "$1" 20000 -t ucp_am_bw -s 65536 ;;
    bandwidth_1m) ucx_bandwidth "$1" 1000 -t ucp_am_bw -s 1048576 ;;
    put_latency) ucx_latency "$1" 200000 -t put_lat "${lowest[@]}" -s 8 ;;
    get_latency) ucx_latency "$1" 2000000 -t get -d memory -x posix -D bcopy -s 8 ;;
    put_rate) ucx_rate Mop/s "$1" 4000000 -t ucp_put_bw -s 8 ;;
    get_rate) ucx_rate Mop/s "$1" 2000000 -t ucp_get -s 8 ;;
    put_64k) ucx_bandwidth "$1" 20000 -t ucp_put_bw -s 65536 ;;
    get_64k) ucx_bandwidth "$1" 20000 -t ucp_get -s 65536 ;;
    put_1m) ucx_bandwidth "$1" 1000 -t ucp_put_bw -s 1048576 ;;
    get_1m) ucx_bandwidth "$1" 1000 -t ucp_get -s 1048576 ;;
    *) return $NOT_OFFERED ;;
  esac
}

# UCX as it comes: with single copy, which matters for what is long. In a process of its own, for transports are exported.
native_ucx_default() {
  is_long "$1" || return $NOT_OFFERED
  (ucx_transports='' native_ucx "$1")
}

# Both MPI libraries do everything but active messages.
native_mpich() {
  [[ $1 != am_* && $1 != put_messages_* ]] || return $NOT_OFFERED
  timeout $PEER_TIMEOUT_S mpiexec.mpich -n 2 "$state/mpi_bench.mpich" "$1"
}
# The benchmark binds its processes itself.
native_openmpi() {
  [[ $1 != am_* && $1 != put_messages_* ]] || return $NOT_OFFERED
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout $PEER_TIMEOUT_S \
    mpiexec.openmpi --bind-to none --oversubscribe -n 2 "$state/mpi_bench.openmpi" "$1"
}

# build_mpi LIBRARY PACKAGES [PROGRAM]: the peer's benchmark, if the library is installed.
build_mpi() {
  local program=${3:-mpi_bench}
  command -v "mpicc.$1" > /dev/null &&
    "mpicc.$1" -O3 -o "$state/$program.$1" "$home/native/bench/peers/$program.c" && return
  echo "lci bench: no $1 here (Debian: $2)" >&2
  return 1
}

group_native() {
  local peers=("raw ring=native_ring" "cache line=native_line" "best copy=native_copy")
  if command -v ucx_perftest > /dev/null; then
    peers+=(UCX=native_ucx "UCX default=native_ucx_default")
  else
    echo "lci bench: no UCX here (Debian: ucx-utils)" >&2
  fi
  ! build_mpi mpich "mpich libmpich-dev" || peers+=(MPICH=native_mpich)
  ! build_mpi openmpi "openmpi-bin libopenmpi-dev" || peers+=("Open MPI=native_openmpi")
  compare "am_rate am_latency sendrecv_rate sendrecv_latency bandwidth_1k bandwidth_16k bandwidth_64k bandwidth_1m \
    put_latency get_latency put_rate get_rate put_64k get_64k put_1m get_1m put_messages_64k put_messages_1m barrier \
    sendrecv_rate_2x2" \
    native_ours "${peers[@]}"
}

# ---- coll: collectives in C, two processes on this host, and four --------------------------------------------------------------

coll_ours() { timeout $PEER_TIMEOUT_S "$native/coll_bench" "$1"; }
coll_heap() {
  [[ $1 == *_64k* || $1 == *_1m* ]] || return $NOT_OFFERED
  timeout $PEER_TIMEOUT_S "$native/coll_bench" "$1" heap
}

# mpi_algorithm METRIC: its number for Open MPI's coll_tuned; nothing if it has it not.
mpi_algorithm() {
  case $1 in
    *allreduce*_by_doubling* | *allgather*_by_doubling* | *broadcast*_by_chain* | *alltoall*_by_bruck*) echo 3 ;;
    *allreduce*_by_ring* | *allgather*_by_ring*) echo 4 ;;
    *allreduce*_by_rabenseifner* | *broadcast*_by_binomial*) echo 6 ;;
    *broadcast*_by_knomial*) echo 7 ;;
    *broadcast*_by_scatter*) echo 9 ;;
    *allgather*_by_bruck* | *alltoall*_by_pairwise*) echo 2 ;;
    *allgather*_by_neighbour*) echo 5 ;;
  esac
}

# The benchmark binds its processes itself. Four ranks yield, as ours do.
coll_openmpi() {
  local metric=$1 ranks=2 options=() kind
  shift
  if [[ $metric == *_by_* ]]; then
    kind=${metric#coll_}
    kind=${kind%%_*}
    options+=(--mca coll_tuned_use_dynamic_rules 1 --mca "coll_tuned_${kind/broadcast/bcast}_algorithm" "$(mpi_algorithm "$metric")")
    # Segments of ours.
    [[ $metric != *_by_chain* ]] || options+=(--mca coll_tuned_bcast_algorithm_segmentsize 65536)
  fi
  [[ $metric != *_x4 ]] || { ranks=4; options+=(--mca mpi_yield_when_idle 1); }
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout $PEER_TIMEOUT_S \
    mpiexec.openmpi --bind-to none --oversubscribe "${options[@]}" "$@" -n "$ranks" "$state/mpi_coll_bench.openmpi" "$metric"
}
# Its component for shared memory, which it does not choose by itself; it has some of the kinds.
coll_openmpi_sm() {
  [[ $1 != *_by_* ]] || return $NOT_OFFERED
  coll_openmpi "$1" --mca coll_sm_priority 100
}
# Four of its ranks would not yield.
coll_mpich() {
  [[ $1 != *_by_* && $1 != *_x4 ]] || return $NOT_OFFERED
  timeout $PEER_TIMEOUT_S mpiexec.mpich -n 2 "$state/mpi_coll_bench.mpich" "$1"
}

group_coll() {
  local peers=("heap=coll_heap" "cache line=coll_line") monos=("LCI in C=mono_c" "heap=mono_heap" "parked=mono_parked")
  ! build_mpi mpich "mpich libmpich-dev" mpi_coll_bench || { peers+=(MPICH=coll_mpich); monos+=(MPICH=mono_mpich); }
  ! build_mpi openmpi "openmpi-bin libopenmpi-dev" mpi_coll_bench || {
    peers+=("Open MPI=coll_openmpi" "Open MPI sm=coll_openmpi_sm")
    monos+=("Open MPI=mono_openmpi" "Open MPI sm=mono_openmpi_sm")
  }
  compare "coll_barrier coll_allreduce_8 $(echo coll_{allreduce,broadcast,allgather,alltoall}_{64k,1m})" coll_ours "${peers[@]}"
  compare "coll_mono_barrier coll_mono_allreduce_8 $(echo coll_mono_{allreduce,broadcast,allgather,alltoall}_{64k,1m})" mono_ours "${monos[@]}"
  [[ -n $only && $only != *_x4 ]] || echo "lci bench: _x4: four ranks on $(nproc) processors" >&2
  compare "coll_barrier_x4 coll_allreduce_8_x4 $(echo coll_{allreduce,broadcast,allgather,alltoall}_{64k,1m}_x4)" coll_ours "${peers[@]}"
  compare "$(echo coll_allreduce_64k_by_{doubling,rabenseifner,ring} coll_broadcast_64k_by_{binomial,knomial,chain,scatter} \
    coll_allgather_64k_by_{bruck,doubling,ring,neighbour} coll_alltoall_64k_by_{bruck,pairwise})" coll_ours "${peers[@]}"
}
# as_coll FUNCTION METRIC: what the function says of METRIC without mono_.
as_coll() {
  local metric=${2/mono_/} line
  line=$("$1" "$metric") || return
  echo "${line/\"$metric\"/\"$2\"}"
}

# The same between two JVMs, each call a Mono.
mono_ours() { ranks coll-bench "$1"; }
mono_heap() {
  [[ $1 != *_barrier ]] || return $NOT_OFFERED
  ranks coll-bench "$1" heap
}
mono_parked() {
  [[ $1 == *_barrier || $1 == *_8 ]] || return $NOT_OFFERED
  ranks coll-bench "$1" parked
}
mono_c() { as_coll coll_ours "$1"; }
mono_openmpi() { as_coll coll_openmpi "$1"; }
mono_openmpi_sm() { as_coll coll_openmpi_sm "$1"; }
mono_mpich() { as_coll coll_mpich "$1"; }

coll_line() {
  [[ $1 == coll_barrier || $1 == coll_allreduce_8 ]] || return $NOT_OFFERED
  line_as "$1" 1
}

# ---- net: two processes, or two JVMs, over TCP on the loopback interface -----------------------------------------------------

# as_net FUNCTION METRIC: what the function says of METRIC without net_.
as_net() {
  local metric=${2#net_} line
  line=$("$1" "$metric") || return
  echo "${line/\"$metric\"/\"$2\"}"
}

net_ours() { LCI_ATTR_TRANSPORT=tcp as_net native_ours "$1"; }
net_ours_sealed() { LCI_ATTR_NET_SECURITY=sealed net_ours "$1"; }

# In a process of its own, for what it exports. At most 64 sends are under way.
net_ucx() (
  export UCX_NET_DEVICES=lo
  # shellcheck disable=SC2030  # for ucx_run
  ucx_transports=tcp,self
  lowest=(-d lo -x tcp -D short)
  case $1 in
    net_am_latency) ucx_latency "$1" 50000 -t am_lat "${lowest[@]}" -s 8 ;;
    net_am_rate) ucx_rate Mmsg/s "$1" 200000 -t am_bw "${lowest[@]}" -W 64 -s 8 ;;
    net_sendrecv_latency) ucx_latency "$1" 50000 -t tag_lat -s 8 ;;
    net_sendrecv_rate) ucx_rate Mmsg/s "$1" 1000000 -t tag_bw -O 64 -s 8 ;;
    net_bandwidth_64k) ucx_bandwidth "$1" 20000 -t ucp_am_bw -O 64 -s 65536 ;;
    net_bandwidth_1m) ucx_bandwidth "$1" 1500 -t ucp_am_bw -O 64 -s 1048576 ;;
    *) return $NOT_OFFERED ;;
  esac
)

# Windows of 64. It has no active messages: what it has for them is matched.
net_openmpi() {
  local metric=${1#net_} line
  metric=${metric/am_/sendrecv_}
  line=$(OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo native_openmpi "$metric") || return
  echo "${line/\"$metric\"/\"$1\"}"
}

# libfabric's own ping-pong, on two processors: microseconds of one way, for its provider net and for RDM over MSG endpoints.
net_libfabric() {
  [[ $1 == net_am_latency || $1 == net_sendrecv_latency ]] || return $NOT_OFFERED
  local port=$((20000 + RANDOM % 10000)) server count mode=(-m msg)
  [[ $1 != net_sendrecv_latency ]] || mode=(-m tagged)
  count=$(awk -v d="${LCI_BENCH_DOSE:-1}" 'BEGIN { n = int(50000 * d); print n < 10 ? 10 : n }')
  taskset -c 0 fi_pingpong -p "$2" -e rdm "${mode[@]}" -S 64 -I "$count" -B "$port" > "$state/fabric-server.log" 2>&1 &
  server=$!
  listens "$port" "$server" || return 1
  timeout $PEER_TIMEOUT_S taskset -c 1 fi_pingpong -p "$2" -e rdm "${mode[@]}" -S 64 -I "$count" -P "$port" 127.0.0.1 | awk -v m="$1" '
    $1 == 64 { printf "{\"metric\":\"%s\",\"unit\":\"ns\",\"value\":%.6g}\n", m, $(NF - 1) * 1e3 }'
  wait "$server" || true
}
net_libfabric_net() { net_libfabric "$1" net; }
net_libfabric_rxm() { net_libfabric "$1" 'tcp;ofi_rxm'; }

# The JVMs, all over TCP but Aeron, which has UDP.
net_jvm_ours() { LCI_ATTR_TRANSPORT=tcp as_net jvm_ours "$1"; }
net_jvm_native() { LCI_ATTR_TRANSPORT=tcp as_net jvm_native "$1"; }
net_jvm_rsocket() { as_net jvm_rsocket "$1"; }
net_jvm_netty() { as_net jvm_netty "$1"; }
net_jvm_aeron() { as_net jvm_aeron_udp "$1"; }

group_net() {
  local peers=("sealed=net_ours_sealed")
  if command -v ucx_perftest > /dev/null; then peers+=(UCX=net_ucx); else echo "lci bench: no UCX here (Debian: ucx-utils)" >&2; fi
  ! build_mpi openmpi "openmpi-bin libopenmpi-dev" || peers+=("Open MPI=net_openmpi")
  if command -v fi_pingpong > /dev/null; then
    peers+=("libfabric net=net_libfabric_net" "libfabric tcp;ofi_rxm=net_libfabric_rxm")
  else
    echo "lci bench: no libfabric here (Debian: libfabric-bin)" >&2
  fi
  compare "net_am_rate net_am_latency net_sendrecv_rate net_sendrecv_latency net_bandwidth_64k net_bandwidth_1m" net_ours "${peers[@]}"
  compare "net_am_stream net_am_round_trip" net_jvm_ours "LCI in C=net_jvm_native" "Aeron UDP=net_jvm_aeron" \
    RSocket=net_jvm_rsocket netty=net_jvm_netty
}

# ---- resources: what threads of one process get out of what they share ---------------------------------------------------

# sweep NAMES: each with 1, 2, 4 ... threads, up to the processors, at least 2.
sweep() {
  local processors name threads
  processors=$(nproc)
  for name in $1; do
    for ((threads = 1; threads <= (processors > 2 ? processors : 2); threads *= 2)); do echo "${name}_t$threads"; done
  done
}

resources_ours() { "$native/resources_bench" "$1" ours; }
resources_mutex() { "$native/resources_bench" "$1" mutex; }
resources_malloc() { "$native/resources_bench" "$1" malloc; }
devices_dedicated() { "$native/devices_bench" "$1" dedicated; }
devices_shared() { "$native/devices_bench" "$1" shared; }
devices_lane() { "$native/devices_bench" "$1" lane; }
devices_post() { "$native/devices_bench" "$1" post; }
devices_queue() { "$native/devices_bench" "$1" queue; }
devices_synchronizers() { "$native/devices_bench" "$1" synchronizers; }
devices_try() { "$native/devices_bench" "$1" try; }
devices_spin() { "$native/devices_bench" "$1" spin; }
reduce_ours() { "$native/reduce_bench" "$1" ours; }
reduce_memcpy() { "$native/reduce_bench" "$1" memcpy; }

group_resources() {
  compare "$(sweep "queue_array queue_lcrq handover_array handover_lcrq matching_map matching_queue left array remote")" resources_ours mutex=resources_mutex
  compare "cancel_1k_t1 cancel_1m_t1" resources_ours mutex=resources_mutex
  compare "$(sweep "packets_own packets_shared")" resources_ours malloc=resources_malloc
  compare "$(sweep devices)" devices_dedicated "one shared=devices_shared"
  compare "$(sweep lanes)" devices_lane "post by post=devices_post"
  compare "$(sweep completions)" devices_queue synchronizers=devices_synchronizers
  compare "$(sweep lock)" devices_try "spin lock=devices_spin"
  compare "$(echo {sum,min,max}_{f32,f64,i32,i64}_{32k,8m})" reduce_ours memcpy=reduce_memcpy
}

# ---- jvm: two JVMs; a lane driven from Java against the same driven from C; a runtime that does nothing ----------------------

# ranks PROGRAM METRIC: two JVMs; rank 0 prints the line.
ranks() { timeout $PEER_TIMEOUT_S "$home/lci" run -n 2 "$@" | sed -n 's/^\[0\] \({.*\)/\1/p'; }

# on_newer CALLS FUNCTION ARGS...: with the newer JDK, whose calls are made by jna or ffm.
on_newer() {
  local calls=$1
  shift
  JAVA_HOME=$newer_jdk LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} -Dlci.native.calls=$calls" "$@"
}

has_newer() {
  [[ $newer_jdk == none ]] || return 0
  echo "lci bench: no JDK of 22 or newer here: nothing measured by java.lang.foreign" >&2
  return 1
}

lane_java() { ranks lane-bench "$1"; }
lane_c() { "$native/am_bench" am_stream | sed "s/am_stream/$1/"; }
lane_ffm() { on_newer ffm ranks lane-bench "$1"; }
lane_jna() { on_newer jna ranks lane-bench "$1"; }

idle_ours() { "$home/lci" run -n 1 idle-bench "$1"; }

# Messages over the device of a loop that user code holds.
held_help() { ranks held-loop-bench "$1" help; }
held_local() { ranks held-loop-bench "$1" local; }

# Operations that another thread subscribes: the hop to the loop, and how often it has to be woken.
hop_thread() { "$home/lci" run -n 1 hop-bench "$1" thread; }
hop_loop() { "$home/lci" run -n 1 hop-bench "$1" loop; }

jvm_ours() { ranks flux-bench "$1"; }

# Ours, with meters that are scraped every second: what they cost.
jvm_metrics() { ranks flux-bench "$1" metrics; }

# native_as METRIC FACTOR UNIT COMMAND...: what a program in C measured, by another name.
native_as() {
  local metric=$1 factor=$2 unit=$3
  shift 3
  "$@" | awk -F '"value":' -v m="$metric" -v f="$factor" -v u="$unit" '
    { printf "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", m, u, $2 * f }'
}

# The same in C: half of its stream is the first target. A round trip is two latencies.
jvm_native() {
  case $1 in
    am_stream) timeout $PEER_TIMEOUT_S "$native/am_bench" am_stream ;;
    am_round_trip) native_as "$1" 2e-3 us "$native/am_bench" am_latency ;;
    rma_get_8) native_as "$1" 1 Mop/s "$native/remote_bench" get_rate ;;
    rma_get_64k) native_as "$1" 1 GB/s "$native/remote_bench" get_64k ;;
    *) return $NOT_OFFERED ;;
  esac
}

jvm_aeron() {
  [[ $1 == am_* ]] || return $NOT_OFFERED
  LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} --add-opens=java.base/jdk.internal.misc=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED" \
    ranks aeron-bench "$@"
}
jvm_aeron_udp() { jvm_aeron "$1" udp; }

has_ucx_library() { [[ $(/sbin/ldconfig -p) == *'libucp.so.0 '* ]]; }

jvm_jucx() {
  has_ucx_library || return $NOT_OFFERED
  case $1 in
    am_* | rma_*) ranks jucx-bench "$1" ;;
    *) return $NOT_OFFERED ;;
  esac
}

# Between two processes RSocket and reactor-netty have sockets alone: over loopback, as most use them, or unix domain ones.
jvm_rsocket() {
  case $1 in
    op_window | rma_* | garbage_handler | garbage_message) return $NOT_OFFERED ;;
    *) ranks rsocket-bench "$@" ;;
  esac
}
jvm_rsocket_unix() { jvm_rsocket "$1" unix; }
jvm_netty() {
  case $1 in
    am_* | garbage_decoder) ranks netty-bench "$@" ;;
    *) return $NOT_OFFERED ;;
  esac
}
jvm_netty_unix() { jvm_netty "$1" unix; }

# jvm_rows SUFFIX: in the JDK in use, or, with _ffm, in the newer one.
jvm_rows() {
  local s=$1 sockets=("RSocket=jvm_rsocket$1" "RSocket, unix=jvm_rsocket_unix$1")
  compare "am_stream$s am_round_trip$s" "jvm_ours$s" "LCI in C=jvm_native$s" "Aeron IPC=jvm_aeron$s" "JUCX=jvm_jucx$s" \
    "${sockets[@]}" "netty=jvm_netty$s" "netty, unix=jvm_netty_unix$s" "with metrics=jvm_metrics$s"
  compare "op_chains$s op_window$s op_flatmap$s" "jvm_ours$s" "RSocket=jvm_rsocket$s"
  compare "rpc_response$s rpc_round_trip$s rpc_stream$s rpc_channel$s stream_items$s" "jvm_ours$s" "${sockets[@]}"
  compare "rma_get_8$s rma_get_64k$s" "jvm_ours$s" "LCI in C=jvm_native$s" "JUCX=jvm_jucx$s"
  compare "garbage_handler$s garbage_decoder$s garbage_message$s" "jvm_ours$s" "RSocket=jvm_rsocket$s" "netty=jvm_netty$s"
}

# by_ffm FUNCTION METRIC_ffm: what the function says of METRIC, in the newer JDK.
by_ffm() {
  local metric=${2%_ffm} line
  line=$(on_newer ffm "$1" "$metric") || return
  echo "${line/\"$metric\"/\"$2\"}"
}
jvm_ours_ffm() { by_ffm jvm_ours "$1"; }
jvm_metrics_ffm() { by_ffm jvm_metrics "$1"; }
jvm_native_ffm() { by_ffm jvm_native "$1"; }
jvm_aeron_ffm() { by_ffm jvm_aeron "$1"; }
jvm_jucx_ffm() { by_ffm jvm_jucx "$1"; }
jvm_rsocket_ffm() { by_ffm jvm_rsocket "$1"; }
jvm_rsocket_unix_ffm() { by_ffm jvm_rsocket_unix "$1"; }
jvm_netty_ffm() { by_ffm jvm_netty "$1"; }
jvm_netty_unix_ffm() { by_ffm jvm_netty_unix "$1"; }

group_jvm() {
  has_ucx_library || echo "lci bench: JUCX is not compared: no UCX here (Debian: libucx0)" >&2
  compare lane_stream lane_java "C=lane_c"
  jvm_rows ""
  compare idle_cpu idle_ours
  compare "stuck_sleep_p99 stuck_compute_p99" held_help "local=held_local"
  compare "hop_busy hop_idle" hop_thread "on the loop=hop_loop"
  compare "hop_busy_wakes hop_idle_wakes" hop_thread
  has_newer || return 0
  # Against C, and against JNA in the same JDK.
  compare lane_stream_ffm lane_ffm "C=lane_c" "JNA, same JDK=lane_jna"
  jvm_rows _ffm
}

# ---- kmer: the job in two ranks, 98 MB of bases in simulated reads; _500m: five times as many ---------------------------

# kmer_reads NAME READS: sets reads.
kmer_reads() {
  reads=$cache/bench-reads$1.fq
  [[ -f $reads ]] && return
  mkdir -p "$cache"
  echo "lci bench: simulating $2 reads: 150 bases, a 5 Mb genome, one error in every second read" >&2
  "$home/lci" run -n 1 simulate-reads --random-genome 5000000 --reads "$2" --length 150 --seed 1 > "$reads.part"
  mv "$reads.part" "$reads"
}

# kmer_of METRIC: sets k and reads.
kmer_of() {
  k=${1#kmer_}
  k=${k%%_*}
  case $1 in *_500m*) kmer_reads -500m 3085000 ;; *) kmer_reads "" 617000 ;; esac
}

# timed METRIC COMMAND...: wall time, in seconds; or, of a metric of memory, the most that all ranks have at their peaks, in
# MiB, by the launcher's word.
timed() {
  local metric=$1 start end
  shift
  start=$(date +%s.%N)
  "$@" > /dev/null 2> "$state/timed.log" || { cat "$state/timed.log" >&2; return 1; }
  end=$(date +%s.%N)
  if [[ $metric == *_memory ]]; then
    sed -n 's/^lci-run: rank .*, peak memory \([0-9]*\) MiB$/\1/p' "$state/timed.log" |
      awk -v m="$metric" '{ all += $1 } END { printf "{\"metric\":\"%s\",\"unit\":\"MiB\",\"value\":%.6g}\n", m, all }'
  else
    awk -v a="$start" -v b="$end" -v m="$metric" 'BEGIN { printf "{\"metric\":\"%s\",\"unit\":\"s\",\"value\":%.6g}\n", m, b - a }'
  fi
}

kmer_job() {
  local metric=$1 k reads
  shift
  kmer_of "$metric"
  [[ $metric != *_c1* ]] || local -x LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} -XX:TieredStopAtLevel=1"
  timed "$metric" "$home/lci" run -n 2 --usage kmer -k "$k" --canonical --histogram "$state/ours.histogram" "$@" "$reads"
}

kmer_ours() { kmer_job "$1"; }
kmer_two_pass() { kmer_job "$1" --two-pass; }

kmer_jellyfish() {
  [[ $1 != *_500m* ]] || return $NOT_OFFERED # minutes for each
  local k reads
  kmer_of "$1"
  timed "$1" "$native/lci_run" -n 1 --usage -- jellyfish count -m "$k" -t 2 -C -s 100M -o "$state/jellyfish.jf" "$reads"
}

kmer_kmc() {
  local k reads
  kmer_of "$1"
  mkdir -p "$state/kmc"
  timed "$1" "$native/lci_run" -n 1 --usage -- kmc -k"$k" -t2 -m8 -r -ci1 "$reads" "$state/kmc/out" "$state/kmc"
}

group_kmer() {
  local peers=()
  command -v jellyfish > /dev/null && peers+=(jellyfish=kmer_jellyfish) || echo "lci bench: no jellyfish here" >&2
  command -v kmc > /dev/null && peers+=(KMC=kmer_kmc) || echo "lci bench: no KMC here (Debian: kmc)" >&2
  compare "kmer_31 kmer_31_c1 kmer_51 kmer_31_memory kmer_31_500m kmer_31_500m_c1 kmer_31_500m_memory" kmer_ours "${peers[@]}" "two passes=kmer_two_pass"
}

main() {
  parse_arguments "$@"
  mkdir -p "$state"
  samples=$state/samples.tsv
  failed=0
  : > "$samples"
  local group
  for group in $groups; do
    "group_$group"
  done
  print_table
  ((failed == 0)) || die "some measurements failed; see above"
}

main "$@"
