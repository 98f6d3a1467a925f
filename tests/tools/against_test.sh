#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work and dir
# Tests of ./lci bench against: of its rule, and of the whole over trees whose benchmarks print what they are told.
# Usage: against_test.sh HOME
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
home=$(realpath "${1:?usage: against_test.sh HOME}")
readonly home
readonly against=$home/native/bench/against

# ---- the rule -----------------------------------------------------------------------------------------------------------

# pair UNIT OLD NEW BEFORE AFTER: a pair of row `row`.
pair() { printf 'row\t%s\t%s\t%s\t%s\t%s\n' "$@" >> "$dir/pairs"; }
# pairs N UNIT OLD NEW LINE: so many of the same.
pairs() { local i; for ((i = 0; i < $1; i++)); do pair "$2" "$3" "$4" "$5" "$5"; done; }
# judged COLUMN: of the only row.
judged() { awk -F '\t' -v least=11 -f "$against/verdict.awk" "$dir/pairs" | cut -f "$1"; }
readonly PAIRS=2 RATIO=5 BELOW=6 NEAR=7 FAR=8 VERDICT=9

test_a_lower_median_and_nine_of_eleven_below_are_slower() {
  pairs 9 Mmsg/s 100 94 100
  pairs 2 Mmsg/s 100 101 100
  equal "$(judged $RATIO) $(judged $BELOW) $(judged $VERDICT)" "0.940 9 slower"
}

test_eight_of_eleven_below_are_noise() {
  pairs 8 Mmsg/s 100 50 100
  pairs 3 Mmsg/s 100 101 100
  equal "$(judged $RATIO) $(judged $BELOW) $(judged $VERDICT)" "0.500 8 fine"
}

test_all_a_little_below_are_noise() {
  pairs 11 Mmsg/s 100 95.1 100
  equal "$(judged $RATIO) $(judged $BELOW) $(judged $VERDICT)" "0.951 11 fine"
}

test_the_share_holds_for_more_pairs() {
  pairs 18 Mmsg/s 100 90 100
  pairs 4 Mmsg/s 100 110 100
  equal "$(judged $VERDICT)" slower
  pair Mmsg/s 100 110 100 100  # 18 of 23
  equal "$(judged $VERDICT)" fine
}

test_more_time_is_slower() {
  pairs 11 ns 100 110 100
  equal "$(judged $RATIO) $(judged $VERDICT)" "0.909 slower"
}

test_pairs_are_near_far_or_left_out() {
  pairs 11 Mmsg/s 100 100 149
  pairs 5 Mmsg/s 100 80 251
  pair Mmsg/s 100 1 149 251
  pair Mmsg/s 100 1 200 200
  equal "$(judged $PAIRS) $(judged $NEAR) $(judged $FAR)" "16 1.000 0.800"
}

test_a_class_of_four_pairs_is_not_seen() {
  pairs 7 Mmsg/s 100 100 100
  pairs 4 Mmsg/s 100 100 300
  equal "$(judged $PAIRS) $(judged $NEAR) $(judged $FAR)" "11 1.000 -"
}

test_all_pairs_count_where_few_are_near_or_far() {
  pairs 10 Mmsg/s 100 100 100
  pairs 11 Mmsg/s 100 90 200
  equal "$(judged $PAIRS) $(judged $RATIO)" "21* 0.900"
}

test_what_is_no_pair_is_refused() {
  printf 'row\tns\t1\t\t1\t1\n' > "$dir/pairs"
  ! judged $VERDICT > "$dir/out" 2> "$dir/err" || fail "taken: $(cat "$dir/out")"
  contains "$(cat "$dir/err")" "not a pair of measurements"
}

# ---- the whole ----------------------------------------------------------------------------------------------------------

# A tree whose commit sends 100 messages a second; its lci only makes the programs.
make_tree() {
  tree=$dir/tree
  mkdir -p "$tree"
  cat > "$tree/lci" << 'EOF'
#!/usr/bin/env bash
[[ $1 == build ]] || exit 9
cd "$(dirname "$0")" && mkdir -p lci-native-bridge/target/native && cp am_bench line_roundtrip lci-native-bridge/target/native
EOF
  cat > "$tree/am_bench" << EOF
#!/usr/bin/env bash
cd "\$(dirname "\$0")/../../.." && echo run >> $tree/runs
echo "{\"metric\":\"\$1\",\"unit\":\"Mmsg/s\",\"value\":\$(cat speed)}"
EOF
  printf '#!/usr/bin/env bash\necho '\''{"metric":"line_roundtrip","unit":"ns","value":100}'\''\n' > "$tree/line_roundtrip"
  chmod +x "$tree/am_bench" "$tree/line_roundtrip"
  chmod +x "$tree/lci"
  echo 100 > "$tree/speed"
  printf '.lci/\nlci-native-bridge/\nruns\n' > "$tree/.gitignore"
  git -C "$tree" init -q
  git -C "$tree" add -A
  git -C "$tree" -c user.name=test -c user.email=test@localhost commit -q -m first
}

# compare ARGUMENT...: sets code and out.
compare() {
  code=0
  out=$(HOME=$dir LCI_HOME=$tree "$against/against.sh" "$@" 2>&1) || code=$?
}

test_the_same_tree_is_not_slower() {
  make_tree
  compare HEAD am_rate --no-callgrind
  equal "$code" 0 "$out"
  contains "$out" "not slower than HEAD"
  equal "$(wc -l < "$tree/runs")" 22
}

test_what_is_slower_twice_is_slower() {
  make_tree
  echo 90 > "$tree/speed"
  compare HEAD am_rate am_latency --no-callgrind
  equal "$code" 1 "$out"
  contains "$out" "am_rate looks slower; once more"
  contains "$out" "slower than HEAD, twice: am_rate am_latency"
  equal "$(wc -l < "$tree/runs")" 88
}

test_what_is_slower_once_is_not() {
  make_tree
  # 90 in the 22 runs of the first try, 100 later
  sed -i "s|cat speed|((\$(wc -l < runs) <= 22)) \&\& [[ \$PWD == $tree ]] \&\& echo 90 \|\| echo 100|" "$tree/am_bench"
  compare HEAD am_rate --no-callgrind
  equal "$code" 0 "$out"
  contains "$out" "slower (first)"
  contains "$out" "not slower than HEAD"
}

test_what_cannot_be_measured_is_no_answer() {
  make_tree
  echo "" > "$tree/speed"
  compare HEAD am_rate --no-callgrind
  equal "$code" 2 "$out"
  contains "$out" "am_rate printed no such metric"
}

test_wrong_command_lines_are_refused_before_anything_is_built() {
  make_tree
  compare no-such-commit --no-callgrind
  equal "$code" 2 "$out"
  contains "$out" "no such commit: no-such-commit"
  compare
  equal "$code" 2 "$out"
  contains "$out" "a commit is missing"
  compare HEAD no_row
  equal "$code" 2 "$out"
  contains "$out" "no such row: no_row; rows: am_rate"
  compare HEAD --pairs 10
  equal "$code" 2 "$out"
  contains "$out" "--pairs needs a number of at least 11"
  [[ ! -e $tree/lci-native-bridge ]] || fail "it built"
}

test_a_tree_that_is_no_clone_is_told() {
  make_tree
  rm -rf "$tree/.git"
  GIT_CEILING_DIRECTORIES=$dir compare HEAD --no-callgrind
  equal "$code" 2 "$out"
  contains "$out" "is no clone"
}

run_tests
