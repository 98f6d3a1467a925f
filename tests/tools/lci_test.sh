#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work and dir
# Tests of the tool itself. Usage: lci_test.sh PATH-OF-lci, of a tree that is built
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
lci=$(realpath "${1:?usage: lci_test.sh PATH-OF-lci}")
readonly lci
unset LCI_JAVA_OPTS

# run TOOL ARGS...: sets code, out and err.
# shellcheck disable=SC2034  # not every test uses all
run() {
  timeout "$DEADLINE_S" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
}

# ---- a tree with next to nothing in it, and a Maven that notes that it was called ----------------------------------------

make_tree() {
  tree=$dir/tree
  mkdir -p "$tree/native" "$tree/samples/src" "$tree/scripts" "$dir/bin"
  cp "$lci" "$tree/lci"
  cp -r "$(dirname "$lci")/scripts/lci" "$tree/scripts/lci"
  echo '<project/>' | tee "$tree/pom.xml" > "$tree/samples/pom.xml"
  cat > "$dir/bin/mvn" << END
#!/bin/sh
echo "\$*" >> '$dir/calls'
mkdir -p lci-native-bridge/target/native samples/target
printf '#!/bin/sh\necho "launched \$*"\n' > lci-native-bridge/target/native/lci_run
printf '#!/bin/sh\necho "informed \$*"\n' > lci-native-bridge/target/native/lci_info
chmod +x lci-native-bridge/target/native/lci_run lci-native-bridge/target/native/lci_info
wc -l < '$dir/calls' > samples/target/samples.jar
for module in lci-parent samples; do
  file=\$module/1-SNAPSHOT/\$module-1-SNAPSHOT.pom
  echo "[INFO] Installing \$PWD/\$module/pom.xml to $dir/my m2/io/github/lci-reactive/\$file"
done
END
  chmod +x "$dir/bin/mvn"
  make_jdk 17
  make_jdk 25
  touch "$dir/calls"
}

make_jdk() {
  mkdir -p "$dir/jdk$1/bin"
  printf '#!/bin/sh\necho javac %s.0.1\n' "$1" > "$dir/jdk$1/bin/javac"
  chmod +x "$dir/jdk$1/bin/javac"
}

# in_tree ARGS...: the tool of that tree, with JDK 17 unless jdk says another, beside JDK 25 unless newer says another.
in_tree() {
  run env PATH="$dir/bin:$PATH" JAVA_HOME="$dir/jdk${jdk:-17}" LCI_NEWER_JDK="${newer:-$dir/jdk25}" "$tree/lci" "$@"
}

times_built() { wc -l < "$dir/calls"; }

test_build_always_installs_and_says_where() {
  make_tree
  local last="lci: built lci-parent, samples; installed in $dir/my m2/io/github/lci-reactive"
  in_tree build
  equal "$code" 0 "$err"
  equal "$(tail -n 1 "$dir/err")" "$last"
  in_tree build
  equal "$code" 0 "$err"
  equal "$(tail -n 1 "$dir/err")" "$last"
  equal "$(times_built)" 2
}

test_run_builds_what_changed_only() {
  make_tree
  in_tree run true
  contains "$err" "the first time takes minutes"
  in_tree run true
  equal "$err" ""
  equal "$(times_built)" 1
  touch "$tree/native/new.cpp"
  in_tree run true
  [[ $err == *building* && $err != *minutes* ]] || fail "said '$err'"
  equal "$(times_built)" 2
}

# Maven writes a jar in place. Whoever runs from it has it open, and loads classes when they are needed.
test_a_build_leaves_running_samples_their_jar() {
  make_tree
  in_tree build
  exec 8< "$tree/samples/target/samples.jar"
  in_tree build
  equal "$(cat "$tree/samples/target/samples.jar")" 2
  equal "$(cat <&8)" 1
  exec 8<&-
}

