#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares us with the machine's limits and with peers; called by `./lci bench`, which builds first.
#
#   run_bench.sh [GROUP] [--pairs N] [--json FILE]
#
# Every round measures the cache-line round trip, then ours, then each peer, metric by metric: what is compared was
# taken within seconds. A group is a function group_NAME that calls `compare`; a side is a function that prints one JSON
# line {"metric","unit","value"} for the metric it is given, or returns 3 when it has none for it.
set -euo pipefail

readonly home=${LCI_HOME:?set by ./lci} jdk=${LCI_JDK:?set by ./lci}
readonly native=$home/lci-native-bridge/target/native
readonly state=$home/.lci/bench cache=$home/.lci/cache
readonly GROUPS_ALL='native boundary jvm kmer idle'
readonly NOT_OFFERED=3
readonly PEER_TIMEOUT_S=120

pairs=7
json=
groups=$GROUPS_ALL

die() { echo "lci bench: $*" >&2; exit 1; }
wrong() { echo "lci bench: $*; see ./lci bench --help" >&2; exit 2; }

parse_arguments() {
  while (($# > 0)); do
    case $1 in
      --pairs) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || wrong "--pairs needs a number above 0"; pairs=$2; shift 2 ;;
      --json) [[ -n ${2:-} ]] || wrong "--json needs a file"; json=$2; shift 2 ;;
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

# compare METRICS OURS [NAME=FUNCTION...]: all pairs of all metrics; prints the table.
compare() {
  local metrics=$1 ours=$2 pair metric peer
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

native_ours() { "$native/am_bench" "$1"; }

native_ring() {
  case $1 in
    am_rate | bandwidth_*) "$native/raw_ring_bench" "$1" ;;
    *) return $NOT_OFFERED ;;
  esac
}

# Half a round trip of a cache line: no message can be faster.
native_line() {
  [[ $1 == am_latency ]] || return $NOT_OFFERED
  "$native/line_roundtrip" | awk -F '"value":' '{ printf "{\"metric\":\"am_latency\",\"unit\":\"ns\",\"value\":%.6g}\n", $2 / 2 }'
}

# ucx_run COLUMN FACTOR UNIT METRIC ARGS...: two processes of UCX's own benchmark on two processors. Columns of its
# output: 4 overall latency in us, 6 overall bandwidth in MiB/s, 8 overall messages a second.
ucx_run() {
  local column=$1 factor=$2 unit=$3 metric=$4 port=$((20000 + RANDOM % 10000)) server
  shift 4
  export UCX_TLS=posix,self UCX_LOG_LEVEL=fatal
  ucx_perftest -c 0 -p "$port" "$@" > "$state/ucx-server.log" 2>&1 &
  server=$!
  # The server listens a moment after it starts, and says so nowhere.
  local tries=0
  until grep -qi ":$(printf '%04X' "$port") 00000000:0000 0A" /proc/net/tcp; do
    ((++tries < 200)) && kill -0 "$server" 2> /dev/null || { kill "$server" 2> /dev/null; return 1; }
    sleep 0.02
  done
  timeout $PEER_TIMEOUT_S ucx_perftest localhost -c 1 -p "$port" -f -v "$@" | awk -F , -v c="$column" -v f="$factor" -v u="$unit" -v m="$metric" '
    END { printf "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", m, u, $c * f }'
  local code=$?
  wait "$server" || true
  return $code
}

native_ucx() {
  local mib=1048576e-9
  case $1 in
    am_latency) ucx_run 4 1000 ns "$1" -t am_lat -d memory -x posix -D short -s 8 -n 200000 ;;
    am_rate) ucx_run 8 1e-6 Mmsg/s "$1" -t am_bw -d memory -x posix -D short -s 8 -n 4000000 ;;
    sendrecv_latency) ucx_run 4 1000 ns "$1" -t tag_lat -s 8 -n 200000 ;;
    sendrecv_rate) ucx_run 8 1e-6 Mmsg/s "$1" -t tag_bw -s 8 -n 2000000 ;;
    bandwidth_1k) ucx_run 6 $mib GB/s "$1" -t ucp_am_bw -s 1024 -n 500000 ;;
    bandwidth_16k) ucx_run 6 $mib GB/s "$1" -t ucp_am_bw -s 16384 -n 60000 ;;
    bandwidth_64k) ucx_run 6 $mib GB/s "$1" -t ucp_am_bw -s 65536 -n 20000 ;;
    bandwidth_1m) ucx_run 6 $mib GB/s "$1" -t ucp_am_bw -s 1048576 -n 1000 ;;
    *) return $NOT_OFFERED ;;
  esac
}

