# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The suites of ./lci test. "Proves" names the rows of the specification that a suite proves as a whole.

# What `./lci test` runs: name, tiers, what may run beside it, deadline in seconds, description. The work is done by function suite_NAME.
# Two suites run side by side, whichever comes next in the table and may begin: beside one of `maven`, which writes in the folders of
# the modules, no other of these; those with `none` come last, alone. Suites that need builds of their own come late: these are made
# meanwhile. Short ones end the table, for what is last has nothing beside it. A deadline is for what hangs, and leaves room for a
# machine that is several times slower than ours.
readonly SUITES='
java               quick,test maven  2400  Maven modules, on the packed jars: units, TCK, architecture, jobs of several ranks
format             quick,test any     600  sources are formatted, scripts are clean, no wall is crossed, deliberate faults have their lines, the language is plain
tool               quick,test any     900  ./lci itself: when it builds, what it says, exit codes; the checks of walls, faults, language and pages
launcher           quick,test any     600  exit codes, output, signals, nothing left behind, sweep
native             quick,test any    2400  the core: all native tests, rows of the specification among them
readme             quick,test maven   600  the example of README.md is the compiled one and runs, also in a project as the guide shows it; the quick start runs
ffm                test       maven  1500  the bridge and a choice of the API once more, on the packed jars in a JDK of 22 or newer, if there is one
bad-input          test       any     600  one clear line and a non-zero exit for each kind of bad input
oracle             test       any     900  k-mer histograms equal those of jellyfish
oracle-collectives test       any     900  collectives by each of their algorithms give what they give by Open MPI and MPICH, or by a model in C
kill               test       any     900  kill -9 of ranks: the others name the dead one and end, nothing is left
net                test       any     240  ranks on several hosts, over a network that breaks: the dead are named, the living are not, nothing is lost; beside it the oracle on 4 hosts and kv-service on 2
net-java           test       maven  1200  streams, calls, remote memory, graphs, TCK and rows of the Java API, all ranks by TCP, then two ranks to a host, with collectives
native-asan        test       any    2400  the tests of suite native under address and undefined-behaviour sanitizer
mutations-jvm      test       maven  1800  each deliberate fault is noticed by the tests of the whole system as well
mutations          test       any    2400  each deliberate fault in the core is noticed by its test
native-tsan        test       any    3600  the tests of suite native under thread sanitizer
races              test       maven   600  requests, cancels, ends and deaths in every order, under jcstress
fuzz               test       any    1800  random input, a minute of it, for everything that the core reads from others
bench              test       any     900  the measurements of ./lci bench work, in a tiny dose
package            test       any    1500  a program over the installed library, in C and C++11; the documented environment
kv-service         test       any     600  the sample kv-service: the commands of its page, requests, load, a rank that is killed, an orderly end
slow-consumer      test       any     600  a slow consumer stops its sender, memory stays, nothing is lost
kill-kmer          test       any     600  kill -9 of ranks of the k-mer job, also while they join, and of the launcher
prometheus         test       any     600  Prometheus (of Debian) scrapes a job of two ranks and shows its figures; the alerts are right
conformance        test       none     60  docs/internals/conformance.md is what the rows, the tests and this run say
'

suite_format() {
  need_command clang-format clang-format
  need_command shellcheck shellcheck
  (cd "$home" && native_sources | xargs -0 clang-format --dry-run -Werror &&
    shellcheck -S warning -x -a -P SCRIPTDIR lci .ci/run deploy/*.sh tests/*/*.sh native/tests/*/*.sh native/bench/*.sh native/bench/*/*.sh &&
    native/tests/walls/walls.sh && native/tests/mutations/faults.sh check && tests/language/language.sh)
}

suite_tool() {
  "$home/native/tests/tools/walls_test.sh" "$home" && "$home/native/tests/tools/faults_test.sh" "$home" &&
    "$home/tests/tools/language_test.sh" "$home" && "$home/tests/tools/pages_test.sh" "$home" &&
    "$home/tests/tools/against_test.sh" "$home" && "$home/tests/tools/net_lab_test.sh" "$home" &&
    "$home/tests/tools/hosts_test.sh" "$home" && LCI_JDK=$jdk "$home/tests/tools/job_new_test.sh" "$home" &&
    "$home/tests/tools/deploy_test.sh" "$home" &&
    "$home/tests/tools/lci_test.sh" "$home/lci"
}

