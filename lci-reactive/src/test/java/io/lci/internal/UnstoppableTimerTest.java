/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.PostResult;
import io.lci.Poster;
import io.lci.completion.Counter;
import io.lci.error.DeadlineExceededException;
import io.lci.error.PeerFailedException;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.internal.UnstoppableTimer.Which;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;

/** A timer that cannot be stopped keeps no operation from its end. */
class UnstoppableTimerTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final PostOptions BULK = PostOptions.builder().deadline(LIMIT).build();
  private static final Throwable BROKEN = new IllegalStateException("broken");

  private final UnstoppableTimer timer = new UnstoppableTimer(BROKEN, Which.SINGLE);
  private final Operations operations = new Operations(timer);
  private final List<Throwable> errors = new ArrayList<>();
  private final List<Object> results = new ArrayList<>();
  private int completed;
  private DroppedErrors dropped;

  @BeforeEach
  void listen() {
    dropped = new DroppedErrors();
  }

  @AfterEach
  void close() {
    dropped.close();
    operations.close();
  }

  static Stream<Arguments> all() {
    return Stream.of(Kind.values())
        .flatMap(kind -> Stream.of(How.values()).map(how -> Arguments.of(kind, how)));
  }

  private void subscribe(Kind kind, How how) {
    operations.turns(1);
    Op op = operations.op(kind, 1);
    Op bounded = how == How.MONO ? op.deadline(LIMIT) : op;
    Flux.from(operations.publisher(how, bounded, BULK))
        .subscribe(this::hear, errors::add, () -> completed++);
    operations.turns(3);
  }

  /** A failure that is data counts as one. */
  private void hear(Object result) {
    if (result instanceof PostResult<?> sent && sent.error() != null) {
      errors.add(sent.error());
    } else {
      results.add(result);
    }
  }

  private Poster poster() {
    return operations.runtime.loops.all.get(0).poster();
  }

  private void nothingElseWasHarmed() {
    assertThat(dropped.all).containsExactly(BROKEN);
    assertThat(operations.inSlots()).isZero();
    assertThat(operations.parked()).isZero();
    assertThat(operations.runtime.snapshot().counter("loop_uncaught")).isZero();
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void itsResultComes(Kind kind, How how) {
    operations.answer(Codes.POSTED);
    subscribe(kind, how);
    operations.endAll(Codes.DONE);
    assertThat(results).hasSize(1);
    assertThat(completed).isEqualTo(1);
    assertThat(errors).isEmpty();
    nothingElseWasHarmed();
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void theDeathOfItsPeerIsTold(Kind kind, How how) {
    operations.answer(Codes.POSTED);
    subscribe(kind, how);
    operations.endAll(Codes.ERR_PEER_FAILED);
    assertThat(errors).singleElement().isInstanceOf(PeerFailedException.class);
    nothingElseWasHarmed();
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void itsDeadlineIsTold(Kind kind, How how) {
    operations.answer(Codes.RETRY_NOMEM);
    subscribe(kind, how);
    timer.clock.advanceTimeBy(LIMIT);
    operations.turns(3);
    assertThat(errors).singleElement().isInstanceOf(DeadlineExceededException.class);
    nothingElseWasHarmed();
  }

  /** It was accepted and is over at once. */
  @Test
  void theOutcomeOfAPosterIsTold() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    List<PostOutcome> outcomes = new ArrayList<>();
    poster().submit(operations.op(Kind.AM, 1).deadline(LIMIT).onOutcome(outcomes::add)).flush();
    operations.turns(3);
    assertThat(outcomes).containsExactly(PostOutcome.DONE);
    nothingElseWasHarmed();
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void theFailureOfAPosterIsTold(Kind kind) {
    operations.answer(Codes.POSTED);
    operations.turns(1);
    poster().submit(operations.op(kind, 1).deadline(LIMIT).onError(errors::add)).flush();
    operations.turns(3);
    operations.endAll(Codes.ERR_PEER_FAILED);
    assertThat(errors).singleElement().isInstanceOf(PeerFailedException.class);
    assertThat(dropped.all).isNotEmpty().containsOnly(BROKEN);
    assertThat(operations.runtime.snapshot().counter("loop_uncaught")).isZero();
  }

  @Test
  void theTargetOfAPosterIsSignalled() {
    operations.answer(Codes.POSTED);
    operations.turns(1);
    Counter counter = operations.runtime.completions().counter();
    Op op = operations.op(Kind.GET, 1).completeTo(counter).deadline(LIMIT);
    poster().submit(op).flush();
    operations.turns(3);
    operations.endAll(Codes.DONE);
    assertThat(operations.core.signals).containsExactly(Codes.DONE);
    nothingElseWasHarmed();
  }
}
