/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.AgreeData;
import io.lci.internal.lane.CallContent;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.CollectiveCall;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A context of the core, of a group. Any thread, where nothing else is said. */
final class ContextImpl extends GroupCalls
    implements StreamCalls, CollectiveCall.Owner, StreamMembers {
  /** Odd numbers that spread keys: contexts of streams are not to meet those of the program. */
  private static final long STREAM_STEP = 0x9E37_79B9_7F4A_7C15L;

  private static final long STREAM_MIX = 0xBF58_476D_1CE4_E5B9L;

  /** In {@link #subscribed}: nothing leads to the context of the core. It stays below 0. */
  private static final int FREED = Integer.MIN_VALUE / 2;

  private final CoreRuntime core;
  final Groups groups;
  private final GroupImpl group;
  final ContextKey key;
  private final Outbox outbox;
  private final long handle;
  private final long id;
  private final int number;
  private final boolean once;
  private final ContextErrors errors;

  /** Loop only. */
  private final ChosenAlgorithm chosen;

  final Turnstile turnstile;

  /** Makes the parts of calls. */
  final CallMaker parts;

  private volatile boolean disposed;

  /** Subscriptions whose calls and streams have not ended, begun or not; or {@link #FREED}. */
  private final AtomicInteger subscribed = new AtomicInteger();

  /** Calls that began and did not end. Loop only. */
  private int underWay;

  /** All calls that were asked for before the disposal have begun. Loop only. */
  private boolean hasBegunAll;

  private final Drainable end =
      new Drainable() {
        @Override
        protected void drain() {
          hasBegunAll = true;
          freeIfUnused();
        }
      };

  /**
   * @param handle of the core, freed by this
   * @param id of the core
   * @param number see {@link CollectiveCall.Owner#number()}
   * @param once see {@link #isOnce}
   */
  ContextImpl(
      CoreRuntime core,
      Groups groups,
      GroupImpl group,
      ContextKey key,
      Outbox outbox,
      long handle,
      long id,
      int number,
      boolean once) {
    super(new CallMaker(core, group.rank(), group.size()));
    this.core = core;
    this.groups = groups;
    this.group = group;
    this.key = key;
    this.outbox = outbox;
    this.handle = handle;
    this.id = id;
    this.number = number;
    this.once = once;
    this.errors = new ContextErrors(core, handle, key.device());
    this.chosen = new ChosenAlgorithm(core, handle);
    this.turnstile = new Turnstile(outbox.loop);
    this.parts = new CallMaker(core, group.rank(), group.size());
  }

  @Override
  <T> Mono<T> make(CallData call, @Nullable Supplier<? extends T> result) {
    return call(call, turnstile, result);
  }

  /** Takes part in the next agreement, also when the context has failed. */
  Mono<AgreeData.Outcome> agree(long value) {
    return Mono.defer(
        () -> {
          AgreeData call = new AgreeData(value, group.size());
          return call(call, Runnable::run, call::outcome);
        });
  }

  @Override
  <T> Mono<T> make(CollectiveKind kind, Function<Parts, Mono<T>> recipe) {
    return once(kind, (loop, actual) -> new CompoundCall<T>(this, actual, kind, recipe));
  }

  private <T> Mono<T> call(
      CallContent call, Executor order, @Nullable Supplier<? extends T> result) {
    return once(
        call.kind(),
        (loop, actual) -> new CollectiveCall<T>(outbox, actual, this, call, order, result));
  }

  @Override
  Algorithm chosen(CallData call) {
    return groups.whileThere(
        this, () -> new ChosenAlgorithm(core, handle).of(call), call.algorithm());
  }

  @Override
  <T> Flux<T> series(CollectiveKind kind, Series<T> series) {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(actual, series, refusal(kind.operation())); // its calls are counted one by one
      }
    };
  }

  private <T> Mono<T> once(CollectiveKind kind, Series<T> call) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(actual, call, subscribed(kind.operation()));
      }
    };
  }

  private <T> void begin(
      CoreSubscriber<? super T> actual, Series<T> series, @Nullable RuntimeException refusal) {
    if (refusal != null) {
      Operators.error(actual, refusal);
    } else {
      series.of(outbox.loop, actual).begin();
    }
  }

  /** Why nothing can be subscribed to any more, or null. */
  private @Nullable RuntimeException refusal(String operation) {
    if (outbox.loop.isDisposed()) {
      return outbox.loop.closed(operation);
    }
    return disposed ? gone(operation) : null;
  }

  @Override
  public @Nullable RuntimeException subscribed(String operation) {
    RuntimeException refusal = refusal(operation);
    if (refusal == null && subscribed.getAndIncrement() < 0) {
      return gone(operation);
    }
    return refusal;
  }

  @Override
  public void left() {
    subscribed.decrementAndGet();
  }

  @Override
  public Group group() {
    return group;
  }

  @Override
  public GroupStreams streams() {
    return groups.streams.of(this);
  }

  @Override
  public void revoke() {
    Revocation by = Revocation.ofContext(core.rank);
    boolean there =
        groups.whileThere(
            this,
            () -> {
              core.gate.ask(
                  "revoke context",
                  key.device(),
                  () -> core.calls.contextRevoke(handle, by.cause()));
              outbox.loop.execute(outbox.loop::enterSoon);
            });
    if (there) {
      groups.endStreams(this);
    }
  }

  /** The group was revoked, or this member cannot go on: the core tells others. */
  void revoked(Revocation by) {
    errors.add(by); // of several, the first one stays, as in the core
    groups.whileThere(
        this,
        () -> {
          core.gate.with(() -> core.calls.contextRevoke(handle, by.cause()), Codes.DONE);
          outbox.loop.execute(outbox.loop::enterSoon);
          if (by.isOfGroup()) { // all members hear of it
            endStreams(by);
          }
        });
  }

  /** Each member that has the context does so. */
  void endStreams(Revocation by) {
    groups.streams.revoked(this, by.rank(), by.hint());
  }

  @Override
  public void dispose() {
    boolean known = disposed;
    disposed = true;
    if (subscribed.compareAndSet(0, FREED)) {
      free(); // for whoever asks next, also behind another thread that is in here
    } else if (!known) {
      outbox.loop.execute(() -> outbox.loop.markReady(end)); // behind calls that were made before
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  private void freeIfUnused() {
    if (!disposed || underWay != 0) {
      return;
    }
    boolean first =
        hasBegunAll ? subscribed.getAndSet(FREED) >= 0 : subscribed.compareAndSet(0, FREED);
    if (first) {
      free();
    }
  }

  /** Once. Any thread. */
  private void free() {
    groups.streams.forget(this);
    long code = groups.free(this, handle);
    // Calls that a closing loop gave up are the core's until it closes, and frees the context
    // with them.
    if (Codes.isError((int) code) && !core.ending.hasStarted()) {
      outbox.loop.uncaught(
          new IllegalStateException("free a context: " + Errors.name(core.calls, (int) code)));
    }
  }

  // For its calls

  @Override
  public long id() {
    return id;
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public int device() {
    return key.device();
  }

  @Override
  public void began(CollectiveKind call) {
    begin(call.operation());
  }

  private void begin(String operation) {
    if (subscribed.get() < 0) {
      throw gone(operation);
    }
    underWay++;
  }

  private RuntimeException gone(String operation) {
    return core.ending.gone(operation, "context", "Group.context makes another");
  }

  @Override
  public @Nullable RuntimeException refusal(CollectiveKind call) {
    return errors.refuse() && call != CollectiveKind.AGREE ? errors.known(call) : null;
  }

  @Override
  public Algorithm algorithm(CallContent call) {
    return call instanceof CallData data ? chosen.of(data) : call.algorithm();
  }

  @Override
  public void ended() {
    underWay--;
    freeIfUnused();
  }

  @Override
  public void giveUp() {
    core.gate.with(() -> core.calls.contextRevoke(handle, Codes.ERR_NO_MEMORY), Codes.DONE);
    outbox.loop.enterSoon();
  }

  @Override
  public RuntimeException failure(CallContent call, RuntimeException reason) {
    if (call instanceof CallData data && errors.isArgument(reason)) {
      return new IllegalArgumentException(
          data.algorithm() + " does not serve this " + data.kind + " of " + group);
    }
    RuntimeException known = known(call.kind());
    return known == null || core.ending.hasStarted() ? reason : known;
  }

  @Override
  public RuntimeException failure(CallContent call, int code, int rank) {
    RuntimeException known = known(call.kind());
    return known == null ? errors.of(call.kind(), code, rank, Errors.hint(code)) : known;
  }

  /** An agreement goes on where calls fail: the failure of the context is not its own. */
  private @Nullable RuntimeException known(CollectiveKind call) {
    return call == CollectiveKind.AGREE ? null : errors.known(call);
  }

  // For its calls of several parts

  EventLoop loop() {
    return outbox.loop;
  }

  /**
   * A part of a call, whose turn it is, also where the context was disposed of meanwhile. It knows
   * nothing of that call, whose subscriber may be gone before it.
   *
   * @param unwanted whether its result is to be left out when it has come
   */
  Mono<Void> part(CallData part, BooleanSupplier unwanted) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Void> actual) {
        subscribed.getAndIncrement(); // it may outlive its call, which is still counted
        new CollectiveCall<Void>(outbox, actual, ContextImpl.this, part, Runnable::run, null)
            .leavesOut(unwanted)
            .begin();
      }
    };
  }

  RuntimeException noMemory(CollectiveKind kind, Throwable cause) {
    RuntimeException error =
        errors.of(kind, Codes.ERR_NO_MEMORY, core.rank, Errors.hint(Codes.ERR_NO_MEMORY));
    error.initCause(cause);
    return error;
  }

  /** All members hear of it in their calls. */
  void fail(Revocation by) {
    errors.add(by);
  }

  // For its streams

  @Override
  public StreamCalls calls(long streamNumber) {
    long mixed = (id + streamNumber * STREAM_STEP) * STREAM_MIX;
    return groups.context(group, mixed == Long.MIN_VALUE ? 0 : mixed, key.device(), true);
  }

  /** Whether one of the same key never comes again. */
  boolean isOnce() {
    return once;
  }

  @Override
  public void streamBegan(String operation) {
    begin(operation);
  }

  @Override
  public void streamEnded() {
    ended();
  }

  @Override
  public String toString() {
    return "CollectiveContext[" + key.key() + " of " + group + ", device " + key.device() + ']';
  }
}
