#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Do the tests notice a fault? For each deliberate fault in the core: every test that is named beside it passes without
# it, and fails with it.
#
#   mutations.sh [--build FOLDER] [NAME...]
#
# FOLDER: a build with LCI_MUTATIONS=ON; without it one is made in a temporary folder. NAME: only these faults. They stand
# in the tables that faults.sh reads. Each test that a pattern of theirs matches must fail, with any of its parameters
# that the pattern matches.
set -euo pipefail

# A fault may show as waiting for ever: a test may take so long, and ten times what it took without the fault, or five
# seconds and three times that if it is less; and of the processors so much, for some wait by looking again and again.
readonly PATIENCE_S=3 PROCESSOR_S=1 SOUND_PATIENCE_S=300
readonly BEYOND_PROCESSOR_S=$((128 + 24)) # SIGXCPU
# What only a meeting of threads shows need not show in each run of a stress test: it may have so many.
readonly STRESS_RUNS=3

self=$(readlink -f "${BASH_SOURCE[0]}")
here=$(dirname "$self")
readonly self here
build=
made=
work=

# rows_of NAME: executable, pattern of tests, and what the fault is, separated by tabs.
rows_of() { awk -F '\t' -v OFS='\t' -v name="$1" '$1 == name { print $2, $3, $4 }' "$work/rows"; }

make_build() {
  build=$(mktemp -d "${TMPDIR:-/tmp}/lci-mutations.XXXXXX")
  made=$build
  { cmake -S "$here/../.." -B "$build" -DLCI_MUTATIONS=ON -DLCI_UNITY=ON -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$build" -j2 --target lci_unit_tests lci_stress_tests lci_multiprocess_tests lci_conformance_tests; } > "$build/build.log" 2>&1 ||
    { tail -n 20 "$build/build.log" >&2; return 1; }
}
clean_up() {
  [[ -z $work ]] || rm -rf "$work"
  [[ -z $made ]] || rm -rf "$made"
}

# filter EXECUTABLE PATTERNS: the filter of gtest for them.
filter() {
  local pattern patterns parts=()
  read -ra patterns <<< "$2"
  for pattern in "${patterns[@]}"; do
    if [[ $1 == conformance && $pattern != *.* ]]; then pattern="*Conformance.$pattern/inproc"; fi
    parts+=("$pattern")
  done
  (IFS=:; echo "${parts[*]}")
}

# list_tests EXECUTABLE: the names of all of its tests, a line each.
list_tests() {
  "$build/lci_$1_tests" --gtest_list_tests | awk '
    /^[^ ]+\.$/ || /^[^ ]+\. +#/ { suite = $1; next }
    /^  / { print suite $1 }' > "$work/$1.names"
}

# tests_of EXECUTABLE PATTERN: a line for each test: its name without parameters, and the filter of those that are meant.
tests_of() {
  awk -v pattern="$(filter "$1" "$2")" '
    BEGIN {
      gsub(/[][\\.^$+(){}|]/, "\\\\&", pattern)
      gsub(/\*/, ".*", pattern)
      gsub(/\?/, ".", pattern)
      pattern = "^" pattern "$"
    }
    $0 ~ pattern {
      name = $0
      sub(/^[^\/.]*\//, "", name)
      sub(/\/.*/, "", name)
      if (!(name in filter)) order[++count] = name
      filter[name] = filter[name] (filter[name] == "" ? "" : ":") $0
    }
    END { for (i = 1; i <= count; i++) print order[i] "\t" filter[order[i]] }' "$work/$1.names"
}

# run_tests EXECUTABLE FILTER PATIENCE MUTATION LOG
run_tests() {
  # Always the small dose; the shell's own word about an abort is of no interest.
  { LCI_TIER='' LCI_MUTATION=$4 timeout --kill-after=5 "$3" prlimit --cpu=$(($3 - PATIENCE_S + PROCESSOR_S)) \
    "$build/lci_$1_tests" --gtest_filter="$2" > "$5" 2>&1 < /dev/null; } 2> /dev/null
}

# look_without NAME...: writes down which of their tests pass without a fault, and how long they take, in ms.
look_without() {
  local executable
  for name in "$@"; do rows_of "$name"; done > "$work/wanted"
  for executable in $(cut -f 1 "$work/wanted" | sort -u); do
    list_tests "$executable"
    run_tests "$executable" "$(filter "$executable" "$(awk -F '\t' -v e="$executable" '$1 == e { print $2 }' "$work/wanted" | xargs)")" \
      "$SOUND_PATIENCE_S" '' "$work/$executable.log" &
  done
  wait
  for executable in $(cut -f 1 "$work/wanted" | sort -u); do
    sed -nE 's/^\[       OK \] ([^ ,]+).* \(([0-9]+) ms\)$/\1\t\2/p' "$work/$executable.log"
  done > "$work/sound"
}

# complain NAME WHAT
complain() { printf '%-29s FAILED  %s\n' "$1" "$2"; return 1; }

# patience FILTER: how long these tests may take under a fault, in seconds; fails if one of them fails without.
patience() {
  awk -F '\t' -v filter="$1" -v least="$PATIENCE_S" '
    { took[$1] = $2 }
    END {
      n = split(filter, tests, ":")
      for (i = 1; i <= n; i++) {
        if (!(tests[i] in took)) exit 1
        sum += took[tests[i]]
      }
      printf "%d\n", least + (sum < 700 ? sum / 100 : 5 + 3 * sum / 1000)
    }' "$work/sound"
}

# judge NAME: prints its line; fails when one of the tests does not tell the fault from its absence.
judge() {
  local name=$1 executable pattern what fault test filter seconds noticed=0 late=0 runs code log
  log=$work/$name.log
  while IFS=$'\t' read -r executable pattern what; do
    fault=$what
    tests_of "$executable" "$pattern" > "$work/$name.tests"
    [[ -s $work/$name.tests ]] || { complain "$name" "no test is called $pattern"; return 1; }
    while IFS=$'\t' read -r test filter; do
      seconds=$(patience "$filter") || { complain "$name" "$test fails without the fault"; return 1; }
      runs=1
      [[ $executable != stress ]] || runs=$STRESS_RUNS
      for ((code = 0; code == 0 && runs > 0; runs--)); do
        run_tests "$executable" "$filter" "$seconds" "$name" "$log" || code=$?
      done
      case $code in
        0) complain "$name" "not noticed by $test: $fault"; return 1 ;;
        124 | 137 | "$BEYOND_PROCESSOR_S") late=$((late + 1)) ;;
        *) noticed=$((noticed + 1)) ;;
      esac
    done < "$work/$name.tests"
  done < <(rows_of "$name")
  printf '%-29s ok      noticed by %d%s: %s\n' "$name" "$((noticed + late))" \
    "$( ((late == 0)) || echo " ($late by not ending)")" "$fault"
}

