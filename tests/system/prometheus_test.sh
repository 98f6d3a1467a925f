#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# Debian's Prometheus scrapes a job of two ranks, and its query interface shows what they do; the alerts are right.
# Usage: LCI=./lci LCI_PROMETHEUS=FOLDER-OF-PROGRAMS prometheus_test.sh SOURCES-OF-lci-metrics
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${LCI:?path of the lci tool} programs=${LCI_PROMETHEUS:?folder of prometheus and promtool}
readonly sources=${1:?folder of the sources of lci-metrics}
readonly alerts=$sources/main/resources/io/lci/metrics/prometheus-alerts.yml

test_alerts_are_well_formed() {
  "$programs/promtool" check rules "$alerts"
}

# What they say of made-up figures.
test_alerts_fire_when_they_should() {
  cp "$alerts" "$sources/test/resources/prometheus-alerts-test.yml" "$dir"
  (cd "$dir" && "$programs/promtool" test rules prometheus-alerts-test.yml)
}

# start_job ARGUMENT...: two ranks that serve their meters; sets targets to where.
start_job() {
  timeout 250 "$lci" run -n 2 --dir "$dir/job" metrics --port 0 "$@" > "$dir/out" 2> "$dir/err" < /dev/null &
  job=$!
  within knows_addresses
  targets=$(sed -n 's|.*http://\([0-9.:]*\)/metrics|"\1"|p' "$dir/out" | paste -sd ,)
}

# In a test a job's log helps.
knows_addresses() {
  is_gone "$job" && fail "the job ended: $(cat "$dir/out" "$dir/err")"
  [[ $(grep -c '/metrics$' "$dir/out") == 2 ]]
}

start_prometheus() {
  local try
  cat > "$dir/prometheus.yml" << END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$(realpath "$alerts")]
scrape_configs:
  - job_name: lci
    static_configs: [{targets: [$targets]}]
END
  "$programs/promtool" check config "$dir/prometheus.yml"
  for try in 1 2 3; do # somebody may take the port meanwhile
    port=$((20000 + RANDOM % 12000))
    "$programs/prometheus" --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
      --web.listen-address="127.0.0.1:$port" > "$dir/prometheus.log" 2>&1 < /dev/null &
    prometheus=$!
    within is_ready_or_gone
    is_gone "$prometheus" || return 0
  done
  fail "prometheus does not start, try $try: $(tail -n 5 "$dir/prometheus.log")"
}

is_ready_or_gone() { is_gone "$prometheus" || grep -q 'Server is ready' "$dir/prometheus.log"; }

query() { "$programs/promtool" query instant "http://127.0.0.1:$port" "$1"; }
# shows EXPRESSION: it has a result.
shows() { [[ -n $(query "$1") ]]; }

# expect EXPRESSION...: each has a result, soon; one that has none says what there is of its first meter.
expect() {
  local expression end
  for expression; do
    end=$((SECONDS + DEADLINE_S))
    until shows "$expression"; do
      ((SECONDS < end)) || fail "no result: $expression; there is: $(query "$(grep -o 'lci_[a-z_]*' <<< "$expression" | head -n 1)")"
      sleep 0.2
    done
    echo "$expression  =>  $(query "$expression" | head -n 1)"
  done
}

end_both() { kill "$prometheus" "$job" 2> /dev/null; wait; }

test_figures_of_two_ranks() {
  start_job --stall
  start_prometheus
  trap end_both EXIT
  expect 'count(up{job="lci"} == 1) == 2' \
    'count(lci_runtime_info{size="2"} == 1) == 2' \
    'count by (job) (lci_operations_total{op="am",outcome="done"} > 1000) == 2' \
    'count by (job) (rate(lci_transferred_bytes_total{direction="received"}[5s]) > 0) == 2' \
    'count(lci_peers{state="alive"} == 1) == 2' \
    'count(lci_inbox_stalled{port="unread(2)",cause="no_subscriber"} == 1) == 2' \
    'count(lci_inbox_capacity_messages{port="unread(2)"} == 64) == 2' \
    'count(lci_credit_stalled_destinations{port="unread(2)",peer="all"} == 1) == 2' \
    'count(lci_retries_total{op="am",reason="nocredit"} > 0) == 2' \
    'count(lci_loop_time_seconds_total{phase="parked"} > 0) == 2' \
    'count(rate(lci_loop_enters_total[5s]) > 0) == 2' \
    'histogram_quantile(0.5, sum by (le) (lci_operation_latency_seconds_bucket{op="am"})) > 0' \
    'lci_stalled_destinations{reason="nocredit"} == 1' \
    'ALERTS{alertname="LciInboxStalled",port="unread(2)"}'
  # and what is not so, so that an answer means something
  equal "$(query 'lci_inbox_stalled{port="numbers(1)"} == 1')" "" "the inbox that is read"
  equal "$(query 'lci_peers{state="failed"} > 0')" "" "ranks that died"
  # Prometheus renames labels that the target has and that are its own.
  equal "$(query '{exported_job!=""} or {exported_instance!=""}')" "" "labels that clash"
}

run_tests
