#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets dir and work
# Jobs on several hosts, which are network namespaces, while the network between them and the ranks are disturbed: who is
# dead is named, who lives is not, nothing is lost.
#   net_test.sh FOLDER      with lci_net_lab, net_job, net_eavesdropper and net_stranger
# How often and how long, by environment: LCI_NET_KILLS, LCI_NET_FAULTS (of each kind, idle and busy in turn), LCI_NET_STOP_S,
# LCI_NET_RESET_S, LCI_NET_CUT_S (after each of the halves has named the other one), LCI_NET_STRANGERS_S (twice with them, twice
# without), LCI_NET_STRANGERS_RATE (the least part of the rate that strangers leave; else it is printed alone).
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
readonly lab=${1:?}/lci_net_lab job=$1/net_job eavesdropper=$1/net_eavesdropper stranger=$1/net_stranger
readonly kills=${LCI_NET_KILLS:-50} faults=${LCI_NET_FAULTS:-2} stop_s=${LCI_NET_STOP_S:-10} reset_s=${LCI_NET_RESET_S:-20}
readonly cut_s=${LCI_NET_CUT_S:-1} strangers_s=${LCI_NET_STRANGERS_S:-2}
readonly host=lci-net-$$

if [[ $(id -u) != 0 || ! -c /dev/net/tun ]] || ! ip netns add "$host-1" 2> /dev/null; then
  echo "SKIPPED: hosts over a network that is disturbed, which need root, network namespaces and /dev/net/tun"
  exit 0
fi
ip netns del "$host-1"

# What counts as silent, for all but the resets.
export LCI_ATTR_NET_DEAD_MS=2000 LCI_ATTR_NET_RECONNECT_MS=300 LCI_ATTR_PACKETS=128

# hosts_up N [OPTION VALUE]...: hosts 1 to N, joined as lci_net_lab treats them; down at the end of the test.
hosts_up() {
  local number names=()
  hosts=$1
  shift
  trap hosts_down EXIT
  for ((number = 1; number <= hosts; number++)); do
    ip netns add "$host-$number" || return
    names+=("$host-$number")
  done
  mkfifo "$dir/commands" && : > "$dir/network" || return
  "$lab" "$@" "${names[@]}" > "$dir/network" 2>&1 <> "$dir/commands" &
  network=$!
  within grep -qx up "$dir/network"
  for ((number = 1; number <= hosts; number++)); do
    ip -n "$host-$number" addr add "10.67.0.$number/24" dev lab0 || return
    ip -n "$host-$number" link set lo up
    ip -n "$host-$number" link set lab0 up
  done
  head -c 32 /dev/urandom > "$dir/secret"
  chmod 600 "$dir/secret"
}
hosts_down() {
  local number rank
  for rank in "${!ranks[@]}"; do kill -9 "${ranks[$rank]}" 2> /dev/null; done
  kill "$network" $ear 2> /dev/null
  wait 2> /dev/null
  for ((number = 1; number <= hosts; number++)); do ip netns del "$host-$number"; done
}
# tell COMMAND FROM TO: to the network.
tell() { echo "$*" > "$dir/commands"; }
# cut ONE OTHER: nothing goes between two hosts.
cut() { tell drop "$1" "$2" && tell drop "$2" "$1"; }

ear=
# eavesdrop: on host 1, of whose connections all bytes go to $dir/heard, until hear_no_more.
eavesdrop() {
  : > "$dir/ear"
  ip netns exec "$host-1" "$eavesdropper" "$dir/heard" > "$dir/ear" 2>&1 &
  ear=$!
  within grep -qx listens "$dir/ear"
}
hear_no_more() {
  kill "$ear"
  wait "$ear" || lost "nobody listened: $(< "$dir/ear")"
  ear=
}

