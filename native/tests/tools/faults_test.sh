#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work and dir
# Tests of the tables of deliberate faults, on a tree of two files. Usage: faults_test.sh HOME
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
home=$(realpath "${1:?usage: faults_test.sh HOME}")
readonly home

# row COLUMN...: adds one to the table.
row() { (IFS=$'\t'; echo "$*") >> "$tables/lane.tsv"; }

# Two sources, and a fault of two lines.
make_tree() {
  source=$dir/src
  tables=$dir/tables
  mkdir -p "$source"/{base,lane} "$tables"
  printf '// SPDX\n#include <mutex>\n  lock.lock();  // first\n\tif (taken) return 1;\n  return 2;\n' > "$source/lane/park.cpp"
  printf '// SPDX\nint free();\n' > "$source/base/pool.hpp"
  row name file line 'faulty line' tests fault
  row forget_lock lane/park.cpp 'lock.lock();  // first' 'if (!MUTATED) lock.lock();' 'unit:Park.* stress:ParkStress.Two' 'nobody locks'
  row forget_lock lane/park.cpp 'if (taken) return 1;' 'if (taken && !MUTATED) return MUTATED ? 3 : 1;' - -
}

# faults ARGUMENT...: sets code and out.
faults() {
  code=0
  out=$("$home/native/tests/mutations/faults.sh" --sources "$source" --tables "$tables" "$@" 2>&1) || code=$?
}

# refused TEXT...: the check fails, and says all of that; no copy is made.
refused() {
  faults check
  equal "$code" 1 "$out"
  local text
  for text; do contains "$out" "$text"; done
  faults copy "$dir/copy"
  equal "$code" 1 "$out"
  [[ ! -e $dir/copy ]] || fail "a copy was made"
}

test_a_sound_table_passes() {
  make_tree
  faults check
  equal "$code" 0 "$out"
  equal "$out" ""
}

test_tests_and_names_are_listed() {
  make_tree
  faults names
  equal "$out" forget_lock
  faults tests
  equal "$out" $'forget_lock\tunit\tPark.*\tnobody locks\nforget_lock\tstress\tParkStress.Two\tnobody locks'
  faults tests another
  equal "$out" ""
}

test_a_line_that_changed_is_named() {
  make_tree
  sed -i 's/taken/is_taken/' "$source/lane/park.cpp"
  refused "lane.tsv:3: forget_lock: found 0 times, not once, in lane/park.cpp: if (taken) return 1;"
}

test_a_line_that_is_there_twice_is_named() {
  make_tree
  echo 'if (taken) return 1;' >> "$source/lane/park.cpp"
  refused "lane.tsv:3: forget_lock: found 2 times"
}

test_a_file_that_moved_is_named() {
  make_tree
  mv "$source/lane/park.cpp" "$source/lane/sleep.cpp"
  refused "lane.tsv:2: forget_lock: there is no lane/park.cpp"
}

test_a_fault_needs_tests_once() {
  make_tree
  row late lane/park.cpp 'return 2;' 'return MUTATED ? 1 : 2;' - -
  refused "lane.tsv:4: late: has no row with tests"
  row late base/pool.hpp 'int free();' 'int free(); // MUTATED' unit:A.B 'too late'
  faults check
  equal "$code" 0 "$out"
  sed -i 's/-\t-$/unit:A.B\tagain/' "$tables/lane.tsv"
  refused "forget_lock: has tests in two rows"
}

test_a_line_has_one_fault() {
  make_tree
  row late lane/park.cpp 'if (taken) return 1;' 'if (MUTATED) return 1;' unit:A.B 'too late'
  refused "lane.tsv:4: late: this line has the fault forget_lock already"
}

test_a_faulty_line_has_its_switch() {
  make_tree
  row late lane/park.cpp 'return 2;' 'return UNMUTATED;' unit:A.B 'too late'
  refused "lane.tsv:4: late: MUTATED is not in its faulty line"
}

test_rows_are_whole() {
  make_tree
  row late lane/park.cpp 'return 2;' 'return MUTATED;' unit:A.B
  row Late lane/park.cpp 'return 2;' 'return MUTATED;' units:A.B 'too late'
  refused "lane.tsv:4: late: has 5 columns, not 6" "Late: a name has" "no test is called units:A.B"
}

test_a_table_without_faults_is_none() {
  make_tree
  sed -i 1q "$tables/lane.tsv"
  refused "there are no faults"
}

test_the_copy_has_faults_and_the_same_lines() {
  make_tree
  faults copy "$dir/copy"
  equal "$code" 0 "$out"
  equal "$(< "$dir/copy/src/lane/park.cpp")" '#include "mutation.hpp"  // SPDX
#include <mutex>
if (!LCI_MUTATED("forget_lock")) lock.lock();
if (taken && !LCI_MUTATED("forget_lock")) return LCI_MUTATED("forget_lock") ? 3 : 1;
  return 2;'
  cmp "$source/base/pool.hpp" "$dir/copy/src/base/pool.hpp" || fail "a file without faults was changed"
  [[ -f $dir/copy/src/mutation.cpp ]] || fail "what switches faults on is missing"
}

test_a_second_copy_writes_what_changed() {
  make_tree
  faults copy "$dir/copy"
  touch -d 2001-01-01 "$dir"/copy/src/*/*
  echo 'int more();' >> "$source/base/pool.hpp"
  rm "$source/lane/park.cpp"
  echo > "$source/lane/other.cpp"
  sed -i 1q "$tables/lane.tsv"
  row late base/pool.hpp 'int free();' 'int free(); // MUTATED' unit:A.B 'too late'
  faults copy "$dir/copy"
  equal "$code" 0 "$out"
  [[ ! -e $dir/copy/src/lane/park.cpp ]] || fail "a source that is gone is still in the copy"
  contains "$(< "$dir/copy/src/base/pool.hpp")" more
  equal "$(find "$dir/copy/src" -mindepth 2 -type f -newermt 2002-01-01 -printf '%P\n' | sort | xargs)" "base/pool.hpp lane/other.cpp"
  touch -d 2001-01-01 "$dir"/copy/src/*/*
  faults copy "$dir/copy"
  equal "$(find "$dir/copy/src" -mindepth 2 -type f -newermt 2002-01-01)" ""
}

run_tests
