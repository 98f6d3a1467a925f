/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.scheduler.Schedulers;

/** The threads that drive invoker loops: Reactor refuses blocking calls on them while they do. */
final class InvokerThreads {
  private static final Map<Thread, Integer> LOOPS = new ConcurrentHashMap<>();

  static {
    Schedulers.registerNonBlockingThreadPredicate(LOOPS::containsKey);
  }

  private InvokerThreads() {}

  static void register(Thread thread) {
    LOOPS.merge(thread, 1, Integer::sum);
  }

  static void unregister(Thread thread) {
    LOOPS.computeIfPresent(thread, (key, count) -> count == 1 ? null : count - 1);
  }
}
