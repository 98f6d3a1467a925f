/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionTarget;
import io.lci.error.LciException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Immutable description of one operation. Creating one costs nothing on the wire: it is posted by
 * {@link LciRuntime#post(Op)} (once per subscription) or by a {@link Poster}. Options come in any
 * order; each returns a new description.
 *
 * <p>Ranks and tags are unsigned; a tag of send and receive has 32 bits, the tag of an active
 * message 64.
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

  /** What kind of operation. */
  public enum Kind {
    /** Active message to a port. */
    AM,
    /** Matched send. */
    SEND,
    /** Matched receive. */
    RECEIVE,
    /** Barrier over all ranks. */
    BARRIER
  }

  /**
   * What a send and a receive compare; both sides choose the same. A wildcard receive overrides its
   * own.
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

  private final Kind kind;
  private final int rank;
  private final @Nullable Port port;
  private final @Nullable Payload payload;
  private final int receiveBytes;
  private final long tag;
  private final int engine;
  private final int device;
  private final Policy policy;
  private final boolean retryAllowed;
  private final boolean doneAllowed;
  private final @Nullable CompletionTarget target;
  private final @Nullable Consumer<? super PostOutcome> onOutcome;
  private final @Nullable Consumer<? super LciException> onError;
  private final @Nullable Duration deadline;

  private Op(Builder b) {
    kind = b.kind;
    rank = b.rank;
    port = b.port;
    payload = b.payload;
    receiveBytes = b.receiveBytes;
    tag = b.tag;
    engine = b.engine;
    device = b.device;
    policy = b.policy;
    retryAllowed = b.retryAllowed;
    doneAllowed = b.doneAllowed;
    target = b.target;
    onOutcome = b.onOutcome;
    onError = b.onError;
    deadline = b.deadline;
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
   * A barrier over all ranks: completes when every rank has posted as many barriers as this one.
   * Numbered by posting order on device 0.
   *
   * @return the description
   */
  public static Op barrier() {
    return new Op(new Builder(Kind.BARRIER, 0));
  }

  /**
   * Sets the tag of an active message (all 64 bits), or of a send or receive.
   *
   * @param value the tag
   * @return a new description
   */
  public Op tag(long value) {
    Builder b = new Builder(this);
    b.tag = kind == Kind.AM ? value : checkTag(value);
    return new Op(b);
  }

  /**
   * Chooses the device, and with it the loop on which the operation is posted and signalled.
   * Default 0, for a {@link Poster} its own.
   *
   * @param index 0 to the number of loops - 1
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
   * Chooses what send and receive compare. Default {@link Policy#RANK_TAG}.
   *
   * @param value the policy, the same on both sides
   * @return a new description
   */
  public Op matching(Policy value) {
    Builder b = new Builder(this);
    b.policy = Objects.requireNonNull(value, "policy");
    return new Op(b);
  }

  /**
   * Allows or forbids the answer <em>retry</em>. Forbidden, the operation goes into the backlog,
   * and ends with {@link io.lci.error.ResourceExhaustedException} at the backlog's bound. Default
   * allowed.
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
   * Allows or forbids the answer <em>done</em>. Forbidden, the completion target is signalled even
   * when the operation finished at once. Default allowed, and forbidden by {@link #completeTo}.
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
   * forbids <em>done</em>.
   *
   * @param value synchronizer or counter of the same runtime
   * @return a new description
   */
  public Op completeTo(CompletionTarget value) {
    Builder b = new Builder(this);
    b.target = Objects.requireNonNull(value, "target");
    b.doneAllowed = false;
    return new Op(b);
  }

  /**
   * Hears the final outcome (never a retry) of an operation given to {@link Poster#submit}. Called
   * on the loop.
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
   * Hears the failure of an operation given to {@link Poster#submit}; without it failures are
   * logged. Called on the loop.
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
    if (limit.isNegative() || limit.isZero()) {
      throw new IllegalArgumentException("deadline must be positive: " + limit);
    }
    Builder b = new Builder(this);
    b.deadline = limit;
    return new Op(b);
  }

  /** Returns what kind of operation this is. */
  public Kind kind() {
    return kind;
  }

  /** Returns the peer, or {@link #ANY_SOURCE}. */
  public int rank() {
    return rank;
  }

  /** Returns the port of an active message, else null. */
  public @Nullable Port port() {
    return port;
  }

  /** Returns what is sent; null for a receive or barrier. */
  public @Nullable Payload payload() {
    return payload;
  }

  /** Returns the longest message a receive takes, in bytes. */
  public int receiveBytes() {
    return receiveBytes;
  }

  /** Returns the tag. */
  public long tag() {
    return tag;
  }

  /** Returns the matching engine; 0 is the default engine. */
  public int engine() {
    return engine;
  }

  /** Returns the device index. */
  public int device() {
    return device;
  }

  /** Returns what send and receive compare. */
  public Policy policy() {
    return policy;
  }

  /** Returns whether the answer retry is allowed. */
  public boolean retryAllowed() {
    return retryAllowed;
  }

  /** Returns whether the answer done is allowed. */
  public boolean doneAllowed() {
    return doneAllowed;
  }

  /** Returns what is signalled at the end, or null. */
  public @Nullable CompletionTarget target() {
    return target;
  }

  /** Returns the consumer of the final outcome, or null. */
  public @Nullable Consumer<? super PostOutcome> outcomeConsumer() {
    return onOutcome;
  }

  /** Returns the consumer of a failure, or null. */
  public @Nullable Consumer<? super LciException> errorConsumer() {
    return onError;
  }

  /** Returns the deadline, or null. */
  public @Nullable Duration deadline() {
    return deadline;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(kind.name().toLowerCase(java.util.Locale.ROOT));
    if (kind != Kind.BARRIER) {
      text.append(kind == Kind.RECEIVE ? " from " : " to ")
          .append(rank == ANY_SOURCE ? "any" : "rank " + rank);
    }
    if (port != null) {
      text.append(" port ").append(port);
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

  /** Mutable copy behind the options. */
  private static final class Builder {
    final Kind kind;
    final int rank;
    @Nullable Port port;
    @Nullable Payload payload;
    int receiveBytes;
    long tag;
    int engine;
    int device;
    Policy policy = Policy.RANK_TAG;
    boolean retryAllowed = true;
    boolean doneAllowed = true;
    @Nullable CompletionTarget target;
    @Nullable Consumer<? super PostOutcome> onOutcome;
    @Nullable Consumer<? super LciException> onError;
    @Nullable Duration deadline;

    Builder(Kind kind, int rank) {
      this.kind = kind;
      this.rank = rank;
    }

    Builder(Op op) {
      this(op.kind, op.rank);
      port = op.port;
      payload = op.payload;
      receiveBytes = op.receiveBytes;
      tag = op.tag;
      engine = op.engine;
      device = op.device;
      policy = op.policy;
      retryAllowed = op.retryAllowed;
      doneAllowed = op.doneAllowed;
      target = op.target;
      onOutcome = op.onOutcome;
      onError = op.onError;
      deadline = op.deadline;
    }
  }
}
