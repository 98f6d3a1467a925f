/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.error.ResourceExhaustedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntFunction;
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
    EventLoop loop = lci.loop(0);
    Mono.fromRunnable(() -> loop.outbox().pool.allocation = allocation)
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
    try (LciTestJob job = LciTestJob.start(2)) {
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
}
