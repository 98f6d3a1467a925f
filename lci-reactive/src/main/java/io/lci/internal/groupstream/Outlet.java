/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes what is emitted of the items of a round, one of each member, in their turn. Loop only.
 *
 * @param <T> type of item
 * @param <R> what is emitted
 */
interface Outlet<T, R> {
  /** The items of a round do not fit each other. */
  final class Uneven extends RuntimeException {
    private static final long serialVersionUID = 1;

    final int member;

    /**
     * @param member whose item it is
     */
    Uneven(int member, String message) {
      super(message, null, false, false);
      this.member = member;
    }
  }

  /**
   * The stream has begun.
   *
   * @param failed called when it cannot go on
   * @param ready called when there may be something to emit
   */
  void begin(long number, Consumer<? super Throwable> failed, Runnable ready);

  /** Whether it takes another item. */
  boolean hasRoom();

  /**
   * An item.
   *
   * @throws Uneven if it does not fit those of the round; then it is not taken
   */
  void take(int member, T item);

  /** The rank of a member that takes no part any more, or {@link Delivery#NOBODY}. */
  int gaveUp();

  /** What is to be emitted next; null if there is nothing yet. */
  @Nullable R poll();

  /** Whether nothing more comes of what was taken. */
  boolean isEmpty();

  /**
   * The stream has ended.
   *
   * @param discard gets what was taken, and does not make a round
   */
  void end(boolean well, Consumer<? super T> discard);
}
