#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a random rank of a k-mer job of three at a random moment, again and again. The other two must end by themselves
# with exit code 4 and one line that names the rank, and nothing may be left: no process, no socket, no job directory.
# Every tenth time the launcher is killed instead, and the next run must sweep what it left.
# Usage: kill.sh COUNT. Environment: LCI_KILL_SEED (default random), LCI_KILL_READS (reads in the input), LCI_JAVA_OPTS.
# shellcheck source=common.sh disable=SC2154 # common.sh sets lci, home, folder and the counts
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly RANKS=3
readonly COUNT=${1:?usage: kill.sh COUNT}
readonly SEED=${LCI_KILL_SEED:-$RANDOM}
readonly LAUNCHER_EVERY=10
export LCI_ATTR_BOOTSTRAP_TIMEOUT_MS=${LCI_ATTR_BOOTSTRAP_TIMEOUT_MS:-3000}
readonly jobs=$folder/jobs ranks=$folder/ranks
RANDOM=$SEED

# The program of a rank: the job, with its number and its exit code in files.
write_rank_program() {
  cat > "$folder/rank" << EOF
#!/bin/sh
"$java" ${LCI_JAVA_OPTS:-} -XX:TieredStopAtLevel=1 -Xmx256m -cp "$classpath" \\
  io.lci.samples.kmer.KmerCount --canonical --histogram "$folder/histogram" "$folder/reads.fq" \\
  2> "$ranks/err.\$LCI_RANK" < /dev/null &
echo \$! > "$ranks/pid.\$LCI_RANK.part" && mv "$ranks/pid.\$LCI_RANK.part" "$ranks/pid.\$LCI_RANK"
wait \$!
code=\$?
echo \$code > "$ranks/exit.\$LCI_RANK"
exit \$code
EOF
  chmod +x "$folder/rank"
}

# start_job: in the background; sets launcher.
start_job() {
  rm -rf "$ranks" && mkdir -p "$ranks"
  rm -f "$folder/histogram"
  "$lci" run -n $RANKS --grace "$DEADLINE_S" --dir "$jobs" "$folder/rank" > "$folder/out" 2> "$folder/err" < /dev/null &
  launcher=$!
}

all_started() { [[ $(find "$ranks" -name 'pid.?' | wc -l) == "$RANKS" ]]; }
is_gone() { [[ ! -d /proc/$1 || $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null) == Z ]]; }

# within MS CONDITION...: waits until the command succeeds.
within() {
  local end=$(($(now_ms) + $1))
  shift
  until "$@"; do
    (($(now_ms) < end)) || return 1
    sleep 0.01
  done
}

end_by_force() {
  local pid
  for pid in "$launcher" $(cat "$ranks"/pid.? 2> /dev/null); do
    kill -9 "$pid" 2> /dev/null
  done
  wait "$launcher" 2> /dev/null
}

# nothing_left JOB: no process of the job lives and its name is on no socket.
nothing_left() {
  local pid
  for pid in $(cat "$ranks"/pid.?); do
    within 5000 is_gone "$pid" || { echo "process $pid is left"; return 1; }
  done
  [[ -z $1 ]] || ! grep -q "$1" /proc/net/unix || { echo "a socket of job $1 is left"; return 1; }
}

# never_joined VICTIM: it was killed before the others had heard of it. They waited in vain, and one of them says for whom.
never_joined() {
  [[ $(sort -u "$ranks"/exit.? | tr '\n' ' ') =~ ^1\ (137\ )?$ ]] && grep -qE "^kmer: create runtime: .*(missing|reach|in vain for) .*$1" "$ranks"/err.?
}

