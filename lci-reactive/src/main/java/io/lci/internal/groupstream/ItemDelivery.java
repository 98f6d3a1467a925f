/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import org.jspecify.annotations.Nullable;

/** Each item is delivered by itself. Loop only. */
final class ItemDelivery<T, R> implements Delivery {
  private final GroupStream<T, R> stream;
  private final Receiving<T> receiving;
  private final StreamPlan.Result<? super T, ? extends R> result;

  ItemDelivery(
      GroupStream<T, R> stream,
      Receiving<T> receiving,
      StreamPlan.Result<? super T, ? extends R> result) {
    this.stream = stream;
    this.receiving = receiving;
    this.result = result;
  }

  @Override
  public void begin(long number) {}

  @Override
  public void deliver() {
    while (stream.takes()) {
      int member = receiving.next();
      InFlow<T> flow = member < 0 ? null : receiving.of(member);
      if (flow == null) {
        return;
      }
      T item = flow.next();
      stream.moved();
      if (item != null && stream.isOver()) {
        stream.discard(item);
      } else if (item != null) {
        stream.give(result.of(member, item));
      }
    }
  }

  @Override
  public boolean isDone() {
    return receiving.isDone();
  }

  @Override
  public @Nullable Throwable uneven() {
    return null;
  }

  @Override
  public int gaveUp() {
    return NOBODY;
  }

  @Override
  public void end(@Nullable Throwable reason) {}
}
