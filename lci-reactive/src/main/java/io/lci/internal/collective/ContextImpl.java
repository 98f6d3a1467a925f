/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.CallData;
import io.lci.internal.loop.Drainable;
import io.lci.internal.post.CollectiveCall;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A context of the core, of a group. Any thread, where nothing else is said. */
final class ContextImpl extends GroupCalls
    implements StreamCalls, CollectiveCall.Owner, StreamMembers {
  /** Odd numbers that spread keys: contexts of streams are not to meet those of the program. */
  private static final long STREAM_STEP = 0x9E37_79B9_7F4A_7C15L;

  private static final long STREAM_MIX = 0xBF58_476D_1CE4_E5B9L;

  private final CoreRuntime core;
  private final Groups groups;
  private final GroupImpl group;
  final ContextKey key;
  private final Outbox outbox;
  private final long handle;
  private final long id;
  private final int number;
  private volatile boolean disposed;

  /** Calls that began and did not end. Loop only. */
  private int underWay;

  /** Nothing leads to the context of the core any more. Loop only. */
  private boolean freed;

  private final Drainable end =
      new Drainable() {
        @Override
        protected void drain() {
          freeIfUnused();
        }
      };

  /**
   * @param handle of the core, freed by this
   * @param id of the core
   * @param number see {@link CollectiveCall.Owner#number()}
   */
  ContextImpl(
      CoreRuntime core,
      Groups groups,
      GroupImpl group,
      ContextKey key,
      Outbox outbox,
      long handle,
      long id,
      int number) {
    super(new CallMaker(core, group.rank(), group.size()));
    this.core = core;
    this.groups = groups;
    this.group = group;
    this.key = key;
    this.outbox = outbox;
    this.handle = handle;
    this.id = id;
    this.number = number;
  }

  @Override
  Mono<Void> make(CallData call) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Void> actual) {
        if (outbox.loop.isDisposed()) {
          Operators.error(actual, outbox.loop.closed(call.kind.operation()));
        } else if (disposed) {
          Operators.error(actual, gone(call.kind.operation()));
        } else {
          new CollectiveCall(outbox, actual, ContextImpl.this, call).begin();
        }
      }
    };
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
    core.gate.ask(
        "revoke context",
        key.device(),
        () -> core.calls.contextRevoke(handle, Codes.ERR_CANCELLED));
    outbox.loop.execute(outbox.loop::enterSoon);
    groups.streams.revoke(this);
  }

  @Override
  public void dispose() {
    if (!disposed) {
      disposed = true;
      outbox.loop.execute(() -> outbox.loop.markReady(end)); // behind calls that were made before
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  private void freeIfUnused() {
    if (disposed && underWay == 0 && !freed) {
      freed = true;
      groups.streams.forget(this);
      long code = groups.free(this, handle);
      // Calls that a closing loop gave up are the core's until it closes, and frees the context
      // with them.
      if (Codes.isError((int) code) && !core.ending.hasStarted()) {
        outbox.loop.uncaught(
            new IllegalStateException("free a context: " + Errors.name(core.calls, (int) code)));
      }
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
  public void began(CallData call) {
    begin(call.kind.operation());
  }

  private void begin(String operation) {
    if (freed) {
      throw gone(operation);
    }
    underWay++;
  }

  private RuntimeException gone(String operation) {
    return core.ending.gone(operation, "context", "Group.context makes another");
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
  public RuntimeException failure(CallData call, RuntimeException reason) {
    if (reason instanceof LciException e && e.code().equals(argument())) {
      return new IllegalArgumentException(
          call.algorithm() + " does not serve this " + call.kind + " of " + group);
    }
    RuntimeException known = knownFailure(call);
    return known == null || core.ending.hasStarted() ? reason : known;
  }

  private String argument() {
    return Errors.name(core.calls, Codes.ERR_ARGUMENT);
  }

  @Override
  public RuntimeException failure(CallData call, int code, int rank) {
    RuntimeException known = knownFailure(call);
    return known == null ? failure(call, code, rank, Errors.hint(code)) : known;
  }

  private LciException failure(CallData call, int code, int rank, String hint) {
    String operation = call.kind.operation();
    String name = Errors.name(core.calls, code);
    return Errors.of(
        new Detail(operation, rank, LciException.NONE, key.device(), name, hint), code);
  }

  private @Nullable RuntimeException knownFailure(CallData call) {
    ContextFailure known = ContextFailure.of(core, handle);
    return known == null ? null : failure(call, known.code(), known.rank(), known.hint(core));
  }

  // For its streams

  @Override
  public @Nullable RuntimeException refusal(String operation) {
    if (outbox.loop.isDisposed()) {
      return outbox.loop.closed(operation);
    }
    return disposed ? gone(operation) : null;
  }

  @Override
  public StreamCalls calls(long streamNumber) {
    long mixed = (id + streamNumber * STREAM_STEP) * STREAM_MIX;
    return groups.context(group, mixed == Long.MIN_VALUE ? 0 : mixed, key.device());
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
