/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.aeron.Aeron;
import io.aeron.ConcurrentPublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.nio.ByteOrder;
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

  private final ConcurrentPublication publication;
  private final Subscription subscription;
  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Long.BYTES]);
  private final YieldingIdleStrategy idle = new YieldingIdleStrategy();
  private final FragmentHandler take;
  private long received;
  private long sum;

  private AeronBench(ConcurrentPublication publication, Subscription subscription) {
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
    String directory = "/dev/shm/aeron-" + System.getenv("LCI_JOB_DIR").replace('/', '-');
    boolean first = JvmBench.isFirst();
    MediaDriver driver = first ? launch(directory) : null;
    try (Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(directory));
        ConcurrentPublication publication = aeron.addPublication(CHANNEL, first ? THERE : BACK);
        Subscription subscription = aeron.addSubscription(CHANNEL, first ? BACK : THERE)) {
      AeronBench bench = new AeronBench(publication, subscription);
      boolean stream = arguments[0].equals(JvmBench.STREAM);
      if (first) {
        if (stream) {
          bench.sendStream();
        } else {
          bench.makeRoundTrips();
        }
      } else if (stream) {
        bench.takeStream();
      } else {
        bench.echo();
      }
      bench.leave(first, stream ? JvmBench.ROUNDS : JvmBench.TRIPS);
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

  private void sendStream() {
    long nanos = 0;
    for (int round = 1; round <= JvmBench.ROUNDS; round++) {
      long start = System.nanoTime();
      for (int i = 0; i < JvmBench.MESSAGES; i++) {
        offer(i);
      }
      await(round);
      nanos += round > JvmBench.WARM_UP ? System.nanoTime() - start : 0;
    }
    JvmBench.printStream(nanos);
  }

  private void takeStream() {
    for (int round = 1; round <= JvmBench.ROUNDS; round++) {
      sum = 0;
      await((long) round * JvmBench.MESSAGES);
      JvmBench.checkSum(sum, JvmBench.MESSAGES);
      offer(round);
    }
  }

  private void makeRoundTrips() {
    long[] nanos = new long[JvmBench.TRIPS];
    for (int i = 0; i < JvmBench.TRIPS; i++) {
      long start = System.nanoTime();
      offer(i);
      await(i + 1);
      nanos[i] = System.nanoTime() - start;
    }
    JvmBench.printRoundTrips(nanos);
  }

  private void echo() {
    for (int i = 0; i < JvmBench.TRIPS; i++) {
      await(i + 1);
      offer(i);
    }
  }

  /** The driver goes last: one more message, after {@code replies}, says that the other has all. */
  private void leave(boolean first, int replies) {
    if (first) {
      await(replies + 1);
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

  private void await(long count) {
    while (received < count) {
      idle.idle(subscription.poll(take, FRAGMENTS));
    }
  }
}
