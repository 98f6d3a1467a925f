/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciInstrumentation;
import io.lci.LciSnapshot.InboxState;
import io.lci.PostOutcome;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class LciMetricsTest {

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
  private final FakeRuntime fake = new FakeRuntime();
  private final LciMetrics metrics = new LciMetrics(fake.runtime);

  private void nextScrape() {
    clock.add(LciMetrics.SNAPSHOT_AGE);
  }

  private double counter(String name, String... tags) {
    return registry.get(name).tags(tags).functionCounter().count();
  }

  private double operations(String op, String outcome, int device) {
    return counter(
        "lci.operations", "op", op, "outcome", outcome, "device", Integer.toString(device));
  }

  private double retries(String reason, int device) {
    return counter("lci.retries", "reason", reason, "device", Integer.toString(device));
  }

  private double core(String counter, String device) {
    return counter("lci.core", "counter", counter, "device", device);
  }

  private double gauge(String name, String... tags) {
    return registry.get(name).tags(tags).gauge().value();
  }

  @Test
  void operationsAndRetriesAreTheCountersOfTheSnapshot() {
    metrics.bindTo(registry);
    assertThat(operations("am", "done", 0)).isEqualTo(5);
    assertThat(operations("am", "posted", 0)).isEqualTo(3);
    assertThat(operations("barrier", "posted", 0)).isEqualTo(1);
    assertThat(retries("nocredit", 0)).isEqualTo(7);
    assertThat(retries("order", 0)).isEqualTo(2);
    fake.counters.put("retries_nocredit", 9L);
    nextScrape();
    assertThat(retries("nocredit", 0)).isEqualTo(9);
  }

  // Proves: U7
  @Test
  void everyDeviceHasItsMeters() {
    fake.second.put("operations_am_done", 70L);
    fake.second.put("retries_nocredit", 80L);
    fake.second.put("backlog_depth", 90L);
    fake.second.put("backlog_push", 100L);
    fake.second.put("arrivals", 110L);
    metrics.bindTo(registry);
    assertThat(operations("am", "done", 1)).isEqualTo(70);
    assertThat(operations("am", "done", 0)).isEqualTo(5);
    assertThat(retries("nocredit", 1)).isEqualTo(80);
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
  void theBacklogAndEveryCounterOfTheCoreAreMeters() {
    fake.counters.put("backlog_depth", 12L);
    fake.counters.put("backlog_push", 40L);
    metrics.bindTo(registry);
    assertThat(gauge("lci.backlog.depth", "device", "0")).isEqualTo(12);
    assertThat(counter("lci.backlog.pushed", "device", "0")).isEqualTo(40);
    assertThat(core("arrivals", "0")).isEqualTo(11);
    assertThat(registry.find("lci.core").tags("counter", "backlog_depth").meter())
        .as("what may fall is no counter")
        .isNull();
    fake.counters.put("backlog_depth", 0L);
    nextScrape();
    assertThat(gauge("lci.backlog.depth", "device", "0")).isZero();
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
  void inboxesComeAndGo() {
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024));
    metrics.bindTo(registry);
    assertThat(gauge("lci.inbox.depth", "port", "numbers(1)")).isEqualTo(3);
    assertThat(gauge("lci.inbox.capacity", "port", "numbers(1)")).isEqualTo(1024);

    fake.inboxes.add(new InboxState("words(2)", 1, 16));
    nextScrape();
    assertThat(gauge("lci.packets.free")).as("any meter that is read finds it").isPositive();
    assertThat(gauge("lci.inbox.depth", "port", "words(2)")).isEqualTo(1);

    fake.inboxes.remove(0);
    nextScrape();
    assertThat(gauge("lci.packets.free")).isPositive();
    assertThat(registry.find("lci.inbox.depth").tags("port", "numbers(1)").gauge()).isNull();
    assertThat(registry.find("lci.inbox.capacity").tags("port", "numbers(1)").gauge()).isNull();
    assertThat(gauge("lci.inbox.depth", "port", "words(2)")).isEqualTo(1);
  }

  @Test
  void aScrapeTakesOneSnapshot() {
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024));
    metrics.bindTo(registry);
    nextScrape();
    int before = fake.snapshots;
    registry
        .getMeters()
        .forEach(meter -> meter.measure().forEach(measurement -> measurement.getValue()));
    assertThat(fake.snapshots - before).isEqualTo(1);
    nextScrape();
    registry
        .getMeters()
        .forEach(meter -> meter.measure().forEach(measurement -> measurement.getValue()));
    assertThat(fake.snapshots - before).isEqualTo(2);
  }

  @Test
  void closeRemovesEveryMeter() {
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024));
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
    new LciMetrics(fake.runtime, Tags.of("job", "a")).bindTo(registry);
    new LciMetrics(other.runtime, Tags.of("job", "b")).bindTo(registry);
    assertThat(gauge("lci.packets.free", "job", "a")).isEqualTo(200);
    assertThat(gauge("lci.packets.free", "job", "b")).isEqualTo(17);
  }

  // Proves: U7
  @Test
  void everyMeterIsAsDocumented() {
    fake.inboxes.add(new InboxState("numbers(1)", 3, 1024));
    metrics.bindTo(registry);
    LciMetrics.instrumentation(registry, Tags.empty())
        .stalled(1, 1, PostOutcome.RETRY_NOCREDIT, 1, Duration.ofSeconds(5));
    Map<String, LciMeters> documented =
        Arrays.stream(LciMeters.values())
            .collect(Collectors.toMap(LciMeters::getName, Function.identity()));
    TreeSet<String> seen = new TreeSet<>();
    for (Meter meter : registry.getMeters()) {
      Meter.Id id = meter.getId();
      seen.add(id.getName());
      LciMeters documentation = documented.get(id.getName());
      assertThat(documentation).as(id.getName() + " is documented").isNotNull();
      assertThat(id.getType()).as(id.getName()).isEqualTo(documentation.getType());
      assertThat(id.getBaseUnit()).as(id.getName()).isEqualTo(documentation.getBaseUnit());
      assertThat(id.getTags())
          .as(id.getName())
          .extracting(Tag::getKey)
          .containsExactlyInAnyOrderElementsOf(
              Arrays.stream(documentation.getKeyNames()).map(key -> key.asString()).toList());
    }
    assertThat(seen).isEqualTo(new TreeSet<>(documented.keySet()));
  }

  @Test
  void theInstrumentationFollowsTheRuntimesLife() {
    LciInstrumentation instrumentation = LciMetrics.instrumentation(registry, Tags.empty());
    instrumentation.runtimeStarted(fake.runtime);
    assertThat(gauge("lci.packets.free")).isEqualTo(200);
    instrumentation.stalled(1, 1, PostOutcome.RETRY_NOCREDIT, 10, Duration.ofSeconds(5));
    instrumentation.stalled(2, 1, PostOutcome.RETRY_NOCREDIT, 10, Duration.ofSeconds(5));
    assertThat(registry.get("lci.stalls").tags("reason", "nocredit").counter().count())
        .isEqualTo(2);
    instrumentation.runtimeClosed(fake.runtime);
    assertThat(registry.find("lci.packets.free").gauge()).isNull();
    assertThat(registry.get("lci.stalls").counter().count()).isEqualTo(2);
  }
}
