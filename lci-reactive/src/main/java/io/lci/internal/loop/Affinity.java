/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.AffinityException;
import io.lci.error.LciException.Detail;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Binds the threads of loops to CPUs: offsets into the set that a thread may use. */
public final class Affinity {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private Affinity() {}

  /**
   * Throws if a thread that this one starts could not be bound. Asked before the job is joined, so
   * that a wrong offset leaves nothing behind.
   */
  public static void check(NativeCalls calls, LciOptions options) {
    if (options.affinity().isEmpty()) {
      return;
    }
    int largest = Collections.max(options.affinity());
    CompletableFuture<Void> tried = new CompletableFuture<>();
    // A thread of its own: binding cannot be taken back, and a new one has this one's CPUs.
    Thread trying =
        new Thread(
            () -> {
              try {
                String refusal = pin(calls, largest);
                if (refusal != null) {
                  tried.completeExceptionally(
                      new AffinityException(Detail.of("bind loops", "error_argument", refusal)));
                }
                tried.complete(null);
              } catch (Throwable e) { // whoever waits is to hear of it
                tried.completeExceptionally(e);
              }
            },
            "lci-affinity");
    trying.setDaemon(true);
    trying.start();
    try {
      tried.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof AffinityException refused ? refused : e;
    }
  }

  /** Binds the calling thread, a loop's. What worked a moment ago may be forbidden now. */
  static void bind(EventLoop loop, NativeCalls calls, int offset) {
    String refusal = pin(calls, offset);
    if (refusal != null) {
      LOG.warn("{}: not bound to a CPU: {}", loop, refusal);
    }
  }

  /** Why it cannot be, or null. */
  private static @Nullable String pin(NativeCalls calls, int offset) {
    return calls.threadPin(offset) == Codes.DONE ? null : NativeMemory.string(calls.lastError());
  }
}
