#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir
# Pages lead somewhere: links, the paths that CONTRIBUTING.md names, the names of the architecture, and the rows of the
# specification.
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

# sources: those that pages name parts of.
sources() { (cd "$home" && find native lci-* samples tests -path '*/target' -prune -o -path '*/build*' -prune -o -name '*.[ch]pp' -print -o -name '*.java' -print); }

# names PAGE: what it has in backticks, outside of blocks of code, and without the names that other implementations have.
names() {
  awk '/^ *```/ { fenced = !fenced; next } /^$/ { foreign = 0 } /names in other implementations/ { foreign = 1 } !fenced && !foreign' "$1" | grep -oE '`[^`]+`' | tr -d '`' | sort -u
}

# class_has CLASS MEMBER: a file of that class, or of what it has in other files, has that word.
class_has() {
  local files
  mapfile -t files < <(grep -lE "\b(class|struct|interface|enum|record|@interface) $1\b|\b$1::" "${all[@]}")
  ((${#files[@]} != 0)) && grep -qw -- "$2" "${files[@]}"
}

# Files, classes, their members and functions: what readers search for.
test_names_of_architecture_and_steps_are_in_the_sources() {
  local page name all missing=() checked=0
  cd "$home" || fail "no $home"
  sources > "$dir/files"
  mapfile -t all < "$dir/files"
  for page in CONTRIBUTING.md docs/architecture.md; do
    while read -r name; do
      name=${name%'()'}
      checked=$((checked + 1))
      if [[ $name =~ ^([a-z_]+/)*[A-Za-z_]+\.(hpp|cpp|java)$ ]]; then
        grep -qE "(^|/)$name$" "$dir/files" || missing+=("$page: $name")
      elif [[ $name =~ ^([A-Z][A-Za-z]*[a-z])(::|\.)([A-Za-z_]+)$ ]]; then
        class_has "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}" || missing+=("$page: $name")
      elif [[ $name =~ ^io(\.[a-z]+)+\.([A-Z][A-Za-z]+)$ ]]; then
        name=${name//./\/}
        grep -q "/$name.java$" "$dir/files" || missing+=("$page: $name")
      elif [[ $name =~ ^([A-Z][a-z]+)+$ || $name =~ ^[a-z]+(_[a-z]+)+$ ]]; then
        grep -qw -- "$name" "${all[@]}" native/include/lci/lci.h native/CMakeLists.txt native/cmake/*.cmake native/tools/*.c || missing+=("$page: $name")
      else
        checked=$((checked - 1))
      fi
    done < <(names "$page")
  done
  ((${#missing[@]} == 0)) || fail "not in the sources: $(printf '%s; ' "${missing[@]}")"
  ((checked > 200)) || fail "only $checked names were checked"
}

test_every_row_of_the_specification_has_its_sentence() {
  diff <(grep -v '^#' "$home/native/tests/conformance/rows.tsv" | cut -f 1 | sort) \
    <(sed -nE 's/^\| ([A-Z]+-?[0-9]+) \| [^|]+\. \|.*/\1/p' "$home/docs/specification.md" | sort) > "$dir/rows" ||
    fail "rows.tsv (<) and docs/specification.md (>) differ: $(< "$dir/rows")"
}

run_tests
