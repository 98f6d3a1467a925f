/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.matching.MatchingEngine;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * A matched receive. Made by {@link Op#receive(int, long, int)} and its like. It never answers
 * <em>done</em>.
 *
 * @since 0.1
 */
public final class ReceiveOp extends Op {
  private final long tag;
  private final int maxBytes;
  private final @Nullable LciBuffer buffer;
  private final @Nullable BufferList buffers;
  private final @Nullable MatchingEngine engine;

  private ReceiveOp(
      int rank,
      OpOptions options,
      long tag,
      int maxBytes,
      @Nullable LciBuffer buffer,
      @Nullable BufferList buffers,
      @Nullable MatchingEngine engine) {
    super(Kind.RECEIVE, rank, options);
    this.tag = tag;
    this.maxBytes = maxBytes;
    this.buffer = buffer;
    this.buffers = buffers;
    this.engine = engine;
  }

  static ReceiveOp of(
      int rank, long tag, int bytes, @Nullable LciBuffer buffer, @Nullable BufferList buffers) {
    return new ReceiveOp(
        rank == ANY_SOURCE ? rank : checkRank(rank),
        OpOptions.ALWAYS_SIGNALS,
        tag == ANY_TAG ? tag : checkTag(tag),
        bytes,
        buffer,
        buffers,
        null);
  }

  private ReceiveOp with(OpOptions changed) {
    return new ReceiveOp(rank(), changed, tag, maxBytes, buffer, buffers, engine);
  }

  /**
   * Chooses the matching engine. Default: the one that every rank has.
   *
   * @param value an engine of the same runtime
   * @return a new description
   */
  public ReceiveOp engine(MatchingEngine value) {
    return new ReceiveOp(
        rank(), options, tag, maxBytes, buffer, buffers, Objects.requireNonNull(value, "engine"));
  }

  /**
   * Keeps the runs of a graph apart: the receive takes a message of the run of the same number
   * alone, sent by a node that is {@link SendOp#perRun() per run}, too. So a rank that is ahead, or
   * a message that comes late, never gets into another run.
   *
   * <p>Only nodes of graphs may be per run; with policy {@link Policy#RANK_TAG}, without wildcards,
   * and not at an engine with keys of the program. The tag has 16 bits, because the low 16 bits of
   * the number travel above it. The node takes all these tags from its rank for itself: a message
   * for a run that is over, which nobody will receive, is dropped instead of stored. To its sender
   * it is as one that was received.
   *
   * @return a new description
   * @throws IllegalArgumentException if the tag is larger than {@link #MAX_PER_RUN_TAG}, or {@link
   *     #ANY_TAG}; or if the rank is {@link #ANY_SOURCE}
   */
  public ReceiveOp perRun() {
    if (rank() == ANY_SOURCE) {
      throw new IllegalArgumentException("a receive per run has a rank");
    }
    return with(options.perRun(tag));
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public ReceiveOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public ReceiveOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public ReceiveOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public ReceiveOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public ReceiveOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public ReceiveOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public ReceiveOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public ReceiveOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public ReceiveOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public ReceiveOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the tag, or {@link #ANY_TAG}} */
  public long tag() {
    return tag;
  }

  /** {@return the length of the longest message that it takes, in bytes} */
  public int maxBytes() {
    return maxBytes;
  }

  /** {@return the buffer that it fills; null if it is a list, or the completion's message} */
  public @Nullable LciBuffer buffer() {
    return buffer;
  }

  /** {@return the list that it fills, or null} */
  public @Nullable BufferList buffers() {
    return buffers;
  }

  /** {@return the matching engine; null for the one that every rank has} */
  public @Nullable MatchingEngine engine() {
    return engine;
  }

  /** {@return the parts of the key that are compared, where no wildcard overrides them} */
  public Policy policy() {
    return options.policy;
  }

  /** {@return whether it belongs to the run of a graph that posts it} */
  public boolean isPerRun() {
    return options.perRun;
  }

  @Override
  public String toString() {
    String which = tag == ANY_TAG ? " any tag" : " tag " + tag + (options.perRun ? " per run" : "");
    return "receive from " + text(rank()) + which + " (at most " + maxBytes + " bytes)";
  }

  /**
   * Options for experts of a receive.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedOf<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }

    /**
     * Chooses the device on which the receive is posted and signalled, and with it the loop that
     * serves the device. Default 0. A {@link Poster} takes the first device of its loop instead of
     * one that its loop does not serve.
     *
     * @param index 0 to the number of devices - 1
     * @return these options
     */
    public Advanced device(int index) {
      return setDevice(index);
    }

    /**
     * Chooses the parts of the key that send and receive compare. Default {@link Policy#RANK_TAG};
     * a wildcard overrides it.
     *
     * @param value the policy, the same on both sides
     * @return these options
     */
    public Advanced matching(Policy value) {
      options().policy = Objects.requireNonNull(value, "matching");
      return this;
    }
  }
}
