/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciRuntime;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells of destinations that accept nothing for long, once per stall. Loop only. */
final class Stalls {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final CoreRuntime core;
  private final DestinationTable destinations;

  Stalls(CoreRuntime core, DestinationTable destinations) {
    this.core = core;
    this.destinations = destinations;
  }

  void report(long now, long limitNanos) {
    for (Destination destination : destinations.slots()) {
      if (destination != null
          && destination.count > 0
          && !destination.warned
          && now - destination.progressNanos >= limitNanos) {
        destination.warned = true;
        tell(destination, Duration.ofNanos(now - destination.progressNanos));
      }
    }
  }

  private void tell(Destination destination, Duration time) {
    LOG.warn(
        "rank {}: {} accepted nothing for {} ms, {} operations wait, last answer {}{}; see"
            + " docs/guide/backpressure.md",
        core.rank,
        destination,
        time.toMillis(),
        destination.count,
        Errors.name(core.calls, destination.reason),
        guess(destination));
    core.observer.tell(
        observer ->
            observer.stalled(
                destination.rank,
                destination.port,
                Errors.outcome(destination.reason),
                destination.count,
                time));
  }

  private static String guess(Destination destination) {
    if (destination.reason != Codes.RETRY_NOCREDIT) {
      return "";
    }
    return switch (destination.kind) {
      case Destination.AM ->
          ": the port is not open there, its subscriber asks for nothing, or that rank has no device"
              + " of this number";
      case Destination.REMOTE -> ": that rank has no device of this number";
      default -> "";
    };
  }
}
