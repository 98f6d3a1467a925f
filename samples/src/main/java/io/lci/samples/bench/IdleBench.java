/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import io.lci.LciRuntime;
import io.lci.am.Port;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;

/**
 * Measures the processor time of a runtime that waits for messages and gets none, as one line of
 * JSON.
 */
public final class IdleBench {
  private static final Port PORT = Port.of(1, "idle");
  private static final int SETTLE_SECONDS = 2;
  private static final int MEASURE_SECONDS = 5;

  private IdleBench() {}

  /**
   * Measures; takes some seconds.
   *
   * @param arguments none
   * @throws InterruptedException if it is interrupted
   */
  public static void main(String[] arguments) throws InterruptedException {
    try (LciRuntime lci = LciRuntime.create()) {
      Disposable waiting = lci.inbox(PORT).receive().subscribe();
      TimeUnit.SECONDS.sleep(SETTLE_SECONDS); // the JVM's own start-up work
      long before = cpuNanos();
      long start = System.nanoTime();
      TimeUnit.SECONDS.sleep(MEASURE_SECONDS);
      double percent = 100.0 * (cpuNanos() - before) / (System.nanoTime() - start);
      System.out.printf(
          Locale.ROOT, "{\"metric\":\"idle_cpu\",\"unit\":\"%%\",\"value\":%.4f}%n", percent);
      waiting.dispose();
    }
  }

  private static long cpuNanos() {
    return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
        .getProcessCpuTime();
  }
}