# Proves: A15
# On: processes
suite_launcher() {
  "$home/native/tests/tools/lci_run_test.sh" "$launcher" && "$home/native/tests/tools/lci_run_hosts_test.sh" "$launcher"
}

# Proves: A23 M6
suite_package() {
  "$home/tests/tools/environment_test.sh" "$home" && build_native_tests &&
    "$home/native/tests/tools/package_test.sh" "$native_test_build"
}

suite_native() {
  mkdir -p "$results/reports"
  need_hydra
  command -v mpiexec.hydra > /dev/null || echo "SKIPPED: ranks that Hydra starts, for it cannot be had (Debian: mpich)"
  need_open_mpi
  build_native_tests && rm -rf "$native_test_build/reports" || return
  local code=0
  native_tests "$native_test_build" --output-junit "$results/reports/native.xml" || code=$?
  cp -t "$results/reports" "$native_test_build"/reports/{unit,conformance,conformance_forking}_[0-9]*.xml && return "$code"
}

suite_native-asan() { build_native_asan && native_tests "$native_asan"; }

# Proves: H17
# On: inproc, processes, chaos
suite_native-tsan() { build_native_tsan && native_tests "$native_tsan"; }

# Hosts that are network namespaces: it needs root, and says so. [NETWORK 3.6]
suite_net() { build_native_tests && two_at_a_time net_part faults system; }
net_part() {
  case $1 in
    faults) "$home/native/tests/c/net_test.sh" "$native_test_build" ;;
    system) ! has_lab || { short_lived on_lab 4 oracle '31 canonical 8 calm' && short_lived on_lab 2 kv_service_on_lab 100; } ;;
  esac
}

# Those with jobs of more than two ranks also with two to a host, where collectives go both ways at once; the soak has all of
# lci-reactive, both ways.
suite_net-java() {
  local larger=RpcTest,StreamsTest,AtomicsTest,ExchangeTest,DrainedTest,BulkPostTest,GroupTest,PostingRowsTest,ObjectRowsTest,EngineRowsTest
  local others=TckTest,RemoteMemoryTest,ChaosTest,CompletionGraphTest,GraphRunsTest,MatchingEnginesTest
  local collectives=CollectiveDataTest,CollectiveValuesTest,GroupStreamsTest
  java_under LCI_ATTR_TRANSPORT=tcp "$larger,$others" "$(quick_jvm)" &&
    java_under LCI_ATTR_RANKS_PER_HOST=2 "$larger,$collectives" "$(quick_jvm)"
}

suite_fuzz() { fuzz 12; }

suite_mutations() {
  build_native_faulty && "$home/native/tests/mutations/mutations.sh" --build "$native_faulty"
}

# The modules are installed by a run of a program; their tests lie compiled from suite java.
suite_mutations-jvm() {
  local reads=()
  build_native_faulty > "$state/logs/mutations-jvm-build.log" 2>&1 || { tail -n 20 "$state/logs/mutations-jvm-build.log"; return 1; }
  need_command jellyfish jellyfish
  demo_reads
  short_lived two_at_a_time system_mutations java programs
}

# The optimizing compiler and its reorderings are for suite ffm, if it runs, and for the soak. The option of Maven for that.
quick_jvm() {
  local flags=
  [[ -z $newer_jdk ]] || flags=$(short_lived_jvm)
  echo "-Dlci.test.jvm=$flags"
}

