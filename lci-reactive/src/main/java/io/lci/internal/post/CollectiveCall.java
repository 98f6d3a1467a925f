/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.collective.Algorithm;
import io.lci.internal.lane.CallContent;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.LoopSubscription;
import io.lci.nativebridge.Codes;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/**
 * A call of a context of a group: it begins with the first request, and goes on whoever leaves.
 * Loop only. Calls begin in the order in which they were asked for, also those whose subscriber has
 * left by then: the others count them.
 *
 * @param <T> of the result
 */
public final class CollectiveCall<T> extends LoopSubscription<T> implements Submitter, Posted {
  /** The context whose call it is. Loop only. */
  public interface Owner {
    /** What the core calls it. */
    long id();

    /** Its number among those of this rank, below 65,536. */
    int number();

    /** The number of its device. */
    int device();

    /** A call begins, unless this throws: it waits for its turn, if need be. */
    void began(CollectiveKind call);

    /** Why a call is not made now that it is its turn, or null. */
    @Nullable RuntimeException refusal(CollectiveKind call);

    /** The algorithm of a call that began and has not ended. */
    Algorithm algorithm(CallContent call);

    /** A call that began has ended. */
    void ended();

    /** Its call has ended, or never begins. Before {@link #ended}. */
    void left();

    /** A call fails here before the core has it: the others would wait for it. */
    void giveUp();

    /** Why a call failed, by what the core said. */
    RuntimeException failure(CallContent call, RuntimeException reason);

    /** Why a call ended with an error. */
    RuntimeException failure(CallContent call, int code, int rank);
  }

  private final Outbox outbox;
  private final Owner owner;
  private final CallContent data;
  private final Executor order;
  private final @Nullable Supplier<? extends T> result;
  private BooleanSupplier unwanted = this::isOver;
  private boolean began;

  /** When it had its turn; 0: nobody wants to know. */
  private long since;

  private boolean ended;
  private @Nullable RuntimeException failure;

  /**
   * @param order has it begin when it is its turn
   * @param result gives what is emitted when the call has ended well; null: nothing
   */
  public CollectiveCall(
      Outbox outbox,
      CoreSubscriber<? super T> actual,
      Owner owner,
      CallContent data,
      Executor order,
      @Nullable Supplier<? extends T> result) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.owner = owner;
    this.data = data;
    this.order = order;
    this.result = result;
  }

  /** A result that has come is left out where this says so, in place of: where nobody waits. */
  public CollectiveCall<T> leavesOut(BooleanSupplier where) {
    unwanted = where;
    return this;
  }

  @Override
  public void drain() {
    if (!began && isWanted()) {
      began = true;
      ask();
    } else if (!began && isOver()) {
      began = true;
      owner.left();
    }
    if (ended && !isOver()) {
      loop.deactivate(this);
      if (failure != null) {
        fail(failure);
      } else {
        succeed();
      }
    }
  }

  /** The first request, without which it would not have begun, pays for the result. */
  private void succeed() {
    if (result != null) {
      emit(result.get());
    }
    complete();
  }

  private void ask() {
    try {
      owner.began(data.kind());
    } catch (RuntimeException e) {
      owner.left();
      fail(e);
      return;
    }
    if (!isOver()) {
      loop.activate(this);
    }
    order.execute(this::start);
  }

  private void start() {
    since = outbox.core.observer.isOn() ? System.nanoTime() : 0;
    RuntimeException refused = owner.refusal(data.kind());
    if (refused != null) {
      end(refused);
    } else {
      outbox.submit(this, this, destination());
    }
  }

  /** Agreements have an order of their own: they do not wait behind calls without room. */
  private Destination destination() {
    int order = data.kind() == CollectiveKind.AGREE ? 1 : 0;
    int device = outbox.laneDevice(owner.device());
    return outbox.destinations.get(Destination.COLLECTIVE, device, order, owner.number());
  }

  private void end(@Nullable RuntimeException reason) {
    if (!ended) {
      ended = true;
      failure = reason;
      owner.left();
      owner.ended();
      schedule();
    }
  }

  @Override
  public void onCancel() {
    loop.deactivate(this);
    schedule(); // it may have been asked for, and not begun
  }

  // Submitter

  @Override
  public Op.@Nullable Kind kind() {
    return data.kind() == CollectiveKind.BARRIER ? Op.Kind.BARRIER : null;
  }

  @Override
  public int sizeHint(Object item) {
    return 0;
  }

  @Override
  public void encode(Object item, PostWriter out) {
    out.tag(owner.id());
    data.encode(out);
  }

  @Override
  public Posted posted(Object item) {
    return this;
  }

  @Override
  public void accepted(Object item, Destination destination, int code, int slot) {}

  @Override
  public void failed(Object item, Destination destination, RuntimeException reason) {
    if (reason.getCause() != null) { // its data could not be copied
      owner.giveUp();
      end(reason);
    } else {
      end(owner.failure(data, reason));
    }
  }

  /** Others wait for it. */
  @Override
  public boolean wants(Object item) {
    return true;
  }

  /** One that is left out would give the next one its number. */
  @Override
  public boolean waitsBeyondLimit() {
    return true;
  }

  @Override
  public void parked(Object item, Destination destination, int node, int code) {}

  @Override
  public void dropped(Object item, int code) {
    throw new IllegalStateException("a collective call waits until it is posted");
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  // Posted

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    if (code != Codes.DONE) {
      end(owner.failure(data, code, rank));
      return;
    }
    if (since != 0) {
      long nanos = System.nanoTime() - since;
      String call = data.kind().toString();
      Algorithm algorithm = owner.algorithm(data);
      outbox.core.observer.collectiveTimed(call, algorithm, owner.device(), size, nanos);
    }
    end(delivered(tag, memory));
  }

  /** Gives a subscriber that still waits its result; returns why that is not possible, or null. */
  private @Nullable RuntimeException delivered(long number, @Nullable PooledBuffer memory) {
    if (unwanted.getAsBoolean()) {
      return null;
    }
    try {
      data.copyOut(number, memory);
      return null;
    } catch (RuntimeException e) { // memory of the program that has gone
      return e;
    }
  }

  @Override
  public void abandoned(RuntimeException reason) {
    end(reason);
  }

  @Override
  public int boundRank() {
    return -1;
  }

  @Override
  public boolean holdsClose() {
    return true;
  }

  @Override
  public boolean holdsFence() {
    return false;
  }
}
