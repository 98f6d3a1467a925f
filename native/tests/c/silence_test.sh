#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two hosts, which are network namespaces, of two ranks each: a link that goes down is a death to both sides, a process
# that is stopped is none, whatever waits for it.
#   silence_test.sh LCI_RUN SILENCE_JOB
set -u
readonly run=${1:?} job=${2:?} name=lci-silence-$$
if [[ $(id -u) != 0 ]] || ! ip netns add "$name-a" 2> /dev/null; then
  echo "SKIPPED: a link that goes down, for this may not make network namespaces"
  exit 0
fi
trap 'ip netns del "$name-a"; ip netns del "$name-b"; rm -f "$out"' EXIT
out=$(mktemp)
ip netns add "$name-b"
ip -n "$name-a" link add up0 type veth peer name up0 netns "$name-b" || exit 1
for side in a b; do
  ip -n "$name-$side" addr add "10.68.0.$([[ $side == a ]] && echo 1 || echo 2)/24" dev up0
  ip -n "$name-$side" link set lo up
  ip -n "$name-$side" link set up0 up
done
export LCI_ATTR_NET_DEAD_MS=1000 LCI_ATTR_NET_RECONNECT_MS=300

# start MODE: four ranks.
start() {
  "$run" --hosts "$name-a,$name-b" --root 10.68.0.1 --launch-agent 'ip netns exec {}' -n 4 "$job" "$1" > "$out" 2>&1 < /dev/null &
  launcher=$!
}
# says COUNT WORD: within a minute so many ranks have.
says() {
  for _ in {1..600}; do
    (($(grep -c "$2" "$out") == $1)) && return 0
    kill -0 "$launcher" 2> /dev/null || break
    sleep 0.1
  done
  (($(grep -c "$2" "$out") == $1))
}
fail() {
  echo "$1"
  cat "$out"
  kill "$launcher" 2> /dev/null
  exit 1
}

start stop
wait "$launcher" || fail "a rank that is stopped"
start cut
says 4 ready || fail "no start"
ip -n "$name-b" link set up0 down
says 4 knows || fail "a link that is down"
wait "$launcher" || fail "the end of the job"
echo "a stopped rank lived, and each half named the other"
