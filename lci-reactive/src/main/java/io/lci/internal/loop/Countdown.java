/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.MonoSink;

/**
 * Completes a Mono with the last of its parts, or fails it with the first that fails. Any thread.
 */
public final class Countdown {
  private final AtomicInteger left;
  private final MonoSink<Void> sink;

  public Countdown(int parts, MonoSink<Void> sink) {
    this.left = new AtomicInteger(parts);
    this.sink = sink;
  }

  /** A part has ended, well if there is no reason why not. */
  public void ended(@Nullable Throwable reason) {
    if (reason == null) {
      if (left.decrementAndGet() == 0) {
        sink.success();
      }
    } else if (left.getAndSet(-1) > 0) {
      sink.error(reason);
    }
  }
}
