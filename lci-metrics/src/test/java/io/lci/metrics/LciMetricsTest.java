/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciInstrumentation;
import io.lci.LciSnapshot.InboxState;
import io.lci.LciSnapshot.Stall;
import io.lci.LciSnapshot.WaitingState;
import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.collective.Algorithm;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.config.MeterFilterReply;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LciMetricsTest {

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
  private final FakeRuntime fake = new FakeRuntime();
  private final LciMetrics metrics = new LciMetrics(fake.runtime);

  /** Some meter is read, which takes the next snapshot. */
  private void nextScrape() {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    assertThat(registry.get("lci.packets.capacity").gauge().value()).isPositive();
  }

  private double counter(String name, String... tags) {
    return registry.get(name).tags(tags).functionCounter().count();
  }

  private double operations(String op, String outcome, int device) {
    return counter(
        "lci.operations", "op", op, "outcome", outcome, "device", Integer.toString(device));
  }

  private double retries(String op, String reason, int device) {
    return counter("lci.retries", "op", op, "reason", reason, "device", Integer.toString(device));
  }

  private double core(String counter, String device) {
    return counter("lci.core", "counter", counter, "device", device);
  }

  private double gauge(String name, String... tags) {
    return registry.get(name).tags(tags).gauge().value();
  }

  private static InboxState inbox(String port, int depth, int capacity) {
    return new InboxState(port, depth, capacity, 0, Stall.NONE);
  }

  private static WaitingState waiting(int rank, String port, PostOutcome reason, boolean stalled) {
    return new WaitingState(0, "am", rank, port, reason, 10, stalled);
  }

  @Test
  void operationsAndRetriesAreTheCountersOfTheSnapshot() {
    metrics.bindTo(registry);
    assertThat(operations("am", "done", 0)).isEqualTo(5);
    assertThat(operations("am", "posted", 0)).isEqualTo(3);
    assertThat(operations("receive", "posted", 0)).isZero();
    assertThat(retries("am", "nocredit", 0)).isEqualTo(7);
    assertThat(retries("send", "order", 0)).isEqualTo(2);
    assertThat(retries("send", "nocredit", 0)).isZero();
    fake.counters.put("loop_retry_nocredit_am", 9L);
    nextScrape();
    assertThat(retries("am", "nocredit", 0)).isEqualTo(9);
  }

  // Proves: U7
  @Test
  void everyDeviceHasItsMeters() {
    fake.second.put("operations_am_done", 70L);
    fake.second.put("loop_retry_nocredit_am", 80L);
    fake.second.put("backlog_depth", 90L);
    fake.second.put("backlog_push", 100L);
    fake.second.put("arrivals", 110L);
    metrics.bindTo(registry);
    assertThat(operations("am", "done", 1)).isEqualTo(70);
    assertThat(operations("am", "done", 0)).isEqualTo(5);
    assertThat(retries("am", "nocredit", 1)).isEqualTo(80);
    assertThat(gauge("lci.backlog.depth", "device", "1")).isEqualTo(90);
    assertThat(gauge("lci.backlog.depth", "device", "0")).isZero();
    assertThat(counter("lci.backlog.pushed", "device", "1")).isEqualTo(100);
    assertThat(core("arrivals", "1")).isEqualTo(110);
    assertThat(core("arrivals", "0")).isEqualTo(11);
    assertThat(core("arrivals", "none")).isZero();
    assertThat(core("parks", "none")).as("of the runtime").isEqualTo(4);
    assertThat(core("parks", "1")).isZero();
  }

  @Test
  void whatMayFallIsNoCounter() {
    fake.counters.put("backlog_depth", 12L);
    metrics.bindTo(registry);
    assertThat(gauge("lci.backlog.depth", "device", "0")).isEqualTo(12);
    assertThat(registry.find("lci.core").tags("counter", "backlog_depth").meter()).isNull();
    fake.counters.put("backlog_depth", 0L);
    nextScrape();
    assertThat(gauge("lci.backlog.depth", "device", "0")).isZero();
  }

  @Test
  void bytesAndTimesAreAddedUp() {
    fake.counters.put("sent_bytes", 100L);
    fake.second.put("arrival_bytes", 200L);
    fake.counters.put("rma_copied", 30L);
    fake.counters.put("rma_streamed", 4L);
    fake.second.put("loop_nanos_parked", 1_500_000_000L);
    metrics.bindTo(registry);
    assertThat(counter("lci.transferred", "direction", "sent", "device", "0")).isEqualTo(100);
    assertThat(counter("lci.transferred", "direction", "received", "device", "1")).isEqualTo(200);
    assertThat(counter("lci.transferred", "direction", "remote", "device", "0")).isEqualTo(34);
    assertThat(counter("lci.loop.time", "loop", "1", "phase", "parked")).isEqualTo(1.5);
    assertThat(counter("lci.loop.time", "loop", "0", "phase", "parked")).isZero();
  }

  /** One thread adds what another has not taken away yet. */
  @Test
  void aCounterNeverFalls() {
    fake.counters.put("sent_bytes", 100L);
    metrics.bindTo(registry);
    fake.counters.put("sent_bytes", 90L);
    nextScrape();
    assertThat(counter("lci.transferred", "direction", "sent", "device", "0")).isEqualTo(100);
    fake.counters.put("sent_bytes", 120L);
    nextScrape();
    assertThat(counter("lci.transferred", "direction", "sent", "device", "0")).isEqualTo(120);
  }

  @Test
  void peersAreCountedByState() {
    fake.rest.put("peers_failed", 1L);
    fake.rest.put("peers_left", 1L);
    metrics.bindTo(registry);
    assertThat(gauge("lci.peers", "state", "alive")).as("of four, without this one").isEqualTo(1);
    assertThat(gauge("lci.peers", "state", "left")).isEqualTo(1);
    assertThat(gauge("lci.peers", "state", "failed")).isEqualTo(1);
  }

  @Test
  void discardsAreCountedByCause() {
    fake.rest.put("discarded", 3L);
    fake.second.put("loop_late_data", 4L);
    metrics.bindTo(registry);
    assertThat(counter("lci.discarded", "cause", "target")).isEqualTo(3);
    assertThat(counter("lci.discarded", "cause", "late")).isEqualTo(4);
    assertThat(counter("lci.discarded", "cause", "signal")).isZero();
  }

  @Test
  void itemsOfStreamsAreCountedInEachDirection() {
    fake.rest.put("stream_items_sent", 5L);
    fake.rest.put("stream_items_received", 6L);
    metrics.bindTo(registry);
    assertThat(counter("lci.stream.items", "direction", "sent")).isEqualTo(5);
    assertThat(counter("lci.stream.items", "direction", "received")).isEqualTo(6);
  }

  @Test
  void packetsAndTheRuntimeAreGauges() {
    metrics.bindTo(registry);
    assertThat(gauge("lci.packets.free")).isEqualTo(200);
    assertThat(gauge("lci.packets.capacity")).isEqualTo(256);
    assertThat(gauge("lci.runtime.info", "rank", "2", "size", "4", "transport", "shm"))
        .isEqualTo(1);
    fake.packetsFree = 0;
    nextScrape();
    assertThat(gauge("lci.packets.free")).isZero();
  }

  @Test
  void loopsAreCountedApart() {
    fake.counters.put("loop_enters", 10L);
    fake.second.put("loop_enters", 20L);
    fake.second.put("loop_stalls", 3L);
    fake.counters.put("loop_parks", 4L);
    fake.second.put("loop_uncaught", 5L);
    metrics.bindTo(registry);
    assertThat(counter("lci.loop.enters", "loop", "0")).isEqualTo(10);
    assertThat(counter("lci.loop.enters", "loop", "1")).isEqualTo(20);
    assertThat(counter("lci.loop.stalls", "loop", "0")).isZero();
    assertThat(counter("lci.loop.stalls", "loop", "1")).isEqualTo(3);
    assertThat(counter("lci.loop.parks", "loop", "0")).isEqualTo(4);
    assertThat(counter("lci.loop.uncaught", "loop", "1")).isEqualTo(5);
  }

  @Test
  void linksAreCountedByDeviceAndDirection() {
    fake.counters.put("links_open", 3L);
    fake.counters.put("net_records_sent", 10L);
    fake.second.put("net_records_sent", 20L);
    fake.counters.put("net_records_received", 11L);
    fake.counters.put("net_messages_sent", 70L);
    fake.second.put("net_bytes_sent", 1000L);
    fake.second.put("net_bytes_received", 2000L);
    fake.second.put("net_stalls", 4L);
    metrics.bindTo(registry);
    assertThat(gauge("lci.net.links", "device", "0")).isEqualTo(3);
    assertThat(gauge("lci.net.links", "device", "1")).isZero();
    assertThat(counter("lci.net.records", "direction", "sent", "device", "0")).isEqualTo(10);
    assertThat(counter("lci.net.records", "direction", "sent", "device", "1")).isEqualTo(20);
    assertThat(counter("lci.net.records", "direction", "received", "device", "0")).isEqualTo(11);
    assertThat(counter("lci.net.messages", "device", "0")).isEqualTo(70);
    assertThat(counter("lci.net.transferred", "direction", "sent", "device", "1")).isEqualTo(1000);
    assertThat(counter("lci.net.transferred", "direction", "received", "device", "1"))
        .isEqualTo(2000);
    assertThat(counter("lci.net.stalls", "device", "1")).isEqualTo(4);
    for (String counter : fake.counters.keySet()) {
      if (counter.startsWith("net_") || counter.equals("links_open")) {
        assertThat(registry.find("lci.core").tags("counter", counter).meter()).as(counter).isNull();
      }
    }
  }

  @Test
  void reconnectsRefusalsAndTheFenceAreOfTheRuntime() {
    fake.rest.put("links_resumed", 5L);
    fake.rest.put("strangers_refused", 6L);
    fake.rest.put("fenced", 1L);
    metrics.bindTo(registry);
    assertThat(counter("lci.net.reconnects")).isEqualTo(5);
    assertThat(counter("lci.net.refusals")).isEqualTo(6);
    assertThat(gauge("lci.net.fenced")).isEqualTo(1);
    for (String counter : fake.rest.keySet()) {
      if (!counter.equals("parks") && !counter.equals("unexpected_stored")) {
        assertThat(registry.find("lci.core").tags("counter", counter).meter()).as(counter).isNull();
      }
    }
  }

  @Test
  void matchingQueuesAndMemoryAreOfTheRuntime() {
    fake.rest.put("unexpected_stored", 7L);
    fake.rest.put("receives_pending", 8L);
    fake.counters.put("statuses_pushed", 10L);
    fake.second.put("statuses_pushed", 20L);
    fake.rest.put("statuses_popped", 24L);
    fake.rest.put("memory_regions", 2L);
    fake.rest.put("memory_allocated", 4096L);
    fake.rest.put("memory_retired", 3L);
    fake.rest.put("memory_registered", 512L);
    metrics.bindTo(registry);
    assertThat(gauge("lci.matching.unexpected")).isEqualTo(7);
    assertThat(gauge("lci.matching.receives")).isEqualTo(8);
    assertThat(counter("lci.queues.pushed")).isEqualTo(30);
    assertThat(counter("lci.queues.popped")).isEqualTo(24);
    assertThat(gauge("lci.queues.depth")).isEqualTo(6);
    assertThat(gauge("lci.memory.regions")).isEqualTo(2);
    assertThat(gauge("lci.memory.allocated")).isEqualTo(4096);
    assertThat(gauge("lci.memory.retired")).isEqualTo(3);
    assertThat(gauge("lci.memory.registered")).isEqualTo(512);
    fake.rest.put("unexpected_stored", 0L);
    fake.rest.put("statuses_popped", 31L); // read a moment after the other
    nextScrape();
    assertThat(gauge("lci.matching.unexpected")).isZero();
    assertThat(gauge("lci.queues.depth")).isZero();
  }

  // Inboxes

  @Test
  void inboxesComeAndGo() {
    fake.inboxes.add(inbox("numbers(1)", 3, 1024));
    metrics.bindTo(registry);
    assertThat(gauge("lci.inbox.depth", "port", "numbers(1)")).isEqualTo(3);
    assertThat(gauge("lci.inbox.capacity", "port", "numbers(1)")).isEqualTo(1024);

    fake.inboxes.add(inbox("words(2)", 1, 16));
    nextScrape();
    assertThat(gauge("lci.inbox.depth", "port", "words(2)")).isEqualTo(1);

    fake.inboxes.remove(0);
    nextScrape();
    for (InboxMeters meter : InboxMeters.values()) {
      assertThat(registry.find(meter.getName()).tags("port", "numbers(1)").gauge())
          .as(meter.getName())
          .isNull();
      assertThat(registry.find(meter.getName()).tags("port", "words(2)").gauge())
          .as(meter.getName())
          .isNotNull();
    }
  }

  @Test
  void anInboxSaysWhyItIsStalled() {
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024, 2, Stall.NO_DEMAND));
    metrics.bindTo(registry);
    assertThat(gauge("lci.inbox.retained", "port", "numbers(1)")).isEqualTo(2);
    assertThat(gauge("lci.inbox.stalled", "cause", "no_demand")).isEqualTo(1);
    assertThat(gauge("lci.inbox.stalled", "cause", "no_subscriber")).isZero();
    assertThat(gauge("lci.inbox.stalled", "cause", "retained")).isZero();
    fake.inboxes.set(0, inbox("numbers(1)", 3, 1024));
    nextScrape();
    assertThat(gauge("lci.inbox.stalled", "cause", "no_demand")).isZero();
  }

  // Flow control

  @Test
  void destinationsThatWaitForCreditAreCountedByPort() {
    fake.waiting.add(waiting(1, "numbers(1)", PostOutcome.RETRY_NOCREDIT, false));
    fake.waiting.add(waiting(3, "numbers(1)", PostOutcome.RETRY_NOCREDIT, true));
    fake.waiting.add(waiting(1, "words(2)", PostOutcome.RETRY_NOMEM, true));
    fake.waiting.add(waiting(1, "", PostOutcome.RETRY_NOCREDIT, false));
    metrics.bindTo(registry);
    assertThat(gauge("lci.credit.stalled", "port", "numbers(1)", "peer", "all")).isEqualTo(2);
    assertThat(registry.find("lci.credit.stalled").gauges()).hasSize(1);
    assertThat(gauge("lci.stalled.destinations", "reason", "nocredit")).isEqualTo(1);
    assertThat(gauge("lci.stalled.destinations", "reason", "nomem")).isEqualTo(1);
    assertThat(gauge("lci.stalled.destinations", "reason", "lock")).isZero();
    fake.waiting.clear();
    nextScrape();
    assertThat(gauge("lci.credit.stalled", "port", "numbers(1)", "peer", "all")).isZero();
    assertThat(gauge("lci.stalled.destinations", "reason", "nocredit")).isZero();
  }

  @Test
  void peersHaveSeriesOfTheirOwnUpToALimit() {
    for (int rank = 0; rank < 4; rank++) {
      fake.waiting.add(waiting(rank, "numbers(1)", PostOutcome.RETRY_NOCREDIT, false));
    }
    MetricsOptions options = MetricsOptions.defaults().withPeerRanks(2);
    new LciMetrics(fake.runtime, options).bindTo(registry);
    assertThat(gauge("lci.credit.stalled", "peer", "0")).isEqualTo(1);
    assertThat(gauge("lci.credit.stalled", "peer", "1")).isEqualTo(1);
    assertThat(gauge("lci.credit.stalled", "peer", "other")).isEqualTo(2);
    assertThat(registry.find("lci.credit.stalled").gauges()).hasSize(3);
  }

  // Binding

  @Test
  void aScrapeTakesOneSnapshot() {
    fake.inboxes.add(inbox("numbers(1)", 3, 1024));
    metrics.bindTo(registry);
    clock.add(LciMetrics.SNAPSHOT_AGE);
    int before = fake.snapshots;
    registry
        .getMeters()
        .forEach(meter -> meter.measure().forEach(measurement -> measurement.getValue()));
    assertThat(fake.snapshots - before).isEqualTo(1);
    clock.add(LciMetrics.SNAPSHOT_AGE);
    registry
        .getMeters()
        .forEach(meter -> meter.measure().forEach(measurement -> measurement.getValue()));
    assertThat(fake.snapshots - before).isEqualTo(2);
  }

  @Test
  void closeRemovesEveryMeter() {
    fake.inboxes.add(inbox("numbers(1)", 3, 1024));
    SimpleMeterRegistry second = new SimpleMeterRegistry();
    metrics.bindTo(registry);
    metrics.bindTo(second);
    assertThat(registry.getMeters()).isNotEmpty();
    metrics.close();
    metrics.close();
    assertThat(registry.getMeters()).isEmpty();
    assertThat(second.getMeters()).isEmpty();
  }

  @Test
  void aStoppedRuntimeHasNoMeters() {
    metrics.bindTo(registry);
    fake.closed.tryEmitEmpty();
    assertThat(registry.getMeters()).isEmpty();
    new LciMetrics(fake.runtime).bindTo(registry);
    assertThat(registry.getMeters()).as("one that had stopped before").isEmpty();
  }

  @Test
  void aRuntimeThatOnlyTheMetersHoldIsStillRead() throws InterruptedException {
    new LciMetrics(new FakeRuntime().runtime).bindTo(registry);
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(20);
      nextScrape();
    }
    assertThat(operations("am", "done", 0)).isEqualTo(5);
    assertThat(gauge("lci.packets.free")).isEqualTo(200);
  }

  @Test
  void extraTagsTellRuntimesApart() {
    FakeRuntime other = new FakeRuntime();
    other.packetsFree = 17;
    MetricsOptions options = MetricsOptions.defaults();
    new LciMetrics(fake.runtime, options.withExtraTags(Tags.of("runtime", "a"))).bindTo(registry);
    new LciMetrics(other.runtime, options.withExtraTags(Tags.of("runtime", "b"))).bindTo(registry);
    assertThat(gauge("lci.packets.free", "runtime", "a")).isEqualTo(200);
    assertThat(gauge("lci.packets.free", "runtime", "b")).isEqualTo(17);
  }

  /** Two at one registry without tags of their own: a mistake, but not the end of the first. */
  @ParameterizedTest
  @MethodSource("filters")
  void theFirstRuntimesMetersStayWhenTheSecondOneCloses(MeterFilter filter) {
    registry.config().meterFilter(filter);
    FakeRuntime other = new FakeRuntime();
    other.packetsFree = 17;
    metrics.bindTo(registry);
    LciMetrics second = new LciMetrics(other.runtime);
    second.bindTo(registry);
    second.close();
    assertThat(gauge("lci.packets.free")).isEqualTo(200);
    metrics.close();
    assertThat(registry.getMeters()).isEmpty();
  }

  /** What an application may make of the ids of meters. */
  static List<MeterFilter> filters() {
    return List.of(
        MeterFilter.accept(), MeterFilter.commonTags(List.of(Tag.of("application", "x"))));
  }

  /** A filter that makes one of several series: the first stays until its runtime closes. */
  @Test
  void seriesThatAFilterMakesOneAreOneMeter() {
    registry.config().meterFilter(MeterFilter.ignoreTags("op", "reason", "device"));
    metrics.bindTo(registry);
    assertThat(registry.find("lci.retries").meters()).hasSize(1);
    metrics.close();
    assertThat(registry.getMeters()).isEmpty();
  }

  /** Whose meters come next, when the first one's end: nobody stays without for good. */
  @ParameterizedTest
  @MethodSource("filters")
  void theNextRuntimesMetersComeWhenTheFirstOneCloses(MeterFilter filter) {
    registry.config().meterFilter(filter);
    FakeRuntime other = new FakeRuntime();
    other.packetsFree = 17;
    FakeRuntime third = new FakeRuntime();
    third.packetsFree = 18;
    metrics.bindTo(registry);
    LciMetrics second = new LciMetrics(other.runtime);
    second.bindTo(registry);
    LciMetrics last = new LciMetrics(third.runtime);
    last.bindTo(registry);
    int meters = registry.getMeters().size();
    metrics.close();
    assertThat(gauge("lci.packets.free")).isEqualTo(17);
    assertThat(registry.getMeters()).hasSize(meters);
    second.close();
    assertThat(gauge("lci.packets.free")).isEqualTo(18);
    last.close();
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void tagsThatMeanSomethingElseAreRefused() {
    for (String key : new String[] {"job", "instance", "op", "port"}) {
      assertThatThrownBy(() -> MetricsOptions.defaults().withExtraTags(Tags.of(key, "x")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'" + key + "'");
    }
    assertThatThrownBy(() -> MetricsOptions.defaults().withPeerRanks(-1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  // Proves: U7
  @Test
  void everyMeterIsAsDocumented() {
    fake.inboxes.add(inbox("numbers(1)", 3, 1024));
    fake.waiting.add(waiting(1, "numbers(1)", PostOutcome.RETRY_NOCREDIT, true));
    LciInstrumentation instrumentation = LciMetrics.instrumentation(registry);
    instrumentation.runtimeStarted(fake.runtime);
    instrumentation.collectiveTimed("allReduce", Algorithm.AUTO, 0, 8, 700);
    Map<String, LciMeter> documented =
        LciMeter.all().stream().collect(Collectors.toMap(LciMeter::getName, Function.identity()));
    TreeSet<String> seen = new TreeSet<>();
    for (Meter meter : registry.getMeters()) {
      Meter.Id id = meter.getId();
      if (id.syntheticAssociation() != null) {
        continue; // a bucket of a timer
      }
      seen.add(id.getName());
      LciMeter documentation = documented.get(id.getName());
      assertThat(documentation).as(id.getName() + " is documented").isNotNull();
      assertThat(id.getType()).as(id.getName()).isEqualTo(documentation.getType());
      assertThat(id.getBaseUnit()).as(id.getName()).isEqualTo(documentation.getBaseUnit());
      assertThat(id.getDescription())
          .as(id.getName())
          .isEqualTo(documentation.definition().description());
      assertThat(id.getTags())
          .as(id.getName())
          .extracting(Tag::getKey)
          .containsExactlyInAnyOrderElementsOf(
              Arrays.stream(documentation.getKeyNames()).map(key -> key.asString()).toList())
          .doesNotContain("job", "instance");
    }
    assertThat(seen).isEqualTo(new TreeSet<>(documented.keySet()));
  }

  // Instrumentation

  @Test
  void theInstrumentationFollowsTheRuntimesLife() {
    LciInstrumentation instrumentation = LciMetrics.instrumentation(registry);
    instrumentation.runtimeStarted(fake.runtime);
    assertThat(gauge("lci.packets.free")).isEqualTo(200);
    instrumentation.operationTimed(Op.Kind.PUT, 0, 700);
    instrumentation.runtimeClosed(fake.runtime);
    assertThat(registry.getMeters()).isEmpty();
    instrumentation.operationTimed(Op.Kind.PUT, 0, 700); // a loop may be late
    assertThat(registry.getMeters()).isEmpty();
  }

  /** Two at one registry without tags of their own time into the same timers. */
  @Test
  void timersStayUntilTheLastInstrumentationEnds() {
    FakeRuntime other = new FakeRuntime();
    LciInstrumentation first = LciMetrics.instrumentation(registry);
    LciInstrumentation second = LciMetrics.instrumentation(registry);
    first.runtimeStarted(fake.runtime);
    second.runtimeStarted(other.runtime);
    first.operationTimed(Op.Kind.PUT, 0, 700);
    first.runtimeClosed(fake.runtime);
    second.operationTimed(Op.Kind.PUT, 0, 700);
    assertThat(registry.get("lci.operation.latency").tags("op", "put").timer().count())
        .isEqualTo(2);
    second.runtimeClosed(other.runtime);
    assertThat(registry.getMeters()).isEmpty();
    second.runtimeClosed(other.runtime);
    first.runtimeStarted(fake.runtime);
    assertThat(registry.get("lci.operation.latency").timers()).isNotEmpty();
    first.runtimeClosed(fake.runtime);
    assertThat(registry.getMeters()).isEmpty();
  }

  /** A timer that the registry refuses takes those before it along. */
  @Test
  void noneStaysOfTimersThatAreRefused() {
    RuntimeException fault = new IllegalStateException("a filter of the user's");
    boolean[] refuses = {true};
    registry
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public Meter.Id map(Meter.Id id) {
                if (refuses[0]
                    && "put".equals(id.getTag("op"))
                    && id.getType() == Meter.Type.TIMER) {
                  throw fault;
                }
                return id;
              }
            });
    LatencyTimers timers = new LatencyTimers(registry, Tags.empty());
    assertThatThrownBy(timers::register).isSameAs(fault);
    assertThat(registry.getMeters()).isEmpty();
    refuses[0] = false;
    timers.register();
    timers.register();
    assertThat(registry.get("lci.operation.latency").timers()).hasSize(Op.Kind.values().length);
    timers.remove();
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void timersOfOtherTagsEndAlone() {
    FakeRuntime other = new FakeRuntime();
    MetricsOptions options = MetricsOptions.defaults();
    LciInstrumentation first =
        LciMetrics.instrumentation(registry, options.withExtraTags(Tags.of("runtime", "a")));
    LciInstrumentation second =
        LciMetrics.instrumentation(registry, options.withExtraTags(Tags.of("runtime", "b")));
    first.runtimeStarted(fake.runtime);
    second.runtimeStarted(other.runtime);
    first.runtimeClosed(fake.runtime);
    assertThat(registry.getMeters())
        .isNotEmpty()
        .allSatisfy(meter -> assertThat(meter.getId().getTag("runtime")).isEqualTo("b"));
    second.runtimeClosed(other.runtime);
    assertThat(registry.getMeters()).isEmpty();
  }

  /** Of calls of groups, meters come with the first one, and go with the last runtime. */
  @Test
  void callsOfGroupsAreTimedByAlgorithm() {
    FakeRuntime other = new FakeRuntime();
    LciInstrumentation first = LciMetrics.instrumentation(registry);
    LciInstrumentation second = LciMetrics.instrumentation(registry);
    first.runtimeStarted(fake.runtime);
    second.runtimeStarted(other.runtime);
    assertThat(registry.find("lci.collective").timers()).isEmpty();
    first.collectiveTimed("allReduce", Algorithm.AUTO, 0, 80, 700);
    first.collectiveTimed("allReduce", Algorithm.AUTO, 1, 8, 300);
    second.collectiveTimed("allReduce", Algorithm.AUTO, 0, 8, 1_000);
    second.collectiveTimed("allReduce", Algorithm.RING, 0, 16, 900);
    first.runtimeClosed(fake.runtime);
    first.collectiveTimed("allReduce", Algorithm.AUTO, 0, 8, 700); // a loop may be late
    Tags auto = Tags.of("call", "allReduce", "algorithm", "auto");
    Timer timer = registry.get("lci.collective").tags(auto).timer();
    assertThat(timer.count()).isEqualTo(3);
    assertThat(timer.totalTime(TimeUnit.NANOSECONDS)).isEqualTo(2_000);
    assertThat(timer.takeSnapshot().histogramCounts()).hasSize(LatencyTimers.BUCKETS.length);
    assertThat(registry.get("lci.collective.results").tags(auto).counter().count()).isEqualTo(96);
    assertThat(registry.get("lci.collective").tags("algorithm", "ring").timer().count())
        .isEqualTo(1);
    second.runtimeClosed(other.runtime);
    assertThat(registry.getMeters()).isEmpty();
    first.runtimeStarted(fake.runtime);
    first.collectiveTimed("barrier", Algorithm.AUTO, 0, 0, 700);
    assertThat(registry.get("lci.collective").timers()).hasSize(1);
    first.runtimeClosed(fake.runtime);
    assertThat(registry.getMeters()).isEmpty();
  }

  /** It is tried once, not at each call. */
  @Test
  void metersOfCallsThatAreRefusedAreNotTriedAgain() {
    int[] tried = {0};
    registry
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public Meter.Id map(Meter.Id id) {
                if (id.getName().equals("lci.collective.results")) {
                  tried[0]++;
                  throw new IllegalStateException("a filter of the user's");
                }
                return id;
              }
            });
    CollectiveTimers timers = new CollectiveTimers(registry, Tags.empty());
    assertThatThrownBy(() -> timers.record("barrier", Algorithm.AUTO, 0, 700))
        .isInstanceOf(IllegalStateException.class);
    timers.record("barrier", Algorithm.AUTO, 0, 700);
    assertThat(tried[0]).isEqualTo(1);
    timers.end();
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void timesOfOperationsAreCountedInFixedBuckets() {
    LciInstrumentation instrumentation = LciMetrics.instrumentation(registry);
    instrumentation.runtimeStarted(fake.runtime);
    instrumentation.operationTimed(Op.Kind.PUT, 0, 250);
    instrumentation.operationTimed(Op.Kind.PUT, 1, 251);
    instrumentation.operationTimed(Op.Kind.PUT, 0, 2_000_000_000);
    instrumentation.operationTimed(Op.Kind.GET, 0, 1);
    Timer timer = registry.get("lci.operation.latency").tags("op", "put").timer();
    assertThat(timer.count()).isEqualTo(3);
    CountAtBucket[] buckets = timer.takeSnapshot().histogramCounts();
    assertThat(buckets)
        .hasSize(LatencyTimers.BUCKETS.length)
        .allMatch(bucket -> bucket.count() == (bucket.bucket(TimeUnit.NANOSECONDS) < 500 ? 1 : 2));
    assertThat(buckets[0].bucket(TimeUnit.NANOSECONDS)).isEqualTo(250);
    assertThat(buckets[buckets.length - 1].bucket(TimeUnit.SECONDS)).isEqualTo(1);
  }

  /** None stays of meters of which a registry refuses one. */
  @Test
  void aBindingThatFailsLeavesNothing() {
    List<String> refused = new ArrayList<>(List.of("lci.runtime.info"));
    MeterRegistry strict = new SimpleMeterRegistry();
    strict
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public MeterFilterReply accept(Meter.Id id) {
                if (refused.contains(id.getName())) {
                  throw new IllegalStateException("not " + id.getName());
                }
                return MeterFilterReply.NEUTRAL;
              }
            });
    assertThatThrownBy(() -> metrics.bindTo(strict)).hasMessage("not lci.runtime.info");
    assertThat(strict.getMeters()).isEmpty();
    refused.clear();
    FakeRuntime other = new FakeRuntime();
    other.packetsFree = 17;
    new LciMetrics(other.runtime).bindTo(strict);
    assertThat(strict.get("lci.runtime.info").meter()).isNotNull();
    other.closed.tryEmitEmpty();
    assertThat(strict.getMeters()).isEmpty();
  }
}
