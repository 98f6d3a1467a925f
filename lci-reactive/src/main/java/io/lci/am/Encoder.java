/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

/**
 * Writes an item as a payload. Called on the sender's home loop, once per attempt: a refused item
 * is encoded again when its destination has room, so encoding must be <em>repeatable</em> and the
 * item must not change until its result came. It must not block; an exception fails the item alone.
 *
 * @param <T> type of item
 * @since 0.1
 */
@FunctionalInterface
public interface Encoder<T> {
  /** Value of {@link #sizeHint} that means the size is not known beforehand. */
  int UNKNOWN = -1;

  /**
   * Writes the item.
   *
   * @param item the item
   * @param out the writer; valid only during the call
   */
  void encode(T item, PayloadWriter out);

  /**
   * Estimates the size in bytes that {@link #encode} will write, at least; a good hint saves a copy
   * when the payload is longer than 192 bytes.
   *
   * @param item the item
   * @return bytes, or {@link #UNKNOWN}: the size of the sender's previous item is assumed
   */
  default int sizeHint(T item) {
    return UNKNOWN;
  }
}
