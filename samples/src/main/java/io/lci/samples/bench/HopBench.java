/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.am.Port;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Measures what an operation costs that is subscribed on another thread than its loop's, as one
 * line of JSON: it hops to the loop, and may have to wake it. The operation is a message of eight
 * bytes to this rank itself.
 *
 * <p>{@code hop_busy}: nanoseconds for an operation, one after the other without a pause, {@value
 * #UNDER_WAY} under way at most. {@code hop_idle}: microseconds from the subscription to the signal
 * of an operation, one every millisecond; the median. {@code hop_busy_wakes}, {@code
 * hop_idle_wakes}: how many of 1,000 operations had to wake the loop.
 */
public final class HopBench {
  private static final Port PORT = Port.of(1, "hops");
  private static final int UNDER_WAY = 1024;
  private static final int CHUNK = 128;
  private static final int CHUNKS = 16_000;
  private static final int LEAST_CHUNKS = 64;
  private static final int SINGLE = 4000;
  private static final int LEAST_SINGLE = 100;
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final LciRuntime lci;
  private final Scheduler loop;
  private final Mono<Void> message;

  private volatile @Nullable Throwable failure;

  private HopBench(LciRuntime lci) {
    this.lci = lci;
    this.loop = lci.loops().get(0).scheduler();
    this.message = lci.sender(PORT).send(0, Payload.ofLong(1));
  }

  /**
   * Measures; takes some seconds.
   *
   * @param arguments name of the metric; {@code thread} or {@code loop}: where the operations are
   *     subscribed
   * @throws InterruptedException if it is interrupted
   */
  public static void main(String[] arguments) throws InterruptedException {
    if (arguments.length != 2) {
      throw new IllegalArgumentException("hop-bench METRIC thread|loop");
    }
    boolean hops = arguments[1].equals("thread");
    try (LciRuntime lci = LciRuntime.create()) {
      lci.inbox(PORT).handle(taken -> {});
      HopBench bench = new HopBench(lci);
      switch (arguments[0]) {
        case "hop_busy" -> print(arguments[0], "ns", bench.busy(hops));
        case "hop_idle" -> print(arguments[0], "us", bench.idle(hops));
        case "hop_busy_wakes" ->
            print(arguments[0], "per 1000", bench.wakes(() -> bench.busy(hops), busyCount() * 2));
        case "hop_idle_wakes" ->
            print(arguments[0], "per 1000", bench.wakes(() -> bench.idle(hops), idleCount()));
        default -> throw new IllegalArgumentException("no such metric: " + arguments[0]);
      }
    }
  }

  private static void print(String metric, String unit, double value) {
    System.out.printf(
        Locale.ROOT, "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}%n", metric, unit, value);
  }

  private static double part() {
    String part = System.getenv("LCI_BENCH_DOSE");
    return part == null ? 1 : Double.parseDouble(part);
  }

  private static int busyCount() {
    return Math.max(LEAST_CHUNKS, (int) (CHUNKS * part())) * CHUNK;
  }

  private static int idleCount() {
    return Math.max(LEAST_SINGLE, (int) (SINGLE * part()));
  }

  /** Warms up with as many as it measures. */
  private double busy(boolean hops) throws InterruptedException {
    int count = busyCount();
    send(count, hops);
    long start = System.nanoTime();
    send(count, hops);
    return (double) (System.nanoTime() - start) / count;
  }

  private void send(int count, boolean hops) throws InterruptedException {
    Chunks chunks = new Chunks(count);
    if (hops) {
      while (chunks.left > 0) {
        chunks.room.acquire(CHUNK);
        chunks.next();
      }
    } else {
      loop.schedule(() -> sendOnLoop(chunks));
    }
    await(chunks.done);
  }

  private void await(CountDownLatch done) throws InterruptedException {
    done.await();
    if (failure != null) {
      throw new IllegalStateException("an operation failed", failure);
    }
  }

  /** Goes on in a task of its own: the loop serves what is under way in between. */
  private void sendOnLoop(Chunks chunks) {
    if (chunks.room.tryAcquire(CHUNK)) {
      chunks.next();
    }
    if (chunks.left > 0) {
      loop.schedule(() -> sendOnLoop(chunks));
    }
  }

  /** Operations that are subscribed a chunk at a time. */
  private final class Chunks {
    private final Semaphore room = new Semaphore(UNDER_WAY);
    private final CountDownLatch done = new CountDownLatch(1);
    private int left;
    private int running;

    Chunks(int count) {
      left = count;
      running = count;
    }

    void next() {
      left -= CHUNK;
      for (int i = 0; i < CHUNK; i++) {
        message.subscribe(null, this::failed, this::ended);
      }
    }

    private void failed(Throwable e) {
      failure = e;
      ended();
    }

    /** On the loop. */
    private void ended() {
      if (--running % CHUNK == 0) {
        room.release(CHUNK);
      }
      if (running == 0) {
        done.countDown();
      }
    }
  }

  private double idle(boolean hops) throws InterruptedException {
    long[] nanos = new long[idleCount()];
    for (int i = 0; i < nanos.length; i++) {
      LockSupport.parkNanos(PAUSE_NANOS);
      nanos[i] = hops ? one() : oneOnLoop();
    }
    long[] counted = Arrays.copyOfRange(nanos, nanos.length / 2, nanos.length);
    Arrays.sort(counted);
    return counted[counted.length / 2] * 1e-3;
  }

  private long one() throws InterruptedException {
    long[] took = new long[1];
    CountDownLatch done = new CountDownLatch(1);
    subscribe(took, done);
    await(done);
    return took[0];
  }

  private long oneOnLoop() throws InterruptedException {
    long[] took = new long[1];
    CountDownLatch done = new CountDownLatch(1);
    loop.schedule(() -> subscribe(took, done));
    await(done);
    return took[0];
  }

  private void subscribe(long[] took, CountDownLatch done) {
    long start = System.nanoTime();
    message.subscribe(
        null,
        e -> {
          failure = e;
          done.countDown();
        },
        () -> {
          took[0] = System.nanoTime() - start;
          done.countDown();
        });
  }

  private double wakes(Work work, int operations) throws InterruptedException {
    long before = lci.snapshot().counter("wakes");
    work.run();
    return 1000.0 * (lci.snapshot().counter("wakes") - before) / operations;
  }

  private interface Work {
    double run() throws InterruptedException;
  }
}
