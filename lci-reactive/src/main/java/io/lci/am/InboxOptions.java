/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

/**
 * Options of an inbox. Immutable.
 *
 * @param messages most messages stored or granted to senders; 1 or more
 * @param bytes most payload bytes stored or granted to senders; 1 or more
 * @param loop index of the home loop: where everything is signalled
 */
public record InboxOptions(int messages, long bytes, int loop) {
  /** Default of {@link #messages()}. */
  public static final int DEFAULT_MESSAGES = 1_024;

  /** Default of {@link #bytes()}: 8 MiB. */
  public static final long DEFAULT_BYTES = 8L << 20;

  private static final InboxOptions DEFAULTS = new InboxOptions(DEFAULT_MESSAGES, DEFAULT_BYTES, 0);

  /** Checks the values. */
  public InboxOptions {
    if (messages < 1) {
      throw new IllegalArgumentException("messages must be at least 1: " + messages);
    }
    if (bytes < 1) {
      throw new IllegalArgumentException("bytes must be at least 1: " + bytes);
    }
    if (loop < 0) {
      throw new IllegalArgumentException("loop must not be negative: " + loop);
    }
  }

  /** Returns the defaults: 1,024 messages, 8 MiB, loop 0. */
  public static InboxOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the capacity in messages.
   *
   * @param value 1 or more
   * @return new options
   */
  public InboxOptions withMessages(int value) {
    return new InboxOptions(value, bytes, loop);
  }

  /**
   * Sets the capacity in bytes.
   *
   * @param value 1 or more
   * @return new options
   */
  public InboxOptions withBytes(long value) {
    return new InboxOptions(messages, value, loop);
  }

  /**
   * Sets the home loop.
   *
   * @param value index of the loop
   * @return new options
   */
  public InboxOptions withLoop(int value) {
    return new InboxOptions(messages, bytes, value);
  }
}
