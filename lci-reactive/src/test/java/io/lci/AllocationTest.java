/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.lci.am.Encoder;
import io.lci.am.MessageHandler;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** A short active message allocates nothing on the Java heap, from encoder to handler. */
@ExtendWith(LciLeakCheck.class)
class AllocationTest {
  private static final Port PORT = Port.of(37, "short");
  private static final Duration LIMIT = Duration.ofSeconds(100);
  private static final int SEEN = 100_000;

  /**
   * Turns, wakes and batches may allocate; a message may not: one byte for each would be seen.
   * Those that need several entries are fewer, as they take longer.
   */
  @ParameterizedTest
  @CsvSource({"0,1000000", "8,1000000", "32,1000000", "192,200000"})
  void shortActiveMessagesAllocateNothing(int size, int count) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    assertThat(threads.isThreadAllocatedMemoryEnabled()).isTrue();
    try (LciTestJob job = LciTestJob.start(2)) {
      long[] loops = {threadOf(job.rank(0)), threadOf(job.rank(1))};
      Counting counting = new Counting();
      Disposable handling = job.rank(1).inbox(PORT).handle(counting);
      Sender sender = job.rank(0).sender(PORT);
      Words encoder = new Words(size / Long.BYTES);
      send(sender, encoder, count / 4, counting); // compiled, and every table has its size
      long before = allocated(threads, loops);
      send(sender, encoder, count, counting);
      long bytes = allocated(threads, loops) - before;
      handling.dispose();
      System.out.printf("%,d messages of %d B: %,d B allocated%n", count, size, bytes);
      assertThat(bytes).isLessThan(count / 2);
    }
  }

  /** The measure itself: a handler that makes an object of each message is seen. */
  @Test
  void anAllocationPerMessageIsSeen() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (LciTestJob job = LciTestJob.start(2)) {
      long[] loops = {threadOf(job.rank(0)), threadOf(job.rank(1))};
      Counting counting = new Counting();
      Object[] last = new Object[1];
      Disposable handling =
          job.rank(1)
              .inbox(PORT)
              .handle(
                  m -> {
                    last[0] = new byte[1];
                    counting.onMessage(m);
                  });
      Sender sender = job.rank(0).sender(PORT);
      long before = allocated(threads, loops);
      send(sender, new Words(1), SEEN, counting);
      assertThat(allocated(threads, loops) - before).isGreaterThan(SEEN);
      assertThat(last[0]).isNotNull();
      handling.dispose();
    }
  }

  private static void send(Sender sender, Words encoder, int count, Counting counting) {
    long until = counting.received.get() + count;
    sender.sendAll(1, new Same(count), encoder).block(LIMIT);
    long end = System.nanoTime() + LIMIT.toNanos();
    while (counting.received.get() < until) {
      assertThat(System.nanoTime()).as("messages did not arrive").isLessThan(end);
      Thread.onSpinWait();
      Thread.yield();
    }
  }

  private static long allocated(ThreadMXBean threads, long[] loops) {
    long sum = 0;
    for (long bytes : threads.getThreadAllocatedBytes(loops)) {
      assertThat(bytes).isNotNegative();
      sum += bytes;
    }
    return sum;
  }

  private static long threadOf(LciRuntime lci) {
    Scheduler loop = lci.loops().get(0).scheduler();
    return Mono.fromCallable(() -> Thread.currentThread().getId()).subscribeOn(loop).block(LIMIT);
  }

  private static final class Counting implements MessageHandler {
    final AtomicLong received = new AtomicLong();
    private long seen;

    @Override
    public void onMessage(io.lci.am.MessageView message) {
      seen++;
      received.lazySet(seen);
    }
  }

  private record Words(int count) implements Encoder<String> {
    @Override
    public void encode(String item, PayloadWriter out) {
      for (int i = 0; i < count; i++) {
        out.putLong(i);
      }
    }
  }

  /** The same element again and again, on whatever thread asks: allocates nothing itself. */
  private record Same(int count) implements Publisher<String> {
    @Override
    public void subscribe(Subscriber<? super String> subscriber) {
      subscriber.onSubscribe(
          new Subscription() {
            private long left = count;

            @Override
            public void request(long n) {
              long upto = Math.min(n, left);
              left -= upto;
              for (long i = 0; i < upto; i++) {
                subscriber.onNext("same");
              }
              if (left == 0 && upto > 0) {
                subscriber.onComplete();
              }
            }

            @Override
            public void cancel() {
              left = 0;
            }
          });
    }
  }
}