# A JVM whose archive of classes does not fit starts slower than one without.
test_a_new_jar_ends_the_archives_of_all_jdks() {
  make_tree
  in_tree build
  touch "$tree/samples/target/samples-jdk"{17,25}.jsa
  in_tree build
  equal "$(find "$tree/samples/target" -name '*.jsa')" ""
}

test_another_jdk_is_no_reason_to_build() {
  make_tree
  in_tree run true
  jdk=25 in_tree run true
  equal "$code" 0 "$err"
  equal "$(times_built)" 1
}

test_a_newer_jdk_makes_the_calls_by_java_lang_foreign() {
  make_tree
  newer=none in_tree run true
  equal "$(grep -c 'no JDK of 22 or newer here: calls by java.lang.foreign are left out' "$dir/err")" 1 "$err"
  [[ $(cat "$dir/calls") != *lci.native.ffm.jdk* ]] || fail "called: $(cat "$dir/calls")"
  in_tree run true
  contains "$(tail -n 1 "$dir/calls")" "-Dlci.native.ffm.jdk=$dir/jdk25 "
  [[ $err != *"left out"* ]] || fail "said '$err'"
  equal "$(times_built)" 2 "a newer JDK has come"
  newer=$dir/jdk17 in_tree run true
  equal "$code" 1
  contains "$err" "LCI_NEWER_JDK is $dir/jdk17, but there is no JDK of 22 or newer there"
}

# in_shimmed_tree LINE: as in_tree, but without JAVA_HOME; javac on the PATH is a script of its own folder with that line.
in_shimmed_tree() {
  mkdir -p "$dir/versions/shims"
  printf '#!/bin/sh\n%s\n' "$1" > "$dir/versions/shims/javac"
  chmod +x "$dir/versions/shims/javac"
  run env -u JAVA_HOME PATH="$dir/versions/shims:$dir/bin:$PATH" LCI_NEWER_JDK="$dir/jdk25" "$tree/lci" run "$dir/app.jar"
}

# Tools that keep several JDKs put a script before them, which is in no JDK.
test_a_javac_that_is_a_script_says_where_its_jdk_is() {
  make_tree
  touch "$dir/app.jar"
  in_shimmed_tree 'case $1 in -J-XshowSettings:properties) echo "    java.home = '"$dir"'/jdk17" >&2 ;; esac; echo javac 17.0.1'
  equal "$code" 0 "$err"
  contains "$out" " $dir/jdk17/bin/java "
}

test_a_javac_that_does_not_run_is_named() {
  make_tree
  touch "$dir/app.jar"
  in_shimmed_tree 'echo "no version is set" >&2; exit 126'
  equal "$code" 1
  contains "$err" "lci: JDK 17 or newer is needed; $dir/versions/shims/javac "
  equal "$(wc -l < "$dir/err")" 1 "$err"
  equal "$(times_built)" 0
}

test_failed_build_is_tried_again() {
  make_tree
  in_tree build
  touch "$tree/native/new.cpp"
  mv "$dir/bin/mvn" "$dir/bin/good"
  printf '#!/bin/sh\necho "[INFO] no error: here"; echo "[ERROR] broken"; exit 1\n' > "$dir/bin/mvn"
  chmod +x "$dir/bin/mvn"
  in_tree run true
  equal "$code" 1
  contains "$err" "[ERROR] broken"
  [[ $err != *INFO* ]] || fail "said '$err'"
  mv "$dir/bin/good" "$dir/bin/mvn"
  in_tree run true
  equal "$code" 0 "$err"
  equal "$(times_built)" 2
}

