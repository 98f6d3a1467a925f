/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.LciSnapshot.InboxState;
import io.lci.metrics.LciMeters.BacklogKeys;
import io.lci.metrics.LciMeters.CoreKeys;
import io.lci.metrics.LciMeters.InboxKeys;
import io.lci.metrics.LciMeters.OperationKeys;
import io.lci.metrics.LciMeters.RetryKeys;
import io.lci.metrics.LciMeters.RuntimeKeys;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The meters of one runtime at one registry. Registries refer weakly to what a meter observes; here
 * the meters' functions refer to this object, so that it lives as long as they do.
 */
final class MeterBinding {

  private static final Pattern OPERATION = Pattern.compile("operations_(\\w+)_(done|posted)");
  private static final Pattern RETRY = Pattern.compile("retries_(\\w+)");

  /** What may fall again is a gauge, or no meter at all. */
  private static final Set<String> LEVELS =
      Set.of(
          "packets_free",
          "packets_capacity",
          "packets_out",
          "packets_held",
          "backlog_depth",
          "unexpected_stored",
          "credits_leased",
          "receives_pending",
          "sends_pending",
          "memory_regions",
          "memory_allocated",
          "loop_parked",
          "loop_in_slots",
          "loop_leased");

  private static final String DEFAULT_TRANSPORT = "shm";

  /** In place of a device: what none of them has counted. */
  private static final String NONE = "none";

  private final LciRuntime runtime;
  private final MeterRegistry registry;
  private final Tags extraTags;
  private final SnapshotCache snapshots;
  private final List<Meter> meters = new ArrayList<>();
  private final Map<String, List<Meter>> inboxMeters = new HashMap<>();
  private boolean removed;

  MeterBinding(LciRuntime runtime, MeterRegistry registry, Tags extraTags) {
    this.runtime = runtime;
    this.registry = registry;
    this.extraTags = extraTags;
    this.snapshots = new SnapshotCache(runtime, registry.config().clock(), this::followInboxes);
  }

  void register() {
    LciSnapshot first = snapshots.get();
    Set<String> counters = first.counters().keySet();
    for (int device = 0; device < first.devices(); device++) {
      registerDevice(device, counters);
    }
    for (String counter : counters) {
      if (!LEVELS.contains(counter)) {
        meters.add(
            counter(
                LciMeters.CORE,
                Tags.of(CoreKeys.COUNTER.asString(), counter, CoreKeys.DEVICE.asString(), NONE),
                snapshot -> snapshot.counterWithoutDevice(counter)));
      }
    }
    meters.add(gauge(LciMeters.PACKETS_FREE, Tags.empty(), LciSnapshot::packetsFree));
    meters.add(gauge(LciMeters.PACKETS_CAPACITY, Tags.empty(), LciSnapshot::packetsCapacity));
    meters.add(gauge(LciMeters.RUNTIME_INFO, runtimeTags(), snapshot -> 1));
  }

  synchronized void remove() {
    removed = true;
    meters.forEach(registry::remove);
    meters.clear();
    inboxMeters.values().forEach(this::removeAll);
    inboxMeters.clear();
  }

  private void registerDevice(int device, Set<String> counters) {
    Tags own = Tags.of(BacklogKeys.DEVICE.asString(), Integer.toString(device));
    counters.forEach(counter -> registerCounter(counter, device, own));
    meters.add(
        gauge(LciMeters.BACKLOG_DEPTH, own, snapshot -> snapshot.counter("backlog_depth", device)));
    meters.add(
        counter(
            LciMeters.BACKLOG_PUSHED, own, snapshot -> snapshot.counter("backlog_push", device)));
  }

  private void registerCounter(String counter, int device, Tags own) {
    ToDoubleFunction<LciSnapshot> value = snapshot -> snapshot.counter(counter, device);
    if (!LEVELS.contains(counter)) {
      meters.add(counter(LciMeters.CORE, own.and(CoreKeys.COUNTER.asString(), counter), value));
    }
    Matcher operation = OPERATION.matcher(counter);
    if (operation.matches()) {
      Tags tags =
          own.and(
              OperationKeys.OP.asString(),
              operation.group(1),
              OperationKeys.OUTCOME.asString(),
              operation.group(2));
      meters.add(counter(LciMeters.OPERATIONS, tags, value));
    }
    Matcher retry = RETRY.matcher(counter);
    if (retry.matches()) {
      meters.add(
          counter(LciMeters.RETRIES, own.and(RetryKeys.REASON.asString(), retry.group(1)), value));
    }
  }

  /** Inboxes come and go: their gauges follow every fresh snapshot. */
  private synchronized void followInboxes(LciSnapshot snapshot) {
    if (removed) {
      return;
    }
    Set<String> gone = new HashSet<>(inboxMeters.keySet());
    for (InboxState inbox : snapshot.inboxes()) {
      if (!gone.remove(inbox.port())) {
        inboxMeters.computeIfAbsent(inbox.port(), this::registerInbox);
      }
    }
    for (String port : gone) {
      removeAll(inboxMeters.getOrDefault(port, List.of()));
      inboxMeters.remove(port);
    }
  }

  private List<Meter> registerInbox(String port) {
    Tags tags = Tags.of(InboxKeys.PORT.asString(), port);
    return List.of(
        gauge(LciMeters.INBOX_DEPTH, tags, snapshot -> inbox(snapshot, port).depth()),
        gauge(LciMeters.INBOX_CAPACITY, tags, snapshot -> inbox(snapshot, port).capacity()));
  }

  private static InboxState inbox(LciSnapshot snapshot, String port) {
    for (InboxState inbox : snapshot.inboxes()) {
      if (inbox.port().equals(port)) {
        return inbox;
      }
    }
    return new InboxState(port, 0, 0);
  }

  private Tags runtimeTags() {
    String version = LciRuntime.class.getPackage().getImplementationVersion();
    return Tags.of(
        RuntimeKeys.RANK.asString(), Integer.toString(runtime.rank()),
        RuntimeKeys.SIZE.asString(), Integer.toString(runtime.size()),
        RuntimeKeys.VERSION.asString(), version == null ? "development" : version,
        RuntimeKeys.TRANSPORT.asString(),
            runtime.options().attributes().getOrDefault("transport", DEFAULT_TRANSPORT));
  }

  private Meter counter(LciMeters meter, Tags tags, ToDoubleFunction<LciSnapshot> value) {
    return FunctionCounter.builder(
            meter.getName(), this, self -> value.applyAsDouble(snapshots.get()))
        .baseUnit(meter.getBaseUnit())
        .tags(tags.and(extraTags))
        .register(registry);
  }

  private Meter gauge(LciMeters meter, Tags tags, ToDoubleFunction<LciSnapshot> value) {
    return Gauge.builder(meter.getName(), () -> value.applyAsDouble(snapshots.get()))
        .baseUnit(meter.getBaseUnit())
        .tags(tags.and(extraTags))
        .register(registry);
  }

  private void removeAll(List<Meter> some) {
    some.forEach(registry::remove);
  }
}
