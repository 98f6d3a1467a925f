/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of an inbox. Immutable.
 *
 * @since 0.1
 */
public final class InboxOptions {
  /** Default of {@link #messages()}. */
  public static final int DEFAULT_MESSAGES = 1_024;

  /** Default of {@link #bytes()}: 8 MiB. */
  public static final long DEFAULT_BYTES = 8L << 20;

  /** Default of {@link #maxRetained()}. */
  public static final int DEFAULT_RETAINED = 64;

  /** Most parts of a port. */
  public static final int MAX_PARTITIONS = 64;

  private static final InboxOptions DEFAULTS = builder().build();

  private final int messages;
  private final long bytes;
  private final int loop;
  private final int maxRetained;
  private final int replies;
  private final int replyBytes;
  private final int partitions;
  private final @Nullable Scheduler signalOn;

  private InboxOptions(Builder b) {
    messages = b.messages;
    bytes = b.bytes;
    loop = b.loop;
    maxRetained = b.maxRetained;
    replies = b.replies;
    replyBytes = b.replyBytes;
    partitions = b.partitions;
    signalOn = b.signalOn;
  }

  /** {@return the defaults: 1,024 messages, 8 MiB, loop 0, 64 retained, no room for replies} */
  public static InboxOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a builder that starts from the defaults} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a builder that starts from these options} */
  public Builder mutate() {
    return new Builder(this);
  }

  /**
   * {@return the most messages stored or granted to senders} Default {@value #DEFAULT_MESSAGES}.
   */
  public int messages() {
    return messages;
  }

  /** {@return the most bytes of payload stored or granted to senders} Default 8 MiB. */
  public long bytes() {
    return bytes;
  }

  /** {@return the index of the home loop, where everything is signalled} */
  public int loop() {
    return loop;
  }

  /**
   * {@return the most messages of {@link Inbox#receiveRetained()} that are not released} Default
   * {@value #DEFAULT_RETAINED}.
   */
  public int maxRetained() {
    return maxRetained;
  }

  /** {@return how many replies have room besides the capacity; 0 for none} */
  public int replies() {
    return replies;
  }

  /** {@return the most bytes of such a reply} */
  public int replyBytes() {
    return replyBytes;
  }

  /** {@return how many parts the port has, each with its own loop} */
  public int partitions() {
    return partitions;
  }

  /** {@return where subscribers are signalled, or null for the home loop} */
  public @Nullable Scheduler signalOn() {
    return signalOn;
  }

  @Override
  public String toString() {
    return "InboxOptions[messages="
        + messages
        + ", bytes="
        + bytes
        + ", loop="
        + loop
        + ", maxRetained="
        + maxRetained
        + ", replies="
        + replies
        + ", replyBytes="
        + replyBytes
        + ", partitions="
        + partitions
        + ", signalOn="
        + signalOn
        + ']';
  }

  /** Builds {@link InboxOptions}. Not thread-safe. */
  public static final class Builder {
    private int messages = DEFAULT_MESSAGES;
    private long bytes = DEFAULT_BYTES;
    private int loop = 0;
    private int maxRetained = DEFAULT_RETAINED;
    private int replies;
    private int replyBytes;
    private int partitions = 1;
    private @Nullable Scheduler signalOn;

    private Builder() {}

    private Builder(InboxOptions o) {
      messages = o.messages;
      bytes = o.bytes;
      loop = o.loop;
      maxRetained = o.maxRetained;
      replies = o.replies;
      replyBytes = o.replyBytes;
      partitions = o.partitions;
      signalOn = o.signalOn;
    }

    /**
     * Sets the capacity in messages: stored, or granted to senders.
     *
     * @param value 1 or more
     * @return this
     */
    public Builder messages(int value) {
      if (value < 1) {
        throw new IllegalArgumentException("messages must be at least 1: " + value);
      }
      messages = value;
      return this;
    }

    /**
     * Sets the capacity in bytes of payload: stored, or granted to senders.
     *
     * @param value 1 or more
     * @return this
     */
    public Builder bytes(long value) {
      if (value < 1) {
        throw new IllegalArgumentException("bytes must be at least 1: " + value);
      }
      bytes = value;
      return this;
    }

    /**
     * Sets the home loop, where everything is signalled.
     *
     * @param value index of the loop
     * @return this
     */
    public Builder loop(int value) {
      if (value < 0) {
        throw new IllegalArgumentException("loop must not be negative: " + value);
      }
      loop = value;
      return this;
    }

    /**
     * Sets how many messages may be retained at a time.
     *
     * @param value 1 or more
     * @return this
     */
    public Builder maxRetained(int value) {
      if (value < 1) {
        throw new IllegalArgumentException("maxRetained must be at least 1: " + value);
      }
      maxRetained = value;
      return this;
    }

    /**
     * Divides the port into parts, so that several loops take its messages. Part i lives on loop
     * {@code loop + i}; after the last loop, counting goes on with loop 0. It gets the messages
     * whose tag, as an unsigned number, leaves the remainder i when divided by the number of parts.
     * A sender that uses the hash of a key as the tag therefore keeps the messages of a key on one
     * loop. All parts share the capacity of the port, and senders do not see them. See {@link
     * Inbox#partitions()}.
     *
     * @param value 1 to {@value #MAX_PARTITIONS}; 1 is an ordinary inbox
     * @return this
     */
    public Builder partitions(int value) {
      if (value < 1 || value > MAX_PARTITIONS) {
        throw new IllegalArgumentException(
            "partitions must be in 1.." + MAX_PARTITIONS + ": " + value);
      }
      partitions = value;
      return this;
    }

    /**
     * Sets where subscribers of the inbox are signalled, instead of on its home loop, as {@code
     * publishOn} does: messages are still decoded on the loop, up to 256 or one larger batch ahead,
     * and a cancel discards the decoded ones. A {@link Inbox#handle(MessageHandler)} stays on the
     * loop.
     *
     * @param value for example the {@linkplain io.lci.LciLoop#scheduler() scheduler} of another
     *     loop; null: the home loop
     * @return this
     */
    public Builder signalOn(@Nullable Scheduler value) {
      signalOn = value;
      return this;
    }

    /**
     * Sets room for replies aside, besides the capacity. A request that names this port ({@link
     * io.lci.AmOp#replyTo}) reserves room for its reply before it leaves, and waits while there is
     * none. So the reply needs no credit, and two ranks that answer each other never wait for each
     * other. A port keeps its room for the life of the runtime: it can be opened again only with
     * the same room. At most 127 ports of a runtime have such room.
     *
     * @param count requests under way at a time, including those whose reply was not taken yet; 0:
     *     no room
     * @param bytes most bytes of a reply, at most {@link io.lci.LciRuntime#maxEager()}
     * @return this
     */
    public Builder replyRoom(int count, int bytes) {
      if (count < 0 || bytes < 0) {
        throw new IllegalArgumentException(
            "room for replies must not be negative: " + count + " of " + bytes + " bytes");
      }
      replies = count;
      replyBytes = bytes;
      return this;
    }

    /** {@return the options} */
    public InboxOptions build() {
      return new InboxOptions(this);
    }
  }
}
