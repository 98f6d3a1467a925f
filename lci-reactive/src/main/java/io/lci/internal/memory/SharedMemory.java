/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.memory;

import io.lci.error.LciException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.PooledBuffer;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeScratch;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import reactor.core.scheduler.Schedulers;

/** Memory of the core's arena that the collector frees, as it frees direct buffers. Any thread. */
final class SharedMemory {
  private static final Cleaner CLEANER = Cleaner.create();

  /** How often garbage is collected before there is no room; each time the cleaner has a moment. */
  private static final int COLLECTIONS = 4;

  private static final long MOMENT_MILLIS = 5;

  private SharedMemory() {}

  static PooledBuffer allocate(CoreRuntime core, int bytes) {
    for (int collections = 0; ; collections++) {
      try {
        return take(core, bytes);
      } catch (ResourceExhaustedException e) {
        if (collections == COLLECTIONS
            || Schedulers.isInNonBlockingThread()
            || Thread.currentThread().isInterrupted()) {
          throw e;
        }
        collect(collections);
      }
    }
  }

  private static PooledBuffer take(CoreRuntime core, int bytes) {
    NativeScratch out = new NativeScratch(2);
    core.gate.ask(
        "allocate a buffer of " + bytes + " bytes",
        LciException.NONE,
        () -> core.calls.memoryAllocate(core.handle, bytes, out.address(0), out.address(1)));
    Runnable free = freeing(new WeakReference<>(core), out.getLong(0));
    try {
      PooledBuffer buffer = PooledBuffer.ofCore(out.getLong(1), bytes);
      // Views refer to this buffer, and so do operations; neither must keep a closed runtime
      CLEANER.register(buffer.memory, free);
      return buffer;
    } catch (Throwable e) { // such as for want of heap
      free.run();
      throw e;
    }
  }

  private static Runnable freeing(WeakReference<CoreRuntime> runtime, long region) {
    return () -> {
      CoreRuntime core = runtime.get();
      if (core != null) { // else its close has freed all
        core.gate.with(() -> core.calls.memoryFree(region), Codes.DONE);
      }
    };
  }

  /** The core gives memory out again once nobody copies from it. */
  private static void collect(int before) {
    System.gc();
    try {
      Thread.sleep(MOMENT_MILLIS << before);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