# With JNA's calls: on the packed jars, unless the JDK is so new that those make others (suite ffm); its classes make JNA's.
# The reports are kept, for the suites ffm and mutations-jvm write over them. What samples.jar needs lies beside it from the build:
# a job of another suite may be running from there.
suite_java() { java_tests "$(quick_jvm)"; }
java_tests() {
  local packed=()
  (($(release_of "$jdk") >= FFM_RELEASE)) || packed=("-Dlci.test.jdk=$jdk" -Dlci.test.calls=jna)
  rm -rf "$home"/*/target/{surefire,packed}-reports
  maven -Dlci.native.test.skip -Dmdep.skip "${packed[@]}" "$@" verify || return 1
  mkdir -p "$results/reports" && find "$home"/*/target/*-reports -name 'TEST-*.xml' -exec cp -t "$results/reports" {} +
}

# Each race costs a JVM or two, so here are those of exchanges and operations, and of a loop that parks; the soak has all.
# Proves: Y4
# On: inproc
suite_races() {
  races -t '(OpRun|Exchange)StressTest|OfferAndPark' -f 1 -iters 1 -time 50 -jvmArgs "$(short_lived_jvm)"
}

# In the newer JDK, whose calls java.lang.foreign makes: all of the bridge, and what makes each of its calls; the soak has the rest.
suite_ffm() {
  local calls=RpcTest,StreamsTest,InboxTest,AtomicsTest,RemoteMemoryTest,BufferListTest,LongReceiveTest,RetainedMessageTest,MatchingEnginesTest
  local others=CompletionGraphTest,GroupTest,CollectivesGuideTest,AddLoopTest,LoopTest,DisposeTest,ShutdownTest
  local kinds=AllocationTest,CallCrossingsTest,ChaosTest,UnsignedTest,VirtualThreadTest
  ffm_tests -Dsurefire.failIfNoSpecifiedTests=false "-Dtest=io/lci/nativebridge/**,*RowsTest,$calls,$others,$kinds"
}

# ffm_tests OPTION...: tests of bridge and API on the packed jars in the newer JDK.
ffm_tests() {
  [[ -n $newer_jdk ]] || { echo "SKIPPED: no JDK of $FFM_RELEASE or newer here"; return; }
  maven -Dlci.native.test.skip -Dspotless.check.skip "-Dlci.test.jdk=$newer_jdk" -pl lci-native-bridge,lci-reactive "$@" verify
}

suite_bench() { LCI_HOME=$home LCI_JDK=$jdk LCI_NEWER_JDK=${newer_jdk:-none} short_lived "$home/tests/tools/bench_test.sh"; }

# The program in the README, between two markers, is what the compiled one ends with; and it prints what it should.
# Proves: A23
# On: processes
suite_readme() {
  local source=$home/samples/src/main/java/io/lci/samples/ReadmeExample.java shown
  shown=$(sed -n '/<!-- example -->/,/<!-- end of example -->/p' "$home/README.md" | sed '/^<!--/d; /^```/d')
  [[ -n $shown ]] || { echo "README.md has no example"; return 1; }
  diff <(echo "$shown") <(tail -n "$(wc -l <<< "$shown")" "$source") || { echo "README.md and ReadmeExample.java differ"; return 1; }
  prints_the_sum readme-example && readme_project "$state/readme" && prints_the_sum "$state/readme/target/app.jar" &&
    LCI=$home/lci short_lived "$home/tests/system/quick_start_test.sh"
}

# Proves: U7
# On: processes
suite_prometheus() {
  local prometheus
  need_prometheus
  LCI=$home/lci LCI_PROMETHEUS=$prometheus short_lived "$home/tests/system/prometheus_test.sh" "$home/lci-metrics/src"
}

suite_bad-input() { LCI=$home/lci short_lived "$home/tests/system/bad_input_test.sh"; }

# Proves: X11 U6 J24
# On: processes
suite_slow-consumer() { short_lived slow_consumer 200000 3; }

suite_oracle() { short_lived oracle test; }
suite_oracle-collectives() { oracle_collectives test; }

# Proves: D16 SS-58
# On: processes
suite_kill() { short_lived two_at_a_time kill_ranks 25 25; }

suite_kv-service() { short_lived kv_service 400 2; }
suite_kill-kmer() { LCI=$home/lci short_lived "$home/tests/system/kill_kmer_test.sh" 10; }
suite_conformance() { "$home/native/tests/conformance/conformance.sh" --check --results "$results"; }
