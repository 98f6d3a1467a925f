/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * A publisher under the rules.
 *
 * @param name how it is got
 * @param kind what it can do
 * @param create makes one that has so many elements
 * @param failed makes one that fails at once, if there is such a state
 */
record Row(
    String name,
    Kind kind,
    BiFunction<TckWorld, Long, Publisher<?>> create,
    @Nullable Function<TckWorld, Publisher<?>> failed) {

  /** What a publisher can do, and so which rules do not apply to it. */
  enum Kind {
    /** A tap of something that goes on: one subscriber, no end. */
    TAP(Long.MAX_VALUE, true),
    /** As many elements as wanted, for each subscriber anew. */
    COLD(Integer.MAX_VALUE, false),
    /** As many elements as wanted, objects of its own for each subscriber. */
    COPIES(Integer.MAX_VALUE, true),
    /** As many elements as wanted, for one subscriber. */
    LINE(Integer.MAX_VALUE, true),
    /** What happened so far, for each subscriber, no end. */
    REPLAY(Long.MAX_VALUE, false),
    /** One element. */
    ONE(1, false),
    /** One element for one subscriber. */
    ONCE(1, true),
    /** None: its end is the signal. */
    NONE(0, false);

    final long max;
    final boolean unicast;

    Kind(long max, boolean unicast) {
      this.max = max;
      this.unicast = unicast;
    }

    boolean isEndless() {
      return max == Long.MAX_VALUE;
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