# A tree that was copied or moved has build folders of CMake that were made elsewhere, which CMake refuses.
test_a_moved_tree_is_built_anew() {
  make_tree
  mv "$dir/bin/mvn" "$dir/bin/good"
  cat > "$dir/bin/mvn" << END
#!/bin/sh
cache=lci-native-bridge/target/native/CMakeCache.txt
if [ -f \$cache ] && ! grep -q "^CMAKE_HOME_DIRECTORY:INTERNAL=\$PWD/native\$" \$cache; then
  echo "[ERROR] CMake Error: The source \$PWD/native/CMakeLists.txt does not match the source used to generate cache"
  exit 1
fi
'$dir/bin/good' "\$@"
echo "CMAKE_CACHEFILE_DIR:INTERNAL=\$PWD/lci-native-bridge/target/native" > \$cache
echo "CMAKE_HOME_DIRECTORY:INTERNAL=\$PWD/native" >> \$cache
touch lci-native-bridge/target/native/kept
END
  chmod +x "$dir/bin/mvn"
  in_tree build
  equal "$code" 0 "$err"
  rm "$tree/lci-native-bridge/target/native/kept"
  touch "$tree/lci-native-bridge/target/native/object"
  in_tree build
  equal "$code" 0 "$err"
  [[ -f $tree/lci-native-bridge/target/native/object ]] || fail "a build in the same place began anew"
  cp -r "$tree" "$dir/copied"
  mv "$tree" "$dir/moved"
  for tree in "$dir/copied" "$dir/moved"; do
    in_tree run true
    equal "$code" 0 "$err"
    [[ ! -f $tree/lci-native-bridge/target/native/object ]] || fail "objects of another place are still in $tree"
  done
}

