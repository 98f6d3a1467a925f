/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciSnapshot.InboxState;
import io.lci.LciSnapshot.Stall;
import io.lci.LciSnapshot.WaitingState;
import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.collective.Algorithm;
import io.micrometer.core.instrument.Meter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The reference, the dashboard and the alerts speak of the meters that there are. */
class PublishedNamesTest {
  private static final Pattern METER = Pattern.compile("\\blci_[a-z_]+");
  private static final Pattern TAG = Pattern.compile("\\{\\{ ?(?:\\$labels\\.)?([a-z]+) ?}}");

  /** Labels that Prometheus sets. */
  private static final Set<String> OF_PROMETHEUS = Set.of("job", "instance", "le");

  private static String resource(String name) throws IOException {
    try (InputStream in = LciMetrics.class.getResourceAsStream(name)) {
      assertThat(in).as(name).isNotNull();
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static Set<String> found(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map((MatchResult match) -> match.groupCount() == 0 ? match.group() : match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** What the page says, and with a timer what Prometheus makes of it. */
  private static Set<String> names() {
    Set<String> names = new HashSet<>();
    for (LciMeter meter : LciMeter.all()) {
      names.add(PrometheusNames.of(meter));
      if (meter.getType() == Meter.Type.TIMER) {
        for (String suffix : new String[] {"_bucket", "_count", "_sum", "_max"}) {
          names.add(PrometheusNames.of(meter) + suffix);
        }
      }
    }
    return names;
  }

  /** {@code ./lci metrics-page} mends this. */
  @Test
  void theReferenceIsWhatTheEnumsSay() throws IOException {
    Path page =
        Path.of(System.getProperty("lci.native.source")).resolveSibling("docs/guide/metrics.md");
    assertThat(Files.readString(page)).isEqualTo(MetricsPage.text());
  }

  /** What programs and dashboards may count on: a name here is not changed any more. */
  private static final List<String> PROMISED =
      List.of(
          "lci.operations",
          "lci.retries",
          "lci.transferred",
          "lci.operation.latency",
          "lci.inbox.depth",
          "lci.inbox.capacity",
          "lci.inbox.retained",
          "lci.inbox.stalled",
          "lci.credit.stalled",
          "lci.stalled.destinations",
          "lci.discarded",
          "lci.backlog.depth",
          "lci.stream.items",
          "lci.net.links",
          "lci.net.records",
          "lci.net.messages",
          "lci.net.transferred",
          "lci.net.stalls",
          "lci.net.reconnects",
          "lci.net.refusals",
          "lci.net.fenced",
          "lci.loop.time",
          "lci.loop.enters",
          "lci.loop.stalls",
          "lci.matching.unexpected",
          "lci.packets.free",
          "lci.queues.depth",
          "lci.memory.regions",
          "lci.memory.allocated",
          "lci.memory.retired",
          "lci.memory.registered",
          "lci.peers",
          "lci.runtime.info");

  @Test
  void everyPromisedMeterIsInTheReference() {
    assertThat(LciMeter.all().stream().map(LciMeter::getName)).containsAll(PROMISED);
    assertThat(MetricsPage.text())
        .contains(LciMeter.all().stream().map(m -> "| `" + m.getName() + "` |").toList());
  }

  @ParameterizedTest
  @ValueSource(strings = {"grafana-dashboard.json", "prometheus-alerts.yml"})
  void whatIsShippedNamesMetersThatThereAre(String file) throws IOException {
    Set<String> used = found(METER, resource(file));
    assertThat(used).hasSizeGreaterThan(5);
    assertThat(names()).containsAll(used);
    Set<String> tags =
        LciMeter.all().stream()
            .flatMap(meter -> meter.definition().tags().stream())
            .map(LciTags::asString)
            .collect(Collectors.toCollection(HashSet::new));
    tags.addAll(OF_PROMETHEUS);
    assertThat(tags).containsAll(found(TAG, resource(file)));
  }

  /** Micrometer's own names, and the buckets, in what Prometheus is given. */
  @Test
  void prometheusGetsTheNamesOfTheReference() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    FakeRuntime fake = new FakeRuntime();
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024, 1, Stall.RETAINED));
    fake.waiting.add(
        new WaitingState(0, "am", 1, "numbers(1)", PostOutcome.RETRY_NOCREDIT, 1, true));
    var instrumentation = LciMetrics.instrumentation(registry);
    instrumentation.runtimeStarted(fake.runtime);
    instrumentation.operationTimed(Op.Kind.AM, 0, 600);
    instrumentation.collectiveTimed("allReduce", Algorithm.RING, 0, 8, 600);
    String text = registry.scrape();
    for (LciMeter meter : LciMeter.all()) {
      String name = PrometheusNames.of(meter);
      assertThat(text).contains("# HELP " + name + " ");
      if (meter.getType() != Meter.Type.TIMER) {
        assertThat(text).containsPattern("(?m)^" + name + "(\\{| )");
      }
    }
    assertThat(text)
        .contains("lci_operations_total{device=\"0\",op=\"am\",outcome=\"done\"} 5.0")
        .contains("lci_collective_results_bytes_total{algorithm=\"ring\",call=\"allReduce\"} 8.0")
        .contains("lci_inbox_stalled{cause=\"retained\",port=\"numbers(1)\"} 1.0")
        .contains("lci_operation_latency_seconds_bucket{op=\"am\",le=\"5.0E-7\"} 0")
        .contains("lci_operation_latency_seconds_bucket{op=\"am\",le=\"1.0E-6\"} 1")
        .contains("lci_operation_latency_seconds_bucket{op=\"am\",le=\"1.0\"} 1");
    assertThat(found(METER, text).stream().filter(name -> !names().contains(name)))
        .as("names that the reference does not have")
        .isEmpty();
    instrumentation.runtimeClosed(fake.runtime);
    assertThat(registry.scrape()).doesNotContain("lci_");
  }
}
