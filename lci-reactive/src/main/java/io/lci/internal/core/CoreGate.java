/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.error.LciClosedException;
import io.lci.nativebridge.NativeCalls;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Lets calls into the core through until it is closed, and closes it when none is inside. */
public final class CoreGate {
  /** No code of the core. */
  private static final long NOT_ASKED = Long.MIN_VALUE;

  private final NativeCalls calls;
  private final Function<String, LciClosedException> closing;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private boolean closed; // guarded by lock

  /**
   * @param closing the error of an operation that comes too late
   */
  public CoreGate(NativeCalls calls, Function<String, LciClosedException> closing) {
    this.calls = calls;
    this.closing = closing;
  }

  /** Calls the core unless it is closed. */
  public long with(LongSupplier call, long otherwise) {
    lock.readLock().lock();
    try {
      return closed ? otherwise : call.getAsLong();
    } finally {
      lock.readLock().unlock();
    }
  }

  /**
   * Asks the core and throws what it refuses. Once it is closed it is not asked, and what it said
   * last is about something else.
   */
  public void ask(String operation, int device, IntSupplier call) {
    long code = with(call::getAsInt, NOT_ASKED);
    if (code == NOT_ASKED) {
      throw closing.apply(operation);
    }
    Errors.check(calls, (int) code, operation, device);
  }

  /** Calls {@code call}, which knows itself whether the core is closed. */
  public <T> T get(Supplier<T> call) {
    lock.readLock().lock();
    try {
      return call.get();
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Takes something from the core that others may be using inside {@link #with}. */
  public void alone(Runnable end) {
    lock.writeLock().lock();
    try {
      end.run();
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Closes the core by {@code call}; nobody is let through any more. */
  public int close(IntSupplier call) {
    lock.writeLock().lock();
    try {
      closed = true;
      return call.getAsInt();
    } finally {
      lock.writeLock().unlock();
    }
  }
}
