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
 * @since 0.1
 */
public final class StreamLimits {
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

  private static final StreamLimits DEFAULTS = builder().build();

  private final int streams;
  private final int requests;
  private final int waiting;
  private final int itemBytes;
  private final long reassemblyBytes;

  private StreamLimits(Builder b) {
    streams = b.streams;
    requests = b.requests;
    waiting = b.waiting;
    itemBytes = b.itemBytes;
    reassemblyBytes = b.reassemblyBytes;
  }

  /** {@return the defaults} */
  public static StreamLimits defaults() {
    return DEFAULTS;
  }

  /** {@return a builder that starts from the defaults} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a builder that starts from these limits} */
  public Builder mutate() {
    return new Builder(this);
  }

  /** {@return the most long exchanges at a time} Default {@value #DEFAULT_STREAMS}. */
  public int streams() {
    return streams;
  }

  /** {@return the most short exchanges at a time} Default {@value #DEFAULT_REQUESTS}. */
  public int requests() {
    return requests;
  }

  /** {@return the most short exchanges that wait for a place} Default {@value #DEFAULT_WAITING}. */
  public int waiting() {
    return waiting;
  }

  /** {@return the most bytes of an item, request or reply} Default 16 MiB. */
  public int itemBytes() {
    return itemBytes;
  }

  /**
   * {@return the most bytes of items that are being put together from several frames} Default 32
   * MiB.
   */
  public long reassemblyBytes() {
    return reassemblyBytes;
  }

  @Override
  public String toString() {
    return "StreamLimits[streams="
        + streams
        + ", requests="
        + requests
        + ", waiting="
        + waiting
        + ", itemBytes="
        + itemBytes
        + ", reassemblyBytes="
        + reassemblyBytes
        + ']';
  }

  /** Builds {@link StreamLimits}. Not thread-safe. */
  public static final class Builder {
    private int streams = DEFAULT_STREAMS;
    private int requests = DEFAULT_REQUESTS;
    private int waiting = DEFAULT_WAITING;
    private int itemBytes = DEFAULT_ITEM_BYTES;
    private long reassemblyBytes = DEFAULT_REASSEMBLY_BYTES;

    private Builder() {}

    private Builder(StreamLimits o) {
      streams = o.streams;
      requests = o.requests;
      waiting = o.waiting;
      itemBytes = o.itemBytes;
      reassemblyBytes = o.reassemblyBytes;
    }

    /**
     * Sets the most long exchanges at a time: remote streams, request-stream, request-channel. One
     * more ends with {@link io.lci.error.ResourceExhaustedException}.
     *
     * @param value 1 to 2^20
     * @return this
     */
    public Builder streams(int value) {
      streams = (int) range("streams", value, 1, MOST);
      return this;
    }

    /**
     * Sets the most short exchanges at a time: request-response and fire-and-forget. More wait for
     * a place, as an operation waits at retry. A place is room for the first frame of the reply, so
     * that no reply ever waits for a credit of its requester.
     *
     * @param value 1 to 2^20
     * @return this
     */
    public Builder requests(int value) {
      requests = (int) range("requests", value, 1, MOST);
      return this;
    }

    /**
     * Sets the most short exchanges that wait for a place; one more ends with {@link
     * io.lci.error.ResourceExhaustedException}.
     *
     * @param value 0 to 2^20
     * @return this
     */
    public Builder waiting(int value) {
      waiting = (int) range("waiting", value, 0, MOST);
      return this;
    }

    /**
     * Sets the most bytes of an item, request or reply.
     *
     * @param value 1 to 2^30
     * @return this
     */
    public Builder itemBytes(int value) {
      itemBytes = (int) range("itemBytes", value, 1, 1 << 30);
      return this;
    }

    /**
     * Sets the most bytes of items that are being put together from several frames; further large
     * items wait at their senders. An item that is larger than this goes alone.
     *
     * @param value 1 or more
     * @return this
     */
    public Builder reassemblyBytes(long value) {
      reassemblyBytes = range("reassemblyBytes", value, 1, Long.MAX_VALUE);
      return this;
    }

    /** {@return the limits} */
    public StreamLimits build() {
      return new StreamLimits(this);
    }

    private static long range(String name, long value, long least, long most) {
      if (value < least || value > most) {
        throw new IllegalArgumentException(
            name + " must be in " + least + ".." + most + ": " + value);
      }
      return value;
    }
  }
}
