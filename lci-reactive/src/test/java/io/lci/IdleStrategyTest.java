/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.IdleStrategy.Step;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What loops do that have nothing to do. */
@ExtendWith(LciLeakCheck.class)
class IdleStrategyTest {
  private static final Port PORT = Port.of(43, "idle");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static List<Step> steps(IdleStrategy strategy, int count) {
    return LongStream.rangeClosed(1, count).mapToObj(strategy::next).toList();
  }

  @Test
  void backoffSpinsThenYieldsThenParks() {
    assertThat(steps(IdleStrategy.backoff(2, 1), 5))
        .containsExactly(Step.SPIN, Step.SPIN, Step.YIELD, Step.PARK, Step.PARK);
    assertThat(IdleStrategy.backoff().next(Long.MAX_VALUE)).isEqualTo(Step.PARK);
    assertThatThrownBy(() -> IdleStrategy.backoff(-1, 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theOthersDoOneThing() {
    assertThat(IdleStrategy.parking().next(1)).isEqualTo(Step.PARK);
    assertThat(IdleStrategy.busySpin().next(Long.MAX_VALUE)).isEqualTo(Step.SPIN);
    assertThat(IdleStrategy.yielding().next(1)).isEqualTo(Step.SPIN);
    assertThat(IdleStrategy.yielding().next(Long.MAX_VALUE)).isEqualTo(Step.YIELD);
  }

  /** Whatever a loop does while it waits: it hears of everything. */
  @ParameterizedTest
  @ValueSource(strings = {"backoff", "yielding", "busy_spin", "parking"})
  void eachHearsEverything(String name) {
    IdleStrategy strategy =
        switch (name) {
          case "yielding" -> IdleStrategy.yielding();
          case "busy_spin" -> IdleStrategy.busySpin();
          case "parking" -> IdleStrategy.parking();
          default -> IdleStrategy.backoff();
        };
    int rounds = 200;
    try (LciTestJob job = LciTestJob.start(2, LciOptions.builder().idle(strategy).build())) {
      Flux<Integer> received = job.rank(1).inbox(PORT).receive(m -> m.getInt(0)).take(rounds);
      Mono<Void> sent =
          Flux.range(0, rounds)
              .concatMap(n -> job.rank(0).sender(PORT).send(1, Payload.ofInt(n)))
              .then();
      assertThat(Mono.zip(received.count(), sent.thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo(rounds);
      boolean parks = job.ranks().stream().anyMatch(r -> r.snapshot().counter("loop_parks") > 0);
      if (name.equals("yielding") || name.equals("busy_spin")) {
        assertThat(parks).isFalse();
      }
    }
  }

  /** A program's own: asked with the number of empty turns, which work starts again. */
  @Test
  void aProgramsOwnStrategyIsAsked() {
    AtomicLong ones = new AtomicLong();
    AtomicLong others = new AtomicLong();
    IdleStrategy mine =
        empty -> {
          (empty == 1 ? ones : others).incrementAndGet();
          return empty < 3 ? Step.YIELD : Step.PARK;
        };
    LciOptions options = LciOptions.builder().idle(mine).build();
    assertThat(options.idle()).isSameAs(mine);
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciLoop loop = job.rank(0).loops().get(0);
      await().atMost(LIMIT).until(() -> others.get() >= 2);
      long before = ones.get();
      assertThat(Mono.fromCallable(loop::inLoop).subscribeOn(loop.scheduler()).block(LIMIT))
          .isTrue();
      await().atMost(LIMIT).until(() -> ones.get() > before);
      assertThat(job.rank(0).snapshot().counter("loop_parks")).isPositive();
    }
  }

  /** Also where the program drives it, and whoever it waited for is cancelled. */
  @ParameterizedTest(name = "in await: {0}")
  @ValueSource(booleans = {false, true})
  void oneThatThrowsEndsItsLoop(boolean waiting) {
    LciOptions options =
        LciOptions.builder()
            .invoker(true)
            .idle(
                idle -> {
                  throw new IllegalStateException("as wanted");
                })
            .build();
    LciTestJob job = LciTestJob.start(1, options);
    LciLoop loop = job.rank(0).loops().get(0);
    AtomicLong cancels = new AtomicLong();
    Mono<Object> never = Mono.never().doOnCancel(cancels::incrementAndGet);
    assertThatThrownBy(
            () -> {
              if (waiting) {
                loop.await(never, LIMIT);
              } else {
                loop.poll(LIMIT);
              }
            })
        .hasMessage("as wanted");
    assertThat(job.rank(0).isDisposed()).isTrue();
    assertThat(cancels).hasValue(waiting ? 1 : 0);
    assertThatThrownBy(job::close).hasRootCauseMessage("as wanted");
  }
}
