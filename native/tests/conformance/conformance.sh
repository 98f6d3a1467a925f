#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes docs/internals/conformance.md out of the rows (rows.tsv), what the tests say that they prove (comments above
# them), and what became of them in the last run.
#
#   conformance.sh [--check] [--results FOLDER]
#
# --check: writes nothing, and fails if the committed page is not what would be written. FOLDER, by default .lci/results:
# a file for each suite of ./lci test that says "passed" or "failed", and in reports/ what ctest and surefire wrote.
# docs/testing.md says how tests name rows.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
home=$(readlink -f "$here/../../..")
readonly here home
readonly page=$home/docs/internals/conformance.md
check='' folder=$home/.lci/results

misused() { echo "conformance.sh: $*" >&2; exit 2; }

while (($# > 0)); do
  case $1 in
    --check) check=yes; shift ;;
    --results) (($# > 1)) || misused "$1 needs a value"; folder=$2; shift 2 ;;
    *) misused "unknown argument: $1" ;;
  esac
done
readonly check folder
work=$(mktemp -d "${TMPDIR:-/tmp}/lci-conformance.XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly work

claims() {
  find "$here/.." "$home"/lci-*/src/test "$home/samples/src/test" \
    \( -name '*_test.cpp' -o -name '*_test.c' -o -name '*Test.java' \) -print0 |
    LC_ALL=C sort -z | xargs -0 awk -f "$here/tests.awk" || return 1
  awk -f "$here/tests.awk" "$home/scripts/lci/test/suites.sh"
}

results() {
  local reports=("$folder"/reports/*.xml) file
  [[ -f ${reports[0]} ]] || { echo "there are no reports in $folder; run ./lci test" >&2; return 1; }
  awk -f "$here/results.awk" "${reports[@]}"
  for file in "$folder"/*; do
    [[ ! -f $file ]] || printf 'suite %s\t%s\n' "$(basename "$file")" "$(< "$file")"
  done
}

# rows_of FILE: what stands in the TABLE of a script of mutations, trimmed, tab-separated.
rows_of() {
  awk '/^readonly TABLE=/ { inside = 1; next } /^'\''$/ { inside = 0 }
    inside { gsub(/ *\| */, "\t"); print }' "$1"
}

# Faults by the tests that notice them: fault, pattern of tests.
faults() {
  "$here/../mutations/faults.sh" tests | awk -F '\t' '{
    if ($2 == "conformance" && $3 !~ /\./) $3 = "Conformance." $3
    sub(/\/.*/, "", $3)  # parameters
    print $1 "\t" $3
  }'
  # The slow consumer's test looks for itself.
  sed -n 's/.*LCI_MUTATION=\([a-z_]*\) .*/\1\tsuite slow-consumer/p' "$home/tests/system/slow_consumer_test.sh"
  rows_of "$home/tests/system/mutations.sh" | awk -F '\t' '
    $2 != "java" { gsub(/_/, "-", $2); print $1 "\tsuite " $2; next }
    {
      n = split($3, parts, "+")
      class = parts[1]
      sub(/#.*/, "", class)
      for (i = 1; i <= n; i++) { sub(/.*#/, "", parts[i]); print $1 "\t" class "#" (parts[i] == class ? "*" : parts[i]) }
    }'
}

# The suites, their tiers, and whether there is more of them in the soak.
tiers() {
  awk '/^readonly SOAK_PARTS=/ { part = 1; next } /^readonly SUITES=/ { suite = 1; next } /^'\''$/ { part = suite = 0 }
    part { more[$1] = 1 }
    suite { tiers[$1] = $2 }
    END { for (name in tiers) print name "\t" tiers[name] "\t" (name in more) }' "$home"/scripts/lci/test/{suites,soak}.sh
}

claims > "$work/claims"
results > "$work/results"
faults > "$work/faults"
tiers > "$work/suites"
awk -v ROWS="$here/rows.tsv" -v RESULTS="$work/results" -v FAULTS="$work/faults" -v SUITES="$work/suites" \
  -f "$here/page.awk" "$here/rows.tsv" "$work/results" "$work/faults" "$work/suites" "$work/claims" > "$work/page"

if [[ -n $check ]]; then
  # Where a suite failed, hundreds of rows change: some of them tell enough.
  diff "$page" "$work/page" > "$work/changes" || {
    sed -n 's/^</-/p; s/^>/+/p' "$work/changes" | cut -c 1-240 | head -n 40
    echo "$(grep -c '^>' "$work/changes") lines differ (- is what is committed)."
    echo "docs/internals/conformance.md is not what rows.tsv, the tests and their last results say: ./lci conformance writes it anew"
    exit 1
  }
  echo "1 passed, 0 failed"
else
  cp "$work/page" "$page"
  sed -n '/^| all /p' "$page"
fi
