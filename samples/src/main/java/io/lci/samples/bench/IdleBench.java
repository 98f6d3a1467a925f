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

  /** The clock of a process has steps of 10 ms. */
  private static final double MEASURE_SECONDS = 20;

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
      TimeUnit.MILLISECONDS.sleep(measureMillis());
      double percent = 100.0 * (cpuNanos() - before) / (System.nanoTime() - start);
      System.out.printf(
          Locale.ROOT, "{\"metric\":\"idle_cpu\",\"unit\":\"%%\",\"value\":%.4f}%n", percent);
      waiting.dispose();
    }
  }

  /** As much of it as {@code ./lci bench --dose} asks for, but a second. */
  private static long measureMillis() {
    String part = System.getenv("LCI_BENCH_DOSE");
    return (long)
        (1000 * Math.max(1, MEASURE_SECONDS * (part == null ? 1 : Double.parseDouble(part))));
  }

  private static long cpuNanos() {
    return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
        .getProcessCpuTime();
  }
}
