#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# The commands of the page quick-start. Its Java is compiled and run by QuickStartGuideTest. Usage: LCI=./lci quick_start_test.sh
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/guide_page.sh
source "$here/../support/guide_page.sh"
readonly lci=${LCI:?path of the lci tool}

# Every rank says what it is, and what it was told.
says_hello() {
  local rank
  equal "$(wc -l < "$dir/out")" 4 "lines of hello"
  for rank in 0 1; do
    contains "$(cat "$dir/out")" "[$rank] hello from rank $rank of 2"
    contains "$(cat "$dir/out")" "[$rank] rank $rank got: greetings, rank $rank, from rank 0"
  done
}

# Each rank got words, an answer and a text from the other.
shows_the_tour() {
  local rank other
  equal "$(wc -l < "$dir/out")" 6 "lines of tour"
  for rank in 0 1; do
    other=$((1 - rank))
    contains "$(cat "$dir/out")" "[$rank] rank $rank of 2: received [be, not, or, to]"
    contains "$(cat "$dir/out")" "[$rank] rank $rank of 2: rank $other answered 42"
    contains "$(cat "$dir/out")" "[$rank] rank $rank of 2: written by rank    $other"
  done
}

test_commands() {
  local line words
  while IFS= read -r line <&3; do
    read -r -a words <<< "$(command_of "$line")"
    [[ ${words[0]} == ./lci ]] || fail "no test runs this: $line"
    timeout "$DEADLINE_S" "$lci" "${words[@]:1}" > "$dir/out" 2> "$dir/err" < /dev/null || fail "$line: $(cat "$dir/err")"
    case ${words[*]} in
      './lci run -n 2 hello') says_hello ;;
      './lci run -n 2 tour') shows_the_tour ;;
      *) fail "no test says what this should do: $line" ;;
    esac
  done 3< <(page_commands quick-start.md)
  [[ -n ${words[*]} ]] || fail "the page has no commands"
}

run_tests
