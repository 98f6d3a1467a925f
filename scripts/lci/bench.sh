# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci bench.

usage_bench() {
  cat << 'EOF'
Usage: ./lci bench [GROUP] [--only METRIC] [--pairs N] [--json FILE] [--dose PART]
       ./lci bench against COMMIT [ROW...] [--pairs N] [--no-callgrind] [--dose PART]

Builds if that is needed, measures this library and its peers in turns, metric by metric, and prints ours, theirs and
the ratio. Peers that are not installed are named, with their Debian packages. All groups without GROUP:
    native       the core in C between two processes: messages, sends, puts, gets; beside UCX, MPICH, Open MPI
    coll         barrier, allreduce, broadcast, allgather, alltoall between two processes in C, two JVMs, and four processes; by what the core
                 chooses and by each algorithm; beside Open MPI (as it comes, with its component for shared memory, and by
                 the same algorithm) and MPICH
    net          the same as native over TCP on the loopback interface, in C and between two JVMs; beside UCX, Open MPI, libfabric, Aeron (UDP),
                 RSocket, reactor-netty
    resources    queues, matching, packets, devices and lanes on one and two threads
    jvm          streams, operations, calls and gets between two JVMs; beside Aeron, JUCX, RSocket, reactor-netty; a lane
                 driven from Java beside one driven from C; processor time of a runtime that gets no messages
    kmer         the k-mer job, its time and memory; beside jellyfish, KMC, and its own form of two passes
Options:
  --only METRIC    one metric of the group
  --pairs N        rounds, of which the medians are printed (7)
  --json FILE      the lines of the table as JSON, too
  --dose PART      of the work, above 0 and at most 1, for a quick look: 0.01
Exit codes: 0 done, 1 something could not be measured, 2 wrong command line.

against COMMIT: is this tree slower? COMMIT is built beside it, in .lci/against, with its own benchmarks; then both run in
turns, row by row. A row is slower if the median of at least 11 ratios is under 0.95 and 9 of 11 are under 1, or if a
message of the core takes more than 1.03 times the instructions. A row that looks slower is run once more; a row that
looks slower twice is slower. Rows, all without ROW: am_rate am_latency sendrecv_rate sendrecv_latency put_rate
bandwidth_1k bandwidth_16k bandwidth_64k bandwidth_1m am_stream am_round_trip op_chains rpc_response
  --pairs N        pairs of runs for each row, at least 11 (11)
  --no-callgrind   without the instructions, which take valgrind and a minute for each row of the core
Exit codes: 0 not slower, 1 slower, 2 wrong command line, or something could not be measured.
EOF
}

cmd_bench() {
  if [[ ${1:-} == against ]]; then
    shift
    LCI_HOME=$home exec "$home/native/bench/against/against.sh" "$@"
  fi
  build
  LCI_HOME=$home LCI_JDK=$jdk LCI_NEWER_JDK=${newer_jdk:-none} "$home/native/bench/run_bench.sh" "$@"
}
