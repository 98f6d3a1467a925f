/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.stream.StreamLimits;
import org.jspecify.annotations.Nullable;

/**
 * The receiving direction of an exchange: what the peer may send, and the item that is being put
 * together. Loop only.
 */
final class Assembly {
  private final Exchange exchange;
  private final Room room;
  private final int itemBytes;

  /** Items that the peer may send and has not. */
  private long credit;

  /** Items that came. */
  private long received;

  // An item of several frames; no array until there is room for all of it
  private int total;
  private byte @Nullable [] first;
  private byte @Nullable [] item;
  private int filled;
  private boolean asking;
  private long held;

  Assembly(Exchange exchange, Room room, int itemBytes) {
    this.exchange = exchange;
    this.room = room;
    this.itemBytes = itemBytes;
  }

  long received() {
    return received;
  }

  boolean isPartial() {
    return first != null || item != null;
  }

  /** The peer was told, or knows, that it may send so many more. */
  void allow(long items) {
    credit += items;
  }

  /**
   * How many more items to ask for, given what the subscriber wants: few times, and never too many.
   */
  int toAsk(long demand) {
    long asked = credit + (isPartial() ? 1 : 0); // what has begun to come was asked for, too
    long want = Math.min(demand, StreamLimits.WINDOW) - asked;
    return want > 0 && (asked + want == demand || want >= StreamLimits.WINDOW / 4) ? (int) want : 0;
  }

  /**
   * Takes a part.
   *
   * @return the item, if this was its last part
   * @throws BadFrame if it cannot come now
   * @throws TooLarge if the item is beyond this rank's limit
   */
  byte @Nullable [] take(InFrame frame) throws BadFrame, TooLarge {
    return frame.has(InFrame.CONTINUED) ? takeMore(frame.data) : takeFirst(frame);
  }

  private byte @Nullable [] takeFirst(InFrame frame) throws BadFrame, TooLarge {
    if (isPartial()) {
      throw new BadFrame("an item inside another");
    }
    if (credit == 0) {
      throw new BadFrame("an item that nobody asked for");
    }
    if (frame.total > itemBytes) {
      throw new TooLarge(frame.total, itemBytes);
    }
    credit--;
    if (frame.data.length == frame.total) {
      received++;
      return frame.data;
    }
    total = frame.total;
    first = frame.data;
    asking = true;
    room.ask(this);
    return null;
  }

  private byte @Nullable [] takeMore(byte[] data) throws BadFrame {
    byte[] into = item;
    if (into == null || data.length > total - filled) {
      throw new BadFrame("a part of no item, or beyond its end");
    }
    System.arraycopy(data, 0, into, filled, data.length);
    filled += data.length;
    if (filled < total) {
      return null;
    }
    item = null;
    received++;
    return into;
  }

  // Room

  /** Bytes that the item takes. */
  long asked() {
    return total;
  }

  /** There is room for all of it. */
  void granted() {
    asking = false;
    held = total;
    byte[] begun = java.util.Objects.requireNonNull(first);
    byte[] whole = new byte[total];
    System.arraycopy(begun, 0, whole, 0, begun.length);
    filled = begun.length;
    item = whole;
    first = null;
    exchange.roomCame();
  }

  /** The item was delivered, or the exchange is over: its room is free. */
  void dispose() {
    first = null;
    item = null;
    if (asking) {
      asking = false;
      room.withdraw(this);
    }
    if (held > 0) {
      long back = held;
      held = 0;
      room.release(back);
    }
  }

  /** An item beyond the limit. */
  static final class TooLarge extends Exception {
    private static final long serialVersionUID = 1L;

    TooLarge(int bytes, int most) {
      super("an item of " + bytes + " bytes; the limit is " + most, null, false, false);
    }
  }
}
