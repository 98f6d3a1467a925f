/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.micrometer.core.instrument.Clock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One snapshot for all meters of a scrape. */
final class SnapshotCache {

  private final LciRuntime runtime;
  private final Clock clock;
  private final Consumer<LciSnapshot> onFresh;
  private @Nullable LciSnapshot snapshot;
  private long taken;

  /**
   * An empty cache.
   *
   * @param onFresh called with every new snapshot, outside the lock
   */
  SnapshotCache(LciRuntime runtime, Clock clock, Consumer<LciSnapshot> onFresh) {
    this.runtime = runtime;
    this.clock = clock;
    this.onFresh = onFresh;
  }

  LciSnapshot get() {
    LciSnapshot fresh;
    synchronized (this) {
      long now = clock.monotonicTime();
      LciSnapshot kept = snapshot;
      if (kept != null && now - taken < LciMetrics.SNAPSHOT_AGE.toNanos()) {
        return kept;
      }
      fresh = runtime.snapshot();
      snapshot = fresh;
      taken = now;
    }
    onFresh.accept(fresh);
    return fresh;
  }
}
