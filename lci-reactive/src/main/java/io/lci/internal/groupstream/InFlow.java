/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The items of one source, within the window that it was granted: handed on by number, whatever
 * order they come in. Loop only.
 */
final class InFlow<T> {
  private static final Object DROPPED = new Object();

  private final @Nullable Object[] slots;
  private final int[] sizes;
  private final int windowBytes;
  private long received;
  private long receivedBytes;

  /** The highest number that came. */
  private long last = -1;

  private long delivered;
  private long deliveredBytes;
  private long told;
  private long toldBytes;

  /** Items in all; negative while that is not known. */
  private long count = -1;

  InFlow(int windowItems, int windowBytes) {
    this.slots = new Object[windowItems];
    this.sizes = new int[windowItems];
    this.windowBytes = windowBytes;
  }

  /** Whether there is a place for one more of this very member. */
  boolean hasRoom() {
    return received - delivered < slots.length;
  }

  /** The next item of this very member. */
  void add(T value) {
    put(received, value, 0);
  }

  /** An item has come, which was checked. */
  void put(long number, T value, int bytes) {
    store(number, value, bytes);
  }

  /** One that was checked has come, and nobody takes it. */
  void drop(long number, int bytes) {
    store(number, DROPPED, bytes);
  }

  /**
   * An item of so many bytes is about to come.
   *
   * @throws IllegalStateException if the source may not send it
   */
  void check(long number, int bytes) {
    if (number < delivered
        || number >= delivered + slots.length
        || slots[place(number)] != null
        || (count >= 0 && number >= count)) {
      throw new IllegalStateException("item " + number + " after " + delivered);
    }
    if (receivedBytes + bytes - deliveredBytes > windowBytes) {
      throw new IllegalStateException("item " + number + " is beyond the bytes of the window");
    }
  }

  private void store(long number, Object value, int bytes) {
    int place = place(number);
    slots[place] = value;
    sizes[place] = bytes;
    received++;
    receivedBytes += bytes;
    last = Math.max(last, number);
  }

  private int place(long number) {
    return (int) (number % slots.length);
  }

  boolean hasNext() {
    return slots[place(delivered)] != null;
  }

  /** The next item; null if it was dropped. */
  @SuppressWarnings("unchecked") // what is no item is the mark
  @Nullable T next() {
    int place = place(delivered);
    Object value = slots[place];
    slots[place] = null;
    delivered++;
    deliveredBytes += sizes[place];
    return value == DROPPED ? null : (T) value;
  }

  long delivered() {
    return delivered;
  }

  /** Lets go what was not delivered. */
  @SuppressWarnings("unchecked") // what is no item is the mark
  void clear(Consumer<? super T> discard) {
    for (int i = 0; i < slots.length; i++) {
      Object value = slots[i];
      slots[i] = null;
      if (value != null && value != DROPPED) {
        discard.accept((T) value);
      }
    }
  }

  /** The source has completed. */
  void end(long items) {
    if (count >= 0 || items <= last || items < 0) {
      throw new IllegalStateException("an end after " + items + " items");
    }
    count = items;
  }

  /** Whether nothing more comes of the source. */
  boolean isComplete() {
    return count == received;
  }

  /** Whether all that came was delivered, too. */
  boolean isDone() {
    return count == delivered;
  }

  /** Whether the source is to hear that there is room again. */
  boolean owesCredit() {
    return count < 0
        && (delivered - told >= Math.max(1, slots.length / 4)
            || deliveredBytes - toldBytes >= windowBytes / 4);
  }

  /** Tells it. */
  byte[] credit(OutFrame frames) {
    told = delivered;
    toldBytes = deliveredBytes;
    return frames.credit(delivered, deliveredBytes);
  }
}
