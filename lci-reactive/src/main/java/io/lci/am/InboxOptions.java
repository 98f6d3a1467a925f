/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of an inbox. Immutable.
 *
 * @param messages most messages stored or granted to senders; 1 or more
 * @param bytes most payload bytes stored or granted to senders; 1 or more
 * @param loop index of the home loop: where everything is signalled
 * @param maxRetained most messages of {@link Inbox#receiveRetained()} that are not released; 1 or
 *     more
 * @param replies room for so many replies besides the capacity; 0 for none
 * @param replyBytes most bytes of such a reply
 * @param partitions parts of the port, each with its own loop; 1 to {@value #MAX_PARTITIONS}
 * @param signalOn where subscribers are signalled; null for the home loop
 * @since 0.1
 */
public record InboxOptions(
    int messages,
    long bytes,
    int loop,
    int maxRetained,
    int replies,
    int replyBytes,
    int partitions,
    @Nullable Scheduler signalOn) {
  /** Default of {@link #messages()}. */
  public static final int DEFAULT_MESSAGES = 1_024;

  /** Default of {@link #bytes()}: 8 MiB. */
  public static final long DEFAULT_BYTES = 8L << 20;

  /** Default of {@link #maxRetained()}. */
  public static final int DEFAULT_RETAINED = 64;

  /** Most parts of a port. */
  public static final int MAX_PARTITIONS = 64;

  private static final InboxOptions DEFAULTS =
      new InboxOptions(DEFAULT_MESSAGES, DEFAULT_BYTES, 0, DEFAULT_RETAINED, 0, 0, 1, null);

  /**
   * Checks the values.
   *
   * @param messages most messages stored or granted to senders
   * @param bytes most payload bytes stored or granted to senders
   * @param loop index of the home loop
   * @param maxRetained most messages of {@link Inbox#receiveRetained()} that are not released
   * @param replies room for so many replies besides the capacity
   * @param replyBytes most bytes of such a reply
   * @param partitions parts of the port, each with its own loop
   * @param signalOn where subscribers are signalled
   */
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
    if (maxRetained < 1) {
      throw new IllegalArgumentException("maxRetained must be at least 1: " + maxRetained);
    }
    if (partitions < 1 || partitions > MAX_PARTITIONS) {
      throw new IllegalArgumentException(
          "partitions must be in 1.." + MAX_PARTITIONS + ": " + partitions);
    }
    if (replies < 0 || replyBytes < 0) {
      throw new IllegalArgumentException(
          "room for replies must not be negative: " + replies + " of " + replyBytes + " bytes");
    }
  }

  /** {@return the defaults: 1,024 messages, 8 MiB, loop 0, 64 retained, no room for replies} */
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
    return new InboxOptions(
        value, bytes, loop, maxRetained, replies, replyBytes, partitions, signalOn);
  }

  /**
   * Sets the capacity in bytes.
   *
   * @param value 1 or more
   * @return new options
   */
  public InboxOptions withBytes(long value) {
    return new InboxOptions(
        messages, value, loop, maxRetained, replies, replyBytes, partitions, signalOn);
  }

  /**
   * Sets the home loop.
   *
   * @param value index of the loop
   * @return new options
   */
  public InboxOptions withLoop(int value) {
    return new InboxOptions(
        messages, bytes, value, maxRetained, replies, replyBytes, partitions, signalOn);
  }

  /**
   * Sets how many messages may be retained at a time.
   *
   * @param value 1 or more
   * @return new options
   */
  public InboxOptions withMaxRetained(int value) {
    return new InboxOptions(
        messages, bytes, loop, value, replies, replyBytes, partitions, signalOn);
  }

  /**
   * Sets room for replies aside, besides the capacity. A request that names this port ({@link
   * io.lci.Op#replyTo}) reserves room for its reply before it leaves, and waits while there is
   * none. So the reply needs no credit, and two ranks that answer each other never wait for each
   * other. A port keeps its room for the life of the runtime: it can be opened again only with the
   * same room. At most 127 ports of a runtime have such room.
   *
   * @param count requests under way at a time, including those whose reply was not taken yet
   * @param bytes most bytes of a reply, at most {@link io.lci.LciRuntime#maxEager()}
   * @return new options
   */
  public InboxOptions withReplyRoom(int count, int bytes) {
    return new InboxOptions(
        messages, this.bytes, loop, maxRetained, count, bytes, partitions, signalOn);
  }

  /**
   * Divides the port into parts, so that several loops take its messages. Part i lives on loop
   * {@code loop + i}; after the last loop, counting goes on with loop 0. It gets the messages whose
   * tag, as an unsigned number, leaves the remainder i when divided by the number of parts. A
   * sender that uses the hash of a key as the tag therefore keeps the messages of a key on one
   * loop. All parts share the capacity of the port, and senders do not see them.
   *
   * @param value 1 to {@value #MAX_PARTITIONS}; 1 is an ordinary inbox
   * @return new options
   * @see Inbox#partitions()
   */
  public InboxOptions withPartitions(int value) {
    return new InboxOptions(
        messages, bytes, loop, maxRetained, replies, replyBytes, value, signalOn);
  }

  /**
   * Sets where subscribers of the inbox are signalled, instead of on its home loop, as {@code
   * publishOn} does: messages are still decoded on the loop, up to 256 or one larger batch ahead,
   * and a cancel discards the decoded ones. A {@link Inbox#handle(MessageHandler)} stays on the
   * loop.
   *
   * @param value for example the {@linkplain io.lci.LciLoop#scheduler() scheduler} of another loop;
   *     null: the home loop
   * @return new options
   */
  public InboxOptions withSignalOn(@Nullable Scheduler value) {
    return new InboxOptions(
        messages, bytes, loop, maxRetained, replies, replyBytes, partitions, value);
  }
}
