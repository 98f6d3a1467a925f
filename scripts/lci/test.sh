# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci test.

usage_test() {
  cat << EOF
Usage: ./lci test [quick|SUITE|soak [PART]]

Builds, installs the modules, and runs the suites: all in small doses, or the fast ones, or one, or parts of the soak, which
has the full figures and takes hours. Logs are in .lci/logs. The suites, with tiers, what may run beside them (any other one, any
but one that calls Maven, too, or none) and deadline in seconds:
$SUITES
Parts of the soak:
$SOAK_PARTS
EOF
}

cmd_test() {
  (($# <= 1)) || [[ $1 == soak && $# == 2 ]] ||
    misused "test takes one suite, or soak and one part; see ./lci test --help"
  case ${1:-test} in
    test | quick) test_tier "${1:-test}" ;;
    soak) test_soak "${2:-}" ;;
    *) test_one "$1" ;;
  esac
}

# test_one NAME: a suite alone; what the last run of all proved stays as it is.
test_one() {
  local deadline
  deadline=$(awk -v name="$1" '$1 == name { print $4 }' <<< "$SUITES")
  [[ -n $deadline ]] || misused "test what? nothing, quick, a suite, or soak [PART]; see ./lci test --help"
  export LCI_TIER=test
  build_and_install
  test_suite "$1" "suite_$1" "$deadline" "$state/logs/$1.log"
}

