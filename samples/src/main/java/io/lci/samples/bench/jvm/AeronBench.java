/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.aeron.Aeron;
import io.aeron.ConcurrentPublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * The same between two JVMs over Aeron IPC: {@code offer} of eight bytes, fragments polled by
 * hundreds. The media driver lives in rank 0's JVM, in one thread that backs off; it takes no part
 * in the path of the messages.
 */
public final class AeronBench {
  private static final String CHANNEL = "aeron:ipc";
  private static final int THERE = 1;
  private static final int BACK = 2;
  private static final int FRAGMENTS = 256;

  /** For a driver that starts on a busy machine. */
  private static final long PATIENCE_MILLIS = 60_000;

  private final Dose dose;
  private final ConcurrentPublication publication;
  private final Subscription subscription;
  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Long.BYTES]);
  private final YieldingIdleStrategy idle = new YieldingIdleStrategy();
  private final FragmentHandler take;
  private long received;
  private long awaited;
  private long sum;

  private AeronBench(Dose dose, ConcurrentPublication publication, Subscription subscription) {
    this.dose = dose;
    this.publication = publication;
    this.subscription = subscription;
    this.take =
        (fragment, offset, length, header) -> {
          sum += fragment.getLong(offset, ByteOrder.LITTLE_ENDIAN);
          received++;
        };
  }

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric
   */
  public static void main(String[] arguments) {
    Metric metric = Metric.of(arguments[0]);
    Path directory = Path.of("/dev/shm", "aeron-" + System.getenv("LCI_JOB_DIR").replace('/', '-'));
    JvmBench.print(
        metric, measure(directory, JvmBench.isFirst(), metric, JvmBench.dose(metric, 1)));
  }

  /**
   * Takes part in one measurement, to the end of it on both sides.
   *
   * @param directory of the driver, which the first side starts
   */
  static double measure(Path directory, boolean first, Metric metric, Dose dose) {
    if (metric != Metric.AM_STREAM && metric != Metric.AM_ROUND_TRIP) {
      throw JvmBench.notOffered(metric);
    }
    MediaDriver driver = first ? launch(directory.toString()) : null;
    try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(directory.toString()));
        ConcurrentPublication publication = aeron.addPublication(CHANNEL, first ? THERE : BACK);
        Subscription subscription = aeron.addSubscription(CHANNEL, first ? BACK : THERE)) {
      AeronBench bench = new AeronBench(dose, publication, subscription);
      double value = metric == Metric.AM_STREAM ? bench.stream(first) : bench.roundTrips(first);
      bench.leave(first);
      return value;
    } finally {
      if (driver != null) {
        driver.close();
      }
    }
  }

  private static MediaDriver launch(String directory) {
    return MediaDriver.launch(
        new MediaDriver.Context()
            .aeronDirectoryName(directory)
            .dirDeleteOnStart(true)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.SHARED)
            .sharedIdleStrategy(new BackoffIdleStrategy()));
  }

  private double stream(boolean first) {
    if (first) {
      return dose.rate(this::send);
    }
    dose.rounds(this::take);
    return 0;
  }

  private void send() {
    for (int i = 0; i < dose.count(); i++) {
      offer(i);
    }
    await(1);
  }

  private void take() {
    sum = 0;
    await(dose.count());
    dose.checkSum(sum);
    offer(0);
  }

  private double roundTrips(boolean first) {
    long[] nanos = new long[dose.count()];
    for (int i = 0; i < nanos.length; i++) {
      long start = System.nanoTime();
      if (first) {
        offer(i);
      }
      await(1);
      if (!first) {
        offer(i);
      }
      nanos[i] = System.nanoTime() - start;
    }
    return Dose.medianMicros(nanos);
  }

  /** The driver goes last: one more message says that the other has all. */
  private void leave(boolean first) {
    if (first) {
      await(1);
    } else {
      offer(0);
    }
  }

  private void offer(long value) {
    buffer.putLong(0, value, ByteOrder.LITTLE_ENDIAN);
    while (publication.offer(buffer, 0, Long.BYTES) < 0) {
      idle.idle();
    }
  }

  /** Waits for more messages; one poll may bring those of the next step as well. */
  private void await(int more) {
    awaited += more;
    while (received < awaited) {
      idle.idle(subscription.poll(take, FRAGMENTS));
    }
  }
}