# survivors_named VICTIM: every other rank ended with code 4 and names the victim in one line.
survivors_named() {
  local rank
  if never_joined "$1"; then early=1; return; fi
  for ((rank = 0; rank < RANKS; rank++)); do
    ((rank == $1)) && continue
    [[ $(cat "$ranks/exit.$rank" 2> /dev/null) == 4 ]] ||
      { echo "rank $rank ended with $(cat "$ranks/exit.$rank" 2> /dev/null || echo nothing); rank $1 was killed: $(tail -n 3 "$ranks"/err.?)"; return 1; }
    [[ $(grep -c "^kmer: .*rank $1" "$ranks/err.$rank") == 1 ]] || { echo "rank $rank does not name rank $1: $(cat "$ranks/err.$rank")"; return 1; }
  done
}

# kill_once NUMBER MOMENT VICTIM: 0 passed, 1 failed (the reason is printed), 2 the job was done before.
kill_once() {
  local number=$1 moment=$2 victim=$3 start pid job target
  start_job
  within 30000 all_started || { end_by_force; echo "the job did not start: $(tail -n 2 "$folder/err")"; return 1; }
  job=$(cat "$jobs"/*/job 2> /dev/null)
  sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
  pid=$(cat "$ranks/pid.$victim")
  target=$pid
  ((number % LAUNCHER_EVERY != 0)) || target=$launcher
  # The launcher may not have reaped what ended by itself, so ask for the exit codes first.
  if compgen -G "$ranks/exit.?" > /dev/null || ! kill -9 "$target" 2> /dev/null; then
    wait "$launcher"
    return 2
  fi
  start=$(now_ms)
  within $((DEADLINE_S * 1000)) is_gone "$launcher" || { end_by_force; echo "not over within $DEADLINE_S s"; return 1; }
  wait "$launcher" 2> /dev/null
  took=$(($(now_ms) - start))
  nothing_left "$job" || return 1
  [[ ! -e $folder/histogram ]] || { [[ $(cat "$ranks"/exit.* | sort -u) == *0* ]] && return 2; echo "a histogram was written"; return 1; }
  ((number % LAUNCHER_EVERY == 0)) || survivors_named "$victim"
}

# swept: after a whole run, no job directory is left of any before.
swept() {
  start_job
  wait "$launcher" || { echo "the last run failed: $(tail -n 3 "$folder/err" "$ranks"/err.?)"; return 1; }
  [[ -z $(ls -A "$jobs") ]] || { echo "left: $(ls "$jobs")"; return 1; }
}

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
classpath=${LCI_CLASSPATH:-$home/samples/target/samples.jar:$home/samples/target/lib/*}
mkdir -p "$jobs" && chmod 700 "$jobs"
simulate --random-genome 200000 --reads "${LCI_KILL_READS:-200000}" -o "$folder/reads.fq" || die "cannot simulate reads"
write_rank_program
swept || die "the job does not work undisturbed"
begin=$(now_ms)
start_job
within 30000 all_started
begin=$(now_ms)
wait "$launcher"
whole=$(($(now_ms) - begin))
echo "seed $SEED; an undisturbed job takes $whole ms"

slowest=0 late=0 unborn=0 number=1
while ((number <= COUNT && failed == 0 && late <= 2 * COUNT)); do
  moment=$((RANDOM * whole / 32768)) victim=$((RANDOM % RANKS))
  took=0 early=0
  reason=$(kill_once "$number" "$moment" "$victim"; code=$?; echo "code $code $took $early")
  read -r _ code took early <<< "$(tail -n 1 <<< "$reason")"
  case $code in
    0)
      passed=$((passed + 1)) unborn=$((unborn + early))
      ((early == 1 || took <= slowest)) || slowest=$took
      ;;
    2) late=$((late + 1)); continue ;;
    *) fail "kill $number after $moment ms, seed $SEED: $(head -n -1 <<< "$reason")" ;;
  esac
  number=$((number + 1))
done
((late <= 2 * COUNT)) || fail "the job was done before the kill too often"
if reason=$(swept); then pass "the next run works and leaves no job directory"; else fail "$reason"; fi
echo "slowest end of the others: $slowest ms; $unborn ranks were killed before they had joined; $late kills came too late and were repeated"
finish