test_tier() {
  local tier=$1 both=() name passed=0 failures=() start=$SECONDS
  export LCI_TIER=$tier
  need_tools
  mkdir -p "$state/logs"
  trap 'stop_running; exit 130' INT TERM
  trap stop_running EXIT # if the build fails
  build_ahead "$tier" # much of what Maven does keeps one processor busy
  build_and_install
  rm -rf "$results" && mkdir -p "$results"
  source_hash > "$results.stamp"
  printf 'suite\tseconds\tof processors\n' > "$state/logs/times.tsv"
  rm -rf "$begun" && mkdir -p "$begun"
  test_in_turn "$tier" 'any|maven' & both+=($!)
  test_in_turn "$tier" 'any|maven' & both+=($!)
  wait "${both[@]}" || true # what became of the suites is in $results
  test_in_turn "$tier" none
  stop_running
  echo "tier $tier: $((SECONDS - start)) s; suites:"
  # Once more at the end, where it is seen.
  for name in $(suites_of "$tier" | cut -d ' ' -f 1); do
    if [[ $(cat "$results/$name" 2> /dev/null) == passed ]]; then
      passed=$((passed + 1))
    else
      failures+=("$name")
      echo "$name failed:"
      what_failed "$state/logs/$name.log"
    fi
  done
  echo "$passed passed, ${#failures[@]} failed"
  ((${#failures[@]} == 0))
}

# suites_of TIER: name, deadline and what may run beside it, of each, a line each.
suites_of() {
  awk -v tier="$1" 'index("," $2 ",", "," tier ",") { print $1, $4, $3 }' <<< "$SUITES"
}

# test_in_turn TIER KINDS: suites of these kinds, one after the other, until none is left that may begin.
test_in_turn() {
  local name deadline kind
  while begin_suite "$1" "$2"; do
    if test_suite "$name" "suite_$name" "$deadline" "$state/logs/$name.log"; then
      echo passed > "$results/$name"
    else
      echo failed > "$results/$name"
    fi
    [[ $kind != maven ]] || rm "$begun/calls-maven"
  done
}

# begin_suite TIER KINDS: sets name, deadline and kind to the first suite that nobody has begun and that may begin now.
begin_suite() {
  {
    flock 5
    while read -r name deadline kind; do
      [[ $kind =~ ^($2)$ && ! -e $begun/suite-$name ]] || continue
      [[ $kind != maven || ! -e $begun/calls-maven ]] || continue
      touch "$begun/suite-$name"
      [[ $kind != maven ]] || touch "$begun/calls-maven"
      return
    done < <(suites_of "$1")
    return 1
  } 5> "$begun/lock"
}

test_soak() {
  local wanted=${1:-} name deadline description passed=0 failed=0
  export LCI_TIER=soak
  [[ -z $wanted ]] || grep -q "^$wanted " <<< "$SOAK_PARTS" ||
    misused "no such part: $wanted; see ./lci test --help"
  build_and_install
  while read -r name deadline description; do
    [[ -z $wanted || $name == "$wanted" ]] || continue
    if soak_part "$name" "$deadline"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done < <(grep . <<< "$SOAK_PARTS")
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

# run_suite FUNCTION DEADLINE LOG: in a process group of its own, so that the deadline ends all of it. In the background,
# for a shell acts on Ctrl-C at once only while it waits. What the suite says by `progress` is seen at once.
run_suite() {
  LCI_PROGRESS=7 timeout --kill-after=20 "$2" "$home/lci" --suite "$1" 7>&2 > "$3" 2>&1 < /dev/null &
  trap 'stop_running; exit 130' INT TERM
  wait $!
}

# build_ahead TIER: begins with the builds that its suites need. In a process group of its own, as a suite.
build_ahead() {
  timeout --kill-after=20 3600 nice -n 19 "$home/lci" --suite "build_ahead_$1" > "$state/logs/builds.log" 2>&1 < /dev/null &
}

# Ends what runs beside this process.
stop_running() {
  local pids
  read -ra pids <<< "$(jobs -rp | tr '\n' ' ')"
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2> /dev/null || true
}

# The line of a log that says how many tests ran; of Maven, which has one for each module and run, the sums.
summary_line() {
  grep -aE '^SKIPPED: no JDK|^[0-9]+ passed, [0-9]+ failed|^[0-9]+% tests passed|Tests run: [0-9]+, Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+$' "$1" |
    sed 's/^\[[A-Z]*\] *//' | awk '
      { last = $0 }
      /^Tests run: / { run += $3; failures += $5; errors += $7; skipped += $9 }
      END { if (last !~ /^Tests run: /) print last
            else printf "Tests run: %d, Failures: %d, Errors: %d, Skipped: %d\n", run, failures, errors, skipped }'
}

# absent_peers LOG: with whom the log says that nothing was compared, as they are not installed.
absent_peers() { sed -n 's/^lci bench: \(no .* here (Debian: .*)\)$/    \1/p' "$1" | sort -u; }

# still_compiling LOG: says so if that was the last that it told. [CMake, Maven]
still_compiling() {
  local last
  last=$(grep -av '^[[:space:]]*$' "$1" | tail -n 1)
  [[ $last != "$BUILD_AHEAD"* ]] || last=$(tail -n 1 "$state/logs/builds.log")
  if [[ $last =~ ^\[\ *([0-9]+%)\]\ (Building|Linking|Built) ]]; then
    echo ", still compiling: ${BASH_REMATCH[1]}; the next run goes on from there"
  elif [[ $last == *'Compiling '*' source file'* ]]; then
    echo ", still compiling; the next run goes on from there"
  fi
}

# processor_time: sets used to the seconds that the processes took which have ended.
processor_time() {
  local file=$state/logs/times.$BASHPID
  times > "$file" # here, for a subshell has no children
  used=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$file")
  rm -f "$file"
}

# test_suite NAME FUNCTION DEADLINE LOG: runs it and prints one line, and who was absent; the log's end if it failed. What it took,
# by the clock and of the processors, goes to .lci/logs/times.tsv.
test_suite() {
  local name=$1 log=$4 start=$SECONDS code=0 used before
  processor_time
  before=$used
  run_suite "$2" "$3" "$log" || code=$?
  local took=$((SECONDS - start)) result=ok
  processor_time
  printf '%s\t%d\t%d\n' "$name" "$took" $((used - before)) >> "$state/logs/times.tsv"
  ((code == 0)) || result=FAILED
  if ((code == 124 || code == 137)); then
    result="FAILED (not done in $3 s$(still_compiling "$log"))"
    printf '\nFATAL: not done in %d s\n' "$3" >> "$log"
  fi
  {
    flock 6 # a suite beside this one has its lines before or after these
    printf '%-14s %-8s %5d s  %s\n' "$name" "$result" "$took" "$(summary_line "$log")"
    absent_peers "$log"
    ((code == 0)) || { echo "---- the end of ${log#"$home/"}"; tail -n 60 "$log"; echo "----"; }
  } 6> "$state/logs/lines.lock"
  return "$code"
}

# what_failed LOG: its lines that name failed tests and say what was expected, or else its last ones. [ctest, GoogleTest,
# surefire]
what_failed() {
  local lines
  lines=$(awk '/: Failure$/ { more = 6 }
    more-- > 0 || /^[ \t]+[0-9]+ - .*\)$/ || /^\[ERROR\]   ?[A-Za-z]/ || /ERROR: [A-Za-z]+Sanitizer/ || /FATAL:/' "$1" |
    head -n 20)
  cut -c 1-200 <<< "${lines:-$(tail -n 5 "$1")}" | sed 's/^[[:space:]]*/  /'
}

# The commit, or one that says that the tree was changed: results belong to one state of the sources.
soak_commit() {
  local commit
  commit=$(git -C "$home" rev-parse --short=12 HEAD)
  [[ -z $(git -C "$home" status --porcelain) ]] || commit+=-changed
  echo "$commit"
}

soak_part() {
  local name=$1 deadline=$2 folder build code=0 start
  folder=$state/soak/$(soak_commit)
  mkdir -p "$folder"
  build=$(soak_build "$name")
  [[ -z $build ]] || run_suite "$build" 7200 "$state/logs/builds.log" || code=$?
  if ((code != 0)); then
    tail -n 20 "$state/logs/builds.log"
    return "$code"
  fi
  start=$SECONDS
  test_suite "$name" "soak_$name" "$deadline" "$folder/$name.log" || code=$?
  printf '%s\t%s\t%d\t%s\t%s\n' "$name" "$( ((code == 0)) && echo passed || echo FAILED)" $((SECONDS - start)) \
    "$(date -u +%F)" "$(summary_line "$folder/$name.log")" > "$folder/$name.result"
  return "$code"
}
