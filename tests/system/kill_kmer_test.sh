#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# kill -9 of a random rank of a k-mer job of three at a random moment, while it joins, works or leaves: the other two end
# by themselves with exit code 4 and one line that names the rank, before the deadline; nothing is left, and there is no
# histogram. Every tenth time the launcher is killed instead, and the next run sweeps what it left.
# Usage: LCI=./lci kill_kmer_test.sh ROUNDS
# Seed of the random moments: LCI_KILL_SEED, else a random one, which is printed.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${LCI:?path of the lci tool} rounds=${1:?number of rounds}
readonly RANKS=3 LAUNCHER_EVERY=10 PEER_DIED=4
seed=${LCI_KILL_SEED:-$RANDOM}
RANDOM=$seed
# Who waits in vain for a rank that was killed before it joined need not wait long, but for one that a busy machine is slow to start.
export LCI_ATTR_BOOTSTRAP_TIMEOUT_MS=10000
LCI_JAVA_OPTS="-Xmx256m ${LCI_JAVA_OPTS:-}"
export LCI_JAVA_OPTS

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# start_job: three ranks in the background; sets launcher. A rank's process number and exit code come in files.
start_job() {
  rm -rf "$dir/ranks" "$dir/histogram" && mkdir -p "$dir/ranks"
  RANKS_FOLDER=$dir/ranks "$lci" run -n $RANKS --grace "$DEADLINE_S" --dir "$dir/jobs" "$here/kill_kmer_rank.sh" \
    --canonical --histogram "$dir/histogram" "$dir/reads.fq" > "$dir/out" 2> "$dir/err" < /dev/null &
  launcher=$!
}

all_started() { [[ $(find "$dir/ranks" -name 'pid.?' | wc -l) == "$RANKS" ]]; }
exit_code() { cat "$dir/ranks/exit.$1" 2> /dev/null; }
any_ended() { compgen -G "$dir/ranks/exit.?" > /dev/null; }

# never_joined VICTIM: it was killed before the others had heard of it. They waited in vain, and say for whom.
never_joined() {
  [[ $(sort -u "$dir"/ranks/exit.? | tr '\n' ' ') =~ ^1\ (137\ )?$ ]] &&
    [[ $(grep -lE "^kmer: create runtime rank $1: error_timeout" "$dir"/ranks/err.? | wc -l) == $((RANKS - 1)) ]]
}

others_named() {
  local victim=$1 rank
  if never_joined "$victim"; then unborn=$((unborn + 1)); return; fi
  for ((rank = 0; rank < RANKS; rank++)); do
    ((rank != victim)) || continue
    equal "$(exit_code $rank)" $PEER_DIED "rank $rank; $about; $(tail -n 3 "$dir"/ranks/err.?)"
    equal "$(grep -c "^kmer: .*rank $victim" "$dir/ranks/err.$rank")" 1 "$about; $(cat "$dir/ranks/err.$rank")"
  done
}

nothing_left() {
  local pid
  for pid in $(cat "$dir"/ranks/pid.?); do within is_gone "$pid"; done
  [[ -z $1 ]] || ! grep -q "$1" /proc/net/unix || fail "a socket of job $1 is left; $about"
}

# one_kill ROUND MOMENT VICTIM: 1 if the job was done before.
one_kill() {
  local round=$1 moment=$2 victim=$3 start job target
  local about="round $round, victim $victim after $moment ms"
  start_job
  # shellcheck disable=SC2064  # this launcher; its ranks go with it
  trap "kill -9 $launcher 2> /dev/null" EXIT
  within all_started
  job=$(cat "$dir"/jobs/*/job 2> /dev/null)
  sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
  target=$(cat "$dir/ranks/pid.$victim")
  # Disowned, so that the shell does not report its violent end.
  ((round % LAUNCHER_EVERY != 0)) || { target=$launcher; disown "$launcher"; }
  if any_ended || ! kill -9 "$target" 2> /dev/null; then
    wait "$launcher"
    return 1
  fi
  start=$(now_ms)
  within is_gone "$launcher"
  wait "$launcher" 2> /dev/null
  took_ms=$(($(now_ms) - start))
  nothing_left "$job"
  if [[ -e $dir/histogram ]]; then
    sort -u "$dir"/ranks/exit.? | grep -qx 0 || fail "a histogram was written; $about"
    return 1
  fi
  ((round % LAUNCHER_EVERY == 0)) || others_named "$victim"
}

# whole_run: sets whole_ms; no job directory is left of this run nor of any before.
whole_run() {
  local start
  start_job
  within all_started
  start=$(now_ms)
  wait "$launcher" || fail "an undisturbed run failed: $(tail -n 3 "$dir/err" "$dir"/ranks/err.?)"
  whole_ms=$(($(now_ms) - start))
  is_empty "$dir/jobs" || fail "left: $(ls "$dir/jobs")"
}

test_kills() {
  local round=1 late=0 unborn=0 longest_ms=0 took_ms whole_ms
  mkdir -m 700 "$dir/jobs"
  "$lci" run -n 1 simulate-reads --random-genome 200000 --reads 200000 -o "$dir/reads.fq" > "$dir/out" 2>&1 < /dev/null ||
    fail "cannot simulate reads: $(cat "$dir/out")"
  whole_run
  echo "seed $seed; replay with LCI_KILL_SEED=$seed; an undisturbed job takes $whole_ms ms"
  while ((round <= rounds)); do
    if one_kill "$round" $((RANDOM * whole_ms / 32768)) $((RANDOM % RANKS)); then
      ((took_ms <= longest_ms)) || longest_ms=$took_ms
      round=$((round + 1))
    else
      late=$((late + 1))
      ((late <= 10 + 2 * rounds)) || fail "the job was done before the kill too often"
    fi
    trap - EXIT
  done
  whole_run
  echo "$rounds kills: the others had ended after $longest_ms ms at most; $unborn ranks were killed before they had joined;" \
    "$late kills came too late and were repeated"
}

run_tests
