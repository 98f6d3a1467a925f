#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The k-mer job against jellyfish: the histogram of counts of two and above must be the same, whatever the number of
# ranks, with and without chaos. Usage: LCI=./lci oracle_test.sh test|soak|hosts|COMBINATION READS..., a combination being
# for example "31 canonical 2 chaos".
# With LCI_LAB_HOSTS the ranks are on those hosts of `./lci net-lab`.
# Mutations that must make it fail: drop_delayed, post_twice (with chaos).
set -uo pipefail
# shellcheck source=../support/lab.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/lab.sh"

readonly lci=${LCI:?path of the lci tool}
dose=${1:?test, soak, hosts or a combination}
shift
readonly dose reads=("$@")
readonly CHAOS_RATES=delay=0.2,ticks=16,refuse=0.1,short=0.2
work=$(mktemp -d "${TMPDIR:-/tmp}/lci-oracle.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Combinations: k, strands, ranks, chaos.
combinations() {
  if [[ $dose == test ]]; then
    cat << EOF
21 canonical 2 calm
31 canonical 1 calm
31 canonical 2 chaos
31 plain     4 calm
51 canonical 4 chaos
51 plain     2 chaos
EOF
  elif [[ $dose == hosts ]]; then
    printf '%s\n' '31 canonical 16 calm' '31 canonical 16 chaos' '21 plain 16 chaos'
  elif [[ $dose != soak ]]; then
    echo "$dose"
  else
    local k strands ranks weather
    for k in 21 31 51; do for strands in canonical plain; do for ranks in 1 2 4; do for weather in calm chaos; do
      echo "$k $strands $ranks $weather"
    done; done; done; done
  fi
}

# expected K STRANDS: the oracle's histogram, counted once for each.
expected() {
  local file=$work/jellyfish.$1.$2 options=()
  [[ $2 == plain ]] || options=(-C)
  if [[ ! -f $file ]]; then
    jellyfish count -m "$1" -s 10M -t 2 "${options[@]}" -o "$file.jf" <(unpacked) &&
      jellyfish histo -l 2 -h 1000000000 "$file.jf" | awk '$1 >= 2 && $2 > 0 { print $1 "\t" $2 }' > "$file" || return 1
    rm -f "$file.jf"
  fi
  [[ -s $file ]] && echo "$file"
}

unpacked() {
  local file
  for file in "${reads[@]}"; do
    if [[ $file == *.gz ]]; then zcat "$file"; else cat "$file"; fi
  done
}

compare() {
  local k=$1 strands=$2 ranks=$3 weather=$4 options=() oracle seed
  oracle=$(expected "$k" "$strands") || { echo "jellyfish failed"; return 1; }
  [[ $strands == plain ]] || options=(--canonical)
  if [[ $weather == chaos ]]; then
    seed=${LCI_CHAOS_SEED:-$RANDOM}
    echo "chaos: replay with LCI_CHAOS_SEED=$seed"
    export LCI_ATTR_CHAOS="seed=$seed,$CHAOS_RATES"
  fi
  "$lci" run "${lab_options[@]}" -n "$ranks" kmer -k "$k" "${options[@]}" --histogram "$work/ours" "${reads[@]}" || return 1
  # Counts of one are not part of the promise; an empty histogram is no result.
  awk '$1 >= 2' "$work/ours" > "$work/ours.2"
  [[ -s $work/ours.2 ]] && diff "$oracle" "$work/ours.2" > "$work/difference" || { head -n 10 "$work/difference"; return 1; }
}

while read -r k strands ranks weather; do
  rm -f "$work"/ours*
  start=$SECONDS
  if (compare "$k" "$strands" "$ranks" "$weather") > "$work/log" 2>&1 < /dev/null; then
    echo "ok      k=$k $strands, $ranks ranks, $weather: $((SECONDS - start)) s"
    passed=$((passed + 1))
  else
    echo "FAILED  k=$k $strands, $ranks ranks, $weather"
    cat "$work/log"
    failed=$((failed + 1))
  fi
done < <(combinations)
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
