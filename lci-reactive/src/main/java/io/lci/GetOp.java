/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * A read from remote memory. Made by {@link Op#get(RemoteMemory, long, int)} and its like.
 *
 * @since 0.1
 */
public final class GetOp extends Op {
  private final RemoteMemory memory;
  private final long offset;
  private final @Nullable List<RemotePlace> places;
  private final int bytes;
  private final @Nullable LciBuffer buffer;
  private final @Nullable BufferList buffers;
  private final @Nullable Port signalPort;
  private final long signalTag;

  GetOp(
      OpOptions options,
      RemoteMemory memory,
      long offset,
      @Nullable List<RemotePlace> places,
      int bytes,
      @Nullable LciBuffer buffer,
      @Nullable BufferList buffers,
      @Nullable Port signalPort,
      long signalTag) {
    super(Kind.GET, memory.rank(), options);
    this.memory = memory;
    this.offset = offset;
    this.places = places;
    this.bytes = bytes;
    this.buffer = buffer;
    this.buffers = buffers;
    this.signalPort = signalPort;
    this.signalTag = signalTag;
  }

  /** One range. */
  static GetOp of(
      RemoteMemory memory,
      long offset,
      int bytes,
      @Nullable LciBuffer buffer,
      @Nullable BufferList buffers) {
    Objects.requireNonNull(memory, "memory");
    Objects.checkFromIndexSize(offset, bytes, memory.size());
    return new GetOp(OpOptions.DEFAULTS, memory, offset, null, bytes, buffer, buffers, null, 0);
  }

  private GetOp with(OpOptions changed) {
    return new GetOp(
        changed, memory, offset, places, bytes, buffer, buffers, signalPort, signalTag);
  }

  /**
   * Signals a port of the region's owner when the data is here. The port's inbox gets an empty
   * message with the tag, from this rank.
   *
   * @param target port of the owner; while it gives no credit the operation waits, and nothing is
   *     read
   * @param value tag, 0 to {@link #MAX_SIGNAL_TAG}
   * @return a new description
   */
  public GetOp signal(Port target, long value) {
    Objects.requireNonNull(target, "target");
    RemoteParts.checkSignalTag(value);
    return new GetOp(options, memory, offset, places, bytes, buffer, buffers, target, value);
  }

  /**
   * Sets options for experts.
   *
   * @param set called once, at once
   * @return a new description
   */
  public GetOp advanced(Consumer<? super Advanced> set) {
    return with(new Advanced(options).after(set));
  }

  @Override
  public GetOp userContext(int value) {
    return with(options.userContext(value));
  }

  @Override
  public GetOp completeTo(CompletionTarget value) {
    return with(options.completeTo(value));
  }

  @Override
  public GetOp completeTo(CompletionHandler handler) {
    return with(options.completeTo(handler));
  }

  @Override
  public GetOp completeTo(Inbox inbox) {
    return with(options.completeTo(inbox));
  }

  @Override
  public GetOp completeTo(CompletionGraph.SignalNode node) {
    return with(options.completeTo(node));
  }

  @Override
  public GetOp onOutcome(Consumer<? super PostOutcome> consumer) {
    return with(options.onOutcome(consumer));
  }

  @Override
  public GetOp onError(Consumer<? super LciException> consumer) {
    return with(options.onError(consumer));
  }

  @Override
  public GetOp deadline(Duration limit) {
    return with(options.deadline(limit));
  }

  @Override
  public GetOp signalOn(Scheduler where) {
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

  /** {@return where each part lies; null where all are one range} */
  public @Nullable List<RemotePlace> places() {
    return places;
  }

  /** {@return how many bytes are read} */
  public int bytes() {
    return bytes;
  }

  /** {@return the buffer that it fills; null if it is a list, or the completion's message} */
  public @Nullable LciBuffer buffer() {
    return buffer;
  }

  /** {@return the list that it fills, or null} */
  public @Nullable BufferList buffers() {
    return buffers;
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
    return "get from " + text(rank()) + RemoteParts.text(signalPort);
  }

  /**
   * Options for experts of a get.
   *
   * @since 0.1
   */
  public static final class Advanced extends AdvancedPost<Advanced> {
    private Advanced(OpOptions of) {
      super(of);
    }
  }
}
