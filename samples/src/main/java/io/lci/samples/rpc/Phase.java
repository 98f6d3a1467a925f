/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciRuntime;
import java.util.concurrent.atomic.AtomicInteger;

/** A barrier over all threads of all ranks in which nobody waits: threads arrive, and ask. */
final class Phase {
  private final LciRuntime lci;
  private final Failure failure;
  private final AtomicInteger missing;
  private volatile boolean over;

  Phase(LciRuntime lci, int threads, Failure failure) {
    this.lci = lci;
    this.missing = new AtomicInteger(threads);
    this.failure = failure;
  }

  /** One more thread of this rank has come. */
  void arrive() {
    if (missing.decrementAndGet() == 0) {
      lci.barrier().subscribe(null, failure::set, () -> over = true);
    }
  }

  /** Whether this rank has come. */
  boolean hasArrived() {
    return missing.get() == 0;
  }

  /** Whether all have come. */
  boolean isOver() {
    return over;
  }
}
