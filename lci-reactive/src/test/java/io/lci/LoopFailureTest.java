/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.error.LciClosedException;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A loop that user code ends by what is fatal to a JVM, and one that it does not end. Without the
 * leak check: nothing is whole after the former.
 */
class LoopFailureTest {
  private static final Port PORT = Port.of(71, "fatal");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Whoever waits hears of it, also behind a subscriber who throws again when he does. */
  @Test
  void aFatalErrorEndsTheRuntimeAndEverybodyIsTold() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime lci = job.rank(0);
    Error first = new InternalError("from a decoder");
    Counter never = lci.completions().counter();
    never.reaches(1).subscribe(n -> {}, closed -> throwAgain());
    Mono<Long> last = never.reaches(1).cache();
    last.subscribe(n -> {}, closed -> {});
    lci.inbox(PORT)
        .receive(
            m -> {
              throw first;
            })
        .subscribe(n -> {}, closed -> {});
    lci.sender(PORT).send(0, Payload.ofInt(1)).subscribe(none -> {}, closed -> {});
    assertThatThrownBy(() -> last.block(LIMIT))
        .isInstanceOf(LciClosedException.class)
        .hasCause(first);
    assertThatThrownBy(() -> lci.onClose().block(LIMIT)).isSameAs(first);
    assertThatThrownBy(lci::close).isSameAs(first);
    assertThat(lci.isDisposed()).isTrue();
  }

  /** An operator polls the message by fusion: it must not be the one who gets the error. */
  @Test
  void aFatalErrorOfADecoderInsideAnOperatorEndsTheRuntimeAndEverybodyIsTold() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime lci = job.rank(0);
    Error first = new InternalError("from a decoder");
    Mono<Object> behind =
        lci.inbox(PORT)
            .receive(
                m -> {
                  throw first;
                })
            .limitRate(8)
            .next()
            .cache();
    behind.subscribe(n -> {}, closed -> {});
    lci.sender(PORT).send(0, Payload.ofInt(1)).subscribe(none -> {}, closed -> {});
    assertThatThrownBy(() -> behind.block(LIMIT))
        .isInstanceOf(LciClosedException.class)
        .hasCause(first);
    assertThatThrownBy(() -> lci.onClose().block(LIMIT)).isSameAs(first);
  }

  /** Whatever somebody waits for, and whatever is begun afterwards. */
  @Test
  void everyEndNamesTheFatalError() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime lci = job.rank(0);
    Error first = new InternalError("from a decoder");
    Sender sender = lci.sender(PORT);
    Inbox idle = lci.inbox(Port.of(PORT.number() + 1, "idle"));
    List<Mono<?>> waiting =
        List.of(
            lci.tagged().receive(0, 7),
            lci.completions().counter().reaches(1),
            lci.completions().synchronizer(1).next(),
            lci.completions().queue(QueueOptions.defaults()).completions().next(),
            idle.receive().next(),
            lci.post(Flux.<Op>never(), PostOptions.defaults()).next(),
            sender.sendAll(0, Flux.<Integer>never(), (n, out) -> out.putInt(n)),
            lci.streams()
                .subscribe(
                    0, "s", Codec.INT, SubscribeOptions.builder().awaitPublisher(LIMIT).build())
                .next());
    List<Mono<?>> ends = new ArrayList<>();
    for (Mono<?> each : waiting) {
      Mono<?> end = each.cache();
      end.subscribe(value -> {}, closed -> {});
      ends.add(end);
    }
    lci.inbox(PORT)
        .receive(
            m -> {
              throw first;
            })
        .subscribe(n -> {}, closed -> {});
    sender.send(0, Payload.ofInt(1)).subscribe(none -> {}, closed -> {});
    assertThatThrownBy(() -> lci.onClose().block(LIMIT)).isSameAs(first);
    ends.addAll(waiting); // once more, too late
    ends.add(sender.send(0, Payload.ofInt(1)));
    assertThat(ends)
        .allSatisfy(
            end ->
                assertThatThrownBy(() -> end.block(LIMIT))
                    .isInstanceOf(LciClosedException.class)
                    .hasCause(first));
    assertThatThrownBy(() -> lci.sender(PORT))
        .isInstanceOf(LciClosedException.class)
        .hasCause(first);
  }

  /** After half a turn nothing is as it should be: the next poll must not go on from there. */
  @Test
  void aFatalErrorEndsTheLoopOfAnInvoker() {
    LciTestJob job = LciTestJob.start(1, LciOptions.builder().invoker(true).build());
    LciRuntime lci = job.rank(0);
    Error first = new InternalError("from a decoder");
    lci.inbox(PORT)
        .receive(
            m -> {
              throw first;
            })
        .subscribe(n -> {}, closed -> {});
    lci.sender(PORT).send(0, Payload.ofInt(1)).subscribe(none -> {}, closed -> {});
    LciLoop loop = lci.loops().get(0);
    assertThatThrownBy(
            () -> {
              while (!lci.isDisposed()) {
                loop.poll();
              }
            })
        .isSameAs(first);
    assertThat(lci.isDisposed()).isTrue();
    assertThatThrownBy(lci::close).isSameAs(first);
  }

  /** He must not; but the runtime is not his alone. */
  @Test
  void aSubscriberWhoThrowsEndsHisOwnSubscriptionOnly() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = lci.inbox(PORT);
      AtomicInteger came = new AtomicInteger();
      inbox.receive(m -> m.getInt(0)).subscribe(new Thrower(came));
      lci.sender(PORT).send(0, Payload.ofInt(1)).block(LIMIT);
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_uncaught") == 1);
      lci.sender(PORT).send(0, Payload.ofInt(2)).block(LIMIT);
      assertThat(inbox.receive(m -> m.getInt(0)).next().block(LIMIT)).isEqualTo(2);
      assertThat(came).hasValue(1);
    }
  }

  @Test
  void soDoesOneOfAStream() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).streams().publish("numbers", Flux.range(0, 9), Codec.INT);
      LciRuntime lci = job.rank(0);
      AtomicInteger came = new AtomicInteger();
      lci.streams().subscribe(1, "numbers", Codec.INT).subscribe(new Thrower(came));
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_uncaught") == 1);
      assertThat(came).hasValue(1);
      assertThat(lci.streams().subscribe(1, "numbers", Codec.INT).count().block(LIMIT))
          .isEqualTo(9);
    }
  }

  /** Reactor's own subscribers would not let it out. */
  private record Thrower(AtomicInteger came) implements CoreSubscriber<Integer> {
    @Override
    public void onSubscribe(Subscription s) {
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Integer value) {
      came.incrementAndGet();
      throw new IllegalStateException("from a subscriber");
    }

    @Override
    public void onError(Throwable error) {
      throw new AssertionError(error);
    }

    @Override
    public void onComplete() {
      throw new AssertionError("it counts as cancelled");
    }
  }

  private static void throwAgain() {
    throw new InternalError("from a subscriber");
  }
}
