#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir and work
# Does `./lci api-diff` find what would break whoever uses the API? On copies of a tree, whose tag is as the tree is.
#   LCI_HOME=TREE api_diff_test.sh
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly event=lci-reactive/src/main/java/io/lci/PeerEvent.java

# tagged_copy FOLDER: the tree's sources, committed and tagged.
tagged_copy() {
  mkdir -p "$1"
  git -C "${LCI_HOME:?}" ls-files -z --cached --others --exclude-standard |
    (cd "$LCI_HOME" && xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh | tar -c --null -T -) |
    tar -x -C "$1"
  git -C "$1" init -q && git -C "$1" add -A &&
    git -C "$1" -c user.name=test -c user.email=test@localhost commit -qm tree && git -C "$1" tag v0
}

# compare FOLDER: what api-diff says of it is in $dir/out, its exit code in $code.
compare() {
  code=0
  "$1/lci" api-diff > "$dir/out" 2>&1 || code=$?
}

test_more_is_compatible() {
  tagged_copy "$dir/tree"
  sed -i '$s/^}/  \/** New. *\/ public boolean isNew() { return true; }\n}/' "$dir/tree/$event"
  grep -q isNew "$dir/tree/$event" || fail "nothing was added"
  compare "$dir/tree"
  equal "$code" 0 "$(cat "$dir/out")"
  contains "$(cat "$dir/out")" "isNew"
  contains "$(cat "$dir/out")" "the public API is compatible with v0"
}

test_less_is_not() {
  tagged_copy "$dir/tree"
  sed -i '$s/^}/  \/** Old. *\/ public boolean isOld() { return true; }\n}/' "$dir/tree/$event"
  git -C "$dir/tree" -c user.name=test -c user.email=test@localhost commit -qam old && git -C "$dir/tree" tag -f v0 > "$dir/tag"
  sed -i '/isOld/d' "$dir/tree/$event"
  compare "$dir/tree"
  equal "$code" 1 "$(cat "$dir/out")"
  contains "$(cat "$dir/out")" "isOld"
  contains "$(cat "$dir/out")" "is not compatible with v0"
}

run_tests
