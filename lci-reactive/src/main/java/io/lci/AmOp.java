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
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * An active message to a port. Made by {@link Op#am}.
 *
 * @since 0.1
 */
public final class AmOp extends Op {
  private final Port port;
  private final Payload payload;
  private final long tag;
  private final @Nullable Port replyTo;

  AmOp(int rank, OpOptions options, Port port, Payload payload, long tag, @Nullable Port replyTo) {
    super(Kind.AM, rank, options);
    this.port = port;
    this.payload = payload;
    this.tag = tag;
    this.replyTo = replyTo;
  }

  private AmOp with(OpOptions changed) {
    return new AmOp(rank(), changed, port, payload, tag, replyTo);
  }

  /**
   * Sets the tag. Default 0; an encoder may set another.
   *
   * @param value all 64 bits
   * @return a new description
   */
  public AmOp tag(long value) {
    return new AmOp(rank(), options, port, payload, value, replyTo);
  }

  /**
   * Makes the message a request. Before it leaves, room for its reply is reserved at a port of this
   * rank, whose inbox was opened with {@link io.lci.am.InboxOptions.Builder#replyRoom}. While there
   * is no room the operation waits ({@link PostOutcome#RETRY_PENDING}); a cancelled operation holds
   * none. The receiver answers with {@link #reply}. The room is free again when the reply was taken
   * from the inbox, when the receiver discards the request, or when the peer is gone.
   *
   * @param value port of this rank
   * @return a new description
   */
  public AmOp replyTo(Port value) {
    return new AmOp(rank(), options, port, payload, tag, Objects.requireNonNull(value, "replyTo"));
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public AmOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public AmOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public AmOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public AmOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public AmOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public AmOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public AmOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public AmOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public AmOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public AmOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the port that it goes to} */
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

  /** {@return the port of this rank at which room for a reply is reserved, or null} */
  public @Nullable Port replyTo() {
    return replyTo;
  }

  /** {@return the moment at which it has ended} */
  public Semantic semantic() {
    return options.semantic;
  }

  @Override
  public String toString() {
    return "am to " + text(rank()) + " port " + port;
  }

  /**
   * Options for experts of an active message.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }

    /**
     * Chooses when the message has ended. Default {@link Semantic#MEMORY}.
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
