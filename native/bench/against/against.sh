#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Is this tree slower than a commit? Called by `./lci bench against`.
#
#   against.sh COMMIT [ROW...] [--pairs N] [--no-callgrind] [--dose PART]
#
# COMMIT is built in a worktree of its own, with its own benchmarks; then both are run in turns. verdict.awk has the rule.
set -euo pipefail

readonly home=${LCI_HOME:?set by ./lci}
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly here
readonly state=$home/.lci/against
readonly LEAST_PAIRS=11
readonly NATIVE_ROWS='am_rate am_latency sendrecv_rate sendrecv_latency put_rate bandwidth_1k bandwidth_16k bandwidth_64k bandwidth_1m'
readonly JAVA_ROWS='am_stream am_round_trip op_chains rpc_response'
readonly RUN_TIMEOUT_S=120 COUNT_TIMEOUT_S=300
# More instructions a message than this, new over old, are too many.
readonly MOST_INSTRUCTIONS=1.03

pairs=$LEAST_PAIRS
callgrind=1
commit=
rows=

wrong() { echo "lci bench against: $*; see ./lci bench --help" >&2; exit 2; }
cannot() { echo "lci bench against: $*" >&2; exit 2; }
say() { echo "lci bench against: $*" >&2; }

parse_arguments() {
  while (($# > 0)); do
    case $1 in
      --pairs)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] && (($2 >= LEAST_PAIRS)) || wrong "--pairs needs a number of at least $LEAST_PAIRS"
        pairs=$2
        shift 2
        ;;
      --no-callgrind) callgrind=0; shift ;;
      --dose)
        [[ ${2:-} =~ ^(1|0?\.[0-9]*[1-9][0-9]*)$ ]] || wrong "--dose needs a number above 0, at most 1"
        export LCI_BENCH_DOSE=$2
        shift 2
        ;;
      -*) wrong "no such option: $1" ;;
      *)
        if [[ -z $commit ]]; then
          commit=$1
        elif [[ " $NATIVE_ROWS $JAVA_ROWS " == *" $1 "* ]]; then
          rows+=" $1"
        else
          wrong "no such row: $1; rows: $NATIVE_ROWS $JAVA_ROWS"
        fi
        shift
        ;;
    esac
  done
  [[ -n $commit ]] || wrong "a commit is missing"
  rows=${rows:-$NATIVE_ROWS $JAVA_ROWS}
}

is_native() { [[ " $NATIVE_ROWS " == *" $1 "* ]]; }

# ---- the other tree ---------------------------------------------------------------------------------------------------

# The modules that the other tree installs must not replace ours: it has a repository of its own, which starts with what
# ours has downloaded.
own_repository() {
  local ours=$HOME/.m2/repository
  [[ ! -d $state/repository ]] || return 0
  mkdir -p "$state/repository.part"
  [[ ! -d $ours ]] || cp -a "$ours/." "$state/repository.part"
  rm -rf "$state/repository.part/io/lci"
  mv "$state/repository.part" "$state/repository"
}

# in_old COMMAND...: with what the other tree needs in the environment.
in_old() { MAVEN_OPTS="${MAVEN_OPTS:-} -Dmaven.repo.local=$state/repository" "$@"; }

make_old_tree() {
  local id
  git -C "$home" rev-parse --git-dir > /dev/null 2>&1 || cannot "$home is no clone: there is nothing to compare with"
  id=$(git -C "$home" rev-parse --verify --quiet "$commit^{commit}") ||
    cannot "no such commit: $commit; \`git log\` lists them, \`git fetch\` brings those of others"
  "$home/lci" build || cannot "this tree does not build"
  old=$state/${id:0:12}
  if [[ ! -e $old/.git ]]; then
    rm -rf "$old"
    git -C "$home" worktree prune
    git -C "$home" worktree add --quiet --detach "$old" "$id" || cannot "no worktree of $id in $old"
  fi
  own_repository
  say "building ${id:0:12} in $old (the first time takes minutes; log: $state/build.log)"
  in_old "$old/lci" build > "$state/build.log" 2>&1 || { tail -n 5 "$state/build.log" >&2; cannot "${id:0:12} does not build"; }
}

# ---- measuring --------------------------------------------------------------------------------------------------------

# measure TREE ROW: prints "unit<TAB>value", by the tree's own benchmark.
measure() {
  local native=$1/lci-native-bridge/target/native line
  case $2 in
    put_*) line=$(timeout $RUN_TIMEOUT_S "$native/remote_bench" "$2" 2> "$state/run.log") ;;
    *)
      if is_native "$2"; then
        line=$(timeout $RUN_TIMEOUT_S "$native/am_bench" "$2" 2> "$state/run.log")
      else
        line=$(timeout $RUN_TIMEOUT_S "$1/lci" run -n 2 flux-bench "$2" 2> "$state/run.log" | sed -n 's/^\[0\] \({.*\)/\1/p')
      fi
      ;;
  esac || { tail -n 3 "$state/run.log" >&2; cannot "$2 cannot be measured in $1"; }
  sed -n 's/^{"metric":"'"$2"'","unit":"\([^"]*\)","value":\([0-9][-+.e0-9]*\)}$/\1\t\2/p' <<< "$line" | grep . ||
    cannot "$2 printed no such metric in $1: $line"
}
measure_old() { in_old measure "$old" "$1"; }

line_ns() { "$home/lci-native-bridge/target/native/line_roundtrip" | sed 's/.*"value":\([-+.e0-9]*\)}$/\1/'; }

