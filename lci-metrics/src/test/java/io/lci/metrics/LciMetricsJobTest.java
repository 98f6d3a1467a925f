/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.collective.Algorithm;
import io.lci.collective.CollectiveContext;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.error.CollectiveFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** The meters over real traffic between two ranks. */
@ExtendWith(LciLeakCheck.class)
class LciMetricsJobTest {

  private static final Port NUMBERS = Port.of(1, "numbers");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 1000;
  private static final int CAPACITY = 64;

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

  private static MetricsOptions named(String runtime) {
    return MetricsOptions.defaults().withExtraTags(Tags.of("runtime", runtime));
  }

  private double operations(String job) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry
        .get("lci.operations")
        .tags("runtime", job, "op", "am")
        .functionCounters()
        .stream()
        .mapToDouble(counter -> counter.count())
        .sum();
  }

  private double retries(String reason) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry
        .get("lci.retries")
        .tags("runtime", "sender", "op", "am", "reason", reason)
        .functionCounter()
        .count();
  }

  private double gauge(String name) {
    return gauge("receiver", name);
  }

  /** The snapshot that finds a series is the one of the read before. */
  private double gauge(String runtime, String name, String... tags) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    registry.get("lci.packets.free").tags("runtime", runtime).gauge().value();
    Gauge found = registry.find(name).tags("runtime", runtime).tags(tags).gauge();
    return found == null ? Double.NaN : found.value();
  }

  @Test
  void aLoopThatIsAddedIsMetered() {
    try (LciTestJob job = LciTestJob.start(1);
        LciMetrics metrics = new LciMetrics(job.rank(0), named("growing"))) {
      metrics.bindTo(registry);
      assertThat(entersOf("1")).isNaN();
      assertThat(job.rank(0).addLoop().index()).isEqualTo(1);
      await().atMost(LIMIT).until(() -> entersOf("1") > 0);
    }
  }

  private double entersOf(String loop) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    registry.get("lci.loop.enters").tags("loop", "0").functionCounter().count();
    FunctionCounter found = registry.find("lci.loop.enters").tags("loop", loop).functionCounter();
    return found == null ? Double.NaN : found.count();
  }

  // Proves: U6
  // Proves: U7
  @Test
  void aSlowSubscriberIsSeenInTheMeters() {
    try (LciTestJob job = LciTestJob.start(2);
        LciMetrics sender = new LciMetrics(job.rank(0), named("sender"));
        LciMetrics receiver = new LciMetrics(job.rank(1), named("receiver"))) {
      InboxOptions small = InboxOptions.builder().messages(CAPACITY).build();
      Inbox inbox = job.rank(1).inbox(NUMBERS, small);
      sender.bindTo(registry);
      receiver.bindTo(registry);
      assertThat(gauge("lci.inbox.capacity")).isEqualTo(CAPACITY);

      Disposable sending =
          job.rank(0)
              .sender(NUMBERS)
              .sendAll(1, Flux.range(1, COUNT), (n, out) -> out.putLong(n))
              .subscribe();
      await().atMost(LIMIT).until(() -> retries("nocredit") > 0);
      assertThat(operations("sender")).as("accepted so far").isLessThan(COUNT);
      await()
          .atMost(LIMIT)
          .until(() -> gauge("sender", "lci.credit.stalled", "port", "numbers(1)") == 1);
      await()
          .atMost(LIMIT)
          .until(() -> gauge("receiver", "lci.inbox.stalled", "cause", "no_subscriber") == 1);

      AtomicLong received = new AtomicLong();
      inbox
          .receive(message -> message.getLong(0))
          .take(COUNT)
          .doOnNext(n -> received.incrementAndGet())
          .blockLast(LIMIT);
      await().atMost(LIMIT).until(sending::isDisposed);
      assertThat(received).hasValue(COUNT);
      assertThat(operations("sender")).isGreaterThanOrEqualTo(COUNT);
      assertThat(gauge("lci.inbox.depth")).isZero();
      assertThat(gauge("receiver", "lci.inbox.stalled", "cause", "no_subscriber")).isZero();
      assertThat(gauge("sender", "lci.credit.stalled", "port", "numbers(1)")).isZero();
      assertThat(gauge("lci.packets.free")).isBetween(0.0, gauge("lci.packets.capacity"));
      assertThat(gauge("lci.runtime.info")).isEqualTo(1);
      assertThat(gauge("lci.backlog.depth")).isZero();
      clock.add(LciMetrics.SNAPSHOT_AGE);
      List<FunctionCounter> core =
          List.copyOf(registry.get("lci.core").tags("runtime", "receiver").functionCounters());
      assertThat(core).hasSizeGreaterThan(40); // those that no other meter shows
      assertThat(
              registry
                  .get("lci.core")
                  .tags("runtime", "receiver", "counter", "arrivals", "device", "0")
                  .functionCounter()
                  .count())
          .isGreaterThanOrEqualTo(COUNT);

      inbox.dispose();
      await()
          .atMost(LIMIT)
          .until(
              () -> {
                gauge("lci.packets.free");
                return registry.find("lci.inbox.depth").tags("runtime", "receiver").gauge() == null;
              });
    }
    assertThat(registry.getMeters()).isEmpty();
  }

  /** What is posted on a device is counted there, and what it receives too. */
  // Proves: U7
  @Test
  void theMetersTellWhichDeviceWorks() {
    LciOptions two = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, two);
        LciMetrics sender = new LciMetrics(job.rank(0), named("sender"));
        LciMetrics receiver = new LciMetrics(job.rank(1), named("receiver"))) {
      sender.bindTo(registry);
      receiver.bindTo(registry);
      Inbox inbox = job.rank(1).inbox(NUMBERS);
      Mono<Long> received = inbox.receive(message -> message.getLong(0)).take(COUNT).count();
      Mono<Void> sent =
          Flux.range(1, COUNT)
              .concatMap(
                  n ->
                      job.rank(0)
                          .post(Op.am(1, NUMBERS, Payload.ofLong(n)).advanced(a -> a.device(1))))
              .then();
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(COUNT);
      clock.add(LciMetrics.SNAPSHOT_AGE);
      assertThat(core("receiver", "arrivals", "1")).isEqualTo(COUNT);
      assertThat(core("receiver", "arrivals", "0")).isZero();
      assertThat(done("sender", "1")).isEqualTo(COUNT);
      assertThat(done("sender", "0")).isZero();
    }
  }

  @Test
  void aLoopThatServesSeveralDevicesHasItsOwnIndex() {
    LciOptions shared = LciOptions.builder().loops(2).devices(4).build();
    try (LciTestJob job = LciTestJob.start(1, shared);
        LciMetrics metrics = new LciMetrics(job.rank(0), named("shared"))) {
      job.rank(0).inbox(NUMBERS).handle(message -> {});
      job.rank(0)
          .post(Op.am(0, NUMBERS, Payload.ofLong(1)).advanced(a -> a.device(3)))
          .block(LIMIT);
      metrics.bindTo(registry);
      await()
          .atMost(LIMIT)
          .until(
              () -> {
                clock.add(LciMetrics.SNAPSHOT_AGE);
                return enters("0") > 0 && enters("1") > 0;
              });
      assertThat(registry.get("lci.loop.enters").functionCounters()).hasSize(2);
      assertThat(registry.get("lci.loop.time").functionCounters()).hasSize(2 * 3);
    }
  }

  private double enters(String loop) {
    return registry
        .get("lci.loop.enters")
        .tags("runtime", "shared", "loop", loop)
        .functionCounter()
        .count();
  }

  @Test
  void itemsOfAStreamAreCountedWhereTheyLeaveAndWhereTheyCome() {
    try (LciTestJob job = LciTestJob.start(2);
        LciMetrics sender = new LciMetrics(job.rank(0), named("sender"));
        LciMetrics receiver = new LciMetrics(job.rank(1), named("receiver"))) {
      sender.bindTo(registry);
      receiver.bindTo(registry);
      job.rank(0).streams().publish("numbers", Flux.range(1, COUNT), Codec.INT);
      assertThat(job.rank(1).streams().subscribe(0, "numbers", Codec.INT).count().block(LIMIT))
          .isEqualTo(COUNT);
      clock.add(LciMetrics.SNAPSHOT_AGE);
      assertThat(items("sender", "sent")).isEqualTo(COUNT);
      assertThat(items("sender", "received")).isZero();
      assertThat(items("receiver", "received")).isEqualTo(COUNT);
      assertThat(items("receiver", "sent")).isZero();
    }
  }

  private double items(String job, String direction) {
    return registry
        .get("lci.stream.items")
        .tags("runtime", job, "direction", direction)
        .functionCounter()
        .count();
  }

  private double done(String job, String device) {
    return registry
        .get("lci.operations")
        .tags("runtime", job, "op", "am", "outcome", "done", "device", device)
        .functionCounter()
        .count();
  }

  private double core(String job, String counter, String device) {
    return registry
        .get("lci.core")
        .tags("runtime", job, "counter", counter, "device", device)
        .functionCounter()
        .count();
  }

  /**
   * Levels without a meter, those that a snapshot has apart, and what {@code lci.retries} splits.
   */
  private static final List<String> SILENT =
      List.of(
          "packets_free",
          "packets_capacity",
          "packets_held",
          "sends_pending",
          "loop_leased",
          "retries_lock",
          "retries_nopacket",
          "retries_nomem",
          "retries_backlog",
          "retries_nocredit",
          "retries_pending",
          "retries_order");

  /** Each counter that a runtime has is moved by itself. */
  // Proves: U7
  @Test
  void aFigureHasOneName() {
    FakeRuntime fake = new FakeRuntime();
    Set<String> counters;
    try (LciTestJob job = LciTestJob.start(1)) {
      counters = job.rank(0).snapshot().counters().keySet();
    }
    for (String counter : counters) {
      fake.counters.putIfAbsent(counter, 0L);
      fake.second.putIfAbsent(counter, 0L);
    }
    try (LciMetrics metrics = new LciMetrics(fake.runtime)) {
      metrics.bindTo(registry);
      for (String counter : counters) {
        Map<Meter.Id, Double> before = values();
        fake.counters.merge(counter, 1L, Long::sum);
        Map<Meter.Id, Double> after = values();
        Set<String> names =
            after.keySet().stream()
                .filter(id -> !after.get(id).equals(before.get(id)))
                .map(Meter.Id::getName)
                .collect(Collectors.toSet());
        if (names.contains("lci.core")) {
          assertThat(names).as(counter).containsExactly("lci.core");
        }
        assertThat(names.isEmpty())
            .as(counter + " has no meter")
            .isEqualTo(SILENT.contains(counter));
      }
    }
  }

  private Map<Meter.Id, Double> values() {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry.getMeters().stream()
        .collect(
            Collectors.toMap(Meter::getId, meter -> meter.measure().iterator().next().getValue()));
  }

  @Test
  void messagesThatNobodyAsksForAreSeenAsDepth() {
    try (LciTestJob job = LciTestJob.start(2);
        LciMetrics receiver = new LciMetrics(job.rank(1), named("receiver"))) {
      job.rank(1).inbox(NUMBERS, InboxOptions.builder().messages(CAPACITY).build());
      receiver.bindTo(registry);
      Disposable sending =
          job.rank(0)
              .sender(NUMBERS)
              .sendAll(1, Flux.range(1, COUNT), (n, out) -> out.putLong(n))
              .subscribe();
      await().atMost(LIMIT).until(() -> gauge("lci.inbox.depth") > 0);
      assertThat(gauge("lci.inbox.depth")).isLessThanOrEqualTo(CAPACITY);
      sending.dispose();
    }
  }

  @Test
  void operationsOfARunningJobAreTimed() {
    LciOptions options =
        LciOptions.builder()
            .instrumentation(LciMetrics.instrumentation(registry, named("both")))
            .build();
    int count = 100 * LciInstrumentation.TIMED_EVERY;
    try (LciTestJob job = LciTestJob.start(1, options)) {
      Mono<Long> received =
          job.rank(0).inbox(NUMBERS).receive(m -> m.getLong(0)).take(count).count();
      Mono<Void> sent =
          job.rank(0).sender(NUMBERS).sendAll(0, Flux.range(1, count), (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(count);
      assertThat(registry.get("lci.operation.latency").tags("op", "am").timer().count())
          .as("some attempts are refused, and those are not timed")
          .isBetween(1L, (long) count);
    }
  }

  /** Each call, by its algorithm; those that end with an error are not timed. */
  @Test
  void callsOfGroupsOfARunningJobAreTimed() {
    LciOptions options =
        LciOptions.builder()
            .instrumentation(LciMetrics.instrumentation(registry, named("both")))
            .build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      for (int i = 0; i < 5; i++) {
        Flux.fromIterable(job.ranks())
            .flatMap(
                lci -> {
                  double[] mine = {1, 2};
                  return lci.world()
                      .with(Algorithm.RECURSIVE_DOUBLING)
                      .allReduce(Vec.doubles(mine), Vec.doubles(mine), ReduceOp.SUM)
                      .then(lci.world().barrier());
                })
            .blockLast(LIMIT);
      }
      Tags calls = Tags.of("call", "allReduce", "algorithm", "recursive_doubling");
      assertThat(registry.get("lci.collective").tags(calls).timer().count()).isEqualTo(10);
      assertThat(registry.get("lci.collective.results").tags(calls).counter().count())
          .isEqualTo(160);
      assertThat(registry.get("lci.collective").tags("call", "barrier").timer().count())
          .isEqualTo(10);
      Tags barriers = Tags.of("call", "barrier", "algorithm", "arena_line");
      assertThat(registry.get("lci.collective").tags(barriers).timer().count()).isEqualTo(10);
      CollectiveContext context = job.rank(0).world().context(1);
      context.revoke();
      StepVerifier.create(context.barrier()).verifyError(CollectiveFailedException.class);
      assertThat(registry.get("lci.collective").tags("call", "barrier").timer().count())
          .isEqualTo(10);
    }
  }

  /** Nobody closes the binder. */
  @Test
  void aRuntimeThatClosesTakesItsMetersWithIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      new LciMetrics(job.rank(0), named("sender")).bindTo(registry);
      assertThat(gauge("sender", "lci.peers", "state", "alive")).isEqualTo(1);
    }
    await().atMost(LIMIT).until(() -> registry.getMeters().isEmpty());
  }

  @Test
  void theInstrumentationBindsAndRemovesARuntime() {
    LciOptions options =
        LciOptions.builder()
            .instrumentation(LciMetrics.instrumentation(registry, named("receiver")))
            .build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(job.rank(0).size()).isEqualTo(1);
      assertThat(gauge("lci.packets.capacity")).isPositive();
    }
    assertThat(registry.getMeters()).isEmpty();
  }
}
