#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for the sentences that the file `patterns` rules out, in what users read: the pages at the top, the guide, the
# glossary and the other references, the C header, and the Javadoc of the public packages. Prints FILE:LINE: the sentence, and fails if there is one.
#
#   language.sh [HOME]          all of them
#   language.sh --files FILE... these files (*.md, *.java, *.h)
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly here

# public_files HOME: what users read, from HOME on.
public_files() {
  (cd "$1" && {
    find ./*.md docs/guide docs/{glossary,contract,environment,specification,thread-model}.md -name '*.md'
    find native/include -name '*.h'
    find lci-reactive/src/main/java/io/lci lci-metrics/src/main/java/io/lci lci-reactive/src/test/java/io/lci/testing \
      -path '*/internal' -prune -o -name '*.java' ! -name '*Test.java' -print
  } | LC_ALL=C sort)
}

if [[ ${1:-} == --files ]]; then
  shift
  files=("$@")
else
  cd "${1:-$here/../..}"
  mapfile -t files < <(public_files .)
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/lci-language.XXXXXX")
trap 'rm -rf "$work"' EXIT
awk -f "$here/sentences.awk" "${files[@]}" > "$work/sentences"
[[ -s $work/sentences ]] || { echo "language.sh: there is no sentence in ${files[*]}" >&2; exit 2; }
cut -f 2- "$work/sentences" > "$work/text"

found=0
while IFS= read -r pattern; do
  [[ -n $pattern && $pattern != '#'* ]] || continue
  while IFS=: read -r number _; do
    found=$((found + 1))
    sed -n "${number}{s/\t/: /;p;q}" "$work/sentences"
    echo "    is ruled out by: $pattern"
  done < <(grep -nE -- "$pattern" "$work/text")
done < "$here/patterns"

((found == 0)) || { echo "$found sentences to write anew; tests/language/patterns says how"; exit 1; }
