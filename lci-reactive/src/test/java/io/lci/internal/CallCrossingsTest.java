/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.IdleStrategy;
import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.internal.ScriptedCore.Submitted;
import io.lci.internal.loop.LoopThread;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

/** How a loop enters the core for calls of groups. */
class CallCrossingsTest {
  private static final int CALLS = 100;
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final ScriptedCore core = new ScriptedCore();

  /** With calls that end in the enter after the one that posts them. */
  private RuntimeImpl running(LciOptions.Builder options) {
    core.script =
        submitted -> {
          if (submitted.op() != Codes.OP_COLLECTIVE) {
            return submitted.op() == Codes.OP_AM ? Codes.DONE : Codes.POSTED;
          }
          core.ended(submitted.context(), Codes.DONE, 0);
          return Codes.POSTED;
        };
    RuntimeImpl lci = runtime(options);
    lci.loops.all.get(0).start(LoopThread::new);
    return lci;
  }

  private RuntimeImpl runtime(LciOptions.Builder options) {
    return new RuntimeImpl(core.calls, core.layout, 1, options.closeTimeout(Duration.ZERO).build());
  }

  @Test
  void aCallGoesWithTheEnterOfTheNextTurn() {
    try (RuntimeImpl lci = running(LciOptions.builder())) {
      Mono.defer(lci.world()::barrier).repeat(CALLS - 1).blockLast(LIMIT);
    }
    assertThat(core.batches).hasSizeGreaterThanOrEqualTo(CALLS);
    assertThat(core.postedAlone).as("crossings beside").hasSizeLessThan(CALLS / 10);
  }

  @Test
  void whatIsPostedWithACallWaitsForNoTurn() {
    try (RuntimeImpl lci = running(LciOptions.builder())) {
      Mono<?> message = lci.post(Op.am(1, Port.of(5, "five"), Payload.ofInt(1)));
      lci.world().barrier().then(Mono.when(lci.world().barrier(), message)).block(LIMIT);
    }
    assertThat(core.postedAlone)
        .anySatisfy(
            batch ->
                assertThat(batch)
                    .extracting(Submitted::op)
                    .containsExactlyInAnyOrder(Codes.OP_COLLECTIVE, Codes.OP_AM));
  }

  @Test
  void aCallWaitsForNoTask() {
    List<Integer> postedBeforeTask = new ArrayList<>();
    try (RuntimeImpl lci = running(LciOptions.builder())) {
      Mono<Void> second =
          Mono.defer(
              () -> {
                lci.loops
                    .all
                    .get(0)
                    .execute(() -> postedBeforeTask.add(count(Codes.OP_COLLECTIVE)));
                return lci.world().barrier();
              });
      lci.world().barrier().then(second).block(LIMIT);
    }
    assertThat(postedBeforeTask).containsExactly(2);
  }

  private int count(int op) {
    return (int) core.batches.stream().flatMap(List::stream).filter(one -> one.op() == op).count();
  }

  @Test
  void anInvokerLeavesNothingForItsNextTurn() {
    List<Long> calls = new ArrayList<>();
    core.script =
        submitted -> {
          if (submitted.op() == Codes.OP_COLLECTIVE) {
            calls.add(submitted.context());
          }
          return Codes.POSTED;
        };
    try (RuntimeImpl lci = runtime(LciOptions.builder().invoker(true))) {
      Mono.defer(lci.world()::barrier).repeat(1).onErrorComplete().subscribe();
      lci.loops.all.get(0).poll();
      assertThat(calls).hasSize(1);
      core.ended(calls.get(0), Codes.DONE, 0);
      lci.loops.all.get(0).poll();
      assertThat(calls).as("the next one, posted where the first has ended").hasSize(2);
      assertThat(core.longestSpin).as("poll waits for nobody").isZero();
    }
  }

  static Stream<Arguments> strategies() {
    IdleStrategy own = empty -> IdleStrategy.Step.YIELD;
    return Stream.of(
        Arguments.of(IdleStrategy.busySpin(), 1_000),
        Arguments.of(IdleStrategy.yielding(), 1_000),
        Arguments.of(IdleStrategy.backoff(), 1_000),
        Arguments.of(IdleStrategy.backoff(0, 10), 0),
        Arguments.of(IdleStrategy.parking(), 0),
        Arguments.of(own, 0));
  }

  @ParameterizedTest
  @MethodSource("strategies")
  void aLoopThatSpinsWaitsInTheCore(IdleStrategy strategy, long nanos) {
    try (RuntimeImpl lci = running(LciOptions.builder().idle(strategy))) {
      Mono.defer(lci.world()::barrier).repeat(CALLS - 1).blockLast(LIMIT);
    }
    assertThat(core.longestSpin).isEqualTo(nanos);
  }
}
