/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import reactor.core.scheduler.Scheduler;

/**
 * An active message that answers a request. Made by {@link Op#reply}; its kind is {@link
 * Op.Kind#AM}.
 *
 * @since 0.1
 */
public final class ReplyOp extends Op {
  private final Port port;
  private final Payload payload;
  private final long tag;

  ReplyOp(int rank, OpOptions options, Port port, Payload payload, long tag) {
    super(Kind.AM, rank, options);
    this.port = port;
    this.payload = payload;
    this.tag = tag;
  }

  private ReplyOp with(OpOptions changed) {
    return new ReplyOp(rank(), changed, port, payload, tag);
  }

  /**
   * Sets the tag. Default 0; an encoder may set another.
   *
   * @param value all 64 bits
   * @return a new description
   */
  public ReplyOp tag(long value) {
    return new ReplyOp(rank(), options, port, payload, value);
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public ReplyOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public ReplyOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public ReplyOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public ReplyOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public ReplyOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public ReplyOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public ReplyOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public ReplyOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public ReplyOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public ReplyOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the port that the request named} */
  public Port port() {
    return port;
  }

  /** {@return the payload} */
  public Payload payload() {
    return payload;
  }

  /** {@return the tag} */
  public long tag() {
    return tag;
  }

  /** {@return the moment at which it has ended} */
  public Semantic semantic() {
    return options.semantic;
  }

  @Override
  public String toString() {
    return "reply to " + text(rank()) + " port " + port;
  }

  /**
   * Options for experts of a reply.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }

    /**
     * Chooses when the reply has ended. Default {@link Semantic#MEMORY}.
     *
     * @param value the semantic
     * @return these options
     */
    public Advanced semantic(Semantic value) {
      options().semantic = Objects.requireNonNull(value, "semantic");
      return this;
    }
  }
}
