/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import reactor.core.publisher.Hooks;

/**
 * Fails a test in which Reactor drops an error or an element. Registers itself for every test of a
 * class path that has it, where {@code junit.jupiter.extensions.autodetection.enabled} is set. The
 * hooks are global, so tests must not run in parallel. A test that expects a drop hears it through
 * the subscriber's context, and then it is not seen here.
 */
public final class DroppedSignals implements BeforeEachCallback, AfterEachCallback {
  private static final ConcurrentLinkedQueue<String> DROPPED = new ConcurrentLinkedQueue<>();
  private static int watching;

  @Override
  public void beforeEach(ExtensionContext context) {
    watch();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    List<String> faults = unwatch();
    if (!faults.isEmpty()) {
      throw new AssertionError("Reactor dropped: " + String.join("; ", faults));
    }
  }

  /** Begins to listen; may be nested. */
  static synchronized void watch() {
    if (watching++ == 0) {
      DROPPED.clear();
      Hooks.onErrorDropped(error -> DROPPED.add("dropped error " + error));
      Hooks.onNextDropped(value -> DROPPED.add("dropped element " + value));
    }
  }

  /** Ends the last {@link #watch}. Returns the signals that were dropped and not told yet. */
  static synchronized List<String> unwatch() {
    if (--watching == 0) {
      Hooks.resetOnErrorDropped();
      Hooks.resetOnNextDropped();
    }
    List<String> faults = new ArrayList<>();
    for (String fault = DROPPED.poll(); fault != null; fault = DROPPED.poll()) {
      faults.add(fault);
    }
    return faults;
  }
}