# measure_row ROW FILE: its pairs, a line each. What is first in one pair is second in the next.
measure_row() {
  local pair before after unit old_value new_value
  : > "$2"
  for ((pair = 1; pair <= pairs; pair++)); do
    before=$(line_ns)
    if ((pair % 2)); then
      old_value=$(measure_old "$1") || exit 2
      new_value=$(measure "$home" "$1") || exit 2
    else
      new_value=$(measure "$home" "$1") || exit 2
      old_value=$(measure_old "$1") || exit 2
    fi
    after=$(line_ns)
    unit=${new_value%%$'\t'*}
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$unit" "${old_value##*$'\t'}" "${new_value##*$'\t'}" "$before" "$after" >> "$2"
    [[ ! -t 2 ]] || printf '\r\033[K%s: pair %d of %d' "$1" "$pair" "$pairs" >&2
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

judge() { awk -F '\t' -v least="$LEAST_PAIRS" -f "$here/verdict.awk" "$1"; }

# ---- counting instructions ----------------------------------------------------------------------------------------------

# compile_counter TREE PROGRAM: this tree's program, over the library of the tree.
compile_counter() {
  c++ -std=c++20 -O2 -I"$1/native/include" -I"$home/native/bench" "$here/instructions.cpp" -o "$2" \
    -L"$1/lci-native-bridge/target/native/lib" -llci -Wl,-rpath,"$1/lci-native-bridge/target/native/lib" 2> "$state/compile.log"
}

# counted PROGRAM ROW COUNT: the instructions of all of it.
counted() {
  timeout $COUNT_TIMEOUT_S valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$2" "$3" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\)$/\1/p' | grep .
}

# instructions PROGRAM ROW: of one message: what three times as many cost more.
instructions() {
  local count=2000 less more
  [[ $2 != bandwidth_1m ]] || count=200
  less=$(counted "$1" "$2" $count) && more=$(counted "$1" "$2" $((3 * count))) || return 1
  awk -v a="$less" -v b="$more" -v n=$((2 * count)) 'BEGIN { printf "%.1f\n", (b - a) / n }'
}

prepare_counting() {
  ((callgrind)) || return 0
  local row native=
  for row in $rows; do ! is_native "$row" || native=1; done
  [[ -n $native ]] || { callgrind=0; return 0; }
  command -v valgrind > /dev/null || cannot "no valgrind here (Debian: valgrind), which counts instructions; or --no-callgrind"
  compile_counter "$home" "$state/instructions-new" || { head -n 5 "$state/compile.log" >&2; cannot "the counter does not compile"; }
  compile_counter "$old" "$state/instructions-old" || {
    say "instructions are not counted: the counter does not compile over $commit; see $state/compile.log"
    callgrind=0
  }
}

# count_row ROW: "old<TAB>new<TAB>ratio" of instructions a message, or dashes.
count_row() {
  local before after
  if ((!callgrind)) || ! is_native "$1"; then
    printf -- '-\t-\t-\n'
    return
  fi
  before=$(instructions "$state/instructions-old" "$1") && after=$(instructions "$state/instructions-new" "$1") ||
    cannot "the instructions of $1 cannot be counted"
  awk -v a="$before" -v b="$after" 'BEGIN { printf "%s\t%s\t%.3f\n", a, b, b / a }'
}
counts_too_many() { [[ $1 != - ]] && awk -v r="$1" -v most=$MOST_INSTRUCTIONS 'BEGIN { exit !(r > most) }'; }

# ---- the answer ---------------------------------------------------------------------------------------------------------

# try_row ROW: sets verdict and table_line. A row is slower by its times, or by its instructions.
try_row() {
  local judged counts count_old count_new count_ratio
  measure_row "$1" "$state/$1.tsv"
  judged=$(judge "$state/$1.tsv") || exit 2
  counts=$(count_row "$1") || exit 2
  IFS=$'\t' read -r count_old count_new count_ratio <<< "$counts"
  verdict=${judged##*$'\t'}
  ! counts_too_many "$count_ratio" || verdict=slower
  table_line=$(printf '%s\t%s\t%s\t%s\t%s' "${judged%$'\t'*}" "$count_old" "$count_new" "$count_ratio" "$verdict")
}

print_table() {
  awk -F '\t' '
    BEGIN {
      format = "%-17s %6s %10s %10s %7s %6s %6s %6s %9s %9s %6s  %s\n"
      printf format, "row", "pairs", "old", "new", "new/old", "below1", "near", "far", "instr old", "instr new", "ratio", ""
    }
    { printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12; starred = starred || $2 ~ /\*/ }
    END {
      print "new/old: above 1 is faster; near, far: the same where a cache line takes under 150 or over 250 ns, - where not seen."
      if (starred) print "*: too few pairs were clearly near or far, so all count."
    }' "$1"
}

main() {
  parse_arguments "$@"
  mkdir -p "$state"
  make_old_tree
  prepare_counting
  local row slower='' verdict table_line
  : > "$state/table.tsv"
  for row in $rows; do
    say "$row"
    try_row "$row"
    if [[ $verdict == slower ]]; then
      say "$row looks slower; once more"
      printf '%s (first)\n' "$table_line" >> "$state/table.tsv"
      try_row "$row"
      [[ $verdict != slower ]] || slower+=" $row"
    fi
    printf '%s\n' "$table_line" >> "$state/table.tsv"
  done
  print_table "$state/table.tsv"
  if [[ -n $slower ]]; then
    echo "slower than $commit, twice:$slower"
    exit 1
  fi
  echo "not slower than $commit"
}

main "$@"
