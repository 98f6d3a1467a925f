/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.CollectiveContext;
import io.lci.collective.Group;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.loop.Drainable;
import io.lci.internal.post.CollectiveCall;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A context of the core, of a group. Any thread, where nothing else is said. */
final class ContextImpl implements CollectiveContext, CollectiveCall.Owner {
  static final String OPERATION = "barrier of a group";

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
  public Mono<Void> barrier() {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Void> actual) {
        if (outbox.loop.isDisposed()) {
          Operators.error(actual, outbox.loop.closed(OPERATION));
        } else if (disposed) {
          Operators.error(actual, gone());
        } else {
          new CollectiveCall(outbox, actual, ContextImpl.this).begin();
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
      groups.forget(this);
      long code = core.gate.with(() -> core.calls.contextFree(handle), Codes.DONE);
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
  public void began() {
    if (freed) {
      throw gone();
    }
    underWay++;
  }

  private RuntimeException gone() {
    return core.ending.gone(OPERATION, "context", "Group.context makes another");
  }

  @Override
  public void ended() {
    underWay--;
    freeIfUnused();
  }

  @Override
  public RuntimeException failure(RuntimeException reason) {
    RuntimeException known = knownFailure();
    return known == null || core.ending.hasStarted() ? reason : known;
  }

  @Override
  public RuntimeException failure(int code, int rank) {
    RuntimeException known = knownFailure();
    return known == null ? failure(code, rank, Errors.hint(code)) : known;
  }

  private LciException failure(int code, int rank, String hint) {
    return Errors.of(
        new Detail(
            OPERATION, rank, LciException.NONE, key.device(), Errors.name(core.calls, code), hint),
        code);
  }

  private @Nullable RuntimeException knownFailure() {
    ContextFailure known = ContextFailure.of(core, handle);
    return known == null ? null : failure(known.code(), known.rank(), known.hint(core));
  }

  @Override
  public String toString() {
    return "CollectiveContext[" + key.key() + " of " + group + ", device " + key.device() + ']';
  }
}