main() {
  local wanted=() name failed
  while (($# > 0)); do
    case $1 in
      --build) (($# > 1)) || { echo "--build needs a folder" >&2; exit 2; }; build=$2; shift 2 ;;
      *) wanted+=("$1"); shift ;;
    esac
  done
  trap clean_up EXIT
  [[ -n $build ]] || make_build
  work=$(mktemp -d "${TMPDIR:-/tmp}/lci-mutations-work.XXXXXX")
  "$here/faults.sh" tests > "$work/rows"
  ((${#wanted[@]} > 0)) || mapfile -t wanted < <(cut -f 1 "$work/rows" | sort -u)
  for name in "${wanted[@]}"; do
    [[ -n $(rows_of "$name") ]] || { echo "no such mutation: $name" >&2; exit 2; }
  done
  look_without "${wanted[@]}"
  # Six at a time: much of it is waiting for what does not come.
  printf '%s\n' "${wanted[@]}" | xargs -P 6 -I '{}' "$self" --judge "$build" "$work" '{}' | tee "$work/verdicts" || true
  once_more_alone
  failed=$(grep -c ' FAILED  ' "$work/verdicts" || true)
  echo "$(grep -c ' ok  ' "$work/verdicts" || true) passed, $failed failed"
  ((failed == 0)) && (($(wc -l < "$work/verdicts") == ${#wanted[@]}))
}

# A fault that shows only where threads meet has another chance when nothing runs beside it. What failed is at the end,
# where it is seen, with what tests said that fail without a fault.
once_more_alone() {
  local unnoticed=() name
  if grep -q ' fails without the fault' "$work/verdicts"; then
    grep -hE -A 6 ': Failure$|^\[  FAILED  \]' "$work"/{unit,stress,multiprocess,conformance}.log 2> /dev/null | head -n 40 || true
  fi
  mapfile -t unnoticed < <(sed -n 's/ *FAILED  not noticed by .*//p' "$work/verdicts")
  if ((${#unnoticed[@]} > 0)); then
    sed -i '/ FAILED  not noticed by /d' "$work/verdicts"
    echo "once more, one after the other: ${unnoticed[*]}"
    for name in "${unnoticed[@]}"; do judge "$name" >> "$work/verdicts" || true; done
    tail -n "${#unnoticed[@]}" "$work/verdicts"
  fi
  grep ' FAILED  ' "$work/verdicts" || true
}

# How it calls itself for one fault: --judge BUILD WORK NAME
if [[ ${1:-} == --judge ]]; then
  build=$2 work=$3
  judge "$4"
else
  main "$@"
fi
