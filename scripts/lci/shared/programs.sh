# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The programs that ./lci run knows by name, and their command lines.

# Names that `./lci run` knows: name, main class (of io.lci.samples; class Samples takes the name as well), description.
readonly SAMPLES='
hello           Samples                   every rank says who it is, and rank 0 greets all
echo            Samples                   rank 0 sends words to the last rank and prints what comes back
ping-pong       Samples                   pairs of ranks send numbers to and fro, on several threads
many-to-many    Samples                   every rank sends to random ranks, and what arrives is checked
array           Samples                   an array that lies on all ranks, put and got by all
graph-barrier   Samples                   a barrier that is a completion graph, run again and again
allreduce       Samples                   adds up a vector of each rank, on all ranks, and says how long it takes
heat            Samples                   heat spreads over a plate that lies on all ranks, and becomes a picture
word-count      Samples                   counts the words of a text: a stream that brings each to the rank that counts it
rpc             Samples                   the four interactions of RPC, and an error, between each rank and the next
rpc-echo        Samples                   threads of all ranks call each other over a small RPC library
tour            Samples                   messages, calls and remote memory in one program: that of the quick start
readme-example  Samples                   a million numbers from each rank to the next: the example of the README
kmer            Samples                   counts the k-mers of reads: what ./lci demo runs
simulate-reads  Samples                   writes simulated reads
slow-consumer   Samples                   a fast sender and a slow receiver: who waits, and what it takes in memory
metrics         Samples                   every rank serves its meters to Prometheus
kv-service      Samples                   keys and values over HTTP, spread over all ranks
info            Info                      what a runtime is made of
'

# The same for what measures and tests start.
readonly BENCHES='
traffic         bench.Traffic             every rank sends to every other until one dies
idle-bench      bench.IdleBench           processor time of a runtime that gets no messages
held-loop-bench bench.HeldLoopBench       messages over the device of a loop that user code holds
hop-bench       bench.HopBench            operations that another thread than that of their loop subscribes
lane-bench      bench.boundary.LaneBench  messages over lanes driven from Java
flux-bench      bench.jvm.LciBench        streams, operations, calls and gets between two ranks
coll-bench      bench.jvm.CollectiveBench collectives between two ranks
aeron-bench     bench.jvm.AeronBench      messages over Aeron IPC
jucx-bench      bench.jvm.JucxBench       messages and gets over JUCX
rsocket-bench   bench.jvm.RSocketBench    messages, streams and calls over RSocket
netty-bench     bench.jvm.NettyBench      messages over reactor-netty
'

# programs TABLE: names and descriptions.
programs() { awk 'NF { name = $1; $1 = $2 = ""; sub(/^ */, ""); printf "    %-15s %s\n", name, $0 }' <<< "$1"; }

# main_class PROGRAM: main class and, if that is the one of many samples, the name; nothing if it is none of ours.
main_class() {
  awk -v name="$1" '$1 == name { print "io.lci.samples." $2, ($2 == "Samples" ? name : "") }' <<< "$SAMPLES$BENCHES"
}

# A job of seconds is over when the second compiler has its code ready, and pays with the processor time of its ranks: that
# compiler waits ten times as long as it would, for what a long job runs for ever.
readonly KMER_OPTIONS=(
  -XX:Tier4MinInvocationThreshold=10000
  -XX:Tier4InvocationThreshold=60000
  -XX:Tier4CompileThreshold=200000
  -XX:Tier4BackEdgeThreshold=600000
)

# java_command RANKS OPTIONS...: sets java to the JVM's command line without a class path. What the user asks for comes last.
java_command() {
  java=("$jdk/bin/java" -XX:+ExitOnOutOfMemoryError)
  # From 22 on a library that is loaded without it draws a warning, later an error; before, the flag itself warns.
  ((jdk_version < 22)) || java+=(--enable-native-access=ALL-UNNAMED)
  # A JVM takes a quarter of the memory for its heap: with more than two ranks that would be too much for one host.
  (($1 <= 2)) || java+=("-XX:MaxRAMPercentage=$((50 / $1 > 0 ? 50 / $1 : 1))")
  java+=("${@:2}")
  local more=()
  read -r -a more <<< "${LCI_JAVA_OPTS:-}"
  java+=("${more[@]}")
}

# archive_classes: of the samples, for this JDK, so that a JVM need not read and check them each time, which is about half of
# its start. Without an archive, or with one that does not fit, it does. First it is seen which classes a sample needs: an archive
# that is made of such a list also takes those of picocli, which are compiled for Java 5, and others do not. [JDK-8261090]
archive_classes() {
  local archive=$samples_archive$jdk_version.jsa list=$state/samples-classes.txt classpath="$samples_jar:$home/samples/target/lib/*"
  rm -f "$samples_archive"*.jsa # those of other JDKs are of another jar, and a JVM with one that does not fit has none at all
  {
    java_alone -XX:DumpLoadedClassList="$list" -cp "$classpath" io.lci.samples.Samples kmer -k 31 --canonical "$home/samples/data/lambda_virus.fa.gz" &&
      java_alone -Xshare:dump -XX:SharedClassListFile="$list" -XX:SharedArchiveFile="$archive" -cp "$classpath"
  } > "$state/logs/archive.log" 2>&1 || rm -f "$archive"
  rm -f "$list"
}

# java_alone ARGS...: a JVM that joins nothing, also within a rank of a job, whose environment says what that is to join.
java_alone() { env -i PATH="$PATH" HOME="${HOME:-/}" timeout 60 "$jdk/bin/java" "$@"; }

# need_program PROGRAM: ends with 127 if there is none.
need_program() {
  local name=$1 guess
  [[ -z $(main_class "$name") ]] || return 0
  case $name in
    *.jar) [[ -f $name ]] || end_with 127 "no such file: $name" ;;
    */*) [[ -e $name ]] || end_with 127 "no such file: $name" ;;
    *)
      type -P -- "$name" > /dev/null && return
      guess=$(closest "$name" <<< "$SAMPLES$BENCHES")
      [[ ! -e $name ]] || guess=./$name
      [[ -n $guess ]] || end_with 127 "no sample or executable is called '$name'; see ./lci run --help"
      end_with 127 "no sample or executable is called '$name'; did you mean $guess? See ./lci run --help"
      ;;
  esac
}

# program_command RANKS PROGRAM ARGS...: sets program to the command line of one rank.
program_command() {
  local ranks=$1 name=$2 class=() options=()
  shift 2
  read -r -a class <<< "$(main_class "$name")"
  [[ $name != kmer ]] || options+=("${KMER_OPTIONS[@]}")
  local archive=$samples_archive$jdk_version.jsa
  [[ ${#class[@]} -eq 0 || ! -f $archive ]] || options+=("-XX:SharedArchiveFile=$archive" '-Xlog:cds*=off')
  java_command "$ranks" "${options[@]}"
  if ((${#class[@]} > 0)); then
    program=("${java[@]}" -cp "$samples_jar:$home/samples/target/lib/*" "${class[@]}" "$@")
  elif [[ $name == *.jar ]]; then
    program=("${java[@]}" -jar "$name" "$@")
  else
    program=("$name" "$@")
  fi
}
