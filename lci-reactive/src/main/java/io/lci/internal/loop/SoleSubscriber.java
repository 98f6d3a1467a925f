/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The one live subscription of something that has no more than one at a time. Any thread. */
public final class SoleSubscriber<S extends LoopSubscription<?>> {
  private final AtomicReference<@Nullable S> last = new AtomicReference<>();

  /** The live one, or null. */
  public @Nullable S live() {
    S current = last.get();
    return current == null || current.isOver() ? null : current;
  }

  /**
   * Makes {@code candidate} the live one; one that is over makes room at once.
   *
   * @return null, or the live one that is in the way
   */
  public @Nullable S claim(S candidate) {
    while (true) {
      S current = last.get();
      if (current != null && !current.isOver()) {
        return current;
      }
      if (last.compareAndSet(current, candidate)) {
        return null;
      }
    }
  }

  /** Nothing refers to the subscriber of {@code leaving} any more (Reactive Streams 3.13). */
  public void leave(S leaving) {
    last.compareAndSet(leaving, null);
  }
}
