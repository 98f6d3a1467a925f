/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Messages that are lent: released from any thread, never more than the bound. [U3, V14] */
@ExtendWith(LciLeakCheck.class)
class RetainedMessageTest {
  private static final Port PORT = Port.of(35, "lent");
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static long leased(LciTestJob job, int rank) {
    return job.rank(rank).snapshot().counter("loop_leased");
  }

  /** Of every size: copied, in a packet, long. */
  private static int sizeOf(long number) {
    return switch ((int) (number % 4)) {
      case 0 -> 8 + (int) (number % 150);
      case 3 -> number % 64 == 3 ? 20_000 : 300;
      default -> 1_000 + (int) (number % 5_000);
    };
  }

  private static void write(long number, PayloadWriter out) {
    int size = sizeOf(number);
    out.tag(number).putLong(number);
    for (int at = 8; at < size; at++) {
      out.putByte((byte) (number + at));
    }
  }

  private static void check(RetainedMessage message) {
    byte[] bytes = message.toByteArray();
    assertThat(bytes).hasSize(sizeOf(message.tag()));
    assertThat(message.getLong(0)).isEqualTo(message.tag());
    for (int at = 8; at < bytes.length; at++) {
      if (bytes[at] != (byte) (message.tag() + at)) {
        throw new AssertionError("byte " + at + " of message " + message.tag());
      }
    }
  }

