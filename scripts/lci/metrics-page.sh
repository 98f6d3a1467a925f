# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci metrics-page.

cmd_metrics-page() {
  build
  "$jdk/bin/java" -cp "$samples_jar:$home/samples/target/lib/*" io.lci.metrics.MetricsPage > "$state/metrics.md"
  mkdir -p "$home/docs/guide" && mv "$state/metrics.md" "$home/docs/guide/metrics.md"
  say "lci: wrote docs/guide/metrics.md"
}
