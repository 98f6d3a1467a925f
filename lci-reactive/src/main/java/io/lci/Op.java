/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.Payload;
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
 * Immutable description of one operation. Creating one costs nothing on the wire: it is posted by
 * {@link LciRuntime#post(Op)} (once per subscription) or by a {@link Poster}.
 *
 * <p>Each factory gives the type of its kind, which has the options that apply to it. Options come
 * in any order; each returns a new description of the same type. Options that most programs do not
 * need lie under {@code advanced}, so that they do not hide the others:
 *
 * <pre>{@code
 * Op.am(1, port, payload).tag(7).advanced(a -> a.device(1).allowRetry(false))
 * }</pre>
 *
 * <p>Ranks and tags are unsigned; a tag of send and receive has 32 bits, the tag of an active
 * message 64.
 *
 * @since 0.1
 */
public abstract sealed class Op
    permits AmOp, ReplyOp, SendOp, ReceiveOp, PutOp, GetOp, AtomicOp, BarrierOp {
  /**
   * Rank of a receive that matches any source; the sender must then use {@link Policy#TAG} or
   * {@link Policy#NONE}.
   */
  public static final int ANY_SOURCE = -1;

  /**
   * Tag of a receive that matches any tag; the sender must then use {@link Policy#RANK} or {@link
   * Policy#NONE}.
   */
  public static final long ANY_TAG = -1L;

  /** Largest tag of a send or receive. */
  public static final long MAX_TAG = 0xFFFF_FFFFL;

  /** Largest tag of a send or receive that is per run; see {@link SendOp#perRun()}. */
  public static final long MAX_PER_RUN_TAG = 0xFFFFL;

  /** Largest tag of a put or get with signal. */
  public static final long MAX_SIGNAL_TAG = 0xFFFFL;

  /** The kind of an operation. */
  public enum Kind {
    /** Active message to a port. */
    AM,
    /** Matched send. */
    SEND,
    /** Matched receive. */
    RECEIVE,
    /** Barrier over all ranks. */
    BARRIER,
    /** Write into remote memory. */
    PUT,
    /** Read from remote memory. */
    GET,
    /** Change of a long in remote memory in one step. */
    ATOMIC
  }

  /** How an operation of kind {@link Kind#ATOMIC} changes a long. */
  public enum Atomic {
    /** Adds the operand. */
    GET_AND_ADD,
    /** Stores the operand. */
    GET_AND_SET,
    /** Stores the operand if the long has the expected value. */
    COMPARE_AND_EXCHANGE
  }

  /**
   * The parts of the key that a send and a receive compare; both sides choose the same. A wildcard
   * receive overrides its policy.
   */
  public enum Policy {
    /** Source rank and tag. The default. */
    RANK_TAG,
    /** Source rank only. */
    RANK,
    /** Tag only. */
    TAG,
    /** Nothing: first come, first matched. */
    NONE
  }

  /** The moment at which an active message or send has ended. */
  public enum Semantic {
    /** When the payload's memory may be used again. The default. */
    MEMORY,
    /**
     * When the receiver's side has taken the whole message: it is stored there or in its receive
     * buffer. It does not mean that the program has looked at it.
     */
    NETWORK
  }

  private final Kind kind;
  private final int rank;
  final OpOptions options;

  Op(Kind kind, int rank, OpOptions options) {
    this.kind = kind;
    this.rank = rank;
    this.options = options;
  }

  /**
   * An active message.
   *
   * @param rank destination
   * @param port port of the destination
   * @param payload what to send; written at the post, once more after each retry
   * @return the description
   */
  public static AmOp am(int rank, Port port, Payload payload) {
    return new AmOp(
        checkRank(rank),
        OpOptions.DEFAULTS,
        Objects.requireNonNull(port, "port"),
        Objects.requireNonNull(payload, "payload"),
        0,
        null);
  }

  /**
   * An active message that answers a request: it goes into the room that the request reserved,
   * needs no credit, and overtakes messages that wait for some. Each request gets one reply.
   * Several replies to a rank have no order, so the tag may say which request it answers. If no
   * request of that rank is left to be answered, or the reply is longer than the room, it ends in
   * {@link LciException}.
   *
   * @param rank the rank that asked
   * @param port the port that the request named in {@link AmOp#replyTo}
   * @param payload what to send
   * @return the description
   */
  public static ReplyOp reply(int rank, Port port, Payload payload) {
    return new ReplyOp(
        checkRank(rank),
        OpOptions.DEFAULTS,
        Objects.requireNonNull(port, "port"),
        Objects.requireNonNull(payload, "payload"),
        0);
  }

  /**
   * A matched send.
   *
   * @param rank destination
   * @param tag 0 to {@link #MAX_TAG}
   * @param payload what to send
   * @return the description
   */
  public static SendOp send(int rank, long tag, Payload payload) {
    return new SendOp(
        checkRank(rank),
        OpOptions.DEFAULTS,
        checkTag(tag),
        Objects.requireNonNull(payload, "payload"),
        null);
  }

  /**
   * A matched receive.
   *
   * @param rank source, or {@link #ANY_SOURCE}
   * @param tag 0 to {@link #MAX_TAG}, or {@link #ANY_TAG}
   * @param maxBytes longest message that can be received; a longer one ends in {@link
   *     io.lci.error.TruncatedException}
   * @return the description
   */
  public static ReceiveOp receive(int rank, long tag, int maxBytes) {
    if (maxBytes < 0) {
      throw new IllegalArgumentException("maxBytes must not be negative: " + maxBytes);
    }
    return ReceiveOp.of(rank, tag, maxBytes, null, null);
  }

  /**
   * A matched receive into a buffer of the caller.
   *
   * @param rank source, or {@link #ANY_SOURCE}
   * @param tag 0 to {@link #MAX_TAG}, or {@link #ANY_TAG}
   * @param target filled from its start; a longer message ends in {@link
   *     io.lci.error.TruncatedException}
   * @return the description; a subscription must not begin while another is under way
   */
  public static ReceiveOp receive(int rank, long tag, LciBuffer target) {
    Objects.requireNonNull(target, "target");
    return ReceiveOp.of(rank, tag, target.size(), target, null);
  }

  /**
   * A matched receive into several buffers of the caller, filled from first to last; they need not
   * be cut as the sender's are.
   *
   * @param rank source, or {@link #ANY_SOURCE}
   * @param tag 0 to {@link #MAX_TAG}, or {@link #ANY_TAG}
   * @param targets not empty; a message longer than all of them together ends in {@link
   *     io.lci.error.TruncatedException}
   * @return the description; a subscription must not begin while another is under way
   */
  public static ReceiveOp receive(int rank, long tag, BufferList targets) {
    RemoteParts.checkList(Objects.requireNonNull(targets, "targets"));
    return ReceiveOp.of(rank, tag, targets.size(), null, targets);
  }

  /**
   * A barrier over all ranks: completes when every rank has posted as many barriers as this one.
   * Numbered by posting order on device 0.
   *
   * @return the description
   */
  public static BarrierOp barrier() {
    return new BarrierOp(OpOptions.ALWAYS_SIGNALS);
  }

  /**
   * A write into remote memory. This rank itself writes memory that its owner allocated, at once;
   * other memory is written with the help of its owner's loop.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region
   * @param payload what to write; an {@link LciBuffer}, or a list of them, is not copied
   * @return the description
   * @throws IndexOutOfBoundsException if the region has no room for the payload there
   */
  public static PutOp put(RemoteMemory memory, long offset, Payload payload) {
    Objects.requireNonNull(memory, "memory");
    Objects.requireNonNull(payload, "payload");
    Objects.checkFromIndexSize(offset, payload.size(), memory.size());
    return new PutOp(OpOptions.DEFAULTS, memory, offset, null, payload, null, 0);
  }

  /**
   * A write into several places of one rank's memory: one operation, one completion, and with
   * {@link PutOp#signal} one signal, for all of them. Every bound is checked before the first byte
   * moves. Parts move in any order, so where places overlap, any of them may be the last.
   *
   * @param places where; all of one rank
   * @param parts what to write: part i goes to place i; not copied
   * @return the description
   * @throws IndexOutOfBoundsException if a region has no room for its part
   */
  public static PutOp put(List<RemotePlace> places, BufferList parts) {
    RemoteParts.check(places, parts);
    RemoteMemory first = places.get(0).memory();
    return new PutOp(OpOptions.DEFAULTS, first, 0, List.copyOf(places), parts, null, 0);
  }

  /**
   * A read from several places of one rank's memory; see {@link #put(List, BufferList)}.
   *
   * @param places where; all of one rank
   * @param parts part i is filled from place i
   * @return the description; a subscription must not begin while another is under way
   * @throws IndexOutOfBoundsException if a region has less there
   */
  public static GetOp get(List<RemotePlace> places, BufferList parts) {
    RemoteParts.check(places, parts);
    RemoteMemory first = places.get(0).memory();
    return new GetOp(
        OpOptions.DEFAULTS, first, 0, List.copyOf(places), parts.size(), null, parts, null, 0);
  }

  /**
   * A read from remote memory into several buffers of the caller, filled from first to last.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region
   * @param targets not empty
   * @return the description; a subscription must not begin while another is under way
   * @throws IndexOutOfBoundsException if the region has less there
   */
  public static GetOp get(RemoteMemory memory, long offset, BufferList targets) {
    RemoteParts.checkList(Objects.requireNonNull(targets, "targets"));
    return GetOp.of(memory, offset, targets.size(), null, targets);
  }

  /**
   * A read from remote memory into a buffer of the caller, without a copy.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region
   * @param target filled from its start to its end
   * @return the description; a subscription must not begin while another is under way
   * @throws IndexOutOfBoundsException if the region has less there
   */
  public static GetOp get(RemoteMemory memory, long offset, LciBuffer target) {
    Objects.requireNonNull(target, "target");
    return GetOp.of(memory, offset, target.size(), target, null);
  }

  /**
   * A read from remote memory; the completion's message has the bytes.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region
   * @param bytes how many
   * @return the description
   * @throws IndexOutOfBoundsException if the region has less there
   */
  public static GetOp get(RemoteMemory memory, long offset, int bytes) {
    return GetOp.of(memory, offset, bytes, null, null);
  }

  /**
   * An addition to a long in remote memory, in one step; sums wrap around. The completion's tag is
   * the value before.
   *
   * <p>Atomic operations of all ranks on a long are atomic with each other, not with puts, gets and
   * plain access. A processor changes the long in the byte order of the machine: this rank's for
   * memory that its owner allocated, at once; else the owner's, with the help of its loop.
   *
   * <p>An operation that completes has changed the long exactly once. One that ends in {@link
   * io.lci.error.MemoryClosedException} has not changed it. After the end of the owner or of this
   * runtime, and after a deadline or a cancel, it may have changed it once or not at all.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region, a multiple of 8; the region itself starts at
   *     a multiple of 8, as allocated regions do
   * @param delta what to add
   * @return the description
   * @throws IndexOutOfBoundsException if the region has no long there
   * @throws IllegalArgumentException if the offset is no multiple of 8
   */
  public static AtomicOp getAndAdd(RemoteMemory memory, long offset, long delta) {
    return AtomicOp.of(memory, offset, Atomic.GET_AND_ADD, delta, 0);
  }

  /**
   * A new value for a long in remote memory, in one step; see {@link #getAndAdd}. The completion's
   * tag is the value before.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region, a multiple of 8
   * @param value what to store
   * @return the description
   * @throws IndexOutOfBoundsException if the region has no long there
   * @throws IllegalArgumentException if the offset is no multiple of 8
   */
  public static AtomicOp getAndSet(RemoteMemory memory, long offset, long value) {
    return AtomicOp.of(memory, offset, Atomic.GET_AND_SET, value, 0);
  }

  /**
   * A new value for a long in remote memory if it has the expected one, in one step; see {@link
   * #getAndAdd}. The completion's tag is the value before: the long was changed if that is {@code
   * expected}.
   *
   * @param memory where, opened by this runtime
   * @param offset bytes from the start of the region, a multiple of 8
   * @param expected the value that is replaced
   * @param value what to store
   * @return the description
   * @throws IndexOutOfBoundsException if the region has no long there
   * @throws IllegalArgumentException if the offset is no multiple of 8
   */
  public static AtomicOp compareAndExchange(
      RemoteMemory memory, long offset, long expected, long value) {
    return AtomicOp.of(memory, offset, Atomic.COMPARE_AND_EXCHANGE, value, expected);
  }

  /**
   * Sets a number that comes back in the {@link io.lci.completion.Completion} of this operation and
   * goes nowhere else. Default 0.
   *
   * @param value any 32 bits
   * @return a new description
   */
  public abstract Op userContext(int value);

  /**
   * Signals {@code value} when the operation ends, whether it finished at once or later; this
   * forbids <em>done</em>. A publisher reports an active message, send or put that is copied into
   * one packet when it was accepted, and its deadline ends there; only {@code value} hears how it
   * ended. Other operations are reported at their end. A posted operation signals {@code value}
   * also if its subscriber has cancelled, or its deadline passed.
   *
   * @param value queue, synchronizer or counter of the same runtime; only a queue gives the bytes
   *     of a receive or get without a buffer of its own
   * @return a new description
   */
  public abstract Op completeTo(CompletionTarget value);

  /**
   * Calls {@code handler} when the operation ends, whether it finished at once or later; this
   * forbids <em>done</em>, whatever {@code allowDone} says. Each posted operation calls it once,
   * also if its subscriber has cancelled, or its deadline passed. A publisher reports the operation
   * at its end. One that was never posted fails its publisher, or the consumer of {@link #onError},
   * alone.
   *
   * <p>The handler is called on the loop of the operation's device, never inside a signal of
   * another publisher, and for the operations of a loop one call after the other. An operation that
   * has not ended when its loop ends brings {@link io.lci.error.LciClosedException}. An exception
   * of the handler is logged, and the completion counts as handled. The first failures of a loop's
   * handlers are logged with their stack traces; later ones are counted in a line now and then.
   *
   * @param handler must not block; operations on several loops call it on each of them
   * @return a new description, which signals nothing else
   */
  public abstract Op completeTo(CompletionHandler handler);

  /**
   * Lets {@code inbox} have a message when the operation has succeeded, whether it finished at once
   * or later; this forbids <em>done</em>, whatever {@code allowDone} says. The message has the
   * bytes of a receive or get without a buffer of its own, else none; its rank and tag are those of
   * the completion. Each posted operation that succeeds brings one, also if its subscriber has
   * cancelled, or its deadline passed. A publisher reports the operation at its end.
   *
   * <p>Operations that are pending, and their messages until the subscriber takes them, have {@link
   * Inbox#capacity()} places in the inbox, beside those of messages of peers. Without a place the
   * answer is {@link PostOutcome#RETRY_NOMEM}, and the operation waits; where retry is not allowed,
   * it ends in {@link io.lci.error.ResourceExhaustedException}.
   *
   * <p>A failure brings no message and frees the place. The publisher or the consumer of {@link
   * #onError} hears of it. Where neither listens any more it is logged, but for cancelled receives
   * and the end of a peer. A disposed inbox gets nothing, and a message for it is discarded.
   *
   * @param inbox of the same runtime, on any loop; of one in parts, a part
   * @return a new description, which signals nothing else
   */
  public abstract Op completeTo(Inbox inbox);

  /**
   * Completes {@code node} in a run of its graph when the operation ends, whether it finished at
   * once or later; this forbids <em>done</em>, whatever {@code allowDone} says. Each posted
   * operation does so once, also if its subscriber has cancelled, or its deadline passed; a failure
   * fails the run. A publisher reports the operation at its end. {@link
   * CompletionGraph.Builder#signal} says which run takes which end.
   *
   * @param node of a graph of the same runtime; the operation may be posted before the graph is
   *     built
   * @return a new description, which signals nothing else
   */
  public abstract Op completeTo(CompletionGraph.SignalNode node);

  /**
   * Sets the consumer of the final outcome (never a retry) of an operation given to {@link
   * Poster#submit}. Called on the loop.
   *
   * @param consumer must be quick and must not throw
   * @return a new description
   */
  public abstract Op onOutcome(Consumer<? super PostOutcome> consumer);

  /**
   * Sets the consumer of the failure of an operation given to {@link Poster#submit}; without it,
   * failures are logged. Called on the loop.
   *
   * @param consumer must be quick and must not throw
   * @return a new description
   */
  public abstract Op onError(Consumer<? super LciException> consumer);

  /**
   * Ends the operation with {@link io.lci.error.DeadlineExceededException} if it has not ended by
   * then. An operation that was posted may still take effect.
   *
   * @param limit time from the subscription's first request, or from {@link Poster#submit}
   * @return a new description
   */
  public abstract Op deadline(Duration limit);

  /**
   * Sets where the operation's Mono is signalled, instead of on its home loop, as {@code publishOn}
   * does: blocking code may follow there. Consumers of a {@link Poster} stay on their loop.
   *
   * @param where for example {@code Schedulers.boundedElastic()}, or the {@linkplain
   *     LciLoop#scheduler() scheduler} of another loop
   * @return a new description
   */
  public abstract Op signalOn(Scheduler where);

  /** {@return what kind of operation this is} */
  public final Kind kind() {
    return kind;
  }

  /** {@return the peer, or {@link #ANY_SOURCE}; 0 of a barrier} */
  public final int rank() {
    return rank;
  }

  /** {@return the number that comes back in the completion} */
  public final int userContext() {
    return options.userContext;
  }

  /** {@return what is signalled at the end, as it was given to {@code completeTo}, or null} */
  public final @Nullable Object target() {
    return options.target;
  }

  /** {@return the consumer of the final outcome, or null} */
  public final @Nullable Consumer<? super PostOutcome> outcomeConsumer() {
    return options.onOutcome;
  }

  /** {@return the consumer of a failure, or null} */
  public final @Nullable Consumer<? super LciException> errorConsumer() {
    return options.onError;
  }

  /** {@return the deadline, or null} */
  public final @Nullable Duration deadline() {
    return options.deadline;
  }

  /** {@return where its Mono is signalled; null for its home loop} */
  public final @Nullable Scheduler signalOn() {
    return options.signalOn;
  }

  /** {@return the device index} */
  public final int device() {
    return options.device;
  }

  /** {@return whether the answer retry is allowed} */
  public final boolean retryAllowed() {
    return options.retryAllowed;
  }

  /** {@return whether the answer done is allowed} */
  public final boolean doneAllowed() {
    return options.doneAllowed;
  }

  static int checkRank(int rank) {
    if (rank < 0) {
      throw new IllegalArgumentException("rank must not be negative: " + rank);
    }
    return rank;
  }

  static long checkTag(long tag) {
    if (tag < 0 || tag > MAX_TAG) {
      throw new IllegalArgumentException("tag must be in 0.." + MAX_TAG + ": " + tag);
    }
    return tag;
  }

  static String text(int rank) {
    return rank == ANY_SOURCE ? "any" : "rank " + rank;
  }
}
