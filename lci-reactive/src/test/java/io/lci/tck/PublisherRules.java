/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.PublisherVerification;

/** The TCK's rules for one publisher. */
public final class PublisherRules extends PublisherVerification<Object> {
  private final TckWorld world;
  private final Row row;
  private final long max;
  private final boolean raw;
  private final LongFunction<Function<Publisher<?>, Publisher<?>>> view;

  /**
   * @param max most elements, {@link Long#MAX_VALUE} if it does not end
   * @param raw whether its class must be the library's own
   * @param view what is put behind a publisher that is to have so many elements
   */
  PublisherRules(
      TckWorld world,
      Row row,
      long max,
      boolean raw,
      LongFunction<Function<Publisher<?>, Publisher<?>>> view) {
    super(Rules.environment());
    this.world = world;
    this.row = row;
    this.max = max;
    this.raw = raw;
    this.view = view;
  }

  @Override
  @SuppressWarnings("unchecked") // the rules do not look at elements
  public Publisher<Object> createPublisher(long elements) {
    Publisher<?> publisher = row.create().apply(world, elements);
    if (raw && !publisher.getClass().getName().startsWith("io.lci.")) {
      throw new AssertionError(row + " is behind an operator: " + publisher.getClass());
    }
    return (Publisher<Object>) view.apply(elements).apply(publisher);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public @Nullable Publisher<Object> createFailedPublisher() {
    return row.failed() == null ? null : (Publisher<Object>) row.failed().apply(world);
  }

  @Override
  public long maxElementsFromPublisher() {
    return max;
  }
}
