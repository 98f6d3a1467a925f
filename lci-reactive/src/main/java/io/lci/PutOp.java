/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * A write into remote memory. Made by {@link Op#put(RemoteMemory, long, Payload)} and {@link
 * Op#put(List, io.lci.rma.BufferList)}.
 *
 * @since 0.1
 */
public final class PutOp extends Op {
  private final RemoteMemory memory;
  private final long offset;
  private final @Nullable List<RemotePlace> places;
  private final Payload payload;
  private final @Nullable Port signalPort;
  private final long signalTag;

  PutOp(
      OpOptions options,
      RemoteMemory memory,
      long offset,
      @Nullable List<RemotePlace> places,
      Payload payload,
      @Nullable Port signalPort,
      long signalTag) {
    super(Kind.PUT, memory.rank(), options);
    this.memory = memory;
    this.offset = offset;
    this.places = places;
    this.payload = payload;
    this.signalPort = signalPort;
    this.signalTag = signalTag;
  }

  private PutOp with(OpOptions changed) {
    return new PutOp(changed, memory, offset, places, payload, signalPort, signalTag);
  }

  /**
   * Signals a port of the region's owner when the data is in the region. The port's inbox gets an
   * empty message with the tag, from this rank.
   *
   * @param target port of the owner; while it gives no credit the operation waits, and nothing is
   *     written
   * @param value tag, 0 to {@link #MAX_SIGNAL_TAG}
   * @return a new description
   */
  public PutOp signal(Port target, long value) {
    Objects.requireNonNull(target, "target");
    RemoteParts.checkSignalTag(value);
    return new PutOp(options, memory, offset, places, payload, target, value);
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public PutOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public PutOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public PutOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public PutOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public PutOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public PutOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public PutOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public PutOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public PutOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public PutOp signalOn(Scheduler where) {
    return with(options.signalOn(where));
  }

  /** {@return the region; the first one, if there are several places} */
  public RemoteMemory memory() {
    return memory;
  }

  /** {@return the offset in the region, in bytes; 0 if there are several places} */
  public long offset() {
    return offset;
  }

  /** {@return where each part goes; null where all are one range} */
  public @Nullable List<RemotePlace> places() {
    return places;
  }

  /** {@return what is written} */
  public Payload payload() {
    return payload;
  }

  /** {@return the port that is signalled, or null} */
  public @Nullable Port signalPort() {
    return signalPort;
  }

  /** {@return the tag of the signal; 0 without one} */
  public long signalTag() {
    return signalTag;
  }

  @Override
  public String toString() {
    return "put to " + text(rank()) + RemoteParts.text(signalPort);
  }

  /**
   * Options for experts of a put.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }
  }
}
