/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The JVM's own books on who allocated how much of its heap. */
final class Allocation {
  private static final ThreadMXBean THREADS =
      ManagementFactory.getPlatformMXBean(ThreadMXBean.class);

  private Allocation() {}

  /**
   * Bytes that the platform threads now alive allocated since they started. What a thread that has
   * ended allocated is not in it: compare two values only while the same threads live.
   */
  static long bytes() {
    long sum = 0;
    for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
      sum += Math.max(bytes, 0); // -1: the thread has ended meanwhile
    }
    return sum;
  }
}
