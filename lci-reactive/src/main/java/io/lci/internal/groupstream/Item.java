/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.collective.StreamOptions;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.lane.HeapWriter;
import org.jspecify.annotations.Nullable;

/** An item that waits to be sent. Its place is free when no member waits for it. Loop only. */
final class Item<T> {
  private static final int MOST = StreamOptions.MAX_WINDOW_BYTES / 2;

  final T value;
  private byte @Nullable [] bytes;

  /** Members that it has not left to. */
  private int wanted;

  private boolean left;

  Item(T value, int wanted) {
    this.value = value;
    this.wanted = wanted;
  }

  /** Its bytes, made once. Calls user code. */
  byte[] bytes(Codec<T> codec, String operation) {
    byte[] known = bytes;
    if (known == null) {
      HeapWriter out = new HeapWriter(codec.sizeHint(value), MOST);
      try {
        codec.encode(value, out);
      } catch (HeapWriter.Full e) {
        throw tooLong(operation, "more than " + MOST, StreamOptions.MAX_WINDOW_BYTES);
      }
      known = out.toByteArray();
      bytes = known;
    }
    return known;
  }

  static ResourceExhaustedException tooLong(String operation, String bytes, int window) {
    return new ResourceExhaustedException(
        Detail.of(
            operation,
            "error_exhausted",
            "an item has " + bytes + " bytes, and may have half a window of " + window));
  }

  /** It has left to a member; returns whether that was the last one. */
  boolean leaves() {
    left = true;
    return --wanted == 0;
  }

  /** A member does not get it; returns whether that was the last one. */
  boolean isGivenUp() {
    return --wanted == 0;
  }

  /** Whether a member got it. */
  boolean hasLeft() {
    return left;
  }
}
