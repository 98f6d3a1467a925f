# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Steps that suites and parts of the soak share.

# two_at_a_time FUNCTION ITEM...: a call for each item, for most of what tests do is waiting. Shows what each printed, those that
# failed last, then how many passed.
two_at_a_time() {
  local function=$1 folder item number=0 passed=0 unsound=() code
  shift
  folder=$(mktemp -d "$state/logs/parts.XXXXXX")
  for item; do
    while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
    number=$((number + 1))
    { code=0; "$function" "$item" || code=$?; echo "$code" > "$folder/$number.code"; } > "$folder/$number.log" 2>&1 &
  done
  wait
  for ((number = 1; number <= $#; ++number)); do
    if [[ $(< "$folder/$number.code") == 0 ]]; then
      cat "$folder/$number.log"
      passed=$((passed + 1))
    else
      unsound+=("$folder/$number.log")
    fi
  done
  ((${#unsound[@]} == 0)) || cat "${unsound[@]}"
  rm -rf "$folder"
  echo "$passed passed, ${#unsound[@]} failed"
  ((${#unsound[@]} == 0))
}

# short_lived_jvm: options for JVMs of a few seconds. Half of what those compute is to compile; and the pages of a heap that nobody
# collects are each touched for the first time, which costs 20 us in some virtual machines: the system may have larger ones.
short_lived_jvm() {
  local flags='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
  ! grep -qs '\[\(always\|madvise\)\]' /sys/kernel/mm/transparent_hugepage/enabled || flags+=' -XX:+UseTransparentHugePages'
  echo "$flags"
}

# short_lived COMMAND...: the JVMs of its jobs are such.
short_lived() {
  LCI_JAVA_OPTS="$(short_lived_jvm) ${LCI_JAVA_OPTS:-}" "$@"
}

# native_tests FOLDER CTEST-OPTION...: all tests of that build. Most wait for each other longer than they compute: three at a time
# for two processors.
native_tests() {
  local folder=$1
  shift
  (cd "$folder" && ctest -j 3 --no-tests=error --output-on-failure --timeout 300 -O tests.log "$@") || { failed_checks "$folder/tests.log"; return 1; }
}

# failed_checks LOG: what the failed tests said, once more at the end, where it is seen.
failed_checks() {
  echo "What failed:"
  grep -aE -A 6 ': Failure$|WARNING: ThreadSanitizer|ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error:|FATAL:' "$1" | head -n 50
}

# fuzz_inputs TARGET FOLDER: the inputs of the target's corpus, a file each.
fuzz_inputs() {
  local line number=0
  mkdir -p "$2"
  while read -r line; do
    [[ -n $line && $line != '#'* ]] || continue
    number=$((number + 1))
    # shellcheck disable=SC2059  # the format is the content
    printf "$(sed 's/../\\x&/g' <<< "${line// /}")" > "$2/corpus-$number"
  done < "$home/native/tests/fuzz/corpus/$1.hex"
}

# fuzz_target PROGRAM, for $fuzz_seconds: what makes it fail is shown as a line for its corpus. What it found interesting stays in
# .lci/fuzz, and is where the next run begins. A message may announce 4 GiB, which nobody touches.
fuzz_target() {
  local target found
  target=$(basename "$1")
  fuzz_inputs "$target" "$state/fuzz/$target"
  rm -f "$state/fuzz/$target"-*
  "$1" -max_total_time="$fuzz_seconds" -timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=8192 -max_len=1024 -print_final_stats=1 \
    -artifact_prefix="$state/fuzz/$target-" "$state/fuzz/$target" && return
  for found in "$state/fuzz/$target"-*; do
    [[ ! -f $found ]] || { echo "$target fails with this line of its corpus:"; od -An -v -tx1 "$found" | tr -d ' \n'; echo; }
  done
  return 1
}

# fuzz SECONDS: for each target.
fuzz() {
  local programs=() source fuzz_seconds=$1
  build_native_asan || return 1
  for source in "$home"/native/tests/fuzz/*_fuzz.cpp; do programs+=("$native_asan/$(basename "$source" .cpp)"); done
  two_at_a_time fuzz_target "${programs[@]}"
}

system_mutations() {
  LCI=$home/lci LCI_MUTATED_LIBRARY=$native_faulty/lib/liblci.so "$home/tests/system/mutations.sh" "$1" "${reads[@]}"
}

# races OPTION...: races under jcstress, with options of its own. Ends with 1 if one showed a result that is not acceptable, or an
# error. The modules are installed, and their tests lie compiled, from the build.
races() {
  local target=$home/lci-reactive/target folder=$state/races log=$state/races/jcstress.log code=0 counts
  rm -rf "$folder" && mkdir -p "$folder"
  maven -q -Praces -pl lci-reactive compiler:testCompile@races dependency:build-classpath \
    -Dmdep.includeScope=test "-Dmdep.outputFile=$folder/classpath" || return 1
  (cd "$folder" && "$jdk/bin/java" -cp "$target/races-classes:$target/test-classes:$target/classes:$(< classpath)" \
    org.openjdk.jcstress.Main -c 2 -sc false -r "$folder" "$@") 2>&1 | tee "$log" || code=1
  # What it says at the end; lines of progress come before, and are late
  counts=$(awk '/^RUN RESULTS/ { over = 1 }
    over && /\] io\.lci\./ { failed++ }
    over && match($0, /[0-9]+ matching test results/) { passed = substr($0, RSTART) + 0 }
    END { printf "%d passed, %d failed", passed, failed }' "$log")
  echo "$counts"
  ((code == 0)) && [[ $counts == [1-9]*' passed, 0 failed' ]]
}

# readme_project FOLDER: the project that the guide shows, with the example of the README as the program.
readme_project() {
  rm -rf "$1" && mkdir -p "$1/src/main/java/app"
  sed -n '/^```xml/,/^```/p' "$home/docs/guide/project.md" | sed '/^```/d' > "$1/pom.xml"
  sed 's/class ReadmeExample/class Main/; 1i package app;' <(sed -n '/<!-- example -->/,/<!-- end of example -->/p' "$home/README.md" |
    sed '/^<!--/d; /^```/d') > "$1/src/main/java/app/Main.java"
  (cd "$1" && mvn -ntp -B -q package < /dev/null)
}

# prints_the_sum PROGRAM: both ranks print what the example should.
prints_the_sum() {
  local out
  out=$(cmd_run -n 2 "$1") || return 1
  echo "$out"
  [[ $(grep -c ' 500000500000$' <<< "$out") == 2 ]] || { echo "both ranks of $1 should print the sum 500000500000"; return 1; }
}

oracle() {
  local reads=()
  need_command jellyfish jellyfish
  demo_reads
  LCI=$home/lci "$home/tests/system/oracle_test.sh" "$1" "${reads[@]}"
}

# Beside one of the two libraries of MPI it goes without the other, and says so.
oracle_collectives() {
  try_mpi openmpi openmpi-bin libopenmpi-dev
  try_mpi mpich mpich libmpich-dev
  LCI_LAUNCHER=$launcher LCI_LIBRARY=$native_build/lib/liblci.so "$home/tests/system/oracle_collectives_test.sh" "$1"
}

# java_under SETTING TESTS OPTION...: those of lci-reactive, by Surefire's patterns, with an attribute of the environment.
java_under() {
  echo "with $1"
  (
    export "${1?}"
    maven -Dlci.native.skip -Dspotless.check.skip -pl lci-native-bridge,lci-reactive -Dsurefire.failIfNoSpecifiedTests=false \
      "-Dtest=$2" "${@:3}" test
  )
}

# on_lab HOSTS COMMAND...: with so many hosts of `./lci net-lab`, which LCI_LAB_HOSTS names to the tests.
on_lab() { on_lab_with '' "$@"; }

# on_lab_with OPTIONS HOSTS COMMAND...: the same, where packets are treated as these options of net-lab say.
on_lab_with() {
  local options hosts=$2 code=0
  read -ra options <<< "$1"
  shift 2
  "$home/lci" net-lab up "$hosts" "${options[@]}" || return
  LCI=$home/lci LCI_LAB_HOSTS=$(lab_hosts "$hosts" | paste -sd,) "$@" || code=$?
  "$home/lci" net-lab down
  return "$code"
}

# has_lab: whether there can be hosts of `./lci net-lab`; a line that says why not.
has_lab() {
  [[ $(id -u) == 0 && -c /dev/net/tun ]] || { echo "SKIPPED: jobs on hosts of net-lab, which needs root and /dev/net/tun"; return 1; }
  [[ ! -e $LAB ]] || { echo "SKIPPED: jobs on hosts of net-lab, for there is a lab already: ./lci net-lab status"; return 1; }
}

# slow_consumer MESSAGES SECONDS
slow_consumer() {
  build_native_faulty > "$state/logs/slow-consumer-build.log" 2>&1 || { tail -n 20 "$state/logs/slow-consumer-build.log"; return 1; }
  LCI=$home/lci LCI_MUTATED_LIBRARY=$native_faulty/lib/liblci.so "$home/tests/system/slow_consumer_test.sh" "$@"
}

kv_service() {
  need_command curl curl
  need_command wrk wrk
  LCI=$home/lci "$home/tests/system/kv_service_test.sh" "$@"
}

# Its page speaks of one host, and the library with faults is tried on one.
# kv_service_on_lab KEYS [KILLS]
kv_service_on_lab() {
  need_command curl curl
  LCI=$home/lci LCI_TESTS='test_requests test_kill_under_load' "$home/tests/system/kv_service_test.sh" "$1" 1 "${2:-1}"
}
# slow_consumer_on_lab MESSAGES SECONDS
slow_consumer_on_lab() {
  LCI=$home/lci LCI_TESTS='test_direct test_publish_on test_two_ports' "$home/tests/system/slow_consumer_test.sh" "$@"
}

kill_ranks() { LCI=$home/lci "$home/tests/system/kill_test.sh" "$1"; }
