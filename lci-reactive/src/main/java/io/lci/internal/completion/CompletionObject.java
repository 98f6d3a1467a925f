/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.NativeTarget;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;

/** A completion object of the core: it is disposed by any thread, and freed by its home loop. */
abstract class CompletionObject implements NativeTarget, Disposable {
  final EventLoop loop;
  final CompletionObjects objects;
  private final long handle;
  private final int id;
  private final AtomicBoolean disposed = new AtomicBoolean();

  CompletionObject(CompletionObjects objects, EventLoop loop, long handle) {
    this.objects = objects;
    this.loop = loop;
    this.handle = handle;
    this.id = (int) core().gate.with(() -> core().calls.compId(handle), 0);
  }

  @Override
  public final int id() {
    return id;
  }

  @Override
  public final long handle() {
    return handle;
  }

  @Override
  public final CoreRuntime core() {
    return loop.core();
  }

  @Override
  public final void dispose() {
    if (!disposed.getAndSet(true)) { // else two threads would free it twice
      loop.execute(this::end);
    }
  }

  @Override
  public final boolean isDisposed() {
    return disposed.get();
  }

  private void end() {
    free();
    core().gate.alone(this::freeNative);
  }

  /** One that a port or a pending operation leads to is asked again later. Gate held alone. */
  final void freeNative() {
    CoreRuntime core = core();
    long code = core.gate.with(() -> core.calls.compFree(handle), Codes.DONE);
    if (code == Codes.ERR_BUSY) {
      objects.freeLater(this);
    }
  }

  /** Ends whoever waits, and forgets what is stored. Loop only. */
  abstract void free();

  /** What a status says beyond its numbers; null if it is done. */
  final @Nullable LciException failure(int code, int rank, int port) {
    return code == Codes.DONE
        ? null
        : Errors.of(
            new Detail(
                "signal",
                rank,
                port == 0 ? LciException.NONE : port,
                loop.firstDevice(),
                Errors.name(core().calls, code),
                Errors.hint(code)),
            code);
  }
}
