/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import org.jspecify.annotations.Nullable;

/** Items go by rounds, one of each member in its turn, through an outlet. Loop only. */
final class RoundDelivery<T, R> implements Delivery {
  private final GroupStream<T, R> stream;
  private final Shape shape;
  private final Receiving<T> receiving;
  private final Outlet<T, R> outlet;
  private @Nullable Throwable uneven;

  /** Rounds of which all items were taken. */
  private long rounds;

  RoundDelivery(
      GroupStream<T, R> stream, Shape shape, Receiving<T> receiving, Outlet<T, R> outlet) {
    this.stream = stream;
    this.shape = shape;
    this.receiving = receiving;
    this.outlet = outlet;
  }

  @Override
  public void begin(long number) {
    outlet.begin(number, stream::fault, stream::schedule);
  }

  @Override
  public void deliver() {
    boolean moved = true;
    while (moved && !stream.hasEnded()) {
      moved = takeNext() || emitNext();
    }
  }

  private boolean emitNext() {
    R next = stream.takes() ? outlet.poll() : null;
    if (next != null) {
      stream.moved();
    }
    if (next != null && !stream.isOver()) {
      stream.give(next);
    }
    return next != null;
  }

  private boolean takeNext() {
    if (uneven != null || !outlet.hasRoom()) {
      return false;
    }
    int last = receiving.endsFirst();
    if (last >= 0) {
      differ(last, "it has completed, and others go on");
      return false;
    }
    int member = receiving.next();
    InFlow<T> flow = member < 0 ? null : receiving.of(member);
    T item = flow == null ? null : flow.next();
    if (item == null) {
      return false;
    }
    take(member, item);
    return true;
  }

  private void take(int member, T item) {
    try {
      outlet.take(member, item);
      rounds += member == shape.size() - 1 ? 1 : 0;
    } catch (Outlet.Uneven e) {
      stream.discard(item);
      differ(e.member, "it has " + e.getMessage());
    }
  }

  /** Each member finds that for itself, when it has taken the rounds before. */
  private void differ(int member, String text) {
    StreamCause cause =
        StreamCause.mismatch(shape.group().worldRank(member), "at element " + rounds + " " + text);
    uneven = stream.error(cause);
    stream.stopAt(rounds + 1);
  }

  @Override
  public boolean isDone() {
    return (uneven != null || receiving.isDone()) && outlet.isEmpty();
  }

  @Override
  public @Nullable Throwable uneven() {
    return uneven;
  }

  @Override
  public int gaveUp() {
    return outlet.gaveUp();
  }

  @Override
  public void end(@Nullable Throwable reason) {
    outlet.end(reason == null || reason == uneven, stream::discard);
  }
}