# Another installation of packages, as of a machine that has just started, is waited for.
test_a_held_lock_of_apt_is_waited_for() {
  [[ $(id -u) == 0 ]] || skip "only root installs packages"
  make_tree
  mkdir "$dir/path"
  ln -s /usr/bin/* /bin/sh "$dir/path" 2> /dev/null
  rm -f "$dir/path/mvn" "$dir/path/apt-get"
  cat > "$dir/path/apt-get" << END
#!/bin/sh
echo "\$*" >> '$dir/asked'
if [ "\$(wc -l < '$dir/asked')" -lt 3 ]; then
  echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)" >&2
  exit 100
fi
cp '$dir/bin/mvn' '$dir/path/mvn'
END
  chmod +x "$dir/path/apt-get"
  run env PATH="$dir/path" JAVA_HOME="$dir/jdk17" LCI_NEWER_JDK="$dir/jdk25" "$tree/lci" build
  equal "$code" 0 "$err"
  contains "$err" "lci: waiting for another installation of packages to end"
  equal "$(grep -c 'install -y --no-install-recommends maven' "$dir/asked")" 3
  equal "$(times_built)" 1
}

# ---- who may build ------------------------------------------------------------------------------------------------------

# as_another ARGS...: the tool of that tree, whose .lci is root's and closed to who runs this: a user that is not root.
as_another() {
  local as=()
  if [[ $(id -u) == 0 ]]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups); else chmod -R a-w "$tree/.lci"; fi
  chmod a+rx "$work" "$dir"
  run "${as[@]}" env PATH="$dir/bin:$PATH" HOME=/nonexistent JAVA_HOME="$dir/jdk17" LCI_NEWER_JDK="$dir/jdk25" "$tree/lci" "$@"
}

test_what_is_built_runs_for_those_who_may_not_build() {
  make_tree
  in_tree build
  as_another run true
  equal "$code" 0 "$err"
  equal "$err" ""
  equal "$out" "launched -n 1 -- true"
}

test_who_may_not_build_is_told_so() {
  make_tree
  in_tree build
  touch "$tree/native/new.cpp"
  as_another run true
  equal "$code" 1
  contains "$err" "lci: this tree has to be built, but $tree/.lci is $(id -un)'s"
  equal "$(wc -l < "$dir/err")" 1 "$err"
  equal "$(times_built)" 1
}

says() { grep -qs "$2" "$1"; }

test_who_waits_for_another_build_says_so() {
  make_tree
  mkdir -p "$tree/.lci"
  exec 8> "$tree/.lci/build.lock"
  flock 8
  in_tree run true 8>&- &
  local waiting=$!
  within says "$dir/err" 'lci: waiting for another build of this tree'
  equal "$(times_built)" 0
  exec 8>&-
  wait "$waiting"
  equal "$(times_built)" 1
}

# ---- the command line: nothing is built for one that is wrong ---------------------------------------------------------

# refused CODE WORDS ARGS...: the tool ends with that code, and says so in one line with these words.
refused() {
  local wanted=$1 words=$2
  shift 2
  in_tree "$@"
  equal "$code" "$wanted" "$*: $err"
  contains "$err" "$words"
  equal "$(wc -l < "$dir/err")" 1 "one line for: $*"
  equal "$out" ""
  equal "$(times_built)" 0
}

test_wrong_command_lines_give_2() {
  make_tree
  local ranks command
  for ranks in 0 x -1 65536 99999999999999999999 1x ''; do
    refused 2 "-n needs a number from 1 to 65535, not '$ranks'; see ./lci run --help" run -n "$ranks" true
  done
  refused 2 "-n needs a value; see ./lci run --help" run -n
  refused 2 "which program? see ./lci run --help" run
  refused 2 "which program? see ./lci run --help" run -n 2
  refused 2 "which program? see ./lci run --help" run -n 2 ''
  refused 2 "unknown option --no-such; see ./lci run --help" run --no-such true
  refused 2 "unknown command 'nope'; see ./lci --help" nope
  refused 2 "unknown command 'nope'; see ./lci --help" nope --help
  refused 2 "unknown command 'nope'; see ./lci --help" help nope
  refused 2 "unknown command 'fromat'; did you mean ./lci format? See ./lci --help" fromat
  refused 2 "unknown command 'soak'; did you mean ./lci test soak? See ./lci --help" soak
  for command in build demo metrics-page clean version; do
    refused 2 "$command takes no arguments; see ./lci $command --help" $command more
  done
  refused 2 "info takes -v or nothing; see ./lci info --help" info more
  refused 2 "info takes -v or nothing; see ./lci info --help" info -v more
  refused 2 "see ./lci test --help" test nope
  refused 2 "see ./lci test --help" test soak nope
  refused 2 "test takes one suite, or soak and one part; see ./lci test --help" test quick --help
}

test_missing_programs_give_127() {
  make_tree
  refused 127 "no such file: /nope/x" run -n 2 /nope/x
  refused 127 "no such file: nope.jar" run nope.jar
  refused 127 "no sample or executable is called 'no-such-program'; see ./lci run --help" run no-such-program
}

test_misspelt_samples_are_guessed() {
  make_tree
  refused 127 "called 'kmre'; did you mean kmer? See ./lci run --help" run -n 2 kmre
  refused 127 "did you mean ping-pong?" run pingpong
  refused 127 "did you mean flux-bench?" run flux-bnech
  cd "$dir" && touch program
  refused 127 "did you mean ./program?" run program
}

test_run_passes_its_command_line_to_the_launcher() {
  make_tree
  in_tree run true a 'b c'
  equal "$out" "launched -n 1 -- true a b c"
  in_tree run -n3 --dir "$dir" --grace=5 --no-prefix --usage -- true --help
  equal "$out" "launched -n 3 --dir $dir --grace=5 --no-prefix --usage -- true --help"
  touch "$dir/app.jar"
  LCI_JAVA_OPTS='-Xmx1g -Da=b' in_tree run --ranks=08 "$dir/app.jar" x
  equal "$out" "launched -n 8 -- $dir/jdk17/bin/java -XX:+ExitOnOutOfMemoryError -XX:MaxRAMPercentage=6 \
-Xmx1g -Da=b -jar $dir/app.jar x"
  jdk=25 in_tree run heat x
  equal "$out" "launched -n 1 -- $dir/jdk25/bin/java -XX:+ExitOnOutOfMemoryError --enable-native-access=ALL-UNNAMED \
-cp $tree/samples/target/samples.jar:$tree/samples/target/lib/* io.lci.samples.Samples heat x"
  in_tree run traffic
  [[ $out == *" io.lci.samples.bench.Traffic" ]] || fail "got '$out'"
  touch "$tree/samples/target/samples-jdk17.jsa"
  LCI_JAVA_OPTS=-Xint in_tree run -n 2 heat x
  contains "$out" "-XX:+ExitOnOutOfMemoryError -XX:SharedArchiveFile=$tree/samples/target/samples-jdk17.jsa -Xlog:cds*=off -Xint -cp"
  LCI_JAVA_OPTS=-Xint in_tree run -n 2 kmer x
  contains "$out" "-XX:Tier4BackEdgeThreshold=600000 -XX:SharedArchiveFile=$tree/samples/target/samples-jdk17.jsa -Xlog:cds*=off -Xint -cp"
  in_tree run -n 2 true
  equal "$out" "launched -n 2 -- true"
}

test_info_says_more_if_asked() {
  make_tree
  local library=$tree/lci-native-bridge/target/native/lib/liblci.so
  in_tree info
  equal "$code" 0 "$err"
  equal "$(head -n 1 "$dir/out")" "informed $library"
  in_tree info -v
  equal "$code" 0 "$err"
  equal "$(head -n 1 "$dir/out")" "informed -v $library"
}

test_api_diff_says_what_it_needs() {
  make_tree
  refused 1 "this is no git checkout" api-diff
  git init -q "$tree"
  refused 1 "there is no tag yet, so there is nothing to compare the API with" api-diff
  refused 1 "there is no tag 'v9' to compare the API with" api-diff v9
  refused 2 "api-diff takes one tag" api-diff v1 v2
}

test_help_is_there_without_a_build() {
  make_tree
  local command
  for command in run build demo info test bench net-lab job; do
    in_tree "$command" --help
    equal "$code" 0
    [[ $out == "Usage: ./lci $command"* ]] || fail "got '$out'"
    local text=$out
    in_tree help "$command"
    equal "$out" "$text"
  done
  for command in api-diff soak-report metrics-page conformance format clean version; do
    in_tree "$command" --help
    equal "$code" 0
    [[ $out == "Usage: ./lci $command"*"What it does: "* ]] || fail "got '$out'"
  done
  in_tree help
  equal "$code" 0
  [[ $out == "Usage: ./lci COMMAND"* ]] || fail "got '$out'"
  equal "$(times_built)" 0
}

# soak_script FILE LINE...: a part of the soak in that tree that does these lines.
soak_script() {
  local file=$tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' '#!/usr/bin/env bash' "$@" > "$file"
  chmod +x "$file"
}

# What takes long says how far it is, and who watches sees it before the line of the suite.
test_progress_is_seen() {
  make_tree
  git -C "$tree" init -q
  soak_script tests/system/kill_test.sh "source '$(dirname "$lci")/native/tests/support/shell_tests.sh'" \
    'progress "$1 kills are done"' 'echo "1 passed, 0 failed"'
  in_tree test soak kill
  equal "$code" 0 "$err"
  equal "$(grep -c '^    500 kills are done$' "$dir/err")" 2
  contains "$out" "2 passed, 0 failed"
}

# Where a run's time goes: a suite that takes less of the processors than of the clock waits.
test_the_time_of_processors_is_noted() {
  make_tree
  git -C "$tree" init -q
  soak_script tests/tools/api_diff_test.sh '(ulimit -t 3; while :; do :; done) 2> /dev/null' 'echo "1 passed, 0 failed"'
  in_tree test soak api
  equal "$code" 0 "$err"
  grep -qE $'^api\t[0-9]+\t([2-9]|[0-9]{2,})$' "$tree/.lci/logs/times.tsv" || fail "$(cat "$tree/.lci/logs/times.tsv")"
}

# suites TABLE FUNCTIONS: those of that tree, in place of ours.
suites() {
  printf '%s\n' "readonly SUITES='" "$1" "'" "$2" 'build_ahead_test() { :; }' > "$tree/scripts/lci/test/suites.sh"
}

# suites_that_meet: adds, to those of that tree, suites of which each waits for another one.
suites_that_meet() {
  cat >> "$tree/scripts/lci/test/suites.sh" << EOF
meet() {
  touch '$dir'/\$1-begins
  until [[ -e '$dir'/\$2-begins ]]; do sleep 0.01; done
  echo '1 passed, 0 failed'
  touch '$dir'/\$1-ends
}
EOF
}

# Each of the first two waits for the other; the third has nobody beside it.
test_two_suites_run_side_by_side() {
  make_tree
  suites $'a test any 60 one\nb test any 60 beside it\nc test none 60 alone' "
suite_a() { meet a b; }
suite_b() { meet b a; }
suite_c() { [[ -e '$dir/a-ends' && -e '$dir/b-ends' ]]; }"
  suites_that_meet
  in_tree test
  equal "$code" 0 "$out$err"
  contains "$out" "3 passed, 0 failed"
  equal "$(sed 1d "$tree/.lci/logs/times.tsv" | cut -f 1 | sort | xargs)" "a b c"
}

# The first waits for the third, for the second may not begin before the first has ended.
test_suites_that_call_maven_run_one_after_the_other() {
  make_tree
  suites $'a test maven 60 one\nb test maven 60 after it\nc test any 60 beside it' "
suite_a() { meet a c; }
suite_b() { [[ -e '$dir/a-ends' ]]; }
suite_c() { meet c a; }"
  suites_that_meet
  in_tree test
  equal "$code" 0 "$out$err"
  contains "$out" "3 passed, 0 failed"
}

test_the_next_suite_runs_after_one_that_failed() {
  make_tree
  suites $'a test maven 60 fails\nb test maven 60 after it\nc quick any 60 of another tier' "
suite_a() { echo 'FATAL: broken'; return 1; }
suite_b() { touch '$dir/b'; }
suite_c() { touch '$dir/c'; }"
  in_tree test
  equal "$code" 1
  [[ -e $dir/b && ! -e $dir/c ]] || fail "$out"
  contains "$out" $'a failed:\n  FATAL: broken'
  contains "$out" "1 passed, 1 failed"
}

test_a_signal_ends_both_suites() {
  make_tree
  suites $'a test any 60 lasts\nb test any 60 lasts\nc test any 60 does not begin' "
last() { echo \$BASHPID > '$dir'/\$1.new && mv '$dir'/\$1.new '$dir'/\$1 && exec sleep 300; }
suite_a() { last a; }
suite_b() { last b; }
suite_c() { touch '$dir/c'; }"
  local tool code=0
  env PATH="$dir/bin:$PATH" JAVA_HOME="$dir/jdk17" LCI_NEWER_JDK=none "$tree/lci" test > "$dir/out" 2> "$dir/err" < /dev/null &
  tool=$!
  within has_lines "$dir/a" 1
  within has_lines "$dir/b" 1
  kill -TERM "$tool"
  wait "$tool" || code=$?
  equal "$code" 130 "$(cat "$dir/out" "$dir/err")"
  within is_gone "$(cat "$dir/a")"
  within is_gone "$(cat "$dir/b")"
  [[ ! -e $dir/c ]] || fail "the next suite began"
}

# The builds that suites need go on beside that of the product, and end with it if it fails.
test_builds_ahead_are_made_beside_the_product_and_end_with_it() {
  make_tree
  suites $'a test any 60 does not begin' "suite_a() { touch '$dir/a'; }"
  echo "build_ahead_test() { echo \$BASHPID > '$dir'/ahead.new && mv '$dir'/ahead.new '$dir'/ahead && exec sleep 300; }" \
    >> "$tree/scripts/lci/test/suites.sh"
  printf '#!/bin/sh\nuntil [ -e "%s" ]; do sleep 0.01; done\necho "[ERROR] broken"; exit 1\n' "$dir/ahead" > "$dir/bin/mvn"
  in_tree test
  equal "$code" 1 "$out$err"
  contains "$err" "[ERROR] broken"
  within is_gone "$(cat "$dir/ahead")"
  [[ ! -e $dir/a ]] || fail "a suite began"
}

# A deadline that passes while the compiler works says nothing of the tests.
test_a_suite_that_still_compiles_says_so() {
  make_tree
  sed -i 's/^api  *1800/api 2/' "$tree/scripts/lci/test/soak.sh"
  git -C "$tree" init -q
  soak_script tests/tools/api_diff_test.sh 'echo "[ 45%] Building CXX object CMakeFiles/lci_objects.dir/a.cpp.o"' \
    'exec sleep 60'
  in_tree test soak api
  equal "$code" 1
  contains "$out" "FAILED (not done in 2 s, still compiling: 45%; the next run goes on from there)"
}

# The build that it waits for may be that of another process, which has a log of its own.
test_a_suite_that_waits_for_a_build_says_so() {
  make_tree
  sed -i 's/^api  *1800/api 2/' "$tree/scripts/lci/test/soak.sh"
  git -C "$tree" init -q
  mkdir -p "$tree/.lci/logs"
  echo "[ 45%] Building CXX object CMakeFiles/lci_objects.dir/a.cpp.o" > "$tree/.lci/logs/builds.log"
  soak_script tests/tools/api_diff_test.sh 'echo "lci: waiting for the build of .lci/native-tsan"' 'exec sleep 60'
  in_tree test soak api
  equal "$code" 1
  contains "$out" "FAILED (not done in 2 s, still compiling: 45%; the next run goes on from there)"
}

test_absent_peers_are_named_with_the_result() {
  make_tree
  git -C "$tree" init -q
  soak_script tests/tools/api_diff_test.sh 'echo "lci bench: no UCX here (Debian: ucx-utils)"' \
    'echo "lci bench: no UCX here (Debian: ucx-utils)"' 'echo "1 passed, 0 failed"'
  in_tree test soak api
  equal "$code" 0 "$err"
  equal "$(grep -c '^    no UCX here (Debian: ucx-utils)$' <<< "$out")" 1
}

commit_all() {
  git -C "$tree" add -A
  git -C "$tree" -c user.name=t -c user.email=t@localhost commit -qm "$1"
}

# The last result of each part, its commit, and what has changed since; what was written by hand under it stays.
test_soak_report_says_of_which_commit_each_result_is() {
  make_tree
  git -C "$tree" init -q
  printf '.lci/\ntarget/\n' > "$tree/.gitignore"
  mkdir -p "$tree/docs/internals" "$tree/native/src"
  printf '# Old\n\n## Notes\n\nBy hand.\n' > "$tree/docs/internals/soak.md"
  soak_script tests/tools/api_diff_test.sh 'echo "1 passed, 0 failed"'
  commit_all first
  local first
  first=$(git -C "$tree" rev-parse --short=7 HEAD)
  in_tree test soak api
  equal "$code" 0 "$err"
  echo 1 > "$tree/native/src/core.cpp"
  commit_all second
  in_tree soak-report
  equal "$code" 0 "$err"
  local page
  page=$(< "$tree/docs/internals/soak.md")
  grep -q "| passed | [0-9]* | $(date -u +%F) | 1 passed, 0 failed | \`$first\` | core |$" <<< "$page" || fail "$page"
  local parts
  parts=$(sed -n "/^readonly SOAK_PARTS/,/^'/p" "$tree/scripts/lci/test/soak.sh" | grep -c '^[a-z]')
  equal "$(grep -c 'not run' <<< "$page")" "$((parts - 2))" # not the line that opens the list, nor the one that ran
  contains "$page" "## Notes

By hand."
  [[ $page != *Old* ]] || fail "the old table is still there"
  soak_script tests/tools/api_diff_test.sh 'echo "Tests run: 3, Failures: 0, Errors: 0, Skipped: 1"' \
    'echo "[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0"' 'exit 1'
  commit_all third
  in_tree test soak api
  in_tree soak-report
  grep -q "| FAILED | [0-9]* | .* | Tests run: 7, Failures: 1, Errors: 0, Skipped: 1 | \`$(git -C "$tree" rev-parse --short=7 HEAD)\` | - |$" \
    "$tree/docs/internals/soak.md" || fail "$(< "$tree/docs/internals/soak.md")"
  rm -r "$tree/.lci/soak"/*
  in_tree soak-report
  grep -q '| FAILED | ' "$tree/docs/internals/soak.md" || fail "what another clone has run is no longer told"
}

test_version_is_that_of_the_modules() {
  local version
  version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' "$(dirname "$lci")/pom.xml")
  local ask
  for ask in version --version; do
    run "$lci" $ask
    equal "$out" "lci ${version:?no version in pom.xml}"
  done
}

test_every_part_belongs_to_the_tool() {
  local part home
  home=$(dirname "$lci")
  while read -r part; do
    grep -qxF "source \"\$home/$part\"" "$lci" || fail "no command can use $part: lci does not source it"
  done < <(cd "$home" && find scripts/lci -name '*.sh')
}

test_every_script_that_it_calls_is_there() {
  local script home
  home=$(dirname "$lci")
  while read -r script; do
    [[ -x $home/$script ]] || fail "$script is not there"
  done < <(grep -rhoE '\$home/[A-Za-z0-9_/-]+\.sh' "$home/scripts/lci" | cut -d / -f 2- | sort -u)
}

test_it_runs_from_anywhere_and_by_a_link() {
  make_tree
  mkdir "$dir/elsewhere" && ln -s "$tree/lci" "$dir/elsewhere/tool" && cd "$dir/elsewhere" || fail "no such folder"
  run env PATH="$dir/bin:$PATH" JAVA_HOME="$dir/jdk17" LCI_NEWER_JDK="$dir/jdk25" ./tool run true
  equal "$code" 0 "$err"
  equal "$out" "launched -n 1 -- true"
}

# ---- the tree that is built -------------------------------------------------------------------------------------------

test_help_names_all_options_of_the_launcher() {
  local option options
  options=$("$(dirname "$lci")/lci-native-bridge/target/native/lci_run" --help |
    grep -oE '(^|[ [])--?[a-z][-a-z]*' | tr -d ' [' | sort -u)
  contains "$options" --grace
  run "$lci" run --help
  for option in $options; do contains "$out" "$option"; done
}

test_file_that_cannot_be_run_gives_126() {
  touch "$dir/data"
  run "$lci" run -n 2 "$dir/data"
  equal "$code" 126
}

test_demo_shows_the_peak_and_says_what_comes_next() {
  run "$lci" demo
  equal "$code" 0 "$err"
  equal "$(grep -cE '^ +[0-9]+  [0-9]+  <- peak$' "$dir/out")" 1
  (($(wc -l < "$dir/out") <= 20)) || fail "too much: $out"
  equal "$(cat "$dir/out" "$dir/err" | grep -c ' peak memory ')" 1 "memory is said once"
  contains "$(tail -n 1 "$dir/err")" "it worked"
}

# The launcher looks for what the library leaves in the job directory.
test_rank_that_ends_before_it_joined_ends_the_job() {
  local samples
  samples=$(dirname "$lci")/samples/target
  # shellcheck disable=SC2016  # expanded by the rank
  run "$lci" run -n 2 sh -c 'test $LCI_RANK = 1 || exec "$0" -cp "$1" io.lci.samples.Samples hello' \
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$samples/samples.jar:$samples/lib/*"
  equal "$code" 1
  contains "$err" "lci-run: rank 1 ended with exit code 0 before it joined the job; ending the others"
}

run_tests
