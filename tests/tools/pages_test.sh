#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Pages lead somewhere: links, the paths that CONTRIBUTING.md names, and the rows of the specification.
# Usage: pages_test.sh HOME
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
home=$(realpath "${1:?usage: pages_test.sh HOME}")
readonly home

pages() { (cd "$home" && find ./*.md docs -name '*.md' | LC_ALL=C sort); }

# anchors PAGE: those of its headings, as they are shown on the web.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9_ -]//g; s/ /-/g'; }

# links PAGE: the targets of its links within the tree, without those in blocks of code.
links() {
  awk '/^ *```/ { fenced = !fenced; next } !fenced' "$1" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:' || true
}

test_links_lead_somewhere() {
  local page link target anchor
  while read -r page; do
    while read -r link; do
      target=${link%%#*}
      anchor=
      [[ $link != *'#'* ]] || anchor=${link#*#}
      target=$home/${target:+$(dirname "$page")/}${target:-$page}
      [[ -e $target ]] || fail "$page: $link is not there"
      [[ -z $anchor || $target != *.md ]] || grep -qxF -- "$anchor" <(anchors "$target") || fail "$page: $link has no such heading"
    done < <(links "$home/$page")
  done < <(pages)
}

test_paths_for_contributors_are_there() {
  local path
  while read -r path; do
    [[ $path != */target/* && $path != *ROOM* ]] || continue
    [[ -e $home/$path ]] || fail "CONTRIBUTING.md: $path is not there"
  done < <(grep -oE '(native|tests|scripts|docs|samples|lci-[a-z-]+)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' "$home/CONTRIBUTING.md" | sort -u)
}

test_every_row_of_the_specification_has_its_sentence() {
  diff <(grep -v '^#' "$home/native/tests/conformance/rows.tsv" | cut -f 1 | sort) \
    <(sed -nE 's/^\| ([A-Z]+-?[0-9]+) \| [^|]+\. \|.*/\1/p' "$home/docs/specification.md" | sort) > "$dir/rows" ||
    fail "rows.tsv (<) and docs/specification.md (>) differ: $(< "$dir/rows")"
}

run_tests
