/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.CollectiveContext;
import io.lci.collective.Group;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.AgreeData;
import io.lci.internal.lane.CallContent;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.loop.Drainable;
import io.lci.internal.post.CollectiveCall;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A context of the core, of a group. Any thread, where nothing else is said. */
final class ContextImpl extends GroupCalls implements CollectiveContext, CollectiveCall.Owner {
  private final CoreRuntime core;
  private final Groups groups;
  private final GroupImpl group;
  final ContextKey key;
  private final Outbox outbox;
  private final long handle;
  private final long id;
  private final int number;
  private volatile boolean disposed;

  /** Why this rank refuses calls that the core would take, or null. The first one stays. */
  private volatile @Nullable Revocation revoked;

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
  <T> Mono<T> make(CallData call, @Nullable Supplier<? extends T> result) {
    return begin(call, result);
  }

  /** Takes part in the next agreement, also when the context has failed. */
  Mono<AgreeData.Outcome> agree(long value) {
    return Mono.defer(
        () -> {
          AgreeData call = new AgreeData(value, group.size());
          return begin(call, call::outcome);
        });
  }

  private <T> Mono<T> begin(CallContent call, @Nullable Supplier<? extends T> result) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        if (outbox.loop.isDisposed()) {
          Operators.error(actual, outbox.loop.closed(call.kind().operation()));
        } else if (disposed) {
          Operators.error(actual, gone(call));
        } else {
          new CollectiveCall<T>(outbox, actual, ContextImpl.this, call, result).begin();
        }
      }
    };
  }

  @Override
  public Group group() {
    return group;
  }

  @Override
  public void revoke() {
    core.gate.ask(
        "revoke context",
        key.device(),
        () -> core.calls.contextRevoke(handle, Codes.ERR_CANCELLED));
    outbox.loop.execute(outbox.loop::enterSoon);
  }

  /** The group was revoked. */
  void revoked(Revocation by) {
    if (revoked == null) {
      revoked = by;
      core.gate.with(() -> core.calls.contextRevoke(handle, by.cause()), Codes.DONE);
      outbox.loop.execute(outbox.loop::enterSoon);
    }
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
  public void began(CallContent call) {
    if (freed) {
      throw gone(call);
    }
    if (revoked != null && !agrees(call)) {
      throw Objects.requireNonNull(knownFailure(call));
    }
    underWay++;
  }

  private RuntimeException gone(CallContent call) {
    return core.ending.gone(call.kind().operation(), "context", "Group.context makes another");
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
    if (agrees(call)) {
      return reason;
    }
    if (call instanceof CallData data
        && reason instanceof LciException e
        && e.code().equals(argument())) {
      return new IllegalArgumentException(
          data.algorithm() + " does not serve this " + data.kind + " of " + group);
    }
    RuntimeException known = knownFailure(call);
    return known == null || core.ending.hasStarted() ? reason : known;
  }

  /** An agreement goes on where calls fail: the failure of the context is not its own. */
  private static boolean agrees(CallContent call) {
    return call.kind() == CollectiveKind.AGREE;
  }

  private String argument() {
    return Errors.name(core.calls, Codes.ERR_ARGUMENT);
  }

  @Override
  public RuntimeException failure(CallContent call, int code, int rank) {
    RuntimeException known = agrees(call) ? null : knownFailure(call);
    return known == null ? failure(call, code, rank, Errors.hint(code)) : known;
  }

  private LciException failure(CallContent call, int code, int rank, String hint) {
    String operation = call.kind().operation();
    String name = Errors.name(core.calls, code);
    return Errors.of(
        new Detail(operation, rank, LciException.NONE, key.device(), name, hint), code);
  }

  private @Nullable RuntimeException knownFailure(CallContent call) {
    ContextFailure known = ContextFailure.of(core, handle);
    Revocation by = revoked;
    if (by != null && (known == null || known.code() == Revocation.code())) {
      return failure(call, Revocation.code(), by.rank(), "it revoked the group: " + by.reason());
    }
    return known == null ? null : failure(call, known.code(), known.rank(), known.hint(core));
  }

  @Override
  public String toString() {
    return "CollectiveContext[" + key.key() + " of " + group + ", device " + key.device() + ']';
  }
}
