/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import io.lci.matching.MatchingEngine;
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
 * {@link LciRuntime#post(Op)} (once per subscription) or by a {@link Poster}. Options come in any
 * order; each returns a new description.
 *
 * <p>Ranks and tags are unsigned; a tag of send and receive has 32 bits, the tag of an active
 * message 64.
 *
 * @since 0.1
 */
public final class Op {
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
  private final @Nullable Port port;
  private final @Nullable Port replyTo;
  private final boolean reply;
  private final @Nullable Payload payload;
  private final int receiveBytes;
  private final @Nullable RemoteMemory remote;
  private final long offset;
  private final @Nullable LciBuffer buffer;
  private final @Nullable BufferList buffers;
  private final @Nullable List<RemotePlace> places;
  private final @Nullable Atomic atomic;
  private final long operand;
  private final long expected;
  private final long tag;
  private final @Nullable MatchingEngine engine;
  private final int device;
  private final Policy policy;
  private final Semantic semantic;
  private final int userContext;
  private final boolean retryAllowed;
  private final boolean doneAllowed;
  private final @Nullable CompletionTarget target;
  private final @Nullable Consumer<? super PostOutcome> onOutcome;
  private final @Nullable Consumer<? super LciException> onError;
  private final @Nullable Duration deadline;
  private final @Nullable Scheduler signalOn;

  private Op(Builder b) {
    kind = b.kind;
    rank = b.rank;
    port = b.port;
    replyTo = b.replyTo;
    reply = b.reply;
    payload = b.payload;
    receiveBytes = b.receiveBytes;
    remote = b.remote;
    offset = b.offset;
    buffer = b.buffer;
    buffers = b.buffers;
    places = b.places;
    atomic = b.atomic;
    operand = b.operand;
    expected = b.expected;
    tag = b.tag;
    engine = b.engine;
    device = b.device;
    policy = b.policy;
    semantic = b.semantic;
    userContext = b.userContext;
    retryAllowed = b.retryAllowed;
    doneAllowed = b.doneAllowed;
    target = b.target;
    onOutcome = b.onOutcome;
    onError = b.onError;
    deadline = b.deadline;
    signalOn = b.signalOn;
  }

  /**
   * An active message.
   *
   * @param rank destination
   * @param port port of the destination
   * @param payload what to send; written at the post, once more after each retry
   * @return the description
   */
  public static Op am(int rank, Port port, Payload payload) {
    Builder b = new Builder(Kind.AM, checkRank(rank));
    b.port = Objects.requireNonNull(port, "port");
    b.payload = Objects.requireNonNull(payload, "payload");
    return new Op(b);
  }

  /**
   * An active message that answers a request: it goes into the room that the request reserved,
   * needs no credit, and overtakes messages that wait for some. Each request gets one reply.
   * Several replies to a rank have no order, so the tag may say which request it answers. If no
   * request of that rank is left to be answered, or the reply is longer than the room, it ends in
   * {@link LciException}.
   *
   * @param rank the rank that asked
   * @param port the port that the request named in {@link #replyTo}
   * @param payload what to send
   * @return the description
   */
  public static Op reply(int rank, Port port, Payload payload) {
    Builder b = new Builder(am(rank, port, payload));
    b.reply = true;
    return new Op(b);
  }

  /**
   * A matched send.
   *
   * @param rank destination
   * @param tag 0 to {@link #MAX_TAG}
   * @param payload what to send
   * @return the description
   */
  public static Op send(int rank, long tag, Payload payload) {
    Builder b = new Builder(Kind.SEND, checkRank(rank));
    b.tag = checkTag(tag);
    b.payload = Objects.requireNonNull(payload, "payload");
    return new Op(b);
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
  public static Op receive(int rank, long tag, int maxBytes) {
    Builder b = new Builder(Kind.RECEIVE, rank == ANY_SOURCE ? rank : checkRank(rank));
    b.tag = tag == ANY_TAG ? tag : checkTag(tag);
    if (maxBytes < 0) {
      throw new IllegalArgumentException("maxBytes must not be negative: " + maxBytes);
    }
    b.receiveBytes = maxBytes;
    return new Op(b);
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
  public static Op receive(int rank, long tag, LciBuffer target) {
    Objects.requireNonNull(target, "target");
    Builder b = new Builder(receive(rank, tag, target.size()));
    b.buffer = target;
    return new Op(b);
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
  public static Op receive(int rank, long tag, BufferList targets) {
    Objects.requireNonNull(targets, "targets");
    Builder b = new Builder(receive(rank, tag, checkList(targets).size()));
    b.buffers = targets;
    return new Op(b);
  }

  /**
   * A barrier over all ranks: completes when every rank has posted as many barriers as this one.
   * Numbered by posting order on device 0.
   *
   * @return the description
   */
  public static Op barrier() {
    return new Op(new Builder(Kind.BARRIER, 0));
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
  public static Op put(RemoteMemory memory, long offset, Payload payload) {
    Objects.requireNonNull(memory, "memory");
    Objects.requireNonNull(payload, "payload");
    Objects.checkFromIndexSize(offset, payload.size(), memory.size());
    Builder b = new Builder(Kind.PUT, memory.rank());
    b.remote = memory;
    b.offset = offset;
    b.payload = payload;
    return new Op(b);
  }

  /**
   * A write into several places of one rank's memory: one operation, one completion, and with
   * {@link #signal} one signal, for all of them. Every bound is checked before the first byte
   * moves. Parts move in any order, so where places overlap, any of them may be the last.
   *
   * @param places where; all of one rank
   * @param parts what to write: part i goes to place i; not copied
   * @return the description
   * @throws IndexOutOfBoundsException if a region has no room for its part
   */
  public static Op put(List<RemotePlace> places, BufferList parts) {
    Builder b = new Builder(Kind.PUT, checkPlaces(places, parts));
    b.remote = places.get(0).memory();
    b.places = List.copyOf(places);
    b.payload = parts;
    return new Op(b);
  }

  /**
   * A read from several places of one rank's memory; see {@link #put(List, BufferList)}.
   *
   * @param places where; all of one rank
   * @param parts part i is filled from place i
   * @return the description; a subscription must not begin while another is under way
   * @throws IndexOutOfBoundsException if a region has less there
   */
  public static Op get(List<RemotePlace> places, BufferList parts) {
    Builder b = new Builder(Kind.GET, checkPlaces(places, parts));
    b.remote = places.get(0).memory();
    b.places = List.copyOf(places);
    b.buffers = parts;
    b.receiveBytes = parts.size();
    return new Op(b);
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
  public static Op get(RemoteMemory memory, long offset, BufferList targets) {
    Objects.requireNonNull(targets, "targets");
    Builder b = new Builder(get(memory, offset, checkList(targets).size()));
    b.buffers = targets;
    return new Op(b);
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
  public static Op get(RemoteMemory memory, long offset, LciBuffer target) {
    Objects.requireNonNull(target, "target");
    Op op = get(memory, offset, target.size());
    Builder b = new Builder(op);
    b.buffer = target;
    return new Op(b);
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
  public static Op get(RemoteMemory memory, long offset, int bytes) {
    Objects.requireNonNull(memory, "memory");
    Objects.checkFromIndexSize(offset, bytes, memory.size());
    Builder b = new Builder(Kind.GET, memory.rank());
    b.remote = memory;
    b.offset = offset;
    b.receiveBytes = bytes;
    return new Op(b);
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
  public static Op getAndAdd(RemoteMemory memory, long offset, long delta) {
    return atomic(memory, offset, Atomic.GET_AND_ADD, delta, 0);
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
  public static Op getAndSet(RemoteMemory memory, long offset, long value) {
    return atomic(memory, offset, Atomic.GET_AND_SET, value, 0);
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
  public static Op compareAndExchange(RemoteMemory memory, long offset, long expected, long value) {
    return atomic(memory, offset, Atomic.COMPARE_AND_EXCHANGE, value, expected);
  }

  private static Op atomic(
      RemoteMemory memory, long offset, Atomic atomic, long operand, long expected) {
    Objects.requireNonNull(memory, "memory");
    Objects.checkFromIndexSize(offset, Long.BYTES, memory.size());
    if (offset % Long.BYTES != 0) {
      throw new IllegalArgumentException("offset must be a multiple of 8: " + offset);
    }
    Builder b = new Builder(Kind.ATOMIC, memory.rank());
    b.remote = memory;
    b.offset = offset;
    b.atomic = atomic;
    b.operand = operand;
    b.expected = expected;
    return new Op(b);
  }

  /**
   * Lets a put or get signal a port of the region's owner when the data is in place: in the region
   * for a put, here for a get. The port's inbox gets an empty message with the tag, from this rank.
   *
   * @param target port of the owner; while it gives no credit the operation waits, and nothing is
   *     written or read
   * @param value tag, 0 to {@link #MAX_SIGNAL_TAG}
   * @return a new description
   */
  public Op signal(Port target, long value) {
    if (kind != Kind.PUT && kind != Kind.GET) {
      throw new IllegalStateException("only put and get signal: " + this);
    }
    if (value < 0 || value > MAX_SIGNAL_TAG) {
      throw new IllegalArgumentException("tag must be in 0.." + MAX_SIGNAL_TAG + ": " + value);
    }
    Builder b = new Builder(this);
    b.port = Objects.requireNonNull(target, "target");
    b.tag = value;
    return new Op(b);
  }

  /**
   * Makes an active message a request. Before it leaves, room for its reply is reserved at a port
   * of this rank, whose inbox was opened with {@link io.lci.am.InboxOptions.Builder#replyRoom}.
   * While there is no room the operation waits ({@link PostOutcome#RETRY_PENDING}); a cancelled
   * operation holds none. The receiver answers with {@link #reply}. The room is free again when the
   * reply was taken from the inbox, when the receiver discards the request, or when the peer is
   * gone.
   *
   * @param value port of this rank
   * @return a new description
   */
  public Op replyTo(Port value) {
    if (kind != Kind.AM) {
      throw new IllegalStateException("only active messages ask for a reply: " + this);
    }
    Builder b = new Builder(this);
    b.replyTo = Objects.requireNonNull(value, "replyTo");
    return new Op(b);
  }

  /**
   * Sets the tag of an active message (all 64 bits), or of a send or receive.
   *
   * @param value the tag
   * @return a new description
   */
  public Op tag(long value) {
    if (remote != null) {
      throw new IllegalStateException(
          kind == Kind.ATOMIC
              ? "the tag of an atomic operation is the value before: " + this
              : "the tag of a put or get is its signal's: see signal");
    }
    Builder b = new Builder(this);
    b.tag = kind == Kind.AM ? value : checkTag(value);
    return new Op(b);
  }

  /**
   * Chooses the device on which the operation is posted and signalled, and with it the loop that
   * serves the device. Default 0. A {@link Poster} takes the first device of its loop instead of
   * one that its loop does not serve.
   *
   * @param index 0 to the number of devices - 1
   * @return a new description
   */
  public Op device(int index) {
    if (index < 0) {
      throw new IllegalArgumentException("device must not be negative: " + index);
    }
    Builder b = new Builder(this);
    b.device = index;
    return new Op(b);
  }

  /**
   * Chooses the parts of the key that send and receive compare. Other operations ignore it. Default
   * {@link Policy#RANK_TAG}.
   *
   * @param value the policy, the same on both sides
   * @return a new description
   */
  public Op matching(Policy value) {
    Builder b = new Builder(this);
    b.policy = Objects.requireNonNull(value, "matching");
    return new Op(b);
  }

  /**
   * Chooses the matching engine of a send or receive. Default: the one that every rank has.
   *
   * @param value an engine of the same runtime
   * @return a new description
   */
  public Op engine(MatchingEngine value) {
    if (kind != Kind.SEND && kind != Kind.RECEIVE) {
      throw new IllegalStateException("only send and receive are matched: " + this);
    }
    Builder b = new Builder(this);
    b.engine = Objects.requireNonNull(value, "engine");
    return new Op(b);
  }

  /**
   * Chooses when an active message or send has ended. Other operations ignore it. Default {@link
   * Semantic#MEMORY}.
   *
   * @param value the semantic
   * @return a new description
   */
  public Op semantic(Semantic value) {
    Builder b = new Builder(this);
    b.semantic = Objects.requireNonNull(value, "semantic");
    return new Op(b);
  }

  /**
   * Sets a number that comes back in the {@link io.lci.completion.Completion} of this operation and
   * goes nowhere else. Default 0.
   *
   * @param value any 32 bits
   * @return a new description
   */
  public Op userContext(int value) {
    Builder b = new Builder(this);
    b.userContext = value;
    return new Op(b);
  }

  /**
   * Allows or forbids the answer <em>retry</em>. When it is forbidden, the operation goes into the
   * backlog, and ends with {@link io.lci.error.ResourceExhaustedException} at the backlog's bound.
   * Default allowed.
   *
   * @param allowed whether retry is allowed
   * @return a new description
   */
  public Op allowRetry(boolean allowed) {
    Builder b = new Builder(this);
    b.retryAllowed = allowed;
    return new Op(b);
  }

  /**
   * Allows or forbids the answer <em>done</em>. When it is forbidden, the completion target is
   * signalled even if the operation finished at once. Default: allowed, but forbidden by {@link
   * #completeTo}.
   *
   * @param allowed whether done is allowed
   * @return a new description
   */
  public Op allowDone(boolean allowed) {
    Builder b = new Builder(this);
    b.doneAllowed = allowed;
    return new Op(b);
  }

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
  public Op completeTo(CompletionTarget value) {
    Builder b = new Builder(this);
    b.target = Objects.requireNonNull(value, "completeTo");
    b.doneAllowed = false;
    return new Op(b);
  }

  /**
   * Sets the consumer of the final outcome (never a retry) of an operation given to {@link
   * Poster#submit}. Called on the loop.
   *
   * @param consumer must be quick and must not throw
   * @return a new description
   */
  public Op onOutcome(Consumer<? super PostOutcome> consumer) {
    Builder b = new Builder(this);
    b.onOutcome = Objects.requireNonNull(consumer, "onOutcome");
    return new Op(b);
  }

  /**
   * Sets the consumer of the failure of an operation given to {@link Poster#submit}; without it,
   * failures are logged. Called on the loop.
   *
   * @param consumer must be quick and must not throw
   * @return a new description
   */
  public Op onError(Consumer<? super LciException> consumer) {
    Builder b = new Builder(this);
    b.onError = Objects.requireNonNull(consumer, "onError");
    return new Op(b);
  }

  /**
   * Ends the operation with {@link io.lci.error.DeadlineExceededException} if it has not ended by
   * then. An operation that was posted may still take effect.
   *
   * @param limit time from the subscription's first request, or from {@link Poster#submit}
   * @return a new description
   */
  public Op deadline(Duration limit) {
    Objects.requireNonNull(limit, "limit");
    if (limit.isNegative() || limit.isZero()) {
      throw new IllegalArgumentException("deadline must be positive: " + limit);
    }
    Builder b = new Builder(this);
    b.deadline = limit;
    return new Op(b);
  }

  /**
   * Sets where the operation's Mono is signalled, instead of on its home loop, as {@code publishOn}
   * does: blocking code may follow there. Consumers of a {@link Poster} stay on their loop.
   *
   * @param where for example {@code Schedulers.boundedElastic()}, or the {@linkplain
   *     LciLoop#scheduler() scheduler} of another loop
   * @return a new description
   */
  public Op signalOn(Scheduler where) {
    Builder b = new Builder(this);
    b.signalOn = Objects.requireNonNull(where, "signalOn");
    return new Op(b);
  }

  /** {@return what kind of operation this is} */
  public Kind kind() {
    return kind;
  }

  /** {@return the peer, or {@link #ANY_SOURCE}} */
  public int rank() {
    return rank;
  }

  /** {@return the port of an active message or of a signal, else null} */
  public @Nullable Port port() {
    return port;
  }

  /** {@return the port of this rank at which room for a reply is reserved, or null} */
  public @Nullable Port replyTo() {
    return replyTo;
  }

  /** {@return whether this answers a request} */
  public boolean isReply() {
    return reply;
  }

  /** {@return the payload that is sent or written; null for other operations} */
  public @Nullable Payload payload() {
    return payload;
  }

  /** {@return the longest message that a receive takes, or the length of a get, in bytes} */
  public int receiveBytes() {
    return receiveBytes;
  }

  /** {@return the region of a put, get or atomic operation, else null} */
  public @Nullable RemoteMemory remote() {
    return remote;
  }

  /** {@return the offset in the region, in bytes} */
  public long offset() {
    return offset;
  }

  /**
   * {@return the buffer that a receive or get reads into; null if it is a list, or the completion's
   * message}
   */
  public @Nullable LciBuffer buffer() {
    return buffer;
  }

  /** {@return the list that a receive or get reads into, or null} */
  public @Nullable BufferList buffers() {
    return buffers;
  }

  /** {@return where each part of a put or get lies; null where all are one range} */
  public @Nullable List<RemotePlace> places() {
    return places;
  }

  /** {@return how an atomic operation changes the long; null for other operations} */
  public @Nullable Atomic atomic() {
    return atomic;
  }

  /** {@return what an atomic operation adds or stores} */
  public long operand() {
    return operand;
  }

  /** {@return the value that {@link #compareAndExchange} replaces} */
  public long expected() {
    return expected;
  }

  /** {@return the tag} */
  public long tag() {
    return tag;
  }

  /** {@return the matching engine; null for the one that every rank has} */
  public @Nullable MatchingEngine engine() {
    return engine;
  }

  /** {@return the device index} */
  public int device() {
    return device;
  }

  /** {@return the parts of the key that send and receive compare} */
  public Policy policy() {
    return policy;
  }

  /** {@return the moment at which the operation has ended} */
  public Semantic semantic() {
    return semantic;
  }

  /** {@return the number that comes back in the completion} */
  public int userContext() {
    return userContext;
  }

  /** {@return whether the answer retry is allowed} */
  public boolean retryAllowed() {
    return retryAllowed;
  }

  /** {@return whether the answer done is allowed} */
  public boolean doneAllowed() {
    return doneAllowed;
  }

  /** {@return the completion target that is signalled at the end, or null} */
  public @Nullable CompletionTarget target() {
    return target;
  }

  /** {@return the consumer of the final outcome, or null} */
  public @Nullable Consumer<? super PostOutcome> outcomeConsumer() {
    return onOutcome;
  }

  /** {@return the consumer of a failure, or null} */
  public @Nullable Consumer<? super LciException> errorConsumer() {
    return onError;
  }

  /** {@return the deadline, or null} */
  public @Nullable Duration deadline() {
    return deadline;
  }

  /** {@return where its Mono is signalled; null for its home loop} */
  public @Nullable Scheduler signalOn() {
    return signalOn;
  }

  @Override
  public String toString() {
    String name = reply ? "reply" : kind.name().toLowerCase(java.util.Locale.ROOT);
    StringBuilder text = new StringBuilder(name);
    if (kind != Kind.BARRIER) {
      text.append(
              switch (kind) {
                case RECEIVE, GET -> " from ";
                case ATOMIC -> " at ";
                default -> " to ";
              })
          .append(rank == ANY_SOURCE ? "any" : "rank " + rank);
    }
    if (port != null) {
      text.append(" port ").append(port);
    }
    if (kind == Kind.SEND || kind == Kind.RECEIVE) {
      text.append(tag == ANY_TAG ? " any tag" : " tag " + tag);
    }
    if (kind == Kind.RECEIVE) {
      text.append(" (at most ").append(receiveBytes).append(" bytes)");
    }
    return text.toString();
  }

  private static int checkRank(int rank) {
    if (rank < 0) {
      throw new IllegalArgumentException("rank must not be negative: " + rank);
    }
    return rank;
  }

  private static long checkTag(long tag) {
    if (tag < 0 || tag > MAX_TAG) {
      throw new IllegalArgumentException("tag must be in 0.." + MAX_TAG + ": " + tag);
    }
    return tag;
  }

  private static BufferList checkList(BufferList list) {
    if (list.parts().isEmpty()) {
      throw new IllegalArgumentException("a list needs a buffer");
    }
    return list;
  }

  /** Returns their rank. */
  private static int checkPlaces(List<RemotePlace> places, BufferList list) {
    Objects.requireNonNull(places, "places");
    List<LciBuffer> parts = checkList(Objects.requireNonNull(list, "parts")).parts();
    if (places.size() != parts.size()) {
      throw new IllegalArgumentException(
          "as many places as buffers are needed: " + places.size() + " and " + parts.size());
    }
    int rank = places.get(0).memory().rank();
    for (int i = 0; i < parts.size(); i++) {
      RemoteMemory memory = places.get(i).memory();
      Objects.checkFromIndexSize(places.get(i).offset(), parts.get(i).size(), memory.size());
      if (memory.rank() != rank) {
        throw new IllegalArgumentException(
            "places are of one rank, not of " + rank + " and " + memory.rank());
      }
    }
    return rank;
  }

  /** Mutable copy behind the options. */
  private static final class Builder {
    final Kind kind;
    final int rank;
    @Nullable Port port;
    @Nullable Port replyTo;
    boolean reply;
    @Nullable Payload payload;
    int receiveBytes;
    @Nullable RemoteMemory remote;
    long offset;
    @Nullable LciBuffer buffer;
    @Nullable BufferList buffers;
    @Nullable List<RemotePlace> places;
    @Nullable Atomic atomic;
    long operand;
    long expected;
    long tag;
    @Nullable MatchingEngine engine;
    int device;
    Policy policy = Policy.RANK_TAG;
    Semantic semantic = Semantic.MEMORY;
    int userContext;
    boolean retryAllowed = true;
    boolean doneAllowed = true;
    @Nullable CompletionTarget target;
    @Nullable Consumer<? super PostOutcome> onOutcome;
    @Nullable Consumer<? super LciException> onError;
    @Nullable Duration deadline;
    @Nullable Scheduler signalOn;

    Builder(Kind kind, int rank) {
      this.kind = kind;
      this.rank = rank;
    }

    Builder(Op op) {
      this(op.kind, op.rank);
      port = op.port;
      replyTo = op.replyTo;
      reply = op.reply;
      payload = op.payload;
      receiveBytes = op.receiveBytes;
      remote = op.remote;
      offset = op.offset;
      buffer = op.buffer;
      buffers = op.buffers;
      places = op.places;
      atomic = op.atomic;
      operand = op.operand;
      expected = op.expected;
      tag = op.tag;
      engine = op.engine;
      device = op.device;
      policy = op.policy;
      semantic = op.semantic;
      userContext = op.userContext;
      retryAllowed = op.retryAllowed;
      doneAllowed = op.doneAllowed;
      target = op.target;
      onOutcome = op.onOutcome;
      onError = op.onError;
      deadline = op.deadline;
      signalOn = op.signalOn;
    }
  }
}
