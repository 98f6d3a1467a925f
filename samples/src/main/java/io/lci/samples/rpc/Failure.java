/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/** The first thing that went wrong on this rank: every thread looks, and ends. */
final class Failure {
  private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();

  void set(Throwable error) {
    first.compareAndSet(null, error);
  }

  void check() {
    Throwable error = first.get();
    if (error != null) {
      throw Exceptions.propagate(error);
    }
  }
}
