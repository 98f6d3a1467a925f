/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.nativebridge.Codes;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;

/** A completion object of the core: it is disposed by any thread, and freed by its home loop. */
abstract class CompletionObject implements NativeTarget, Disposable {
  final EventLoop loop;
  private final long handle;
  private final int id;
  private final AtomicBoolean disposed = new AtomicBoolean();

  CompletionObject(EventLoop loop, long handle) {
    this.loop = loop;
    this.handle = handle;
    this.id = (int) runtime().core.with(() -> loop.lane().calls.compId(handle), 0);
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
  public final RuntimeImpl runtime() {
    return loop.runtime();
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
    runtime().core.alone(this::freeNative);
  }

  /** One that a port or a pending operation leads to is asked again later. Gate held alone. */
  final void freeNative() {
    RuntimeImpl runtime = runtime();
    long code = runtime.core.with(() -> runtime.calls.compFree(handle), Codes.DONE);
    if (code == Codes.ERR_BUSY) {
      runtime.objects.freeLater(this);
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
                Errors.name(runtime().calls, code),
                Errors.hint(code)),
            code);
  }
}
