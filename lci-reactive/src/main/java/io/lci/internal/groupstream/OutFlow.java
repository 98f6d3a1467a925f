/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.collective.StreamOptions;
import java.util.ArrayDeque;

/** The items for one member, within the window that it granted. Loop only. */
final class OutFlow<T> {
  final ArrayDeque<Item<T>> waiting = new ArrayDeque<>();
  private boolean open;
  private int windowItems;
  private int windowBytes;
  private long sentItems;
  private long sentBytes;
  private long deliveredItems;
  private long deliveredBytes;
  private boolean ended;

  /** The member has begun. */
  void open(int items, int bytes) {
    if (open
        || items < 1
        || items > StreamOptions.MAX_WINDOW_ITEMS
        || bytes < StreamOptions.MIN_WINDOW_BYTES
        || bytes > StreamOptions.MAX_WINDOW_BYTES) {
      throw new IllegalStateException("a window of " + items + " items and " + bytes + " bytes");
    }
    open = true;
    windowItems = items;
    windowBytes = bytes;
  }

  boolean isOpen() {
    return open;
  }

  /** So much was delivered there; an older word may come later. */
  void credit(long items, long bytes) {
    if (items < 0 || items > sentItems || bytes < 0 || bytes > sentBytes) {
      throw new IllegalStateException(
          items + " items and " + bytes + " bytes were delivered, of " + sentItems);
    }
    deliveredItems = Math.max(deliveredItems, items);
    deliveredBytes = Math.max(deliveredBytes, bytes);
  }

  /** Whether the member takes one more, if it is not too long. */
  boolean hasRoom() {
    return open && sentItems - deliveredItems < windowItems;
  }

  boolean fits(int bytes) {
    return sentBytes - deliveredBytes + bytes <= windowBytes;
  }

  /** Longer ones could wait for a renewal that the member does not owe. */
  boolean isTooLong(int bytes) {
    return bytes > windowBytes / 2;
  }

  int windowBytes() {
    return windowBytes;
  }

  /** How many items the member wanted so far: what was delivered, and the window. */
  long wanted() {
    return open ? deliveredItems + windowItems : 0;
  }

  /** Items that have left. */
  long sent() {
    return sentItems;
  }

  void sent(int bytes) {
    sentItems++;
    sentBytes += bytes;
  }

  /** Nothing more goes to the member. */
  void end() {
    ended = true;
  }

  boolean hasEnded() {
    return ended;
  }
}
