/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.matching.MatchingEngine;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * A matched send. Made by {@link Op#send}.
 *
 * @since 0.1
 */
public final class SendOp extends Op {
  private final long tag;
  private final Payload payload;
  private final @Nullable MatchingEngine engine;

  SendOp(int rank, OpOptions options, long tag, Payload payload, @Nullable MatchingEngine engine) {
    super(Kind.SEND, rank, options);
    this.tag = tag;
    this.payload = payload;
    this.engine = engine;
  }

  private SendOp with(OpOptions changed) {
    return new SendOp(rank(), changed, tag, payload, engine);
  }

  /**
   * Chooses the matching engine. Default: the one that every rank has.
   *
   * @param value an engine of the same runtime
   * @return a new description
   */
  public SendOp engine(MatchingEngine value) {
    return new SendOp(rank(), options, tag, payload, Objects.requireNonNull(value, "engine"));
  }

  /**
   * Keeps the runs of a graph apart: the send belongs to the run that posts it. Its message is
   * received in the run of the same number alone, by a receive that is {@link ReceiveOp#perRun()
   * per run}, too. Only nodes of graphs may be per run; the other conditions are those of such a
   * receive.
   *
   * @return a new description
   * @throws IllegalArgumentException if the tag is larger than {@link #MAX_PER_RUN_TAG}
   */
  public SendOp perRun() {
    return with(options.perRun(tag));
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public SendOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public SendOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public SendOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public SendOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public SendOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public SendOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public SendOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public SendOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public SendOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public SendOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the tag} */
  public long tag() {
    return tag;
  }

  /** {@return the payload} */
  public Payload payload() {
    return payload;
  }

  /** {@return the matching engine; null for the one that every rank has} */
  public @Nullable MatchingEngine engine() {
    return engine;
  }

  /** {@return the parts of the key that are compared} */
  public Policy policy() {
    return options.policy;
  }

  /** {@return whether it belongs to the run of a graph that posts it} */
  public boolean isPerRun() {
    return options.perRun;
  }

  /** {@return the moment at which it has ended} */
  public Semantic semantic() {
    return options.semantic;
  }

  @Override
  public String toString() {
    return "send to " + text(rank()) + " tag " + tag + (options.perRun ? " per run" : "");
  }

  /**
   * Options for experts of a send.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }

    /**
     * Chooses when the send has ended. Default {@link Semantic#MEMORY}.
     *
     * @param value the semantic
     * @return these options
     */
    public Advanced semantic(Semantic value) {
      options().semantic = Objects.requireNonNull(value, "semantic");
      return this;
    }

    /**
     * Chooses the parts of the key that send and receive compare. Default {@link Policy#RANK_TAG}.
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
