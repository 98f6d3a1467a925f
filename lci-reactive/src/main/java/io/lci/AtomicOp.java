/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.rma.RemoteMemory;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import reactor.core.scheduler.Scheduler;

/**
 * A change of a long in remote memory in one step. Made by {@link Op#getAndAdd}, {@link
 * Op#getAndSet} and {@link Op#compareAndExchange}.
 *
 * @since 0.1
 */
public final class AtomicOp extends Op {
  private final RemoteMemory memory;
  private final long offset;
  private final Atomic change;
  private final long operand;
  private final long expected;

  private AtomicOp(
      OpOptions options,
      RemoteMemory memory,
      long offset,
      Atomic change,
      long operand,
      long expected) {
    super(Kind.ATOMIC, memory.rank(), options);
    this.memory = memory;
    this.offset = offset;
    this.change = change;
    this.operand = operand;
    this.expected = expected;
  }

  static AtomicOp of(RemoteMemory memory, long offset, Atomic change, long operand, long expected) {
    Objects.requireNonNull(memory, "memory");
    Objects.checkFromIndexSize(offset, Long.BYTES, memory.size());
    if (offset % Long.BYTES != 0) {
      throw new IllegalArgumentException("offset must be a multiple of 8: " + offset);
    }
    return new AtomicOp(OpOptions.DEFAULTS, memory, offset, change, operand, expected);
  }

  private AtomicOp with(OpOptions changed) {
    return new AtomicOp(changed, memory, offset, change, operand, expected);
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public AtomicOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public AtomicOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public AtomicOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public AtomicOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public AtomicOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public AtomicOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public AtomicOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public AtomicOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public AtomicOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public AtomicOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the region} */
  public RemoteMemory memory() {
    return memory;
  }

  /** {@return the offset of the long in the region, in bytes} */
  public long offset() {
    return offset;
  }

  /** {@return how it changes the long} */
  public Atomic change() {
    return change;
  }

  /** {@return what it adds or stores} */
  public long operand() {
    return operand;
  }

  /** {@return the value that {@link #compareAndExchange} replaces; 0 of the others} */
  public long expected() {
    return expected;
  }

  @Override
  public String toString() {
    return "atomic at " + text(rank());
  }

  /**
   * Options for experts of an atomic operation.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }
  }
}
