/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciInstrumentation;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Writes {@code docs/guide/metrics.md} from the enums, to standard output: ./lci metrics-page. */
final class MetricsPage {

  private record Subsystem(String title, List<LciMeter> meters) {}

  private static final List<Subsystem> SUBSYSTEMS =
      List.of(
          new Subsystem("Operations", List.of(OperationMeters.values())),
          new Subsystem("Inboxes", List.of(InboxMeters.values())),
          new Subsystem("Flow control", List.of(FlowMeters.values())),
          new Subsystem("Streams and RPC", List.of(StreamMeters.values())),
          new Subsystem("Collectives", List.of(CollectiveMeters.values())),
          new Subsystem("Network", List.of(NetworkMeters.values())),
          new Subsystem("Loops", List.of(LoopMeters.values())),
          new Subsystem("Matching, packets, queues, memory", List.of(ResourceMeters.values())),
          new Subsystem("Runtime", List.of(RuntimeMeters.values())));

  private static final String HEAD =
      """
      # Metrics

      <!-- Made by ./lci metrics-page from the enums of lci-metrics; a test compares. -->

      `lci-metrics` (same group and version as the library) puts a runtime's counters into any Micrometer registry:

      <!-- shown: bind -->
      ```java
      LciOptions options =
          LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
      ```

      That binds the meters when the runtime starts and removes all of them when it stops. `new LciMetrics(lci).bindTo(registry)`
      does the same for a runtime that is there already, without the figures that are taken as things happen: `lci.operation.latency`, `lci.collective` and the
      observations. `MetricsOptions` has extra tags, series for single peers, and observations.

      - **Cost.** Counting is always on, in the core and in the loops: plain counters with one writer each, added up when
        somebody reads; no allocation and no lock for a message. Metrics add one snapshot per scrape, and the clock twice for one operation in %d.
      - **Tags.** All series of a name have the same tag keys, whatever the options. No tag is called `job` or `instance`: Prometheus sets
        these, and they tell the ranks apart. Values come from small fixed sets, from the program (ports), or from the machine (loops). Peers'
        ranks are an option with a limit. `MeterFilter.maximumAllowableTags` of Micrometer bounds the values that come from ports.
      - **Several runtimes at one registry** need extra tags that tell them apart: `MetricsOptions.withExtraTags`.
      - **Prometheus.** The jar holds a dashboard for Grafana and alerts:
        [grafana-dashboard.json](../../lci-metrics/src/main/resources/io/lci/metrics/grafana-dashboard.json),
        [prometheus-alerts.yml](../../lci-metrics/src/main/resources/io/lci/metrics/prometheus-alerts.yml). `./lci run -n 2 metrics` is a job to
        point them at.

      - **Latency** is in histograms with the same fixed buckets in every rank, 250 ns to 1 s, so they can be added. Registries that cannot hold
        them get a gauge for each bucket, whose tag `le` Micrometer cuts at a microsecond: there the shortest buckets are one.

      A gauge that speaks of inboxes comes and goes with them; new ones appear with the second scrape. The meaning of each retry reason is in
      [backpressure.md](backpressure.md).
      """
          .formatted(LciInstrumentation.TIMED_EVERY);

  private MetricsPage() {}

  /** Writes the page to standard output. */
  public static void main(String[] args) {
    new PrintStream(System.out, true, StandardCharsets.UTF_8).print(text());
  }

  static String text() {
    StringBuilder page = new StringBuilder(HEAD);
    for (Subsystem subsystem : SUBSYSTEMS) {
      page.append("\n## ").append(subsystem.title()).append("\n\n");
      row(page, "Meter", "Type", "Unit", "Tags", "In Prometheus", "Meaning");
      page.append("|---|---|---|---|---|---|\n");
      subsystem.meters().forEach(meter -> row(page, meter));
    }
    page.append("\n## Tags\n\n");
    row(page, "Key", "Values");
    page.append("|---|---|\n");
    for (LciTags tag : LciTags.values()) {
      row(page, code(tag.asString()), tag.description());
    }
    observations(page);
    return page.toString();
  }

  private static void row(StringBuilder page, LciMeter meter) {
    MeterDefinition definition = meter.definition();
    String unit = definition.baseUnit();
    row(
        page,
        code(definition.name()),
        SnapshotView.lowerCase(definition.type()),
        unit == null ? "" : unit,
        definition.tags().stream()
            .map(tag -> code(tag.asString()))
            .collect(Collectors.joining(", ")),
        code(PrometheusNames.of(meter)),
        definition.description());
  }

  private static void observations(StringBuilder page) {
    page.append(
        """

        ## Observations

        `MetricsOptions.withObservations(ObservationRegistry)`: remote procedure calls only, each once on either side. Operations and
        calls of groups have timers alone: no trace of one caller goes on through them. With a tracing handler
        the trace goes on in the serving rank: `traceparent` (W3C) travels with the request. The parent is the observation in the
        subscriber's Reactor context, and the publisher that the served function returns is subscribed with the server's observation in its context. Low keys become tags of timers, high ones only attributes of traces.

        """);
    row(page, "Observation", "Low keys", "High keys");
    page.append("|---|---|---|\n");
    for (RpcObservations observation : RpcObservations.values()) {
      row(
          page,
          code(observation.getName()),
          Arrays.stream(RpcObservations.LowKeys.values())
              .map(key -> code(key.asString()) + ": " + key.description())
              .collect(Collectors.joining("; ")),
          Arrays.stream(RpcObservations.HighKeys.values())
              .map(key -> code(key.asString()) + ": " + key.description())
              .collect(Collectors.joining("; ")));
    }
  }

  private static String code(String text) {
    return '`' + text + '`';
  }

  private static void row(StringBuilder page, String... cells) {
    page.append("| ").append(String.join(" | ", cells)).append(" |\n");
  }
}
