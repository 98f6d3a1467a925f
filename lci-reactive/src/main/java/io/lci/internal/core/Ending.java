/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.error.LciClosedException;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;

/**
 * Whether a runtime is about to end, and why: what every part is asked before it begins anything.
 * Any thread.
 */
public final class Ending {
  private volatile boolean started;
  private volatile boolean abrupt;
  private volatile @Nullable Throwable cause;

  public boolean hasStarted() {
    return started;
  }

  public void start() {
    started = true;
  }

  /** Whether peers see this rank fail: not everything was sent, or nothing more may be. */
  public boolean isAbrupt() {
    return abrupt;
  }

  public void abruptly() {
    abrupt = true;
  }

  public @Nullable Throwable cause() {
    return cause;
  }

  /** What operations end with that it ends. */
  public int code() {
    return cause instanceof LciClosedException closed && closed.isFenced()
        ? Codes.ERR_FENCED
        : Codes.ERR_CLOSED;
  }

  /** What ended the runtime, if that was no call of the program. */
  public void because(@Nullable Throwable reason) {
    cause = reason;
  }

  /** Throws if it has started. */
  public void refuse(String operation) {
    if (started) {
      throw closed(operation);
    }
  }

  /** The runtime is closed. The cause is what ended it, if that was no call of the program. */
  public LciClosedException closed(String operation) {
    Throwable known = cause;
    LciClosedException error =
        code() == Codes.ERR_FENCED ? Errors.fenced(operation) : Errors.closed(operation);
    if (known != null) {
      error.initCause(known);
    }
    return error;
  }

  /** Why {@code what}, which is disposed or about to end, gives nothing any more. */
  public LciClosedException gone(String operation, String what, String remedy) {
    return started ? closed(operation) : Errors.disposed(operation, what, remedy);
  }
}
