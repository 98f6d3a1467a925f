/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The thread that drives a loop: its own for good, or the one of a user that came first. */
public final class LoopOwner {
  private final EventLoop loop;
  private final boolean invoker;
  private volatile @Nullable Thread thread;
  private boolean released; // guarded by this

  public LoopOwner(EventLoop loop, boolean invoker) {
    this.loop = loop;
    this.invoker = invoker;
  }

  /** Starts the thread of a dedicated loop, or throws what keeps it from starting. */
  void start(Function<? super EventLoop, ? extends Thread> threads) {
    Thread starting = threads.apply(loop);
    thread = starting;
    try {
      starting.start();
    } catch (Throwable e) {
      thread = null;
      throw e;
    }
  }

  public @Nullable Thread thread() {
    return thread;
  }

  public boolean isHere() {
    return Thread.currentThread() == thread;
  }

  /** Makes the calling thread the owner of an invoker loop, or throws. */
  public void claim() {
    if (!invoker) {
      throw new IllegalStateException(
          loop + " drives itself; poll and await are for invoker loops");
    }
    Thread current = Thread.currentThread();
    synchronized (this) {
      Thread owner = thread;
      if (owner == null || !owner.isAlive()) { // a dead owner leaves the loop to the next
        if (!released) {
          if (owner != null) {
            InvokerThreads.unregister(owner);
          }
          InvokerThreads.register(current);
        }
        thread = current;
      }
    }
    if (thread != current) {
      throw new IllegalStateException(loop + " is driven by " + thread);
    }
  }

  /** The loop has ended: its invoker may block again. */
  public synchronized void release() {
    Thread driver = thread;
    if (driver != null && invoker && !released) {
      InvokerThreads.unregister(driver);
    }
    released = true;
  }
}