# start "HOST..." ARGUMENT...: a job with a rank on each of these hosts, which has said that it is ready.
start() {
  local on=() rank
  read -ra on <<< "$1"
  shift
  ranks=()
  rm -f "$dir"/out.*
  for rank in "${!on[@]}"; do
    (
      cd "$dir" || exit
      export LCI_RANK=$rank LCI_SIZE=${#on[@]} LCI_ROOT=10.67.0.1:4711 LCI_SECRET_FILE=$dir/secret
      exec ip netns exec "$host-${on[$rank]}" "$job" "$@"
    ) > "$dir/out.$rank" 2>&1 < /dev/null &
    ranks[rank]=$!
  done
}
# await WHAT CONDITION...: waits until the command succeeds; else that is what is lost.
await() {
  local what=$1 end=$((SECONDS + DEADLINE_S + cut_s))
  shift
  until "$@"; do
    ((SECONDS < end)) || lost "$what"
    sleep 0.02
  done
}
all_say() { (($(cat "$dir"/out.* 2> /dev/null | grep -c "^$2") == $1)); }
# says COUNT WORD: so many ranks do.
says() { await "not $1 ranks say '$2'" all_say "$@"; }
lost() {
  tail -n 5 "$dir"/out.* "$dir/network" >&2
  fail "$1"
}
# ends RANK [CODE]: a rank does, with that exit code.
ends() {
  local code=0
  wait "${ranks[$1]}" || code=$?
  ((code == ${2:-0})) || lost "rank $1 ends with $code, not ${2:-0}"
}
all_end() {
  local rank
  for rank in "${!ranks[@]}"; do ends "$rank"; done
}
# mode NUMBER: idle and busy in turn.
mode() { (($1 % 2)) && echo idle; }

# named FIRST LAST SINCE: the other ranks end, after they have named these; how long that took goes into a list.
named() {
  local rank at
  for rank in "${!ranks[@]}"; do
    ((rank >= $1 && rank <= $2)) && continue
    ends "$rank"
    at=$(sed -n 's/^knows //p' "$dir/out.$rank")
    echo "$(((at - $3) / 1000000))" >> "$work/named"
  done
}
# kill_ranks FIRST LAST: at once; what bash has to say of it is no news.
kill_ranks() {
  local victims=("${ranks[@]:$1:$2 - $1 + 1}")
  kill -9 "${victims[@]}"
  wait "${victims[@]}"
} 2> /dev/null
# report WHAT: of the list.
report() {
  sort -n "$work/named" | awk -v what="$1" '{ ms[NR] = $1 }
    END { printf "%s: named after %d ms in the middle, %d ms at most\n", what, ms[int((NR + 1) / 2)], ms[NR] }'
  rm "$work/named"
}

test_a_rank_that_is_killed_is_named_by_all() {
  hosts_up 2
  local i victim since
  RANDOM=${LCI_SEED:-1}
  for ((i = 0; i < kills; i++)); do
    victim=$((RANDOM % 4))
    # shellcheck disable=SC2046  # a word or none
    start "1 1 2 2" deaths $victim $victim $(mode $i)
    says 4 ready
    sleep "0.$(printf %03d $((RANDOM % 200)))"
    since=$(date +%s%N)
    kill_ranks $victim $victim
    named $victim $victim "$since"
    ((i % 50 != 49)) || progress "$((i + 1)) of $kills kills"
  done
  report "$kills kills"
}

test_a_host_of_8_ranks_that_is_lost_is_named_by_all() {
  hosts_up 2
  local i rank since
  for ((i = 0; i < faults; i++)); do
    # shellcheck disable=SC2046
    start "1 1 2 2 2 2 2 2 2 2" deaths 2 9 $(mode $i)
    says 10 ready
    since=$(date +%s%N)
    cut 1 2
    kill_ranks 2 9
    named 2 9 "$since"
    tell pass 1 2
    tell pass 2 1
  done
  report "$faults losses of a host"
}

# separates COMMAND...: after it each half names the other one, and goes on, also when the network is whole again.
separates() {
  local i
  for ((i = 0; i < faults; i++)); do
    # shellcheck disable=SC2046
    start "1 1 2 2" halves $((cut_s + 1)) $(mode $i)
    says 4 ready
    "$@"
    says 4 knows
    sleep "$cut_s"
    ip -n "$host-2" link set lab0 up
    tell pass 1 2
    tell pass 2 1
    all_end
  done
}
test_what_nothing_goes_through_separates() { hosts_up 2 && separates cut 1 2; }
test_what_loses_everything_one_way_separates() { hosts_up 2 && separates tell drop 2 1; }
test_a_link_that_is_down_separates() { hosts_up 2 && separates ip -n "$host-2" link set lab0 down; }

# one_has_ended: sets fenced to the rank that has.
one_has_ended() {
  for fenced in "${!ranks[@]}"; do ! is_gone "${ranks[$fenced]}" || return 0; done
  return 1
}
# Two of three ranks do not reach each other: the third one believes the first that says so, and tells the other.
test_one_broken_path_costs_one_rank_which_hears_so() {
  hosts_up 3
  local i rank fenced
  for ((i = 0; i < faults; i++)); do
    rm -f "$dir/end"
    # shellcheck disable=SC2046
    start "1 2 3" fence $(mode $i)
    says 3 ready
    cut 1 2
    await "nobody is fenced" one_has_ended
    ends "$fenced" 74
    [[ $fenced != 2 ]] || lost "the rank that both reach is fenced"
    : > "$dir/end"
    for rank in 0 1 2; do ((rank == fenced)) || ends "$rank"; done
    tell pass 1 2
    tell pass 2 1
  done
}

test_a_rank_that_is_stopped_is_not_dead() {
  hosts_up 2
  start "1 1 2 2" stop "$stop_s"
  all_end
}

# ledger_of SECONDS: of four ranks.
ledger_of() {
  start "1 1 2 2" ledger "$1"
  all_end
  grep -h '^ledger' "$dir"/out.*
}
test_resets_lose_nothing_and_double_nothing() {
  hosts_up 2 --reset-ms 1000
  LCI_ATTR_NET_DEAD_MS=10000 LCI_ATTR_NET_RECONNECT_MS=2000 ledger_of "$reset_s" > "$dir/ledger"
  kill "$network"
  wait "$network"
  contains "$(< "$dir/network")" " reset"
  local resumed
  resumed=$(awk '{ sum += $6 } END { print sum }' "$dir/ledger")
  ((resumed >= reset_s / 2)) || lost "connections were resumed $resumed times in $reset_s s"
  awk -v s="$reset_s" '{ messages += $2; additions += $4; resumed += $6 }
    END { printf "%d s with a reset a second: %d messages, %d additions, %d links resumed\n", s, messages, additions, resumed }' "$dir/ledger"
}
# As if something between the hosts had forgotten the connections: new ones work.
test_connections_that_carry_nothing_any_more_are_opened_anew() {
  hosts_up 2 --delay-us 0
  start "1 1 2 2" ledger 10
  says 4 ready
  sleep 1
  tell lose 1 2
  tell lose 2 1
  all_end
  (($(awk '/^ledger/ { sum += $6 } END { print sum }' "$dir"/out.*) > 0)) || lost "nothing was resumed"
}
# refuses ADDRESS WHY: the ranks say so of the stranger from there, once.
refuses() {
  local lines
  lines=$(cat "$dir"/out.* | grep -F "refused a connection from $1: ")
  (($(grep -c . <<< "$lines") == 1)) || lost "not one line of the stranger from $1: $lines"
  contains "$lines" "$2"
}
# what_strangers_cost: the part of the rate that they leave, kilobytes and descriptors that they add at most, of any rank.
what_strangers_cost() {
  awk '
    FILENAME ~ /strangers$/ { begins[++windows] = $2; kind[windows] = $1; next }
    FNR == 1 { ++rank; window = 1 }
    $1 == "at" && $2 >= begins[1] && $2 < begins[windows] {
      while (window < windows - 1 && $2 >= begins[window + 1]) { ++window; first = 0 }
      if (!first || last_rank != rank) { first = $2; came = $3 }
      last_rank = rank
      messages[rank, window] = $3 - came
      seconds[rank, window] = ($2 - first) / 1e9
      if ($4 > kib[rank, kind[window]]) kib[rank, kind[window]] = $4
      if ($5 > files[rank, kind[window]]) files[rank, kind[window]] = $5
    }
    END {
      for (key in messages) {
        split(key, part, SUBSEP)
        if (seconds[key] > 0) rate[kind[part[2]]] += messages[key] / seconds[key]
      }
      for (i = 1; i <= rank; ++i) {
        more = kib[i, "strangers"] - kib[i, "calm"]
        if (more > most_kib) most_kib = more
        more = files[i, "strangers"] - files[i, "calm"]
        if (more > most_files) most_files = more
      }
      printf "%.3f %d %d\n", rate["strangers"] / rate["calm"], most_kib, most_files
    }' "$dir/strangers" "$dir"/out.*
}
test_strangers_are_refused_and_cost_little() {
  local rate kib files address port hello proof
  hosts_up 2
  eavesdrop
  start "1 1 2 2" ledger $((4 * strangers_s + 2))
  says 4 ready
  within grep -q ^greeting "$dir/ear"
  read -r _ address port hello proof < <(grep ^greeting "$dir/ear")
  hear_no_more
  ip netns exec "$host-1" "$stranger" "$address" "$port" "$hello" "$proof" "$strangers_s" 4 > "$dir/strangers" ||
    lost "the strangers end early: $(< "$dir/strangers")"
  all_end
  refuses 127.0.0.11 "it does not have the job's secret"
  refuses 127.0.0.12 "another version"
  refuses 127.0.0.13 "another job"
  refuses 127.0.0.14 "it is not the process that joined as this rank"
  refuses 127.0.0.15 "it does not have the job's secret"
  refuses 127.0.0.16 "not of this protocol"
  refuses 127.0.0.17 "it has not proved itself"
  read -r rate kib files < <(what_strangers_cost)
  echo "strangers: $rate of the rate without them, $kib KiB and $files descriptors more at most"
  ((kib <= 5120)) || lost "strangers take $kib KiB"
  ((files > 0 && files <= 66)) || lost "strangers take $files descriptors"
  awk -v rate="$rate" -v least="${LCI_NET_STRANGERS_RATE:-0}" 'BEGIN { exit rate < least }' || lost "strangers leave $rate of the rate"
}

# shown SECURITY: how often a text of 10 MB is on the wire.
shown() {
  eavesdrop
  LCI_ATTR_NET_SECURITY=$1 start "1 2" text 10
  all_end
  hear_no_more
  (($(stat -c %s "$dir/heard") >= 10000000)) || lost "only $(stat -c %s "$dir/heard") bytes were heard"
  { LC_ALL=C grep -aoF 'text that nobody else is to read' "$dir/heard" || true; } | wc -l
}
test_what_is_sealed_does_not_show() {
  local plain sealed
  hosts_up 2
  plain=$(shown auth) && sealed=$(shown sealed) || exit 1
  echo "a text of 10 MB is heard $plain times, sealed $sealed times"
  ((plain > 100000 && sealed == 0)) || lost "a text is heard $plain times, sealed $sealed times"
}
test_loss_and_delay_lose_nothing() {
  hosts_up 2 --delay-us 5000 --jitter-us 5000 --reorder 1 --loss 0.01
  LCI_ATTR_NET_DEAD_MS=10000 LCI_ATTR_NET_RECONNECT_MS=2000 ledger_of 5 > "$dir/ledger"
  (($(wc -l < "$dir/ledger") == 4)) || lost "no ledger"
}

run_tests
