/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** The JVM's own books on who allocated how much of its heap. */
final class Allocation {
  private static final ThreadMXBean THREADS =
      ManagementFactory.getPlatformMXBean(ThreadMXBean.class);

  private final Map<Long, Long> byThread = new HashMap<>();

  /**
   * Bytes that the platform threads seen alive at a look have allocated since they started: never
   * less than at the look before. What a thread allocates between the last look and its end is not
   * in it.
   */
  long bytes() {
    long[] threads = THREADS.getAllThreadIds();
    long[] bytes = THREADS.getThreadAllocatedBytes(threads);
    for (int i = 0; i < threads.length; i++) {
      byThread.merge(threads[i], bytes[i], Math::max); // -1: it has ended meanwhile
    }
    return byThread.values().stream().mapToLong(each -> Math.max(each, 0)).sum();
  }
}
