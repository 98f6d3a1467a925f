/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.inbox.Lease;
import io.lci.internal.lane.RecordView;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Too little direct memory for a message that is to be lent ends who takes, and nothing else. */
@ExtendWith(LciLeakCheck.class)
class LeaseMemoryTest {
  private static final Port PORT = Port.of(36, "lent without memory");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static ByteBuffer none(int bytes) {
    throw new OutOfMemoryError("Cannot reserve " + bytes + " bytes of direct buffer memory");
  }

  private static void memory(RuntimeImpl lci, IntFunction<ByteBuffer> allocation) {
    EventLoop loop = lci.loops.all.get(0);
    Mono.fromRunnable(() -> lci.loops.outboxes.get(0).pool.allocation = allocation)
        .subscribeOn(loop.scheduler())
        .block(LIMIT);
  }

  private static Flux<RetainedMessage> take(Inbox inbox, String way) {
    Flux<RetainedMessage> lent = inbox.receiveRetained();
    return switch (way) {
      case "fused" -> lent.limitRate(4);
      case "fused elsewhere" -> lent.publishOn(Schedulers.parallel());
      default -> lent;
    };
  }

  // Proves: V14
  // On: inproc
  @ParameterizedTest
  @ValueSource(strings = {"plain", "fused", "fused elsewhere"})
  void itsSubscriberIsToldAndTheMessageStays(String way) {
    int count = 20;
    try (LciTestJob job = startSharing()) {
      RuntimeImpl lci = (RuntimeImpl) job.rank(1);
      Inbox inbox = lci.inbox(PORT);
      memory(lci, LeaseMemoryTest::none);
      Queue<RetainedMessage> held = new ConcurrentLinkedQueue<>();
      Queue<Throwable> errors = new ConcurrentLinkedQueue<>();
      Disposable taking = take(inbox, way).subscribe(held::add, errors::add);
      job.rank(0)
          .sender(PORT)
          .sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n))
          .block(LIMIT);
      await().atMost(LIMIT).until(taking::isDisposed);
      assertThat(errors)
          .singleElement()
          .isInstanceOf(ResourceExhaustedException.class)
          .satisfies(e -> assertThat(e).hasMessageContaining("MaxDirectMemorySize"));
      // Now it is one that was kept
      assertThatThrownBy(() -> take(inbox, way).blockLast(LIMIT))
          .isInstanceOf(ResourceExhaustedException.class);
      assertThat(held).isEmpty();
      assertThat(lci.snapshot().counter("loop_leased")).isZero();
      assertThat(((InboxImpl) inbox).state().retained()).isZero();

      memory(lci, ByteBuffer::allocateDirect);
      List<Long> numbers =
          take(inbox, way)
              .map(
                  message -> {
                    long number = message.getLong(0);
                    message.release();
                    return number;
                  })
              .take(count)
              .collectList()
              .block(LIMIT);
      assertThat(numbers)
          .containsExactlyElementsOf(
              Flux.range(0, count).map(Integer::longValue).collectList().block());
      assertThat(lci.snapshot().counter("loop_leased")).isZero();
    }
  }

  /** Over a network a message that came without credit has memory of its own, however short. */
  private static LciTestJob startSharing() {
    return LciTestJob.start(2, LciOptions.builder().attribute("transport", "shm").build());
  }

  private static List<RetainedMessage> held(LciRuntime from, InboxImpl inbox, int count, int size) {
    byte[] bytes = new byte[size];
    Arrays.fill(bytes, (byte) size);
    return inbox
        .receiveRetained()
        .take(count)
        .collectList()
        .zipWith(
            from.sender(PORT)
                .sendAll(
                    inbox.loop().core().rank, Flux.range(0, count), (n, out) -> out.putBytes(bytes))
                .thenReturn(1))
        .block(LIMIT)
        .getT1();
  }

  /** Its memory is unmapped when it goes home. */
  // Proves: V14
  // On: inproc
  @Test
  void aLongMessageGoesHomeWhenItsLastReaderHasLeft() {
    try (LciTestJob job = LciTestJob.start(2)) {
      RuntimeImpl lci = (RuntimeImpl) job.rank(1);
      InboxImpl inbox = (InboxImpl) lci.inbox(PORT);
      Lease lease = (Lease) held(job.rank(0), inbox, 1, 20_000).get(0);
      RecordView first = lease.enter();
      RecordView second = lease.enter();
      lease.release();
      assertThatThrownBy(() -> lease.getByte(0)).isInstanceOf(IllegalStateException.class);
      lease.leave(first);
      assertThat(retained(lci, inbox)).isEqualTo(1);
      assertThat(second.getByte(0)).isEqualTo((byte) 20_000);
      lease.leave(second);
      assertThat(retained(lci, inbox)).isZero();
    }
  }

  /** Who reads a packet, or a copy, is not counted. */
  @ParameterizedTest
  @ValueSource(ints = {100, 1_000})
  void aShorterOneGoesHomeAtOnce(int size) {
    try (LciTestJob job = startSharing()) {
      RuntimeImpl lci = (RuntimeImpl) job.rank(1);
      InboxImpl inbox = (InboxImpl) lci.inbox(PORT);
      Lease lease = (Lease) held(job.rank(0), inbox, 1, size).get(0);
      RecordView view = lease.enter();
      lease.release();
      assertThat(retained(lci, inbox)).isZero();
      lease.leave(view);
      assertThat(retained(lci, inbox)).isZero();
    }
  }

  /** Behind what was handed to the loop before. */
  private static int retained(RuntimeImpl lci, InboxImpl inbox) {
    return Mono.fromCallable(() -> inbox.state().retained())
        .subscribeOn(lci.loops.all.get(0).scheduler())
        .block(LIMIT);
  }

  /** Others are not left where they are by one that finds no room when the runtime closes. */
  // Proves: V14
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1_000, 20_000})
  void whatFindsNoRoomAtTheEndIsLostAlone(int size) {
    AtomicInteger asked = new AtomicInteger();
    List<RetainedMessage> held;
    RuntimeImpl lci = (RuntimeImpl) LciRuntime.create();
    try {
      InboxImpl inbox = (InboxImpl) lci.inbox(PORT);
      held = held(lci, inbox, 5, size);
      held.get(0).release();
      assertThat(retained(lci, inbox)).isEqualTo(4);
      lci.loops.inboxes.get(0).leases.room =
          bytes -> asked.incrementAndGet() == 2 ? none(bytes) : ByteBuffer.allocate(bytes);
    } finally {
      lci.close();
    }
    assertThat(asked).hasValue(4);
    int lost = 0;
    for (RetainedMessage message : held.subList(1, 5)) {
      try {
        assertThat(message.toByteArray()).hasSize(size).containsOnly((byte) size);
      } catch (IllegalStateException e) {
        assertThat(e).hasMessageContaining("could not be copied when the runtime closed");
        lost++;
      }
    }
    assertThat(lost).isEqualTo(1);
    held.forEach(RetainedMessage::release);
    assertThat(held).allMatch(RetainedMessage::isReleased);
    assertThat(lci.snapshot().counter("loop_leased")).isEqualTo(4); // as it was at the end
  }
}
