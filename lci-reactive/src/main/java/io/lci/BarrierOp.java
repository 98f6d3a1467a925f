/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import java.time.Duration;
import java.util.function.Consumer;
import reactor.core.scheduler.Scheduler;

/**
 * A barrier over all ranks. Made by {@link Op#barrier}. It goes by device 0, and never answers
 * <em>done</em>.
 *
 * @since 0.1
 */
public final class BarrierOp extends Op {
  BarrierOp(OpOptions options) {
    super(Kind.BARRIER, 0, options);
  }

  private BarrierOp with(OpOptions changed) {
    return new BarrierOp(changed);
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public BarrierOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public BarrierOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public BarrierOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public BarrierOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public BarrierOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public BarrierOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public BarrierOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public BarrierOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public BarrierOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public BarrierOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  @Override
  public String toString() {
    return "barrier";
  }

  /**
   * Options for experts of a barrier.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedOf<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }
  }
}
