/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

/**
 * A received message that stays in native memory: valid until {@link #release()}, on any thread. A
 * message that is not released counts against {@link InboxOptions#maxRetained()}, and in the gauge
 * {@code loop_leased}; at that bound the inbox delivers no more. Every use after the release is an
 * {@link IllegalStateException}, also one that another thread had begun.
 *
 * <p>A message that travelled in a packet stays in that packet, which belongs to its sender. A long
 * message (above {@link io.lci.LciRuntime#maxEager()}) has memory of its own. In both cases nothing
 * is copied, and the credit returns at the release. Messages of up to 192 bytes are copied once. So
 * are messages that came without credit, or while this rank retained its share of their sender's
 * packets already (attribute {@code packets} / 2 / number of ranks).
 *
 * <p>A message outlives its inbox and its sender. When the runtime closes, messages that are not
 * released are copied to the Java heap: they stay readable, and release still ends them. A message
 * that the heap has no room for is lost, which is logged: using it is an {@link
 * IllegalStateException}, too.
 *
 * @since 0.1
 */
public interface RetainedMessage extends MessageView {
  /** Gives the memory back. Any thread, once; later calls do nothing. */
  void release();

  /** {@return whether it was released} */
  boolean isReleased();
}
