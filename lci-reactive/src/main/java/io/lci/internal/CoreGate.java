/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Lets calls into the core through until it is closed, and closes it when none is inside. */
final class CoreGate {
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private boolean closed; // guarded by lock

  /** Calls the core unless it is closed. */
  long with(LongSupplier call, long otherwise) {
    lock.readLock().lock();
    try {
      return closed ? otherwise : call.getAsLong();
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Calls {@code call}, which knows itself whether the core is closed. */
  <T> T get(Supplier<T> call) {
    lock.readLock().lock();
    try {
      return call.get();
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Runs what takes something away, when none is inside. */
  void alone(Runnable end) {
    lock.writeLock().lock();
    try {
      end.run();
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Closes the core by {@code call}; nobody is let through any more. */
  int close(IntSupplier call) {
    lock.writeLock().lock();
    try {
      closed = true;
      return call.getAsInt();
    } finally {
      lock.writeLock().unlock();
    }
  }
}
