/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.LciSnapshot.InboxState;
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
  private static final String DEFAULT_TRANSPORT = "shm";

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
    first.counters().keySet().forEach(this::registerCounter);
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

  private void registerCounter(String counter) {
    Matcher operation = OPERATION.matcher(counter);
    if (operation.matches()) {
      Tags tags =
          Tags.of(
              OperationKeys.OP.asString(),
              operation.group(1),
              OperationKeys.OUTCOME.asString(),
              operation.group(2));
      meters.add(counter(LciMeters.OPERATIONS, tags, counter));
    }
    Matcher retry = RETRY.matcher(counter);
    if (retry.matches()) {
      meters.add(
          counter(
              LciMeters.RETRIES, Tags.of(RetryKeys.REASON.asString(), retry.group(1)), counter));
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

  private Meter counter(LciMeters meter, Tags tags, String counter) {
    return FunctionCounter.builder(meter.getName(), this, self -> snapshots.get().counter(counter))
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
