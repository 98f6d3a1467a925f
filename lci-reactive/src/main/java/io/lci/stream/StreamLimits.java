/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.stream;

/**
 * Bounds of streams and RPC with each peer, in either direction. Each rank applies its own limits,
 * both to exchanges that it opens and to those that peers open. Immutable.
 *
 * <p><b>Memory.</b> At most one item of each exchange is encoded, also while the peer gives it no
 * room. So a peer that requests much and takes nothing makes this rank store at most {@code streams
 * + requests} encoded items, and as many of its own ones, of {@code itemBytes} each, besides up to
 * {@value #WINDOW} items of each source that are not encoded. Arriving items occupy {@code
 * reassemblyBytes}. Ranks with large items and many peers should lower the first three.
 *
 * @param streams most long exchanges at a time: remote streams, request-stream, request-channel.
 *     One more ends with {@link io.lci.error.ResourceExhaustedException}
 * @param requests most short exchanges at a time: request-response and fire-and-forget. More wait
 *     for a place, as an operation waits at retry. A place is room for the reply's first frame, so
 *     that no reply ever waits for a credit of its requester
 * @param waiting most short exchanges that wait for a place; one more ends with {@link
 *     io.lci.error.ResourceExhaustedException}
 * @param itemBytes most bytes of an item, request or reply
 * @param reassemblyBytes most bytes of items that are being put together from several frames;
 *     further large items wait at their senders. An item that is larger than this goes alone
 * @since 0.1
 */
public record StreamLimits(
    int streams, int requests, int waiting, int itemBytes, long reassemblyBytes) {
  /** Most items that a receiver asks for ahead, whatever its demand. */
  public static final int WINDOW = 256;

  /** Default of {@link #streams()}. */
  public static final int DEFAULT_STREAMS = 256;

  /** Default of {@link #requests()}. */
  public static final int DEFAULT_REQUESTS = 1_024;

  /** Default of {@link #waiting()}. */
  public static final int DEFAULT_WAITING = 65_536;

  /** Default of {@link #itemBytes()}: 16 MiB. */
  public static final int DEFAULT_ITEM_BYTES = 16 << 20;

  /** Default of {@link #reassemblyBytes()}: 32 MiB. */
  public static final long DEFAULT_REASSEMBLY_BYTES = 32L << 20;

  private static final int MOST = 1 << 20;

  private static final StreamLimits DEFAULTS =
      new StreamLimits(
          DEFAULT_STREAMS,
          DEFAULT_REQUESTS,
          DEFAULT_WAITING,
          DEFAULT_ITEM_BYTES,
          DEFAULT_REASSEMBLY_BYTES);

  /**
   * Checks the values.
   *
   * @param streams most long exchanges at a time
   * @param requests most short exchanges at a time
   * @param waiting most short exchanges that wait for a place
   * @param itemBytes most bytes of an item, request or reply
   * @param reassemblyBytes most bytes of items that are being put together of several frames
   */
  public StreamLimits {
    check("streams", streams, 1, MOST);
    check("requests", requests, 1, MOST);
    check("waiting", waiting, 0, MOST);
    check("itemBytes", itemBytes, 1, 1 << 30);
    check("reassemblyBytes", reassemblyBytes, 1, Long.MAX_VALUE);
  }

  private static void check(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " must be in " + least + ".." + most + ": " + value);
    }
  }

  /** {@return the defaults} */
  public static StreamLimits defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the number of long exchanges.
   *
   * @param value 1 to 2^20
   * @return new limits
   */
  public StreamLimits withStreams(int value) {
    return new StreamLimits(value, requests, waiting, itemBytes, reassemblyBytes);
  }

  /**
   * Sets the number of short exchanges.
   *
   * @param value 1 to 2^20
   * @return new limits
   */
  public StreamLimits withRequests(int value) {
    return new StreamLimits(streams, value, waiting, itemBytes, reassemblyBytes);
  }

  /**
   * Sets how many short exchanges may wait for a place.
   *
   * @param value 0 to 2^20
   * @return new limits
   */
  public StreamLimits withWaiting(int value) {
    return new StreamLimits(streams, requests, value, itemBytes, reassemblyBytes);
  }

  /**
   * Sets the size of items.
   *
   * @param value 1 to 2^30
   * @return new limits
   */
  public StreamLimits withItemBytes(int value) {
    return new StreamLimits(streams, requests, waiting, value, reassemblyBytes);
  }

  /**
   * Sets the room for large items.
   *
   * @param value 1 or more
   * @return new limits
   */
  public StreamLimits withReassemblyBytes(long value) {
    return new StreamLimits(streams, requests, waiting, itemBytes, value);
  }
}
