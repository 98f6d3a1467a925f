/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

/**
 * A received message in native memory that is lent: valid until {@link #release()}, on any thread.
 * What is not released counts against {@link InboxOptions#maxRetained()}, and in the gauge {@code
 * loop_leased}; at that bound the inbox gives no more. Every use after the release is an {@link
 * IllegalStateException}, also one that another thread had begun.
 *
 * <p>A message that travelled in a packet lies in that packet, which is its sender's, and a long
 * one (above {@link io.lci.LciRuntime#maxEager()}) in memory of its own: nothing is copied, and its
 * credit returns at the release. Messages of up to 192 bytes are copied once, and so are those that
 * came without credit, or while this rank's share of their sender's packets (attribute {@code
 * packets} / 2 / number of ranks) was lent here already.
 *
 * <p>It outlives its inbox and its sender. When the runtime closes, what is not released is copied
 * to the Java heap: it stays readable, and release still ends it. One that the heap has no room for
 * is lost, which is logged: using it is an {@link IllegalStateException}, too.
 *
 * @since 0.1
 */
public interface RetainedMessage extends MessageView {
  /** Gives the memory back. Any thread, once; later calls do nothing. */
  void release();

  /** {@return whether it was released} */
  boolean isReleased();
}