native_mpich() {
  case $1 in
    sendrecv_* | bandwidth_*) timeout $PEER_TIMEOUT_S mpiexec.mpich -n 2 "$state/mpi_bench" "$1" ;;
    *) return $NOT_OFFERED ;;
  esac
}

group_native() {
  local peers=("raw ring=native_ring" "line, one way=native_line")
  if command -v ucx_perftest > /dev/null; then
    peers+=(UCX=native_ucx)
  else
    echo "lci bench: no UCX here (Debian: ucx-utils)" >&2
  fi
  if command -v mpicc.mpich > /dev/null && mpicc.mpich -O3 -o "$state/mpi_bench" "$home/native/bench/peers/mpi_bench.c"; then
    peers+=(MPICH=native_mpich)
  else
    echo "lci bench: no MPICH here (Debian: mpich libmpich-dev)" >&2
  fi
  compare "am_rate am_latency sendrecv_rate sendrecv_latency bandwidth_1k bandwidth_16k bandwidth_64k bandwidth_1m" \
    native_ours "${peers[@]}"
}

# ---- boundary: a lane driven from Java against the same lane driven from C ------------------------------------------------

# ranks PROGRAM METRIC: two JVMs; rank 0 prints the line.
ranks() { timeout $PEER_TIMEOUT_S "$home/lci" run -n 2 "$1" "$2" | sed -n 's/^\[0\] \({.*\)/\1/p'; }

boundary_java() { ranks lane-bench "$1"; }
boundary_c() { "$native/am_bench" am_stream | sed "s/am_stream/$1/"; }

group_boundary() { compare lane_stream boundary_java "C=boundary_c"; }

# ---- jvm: Flux to Flux between two JVMs -------------------------------------------------------------------------------

jvm_ours() { ranks flux-bench "$1"; }
jvm_aeron() {
  LCI_JAVA_OPTS="${LCI_JAVA_OPTS:-} --add-opens=java.base/jdk.internal.misc=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED" \
    ranks aeron-bench "$1"
}

# The same in C: half of its stream is the first target. A round trip is two latencies.
jvm_native() {
  case $1 in
    am_stream) "$native/am_bench" am_stream ;;
    am_round_trip) "$native/am_bench" am_latency | awk -F '"value":' '{ printf "{\"metric\":\"am_round_trip\",\"unit\":\"us\",\"value\":%.6g}\n", $2 * 2e-3 }' ;;
  esac
}

group_jvm() { compare "am_stream am_round_trip" jvm_ours "LCI in C=jvm_native" "Aeron IPC=jvm_aeron"; }

# ---- kmer: the job in two ranks, 98 MB of simulated reads ----------------------------------------------------------------

kmer_reads() {
  reads=$cache/bench-reads.fq
  [[ -f $reads ]] && return
  mkdir -p "$cache"
  echo "lci bench: simulating reads: 150 bases, a 5 Mb genome, one error in every second read" >&2
  "$home/lci" run -n 1 simulate-reads --random-genome 5000000 --reads 617000 --length 150 --seed 1 > "$reads.part"
  mv "$reads.part" "$reads"
}

# timed METRIC COMMAND...: wall time, in seconds.
timed() {
  local metric=$1 start end
  shift
  start=$(date +%s.%N)
  "$@" > /dev/null || return 1
  end=$(date +%s.%N)
  awk -v a="$start" -v b="$end" -v m="$metric" 'BEGIN { printf "{\"metric\":\"%s\",\"unit\":\"s\",\"value\":%.6g}\n", m, b - a }'
}

kmer_ours() { timed "$1" "$home/lci" run -n 2 kmer -k "${1#kmer_}" --canonical --histogram "$state/ours.histogram" "$reads"; }

kmer_jellyfish() { timed "$1" jellyfish count -m "${1#kmer_}" -t 2 -C -s 100M -o "$state/jellyfish.jf" "$reads"; }

kmer_kmc() {
  mkdir -p "$state/kmc"
  timed "$1" kmc -k"${1#kmer_}" -t2 -m8 -r -ci1 "$reads" "$state/kmc/out" "$state/kmc"
}

group_kmer() {
  local reads peers=()
  kmer_reads
  command -v jellyfish > /dev/null && peers+=(jellyfish=kmer_jellyfish) || echo "lci bench: no jellyfish here" >&2
  command -v kmc > /dev/null && peers+=(KMC=kmer_kmc) || echo "lci bench: no KMC here (Debian: kmc)" >&2
  compare "kmer_31 kmer_51" kmer_ours "${peers[@]}"
}

# ---- idle: processor time of a runtime that does nothing ----------------------------------------------------------------

idle_ours() { "$home/lci" run -n 1 idle-bench "$1"; }
group_idle() { compare idle_cpu idle_ours; }

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
