#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# The sample kv-service in three processes: what its page says, line by line; requests by curl, load by wrk, a rank killed under
# load, an orderly end. Usage: LCI=./lci kv_service_test.sh KEYS SECONDS [KILLS]
# With LCI_LAB_HOSTS the ranks are on those hosts of `./lci net-lab`, and each client is beside its rank.
# Seed of who is killed, and when: LCI_KILL_SEED, else a random one, which is printed.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
# shellcheck source=../support/guide_page.sh
source "$here/../support/guide_page.sh"
# shellcheck source=../support/lab.sh
source "$here/../support/lab.sh"
readonly page=kv-service.md
readonly lci=${LCI:?path of the lci tool} keys=${1:?keys that a writer writes} seconds=${2:?seconds of load} kills=${3:-1}
seed=${LCI_KILL_SEED:-$RANDOM}
readonly RANKS=3

# start: three ranks by the page's command, but on free ports; their addresses come into url[].
start() {
  local words
  rm -f "$dir/out" "$dir/err"
  read -r -a words <<< "$(page_commands "$page" | sed 1q)"
  equal "${words[*]:0:2}" './lci run' "the first command of the page"
  contains "${words[*]}" "-n $RANKS kv-service"
  LCI_JAVA_OPTS="-Xmx128m ${LCI_JAVA_OPTS:-}" "$lci" run "${lab_options[@]}" --dir "$dir/job" "${words[@]:2}" --port 0 > "$dir/out" 2> "$dir/err" < /dev/null &
  launcher=$!
  # shellcheck disable=SC2064  # this launcher; its ranks go with it
  trap "kill -9 $launcher 2> /dev/null" EXIT
  within serve_all
  local rank
  for ((rank = 0; rank < RANKS; rank++)); do
    url[rank]=$(sed -n "s/^.*rank $rank serves //p" "$dir/out")
  done
}

serve_all() {
  ! is_gone "$launcher" || fail "it ended: $(tail -n 5 "$dir/err")"
  [[ -f $dir/out && $(grep -c ' serves http://' "$dir/out") == "$RANKS" ]]
}

# stop: an orderly end of all.
stop() {
  kill -TERM "$launcher"
  within is_gone "$launcher"
  wait "$launcher"
  equal $? 143 "exit code of the job: $(tail -n 5 "$dir/err")"
  is_empty "$dir/job" || fail "left in the job's base: $(find "$dir/job")"
  trap - EXIT
}

# request METHOD RANK PATH [CURL-OPTION...]: the status, and the body in $dir/body.
request() {
  local method=$1 rank=$2 path=$3
  shift 3
  beside "$rank" $RANKS curl -s -m 30 -X "$method" -o "$dir/body" -w '%{http_code}' "$@" "${url[rank]}$path"
}

test_requests() {
  start
  equal "$(request PUT 0 /kv/greeting --data-binary hello)" 201
  equal "$(request GET 1 /kv/greeting)" 200
  equal "$(cat "$dir/body")" hello
  equal "$(request PUT 2 /kv/greeting --data-binary 'good day')" 204
  equal "$(request GET 0 '/scan?prefix=gre')" 200
  equal "$(cat "$dir/body")" $'id: greeting\ndata: good day'
  equal "$(request DELETE 1 /kv/greeting)" 204
  equal "$(request GET 2 /kv/greeting)" 404
  equal "$(request PUT 0 /kv/large --data-binary "@$lci")" 413
  equal "$(request GET 1 /prometheus)" 200
  contains "$(cat "$dir/body")" 'kv_requests_total{operation="GET",status="200"} 1.0'
  stop
}

# by_curl COMMAND: the status, and the body in $dir/body.
by_curl() { eval "curl -s -m 30 -D '$dir/head' -o '$dir/body' -w '%{http_code}' ${1#curl }"; }

# check_request COMMAND COMMENT: the answer is what the comment says: a status, a body, or what is known here by its words.
check_request() {
  local status
  status=$(by_curl "$1")
  case $2 in
    '201; again: 204') equal "$status" 201 "$1" && equal "$(by_curl "$1")" 204 "$1" ;;
    [1-5][0-9][0-9]) equal "$status" "$2" "$1" ;;
    'server-sent events, sorted')
      equal "$status" 200 "$1"
      contains "$(cat "$dir/head")" text/event-stream
      equal "$(cat "$dir/body")" $'id: greeting\ndata: hello'
      ;;
    'metrics of that rank')
      equal "$status" 200 "$1"
      contains "$(cat "$dir/body")" 'kv_requests_total{operation="GET",status="200"} 1.0'
      ;;
    *)
      equal "$status" 200 "$1"
      equal "$(cat "$dir/body")" "$2" "$1"
      ;;
  esac
}