  /** Nothing of a job is out any more: all credit and all packets are home. */
  private static void awaitWholeLedger(LciTestJob job) {
    await().atMost(LIMIT).until(() -> leased(job, 1) == 0);
    await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("packets_out") == 0);
  }

  // Proves: V14
  // On: inproc
  @Test
  void eightThreadsReleaseAndTheLedgerIsExact() throws InterruptedException {
    int count = 20_000;
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox =
          job.rank(1).inbox(PORT, InboxOptions.builder().messages(100).maxRetained(48).build());
      AtomicLong sum = new AtomicLong();
      AtomicLong taken = new AtomicLong();
      AtomicLong most = new AtomicLong();
      Queue<Throwable> faults = new ConcurrentLinkedQueue<>();
      Mono<Long> received =
          inbox
              .receiveRetained()
              .doOnNext(
                  m -> {
                    most.accumulateAndGet(leased(job, 1), Math::max);
                    threads.execute(
                        () -> {
                          try {
                            check(m);
                            sum.addAndGet(m.getLong(0));
                          } catch (Throwable e) {
                            faults.add(e);
                          }
                          taken.incrementAndGet();
                          m.release();
                          m.release(); // does nothing
                        });
                  })
              .take(count)
              .count();
      Mono<Void> sent =
          job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> write(n, out));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(count);
      await().atMost(LIMIT).until(() -> taken.get() == count);
      assertThat(faults).isEmpty();
      assertThat(sum).hasValue((long) count * (count - 1) / 2);
      assertThat(most.get()).isBetween(1L, 48L);
      awaitWholeLedger(job);
      // Three in four fit no record. Some come without credit: copied, or over a network all lent.
      long announced = job.rank(0).snapshot().counter("announcements");
      assertThat(job.rank(1).snapshot().counter("loop_leased_without_copy"))
          .isBetween(count / 10L, count * 3L / 4 + announced);
    } finally {
      threads.shutdown();
      assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  /**
   * Whoever reads while another releases gets the message or an exception, never another's bytes.
   */
  // On: inproc
  @Test
  void aReaderNeverSeesTheNextMessage() throws InterruptedException {
    int count = 3_000;
    AtomicReference<RetainedMessage> current = new AtomicReference<>();
    AtomicBoolean over = new AtomicBoolean();
    Queue<Throwable> faults = new ConcurrentLinkedQueue<>();
    AtomicLong refused = new AtomicLong();
    Thread reader =
        new Thread(
            () -> {
              while (!over.get()) {
                RetainedMessage message = current.get();
                try {
                  if (message != null) {
                    check(message);
                  }
                } catch (IllegalStateException e) {
                  refused.incrementAndGet();
                } catch (Throwable e) {
                  faults.add(e);
                  return;
                }
              }
            });
    try (LciTestJob job = LciTestJob.start(2)) {
      reader.start();
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT)
              .receiveRetained()
              .doOnNext(
                  m -> {
                    current.set(m);
                    check(m);
                    m.release();
                  })
              .take(count)
              .count();
      Mono<Void> sent =
          job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> write(n, out));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(count);
      await().atMost(LIMIT).until(() -> refused.get() > 0);
      awaitWholeLedger(job);
    } finally {
      over.set(true);
      reader.join(LIMIT.toMillis());
    }
    assertThat(faults).isEmpty();
  }

  // Proves: U3
  // On: inproc
  @Test
  void emissionPausesAtTheBoundWhateverTheDemand() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT, InboxOptions.builder().maxRetained(5).build());
      ConcurrentLinkedQueue<RetainedMessage> held = new ConcurrentLinkedQueue<>();
      Disposable tap = inbox.receiveRetained().subscribe(held::add);
      job.rank(0)
          .sender(PORT)
          .sendAll(1, Flux.range(0, 20), (n, out) -> out.putLong(n))
          .block(LIMIT);
      await().atMost(LIMIT).until(() -> held.size() == 5);
      job.rank(1).barrier().and(job.rank(0).barrier()).block(LIMIT);
      assertThat(held).hasSize(5);
      assertThat(leased(job, 1)).isEqualTo(5);
      held.poll().release(); // from a foreign thread: wakes the loop
      await().atMost(LIMIT).until(() -> held.size() == 5);
      // The bound is the inbox's: a new subscriber gets no more, either.
      tap.dispose();
      Disposable second = inbox.receiveRetained().subscribe(held::add);
      job.rank(1).barrier().and(job.rank(0).barrier()).block(LIMIT);
      assertThat(leased(job, 1)).isEqualTo(5);
      for (int released = 1; released < 20; released++) {
        await().atMost(LIMIT).until(() -> !held.isEmpty());
        held.poll().release();
      }
      second.dispose();
      assertThat(leased(job, 1)).isZero();
    }
  }

  /** Memory that went home and was lent again is not seen through the message that had it. */
  // Proves: U3
  // On: inproc
  @Test
  void useAfterTheReleaseIsAnError() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Mono<RetainedMessage> received = job.rank(0).inbox(PORT).receiveRetained().next();
      Mono<Void> sent = job.rank(0).sender(PORT).send(0, Payload.ofLong(7));
      RetainedMessage message = Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1();
      assertThat(message.getLong(0)).isEqualTo(7);
      assertThat(message.isReleased()).isFalse();
      message.release();
      assertThat(message.isReleased()).isTrue();
      useAfterRelease(message);
    }
  }

  private static void useAfterRelease(RetainedMessage message) {
    List<Runnable> uses =
        List.of(
            message::rank,
            message::tag,
            message::size,
            () -> message.getByte(0),
            () -> message.getShort(0),
            () -> message.getInt(0),
            () -> message.getLong(0),
            () -> message.getBytes(0, new byte[1], 0, 1),
            () -> message.getLongs(0, new long[1], 0, 1),
            () -> message.copyTo(ByteBuffer.allocate(8)),
            message::toByteArray,
            message::copy);
    for (Runnable use : uses) {
      assertThatThrownBy(use::run).isInstanceOf(IllegalStateException.class);
    }
  }

  /** Takes messages until some are held that were not copied. */
  private static List<RetainedMessage> hold(LciRuntime from, LciRuntime to, int count) {
    List<RetainedMessage> held = new CopyOnWriteArrayList<>();
    long before = to.snapshot().counter("loop_leased_without_copy");
    Disposable tap = to.inbox(PORT).receiveRetained().subscribe(held::add);
    from.sender(PORT)
        .sendAll(to.rank(), Flux.range(0, count), (n, out) -> write(n, out))
        .block(LIMIT);
    await().atMost(LIMIT).until(() -> held.size() == count);
    assertThat(to.snapshot().counter("loop_leased_without_copy") - before)
        .isBetween(count / 2L, (long) count);
    tap.dispose();
    return held;
  }

  @Test
  void messagesOutliveTheirInboxAndTheirSender() {
    try (LciTestJob job = LciTestJob.start(3)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      List<RetainedMessage> held = hold(job.rank(0), job.rank(1), 40);
      inbox.dispose();
      inbox.onClose().block(LIMIT);
      held.forEach(RetainedMessageTest::check);
      held.subList(0, 20).forEach(RetainedMessage::release);
      await().atMost(LIMIT).until(() -> leased(job, 1) == 20);
      job.rank(0).disposeGracefully(Duration.ofSeconds(10)).block(LIMIT);
      assertThat(job.rank(1).peerEvents().next().block(LIMIT).rank()).isZero();
      held.subList(20, held.size()).forEach(RetainedMessageTest::check);
      held.forEach(RetainedMessage::release);
      await().atMost(LIMIT).until(() -> leased(job, 1) == 0);
    }
  }

  /** Readers go on while the runtime closes, and see what they saw before. */
  @Test
  void messagesOutliveTheirRuntime() throws InterruptedException {
    AtomicBoolean over = new AtomicBoolean();
    Queue<Throwable> faults = new ConcurrentLinkedQueue<>();
    AtomicLong rounds = new AtomicLong();
    List<RetainedMessage> held;
    Thread reader;
    LciRuntime lci = LciRuntime.create();
    try {
      held = hold(lci, lci, 50);
      reader =
          new Thread(
              () -> {
                while (!over.get()) {
                  try {
                    held.forEach(RetainedMessageTest::check);
                  } catch (Throwable e) {
                    faults.add(e);
                  }
                  rounds.incrementAndGet();
                }
              });
      reader.start();
    } finally {
      lci.close();
    }
    long closed = rounds.get();
    await().atMost(LIMIT).until(() -> rounds.get() > closed + 2);
    over.set(true);
    reader.join(LIMIT.toMillis());
    assertThat(faults).isEmpty();
    assertThat(lci.snapshot().counter("loop_leased")).isEqualTo(50);
    held.forEach(RetainedMessage::release);
    held.forEach(RetainedMessageTest::useAfterRelease);
  }

  /** Held over the close of the runtime it stays readable; the count shows it at the close. */
  @Test
  void aMessageOutlivesItsRuntime() {
    RetainedMessage message;
    LciRuntime lci = LciRuntime.create();
    try {
      Mono<RetainedMessage> received = lci.inbox(PORT).receiveRetained().next();
      Mono<Void> sent = lci.sender(PORT).send(0, Payload.ofLong(8));
      message = Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1();
    } finally {
      lci.close();
    }
    assertThat(lci.snapshot().counter("loop_leased")).isEqualTo(1);
    assertThat(message.getLong(0)).isEqualTo(8);
    message.release();
    assertThatThrownBy(() -> message.getLong(0)).isInstanceOf(IllegalStateException.class);
  }
}
