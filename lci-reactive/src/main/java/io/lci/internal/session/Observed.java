/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.lci.internal.core.Thrown;
import io.lci.rpc.Interaction;
import io.lci.rpc.RpcExchange;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** A call as its observer sees it. An observer that throws is logged, and the call goes on. */
final class Observed implements RpcExchange {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final Side side;
  private final Interaction interaction;
  private final String function;
  private final int rank;
  private final ContextView context;
  private @Nullable String traceparent;
  private boolean started;
  private Handle handle = Handle.NONE;

  private Observed(
      Side side, Interaction interaction, String function, int rank, ContextView context) {
    this.side = side;
    this.interaction = interaction;
    this.function = function;
    this.rank = rank;
    this.context = context;
  }

  static Observed client(
      LciInstrumentation observer,
      Interaction interaction,
      String function,
      int rank,
      ContextView context) {
    return new Observed(Side.CLIENT, interaction, function, rank, context).start(observer);
  }

  static Observed server(
      LciInstrumentation observer,
      Interaction interaction,
      String function,
      int rank,
      String traceparent) {
    Observed observed = new Observed(Side.SERVER, interaction, function, rank, Context.empty());
    observed.traceparent = traceparent.isEmpty() ? null : traceparent;
    return observed.start(observer);
  }

  private Observed start(LciInstrumentation observer) {
    try {
      handle = observer.rpcStarted(this);
    } catch (Throwable e) {
      logged(e);
    }
    started = true;
    return this;
  }

  void ended(Outcome outcome) {
    try {
      handle.ended(outcome);
    } catch (Throwable e) {
      logged(e);
    }
  }

  /** The context of the handler's subscriber. */
  Context handlerContext() {
    try {
      return handle.handlerContext(Context.empty());
    } catch (Throwable e) {
      logged(e);
      return Context.empty();
    }
  }

  private static void logged(Throwable e) {
    Exceptions.throwIfJvmFatal(e);
    Thrown.log(e, what -> LOG.warn("the instrumentation failed", what));
  }

  @Override
  public Side side() {
    return side;
  }

  @Override
  public Interaction interaction() {
    return interaction;
  }

  @Override
  public String function() {
    return function;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public ContextView context() {
    return context;
  }

  @Override
  public @Nullable String traceparent() {
    return traceparent;
  }

  @Override
  public void traceparent(String value) {
    if (side == Side.SERVER || started) {
      throw new IllegalStateException("only the client, and only when the call begins");
    }
    if (OutFrame.utf8(value, OutFrame.beyond(MAX_TRACEPARENT)).length > MAX_TRACEPARENT) {
      throw new IllegalArgumentException("at most " + MAX_TRACEPARENT + " bytes: " + value);
    }
    traceparent = value;
  }
}