# check_load COMMAND: all requests are answered, and well.
check_load() {
  eval "$1" > "$dir/wrk" || fail "wrk: $(cat "$dir/wrk")"
  grep -q 'Requests/sec' "$dir/wrk" || fail "no figures: $(cat "$dir/wrk")"
  ! grep -E 'Socket errors|Non-2xx' "$dir/wrk" || fail "$(cat "$dir/wrk")"
  grep -E 'requests in' "$dir/wrk"
}

# The page from its top to its end: every line of its blocks is run as it stands there, on the ports that start() found and for a
# load as short as asked for, and does what the comment behind it says.
test_page() {
  local line command rank requests=0 loads=0
  start
  while IFS= read -r line <&3; do
    command=$(command_of "$line")
    for ((rank = 0; rank < RANKS; rank++)); do
      command=${command//http:\/\/127.0.0.1:$((8080 + rank))/${url[rank]}}
    done
    case $command in
      curl\ *) check_request "$command" "$(comment_of "$line")" && requests=$((requests + 1)) ;;
      wrk\ *-d\ 10s\ *) check_load "${command/-d 10s/-d ${seconds}s}" && loads=$((loads + 1)) ;;
      *) fail "no test runs this line of the page: $line" ;;
    esac
  done 3< <(page_commands "$page" | sed 1d)
  ((requests > 0 && loads > 0)) || fail "$requests requests and $loads loads on the page"
  stop
}

# writer RANK: writes its keys one after the other through that rank. A line for each as it is answered: status, key.
writer() {
  local rank=$1 i
  for ((i = 0; i < keys; i++)); do
    printf 'next\nurl = "%s/kv/w%s-%s"\nrequest = PUT\ndata-binary = "value %s of %s"\noutput = /dev/null\nwrite-out = "%%{http_code} w%s-%s\\n"\n' \
      "${url[rank]}" "$rank" "$i" "$i" "$rank" "$rank" "$i"
  done | sed 1d | beside "$rank" $RANKS stdbuf -oL curl -s -m 120 -K - > "$dir/written.$rank"
}

test_kill_under_load() {
  local round
  RANDOM=$seed
  echo "seed $seed; replay with LCI_KILL_SEED=$seed"
  for ((round = 0; round < kills; round++)); do
    kill_under_load $((RANDOM % RANKS)) $((RANDOM * keys * 3 / 4 / 32768))
    ((kills == 1)) || progress "$((round + 1)) of $kills kills with seed $seed"
  done
}

# kill_under_load VICTIM AFTER: so many answers to each of two writers, by the other ranks. Every write that was acknowledged is
# there, unless its owner is the dead rank: then the answer is 503, and says so.
kill_under_load() {
  local victim=$1 after=$2 first=$((($1 + 1) % RANKS)) second=$((($1 + 2) % RANKS)) rank status key owner value lost=0 kept=0
  start
  writer "$first" & local one=$!
  writer "$second" & local other=$!
  within has_lines "$dir/written.$first" "$after"
  within has_lines "$dir/written.$second" "$after"
  kill -9 "$(rank_pid "$launcher" "$victim")"
  echo "rank $victim killed after $(cat "$dir"/written.? | wc -l) of $((2 * keys)) answers"
  wait "$one" "$other"
  cat "$dir"/written.? > "$dir/written"
  equal "$(wc -l < "$dir/written")" $((2 * keys)) "answers"
  ! grep -vE '^(201|503) ' "$dir/written" || fail "neither written nor refused"
  while read -r status key; do
    rank=${key:1:1}
    value=$(request GET $((first + second - rank)) "/kv/$key" -D "$dir/head")
    owner=$(sed -n 's/^kv-owner: \([0-9]*\).*/\1/Ip' "$dir/head")
    if [[ $owner == "$victim" ]]; then
      equal "$value" 503 "$key of the dead rank"
      contains "$(cat "$dir/body")" "rank $victim, which has this key, is gone"
      lost=$((lost + 1))
    elif [[ $status == 201 ]]; then
      equal "$value" 200 "$key was acknowledged"
      equal "$(cat "$dir/body")" "value ${key#*-} of $rank"
      kept=$((kept + 1))
    else
      fail "$key was refused although rank $owner lives"
    fi
  done < "$dir/written"
  echo "$kept acknowledged writes are there, $lost keys of the dead rank answer 503"
  ((kept > 0 && lost > 0)) || fail "nothing to compare"
  kill -TERM "$launcher"
  within is_gone "$launcher"
  trap - EXIT
  is_empty "$dir/job" || fail "left in the job's base: $(find "$dir/job")"
  rm -f "$dir"/written*
}

run_tests
