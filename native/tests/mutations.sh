#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Do the tests notice a fault? For each deliberate fault in the core: the named tests pass without it, and fail with it.
#
#   mutations.sh [--build FOLDER] [NAME...]
#
# FOLDER: a build with LCI_MUTATIONS=ON; without it one is made in a temporary folder. NAME: only these mutations. Every
# mutation in the sources must have a row below, and every row a mutation.
set -euo pipefail

# name | executable | gtest filter | what the fault is
readonly TABLE='
attributes_environment_first | unit   | Attributes.Precedence*                 | the environment beats what was set explicitly
attributes_ignore_unknown    | unit   | Attributes.UnknownEnvironment*         | a misspelt variable is silently ignored
bootstrap_skip_claim         | unit   | *ADuplicateRankIsRefused*              | two processes may be the same rank
bootstrap_skip_fence         | unit   | *GetBeforeTheFenceIsAnError*           | a value is seen before its fence
bootstrap_skip_permissions   | unit   | FileBootstrap.OpenPermissions*         | a job directory that others can read is accepted
counter_lost_update          | stress | CounterStress.*                        | a counter adds with a load and a store
drop_delayed                 | unit   | Chaos.NothingIsLost*                   | a message that chaos held back is never sent
forget_refused               | unit   | Lane.WritableMeans*                    | a sender is told of room when there is none
ignore_credit                | unit   | FlowControl.NeverStoresMore*           | a sender spends credit that it does not have
ignore_death                 | multiprocess | Job.AKilledRank*       | a process that died is taken for a living one
ignore_demand                | unit   | Lane.InboxesAreDrained*                | an inbox gives more than was requested
keep_dead_lease              | unit   | PeerFailure.ADeadHolder*               | what a dead sender had leased never comes back
leak_packet                  | unit   | ActiveMessage.Carries*                 | packets that come back do not reach the pool
lose_return                  | unit   | ActiveMessage.Carries*                 | packets are not given back to their sender
matching_lifo                | unit   | *OneKeyIsFirstInFirstOut*              | equal keys match in the wrong order
matching_no_lock             | stress | *MatchingStress*                       | a bucket is changed without its lock
miss_packets                 | unit   | Lane.ARefusedPacket*                   | who was refused a packet is told of the next one only
pool_skip_put_check          | unit   | PacketPoolDeathTest.*                  | a packet that is put twice is not noticed
pool_steal_copies            | unit   | PacketPool.Steals*                     | a stolen packet stays with its victim as well
post_twice                   | unit   | Lane.PostsAreArrivals*                 | a message is sent twice
queue_overwrite              | unit   | CompletionQueue.Overflow*              | a full queue loses its oldest status
queue_skip_tag               | stress | CompletionQueueStress.EveryStatus*     | a pop takes a cell that is not filled yet
refusal_blocks_all           | unit   | Lane.ARankWithoutDemand*               | one refused key holds up the others of its batch
ring_show_early              | unit   | Ring.AGroupIsVisible*                  | a message is seen before its group is published
signal_any_status            | unit   | Completion.SignalsMustBeFinal          | a retry can be signalled
signal_context_off           | unit   | Handler.GetsStatus*                    | a handler may progress
skip_wake                    | stress | LostWakes.*                            | nobody wakes a parked loop
synchronizer_many_winners    | stress | SynchronizerStress.*                   | two threads take one firing
synchronizer_reset_first     | stress | SynchronizerStress.*                   | a firing is reset before its statuses are copied
synchronizer_silent_overrun  | unit   | Synchronizer.Overrun*                  | a signal too many is dropped without a word
try_lock_always              | unit   | TryLock.*                              | the lock lets everybody in
'
# A fault may show as waiting for ever; without it a busy machine may take its time.
readonly PATIENCE_S=20 SOUND_PATIENCE_S=120

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly here
build=
made=

rows() { grep . <<< "$TABLE"; }
# field NAME NUMBER: a column of the row.
field() { awk -F '|' -v name="$1" -v column="$2" '{ gsub(/^ +| +$/, "", $1); if ($1 == name) { gsub(/^ +| +$/, "", $column); print $column } }' <<< "$TABLE"; }
names() { rows | awk '{ print $1 }' | sort; }
names_in_sources() { grep -rhoE 'LCI_MUTATED\("[a-z_]+"\)' "$here/../src" | sed 's/.*("//; s/")//' | sort -u; }

make_build() {
  build=$(mktemp -d "${TMPDIR:-/tmp}/lci-mutations.XXXXXX")
  made=$build
  { cmake -S "$here/.." -B "$build" -DLCI_MUTATIONS=ON -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$build" -j2 --target lci_unit_tests lci_stress_tests lci_multiprocess_tests; } > "$build/build.log" 2>&1 ||
    { tail -n 20 "$build/build.log" >&2; return 1; }
}
clean_up() { [[ -z $made ]] || rm -rf "$made"; }

# run_tests NAME MUTATION: the tests of the row NAME, under the mutation. Exit code 125: there are none.
run_tests() {
  local executable filter log code=0 patience=$SOUND_PATIENCE_S
  [[ -z $2 ]] || patience=$PATIENCE_S
  executable=$build/lci_$(field "$1" 2)_tests
  filter=$(field "$1" 3)
  log=$build/mutation.log
  # Always the small dose; the shell's own word about an abort is of no interest.
  { LCI_TIER='' LCI_MUTATION=$2 timeout --kill-after=5 "$patience" "$executable" --gtest_filter="$filter" > "$log" 2>&1 < /dev/null; } 2> /dev/null || code=$?
  if ((code == 0)) && ! grep -qE '^\[  PASSED  \] [1-9]' "$log"; then code=125; fi
  return "$code"
}

# judge NAME: prints its line; fails when the tests do not tell the fault from its absence.
judge() {
  local name=$1 code=0 sound
  run_tests "$name" '' || code=$?
  case $code in
    0) ;;
    125) printf '%-29s FAILED  no test is called %s\n' "$name" "$(field "$name" 3)"; return 1 ;;
    *) printf '%-29s FAILED  %s fails without the fault (exit code %d)\n' "$name" "$(field "$name" 3)" "$code"; return 1 ;;
  esac
  run_tests "$name" "$name" || code=$?
  case $code in
    0 | 125) printf '%-29s FAILED  not noticed by %s: %s\n' "$name" "$(field "$name" 3)" "$(field "$name" 4)"; return 1 ;;
    124 | 137) sound="not done in $PATIENCE_S s" ;;
    *) sound="noticed" ;;
  esac
  printf '%-29s ok      %s: %s\n' "$name" "$sound" "$(field "$name" 4)"
}

main() {
  local wanted=() name passed=0 failed=0 difference
  while (($# > 0)); do
    case $1 in
      --build) (($# > 1)) || { echo "--build needs a folder" >&2; exit 2; }; build=$2; shift 2 ;;
      *) wanted+=("$1"); shift ;;
    esac
  done
  difference=$(diff <(names_in_sources) <(names)) || {
    echo "sources (<) and table (>) differ:" >&2
    grep '^[<>]' <<< "$difference" >&2
    exit 1
  }
  trap clean_up EXIT
  [[ -n $build ]] || make_build
  ((${#wanted[@]} > 0)) || mapfile -t wanted < <(names)
  for name in "${wanted[@]}"; do
    [[ -n $(field "$name" 2) ]] || { echo "no such mutation: $name" >&2; exit 2; }
    if judge "$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

main "$@"
