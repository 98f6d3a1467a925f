#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work and dir
# Tests of the tool itself. Usage: lci_test.sh PATH-OF-lci, of a tree that is built
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
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
  mkdir -p "$tree/native" "$tree/samples/src" "$dir/bin"
  cp "$lci" "$tree/lci"
  echo '<project/>' | tee "$tree/pom.xml" > "$tree/samples/pom.xml"
  cat > "$dir/bin/mvn" << END
#!/bin/sh
echo "\$*" >> '$dir/calls'
mkdir -p lci-native-bridge/target/native samples/target
printf '#!/bin/sh\necho "launched \$*"\n' > lci-native-bridge/target/native/lci_run
chmod +x lci-native-bridge/target/native/lci_run
touch samples/target/samples.jar
for module in lci-parent samples; do
  echo "[INFO] Installing \$PWD/\$module/pom.xml to $dir/my m2/io/github/lci-reactive/\$module/1-SNAPSHOT/\$module-1-SNAPSHOT.pom"
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

# in_tree ARGS...: the tool of that tree, with JDK 17 unless jdk says another.
in_tree() { run env PATH="$dir/bin:$PATH" JAVA_HOME="$dir/jdk${jdk:-17}" "$tree/lci" "$@"; }

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

test_another_jdk_is_no_reason_to_build() {
  make_tree
  in_tree run true
  jdk=25 in_tree run true
  equal "$code" 0 "$err"
  equal "$(times_built)" 1
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

run_tests
