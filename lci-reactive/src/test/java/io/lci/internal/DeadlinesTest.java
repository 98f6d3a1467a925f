/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.PostResult;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.internal.ScriptedCore.Submitted;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/** Deadlines of operations, in virtual time: to the nanosecond, and whatever state they are in. */
class DeadlinesTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final PostOptions BULK = PostOptions.builder().deadline(LIMIT).build();

  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();
  private final List<Object> results = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  static Stream<Arguments> all() {
    return Stream.of(Kind.values())
        .flatMap(kind -> Stream.of(How.values()).map(how -> Arguments.of(kind, how)));
  }

  private void subscribe(How how, Op op) {
    operations.turns(1);
    Op bounded = how == How.MONO ? op.deadline(LIMIT) : op;
    Flux.from(operations.publisher(how, bounded, BULK)).subscribe(this::hear, errors::add);
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

  private void passes(Duration time) {
    operations.clock.advanceTimeBy(time);
    operations.turns(3);
  }

  private void theErrorSays(String state) {
    assertThat(errors)
        .singleElement()
        .isInstanceOf(DeadlineExceededException.class)
        .asString()
        .contains(state)
        .contains(LIMIT.toString());
    assertThat(results).isEmpty();
    assertThat(operations.parked()).isZero();
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void parked(Kind kind, How how) {
    operations.answer(Codes.RETRY_NOMEM);
    subscribe(how, operations.op(kind, 1));
    passes(LIMIT.minusNanos(1));
    assertThat(errors).isEmpty();
    passes(Duration.ofNanos(1));
    theErrorSays("parked, last answer retry_nomem");
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void posted(Kind kind, How how) {
    operations.answer(Codes.POSTED);
    subscribe(how, operations.op(kind, 1));
    passes(LIMIT.minusNanos(1));
    assertThat(errors).isEmpty();
    passes(Duration.ofNanos(1));
    theErrorSays("posted");
    boolean cancelled =
        operations.core.submitted().stream()
            .map(Submitted::op)
            .anyMatch(op -> op == Codes.OP_CANCEL);
    assertThat(cancelled).isEqualTo(kind == Kind.RECEIVE);
    assertThat(operations.inSlots()).as("held until the native signal").isEqualTo(1);
    operations.endAll(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    assertThat(errors).hasSize(1);
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void whatEndedInTimeIsNotBothered(Kind kind, How how) {
    operations.answer(Codes.POSTED);
    subscribe(how, operations.op(kind, 1));
    operations.endAll(Codes.DONE);
    assertThat(results).hasSize(1);
    passes(Duration.ofHours(1));
    assertThat(errors).isEmpty();
    assertThat(results).hasSize(1);
  }

  @Test
  void anOperationsOwnDeadlineWins() {
    operations.answer(Codes.RETRY_NOMEM);
    Duration own = Duration.ofSeconds(1);
    operations.turns(1);
    Op patient = operations.op(Kind.SEND, 1);
    Op hasty = operations.op(Kind.AM, 2).deadline(own);
    List<PostResult<Op>> all = new ArrayList<>();
    operations.runtime.post(Flux.just(patient, hasty), BULK).subscribe(all::add, errors::add);
    operations.turns(3);
    passes(own);
    assertThat(all).extracting(PostResult::item).containsExactly(hasty);
    passes(LIMIT.minus(own));
    assertThat(all).extracting(PostResult::item).containsExactly(hasty, patient);
    assertThat(all).allMatch(r -> r.error() instanceof DeadlineExceededException);
    assertThat(errors).isEmpty();
  }

  /** As of a Mono: what was posted may still take effect, and is not waited for. */
  @ParameterizedTest
  @EnumSource(Kind.class)
  void whatAPosterPosted(Kind kind) {
    operations.answer(Codes.POSTED);
    operations.turns(1);
    List<LciException> heard = new ArrayList<>();
    List<PostOutcome> outcomes = new ArrayList<>();
    Op op = operations.op(kind, 1).deadline(LIMIT).onError(heard::add).onOutcome(outcomes::add);
    operations.runtime.loops.all.get(0).poster().submit(op).flush();
    operations.turns(2);
    assertThat(outcomes).containsExactly(PostOutcome.POSTED);
    passes(LIMIT.minusNanos(1));
    assertThat(heard).isEmpty();
    passes(Duration.ofNanos(1));
    assertThat(heard).singleElement().isInstanceOf(DeadlineExceededException.class);
    assertThat(heard.get(0)).hasMessageContaining("posted");
    assertThat(operations.inSlots()).isEqualTo(1);
    operations.endAll(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    assertThat(heard).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void whatAPosterHasInTheArray(Kind kind) {
    operations.answer(Codes.POSTED);
    operations.turns(1);
    List<LciException> heard = new ArrayList<>();
    List<PostOutcome> outcomes = new ArrayList<>();
    Op op = operations.op(kind, 1).deadline(LIMIT).onError(heard::add).onOutcome(outcomes::add);
    LoopTask both =
        () -> {
          operations.runtime.loops.all.get(0).poster().submit(op);
          operations.clock.advanceTimeBy(LIMIT);
        };
    operations.runtime.loops.all.get(0).execute(both);
    operations.turns(2);
    assertThat(heard).singleElement().isInstanceOf(DeadlineExceededException.class);
    assertThat(heard.get(0)).hasMessageContaining("queued");
    assertThat(outcomes).isEmpty();
    assertThat(operations.inSlots()).isEqualTo(1);
    operations.endAll(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    assertThat(heard).hasSize(1);
  }

  /** Else nothing would ever end it. */
  @ParameterizedTest
  @EnumSource(How.class)
  void aTimerThatTakesNoTaskFailsTheOperation(How how) {
    operations.answer(Codes.RETRY_NOMEM);
    operations.turns(1);
    operations.clock.dispose();
    subscribe(how, operations.op(Kind.AM, 1));
    assertThat(errors)
        .singleElement()
        .isInstanceOf(LciClosedException.class)
        .asString()
        .contains("the timer takes no deadline");
    assertThat(operations.parked()).isZero();
  }

  @Test
  void aDeadlineInTheFarFutureIsOne() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    Op op = operations.op(Kind.AM, 1).deadline(Duration.ofSeconds(Long.MAX_VALUE));
    operations.runtime.post(op).subscribe(this::hear, errors::add);
    operations.turns(3);
    assertThat(errors).isEmpty();
    assertThat(results).hasSize(1);
  }

  @Test
  void timesOfOptionsMayBeLongerThanCanBeCounted() {
    Duration ever = Duration.ofSeconds(Long.MAX_VALUE);
    ScriptedCore core = new ScriptedCore();
    LciOptions options =
        LciOptions.builder()
            .invoker(true)
            .closeTimeout(ever)
            .stallWarning(ever)
            .blockedWarning(ever)
            .timer(operations.clock)
            .build();
    RuntimeImpl runtime = new RuntimeImpl(core.calls, core.layout, 1, options);
    runtime.loops.all.get(0).poll();
    runtime.close();
    assertThat(runtime.isDisposed()).isTrue();
  }

  /** Such a one refuses as a disposed one does, but lives. */
  @Test
  void aTimerThatCannotWaitIsNoDisposedOne() {
    ScriptedCore core = new ScriptedCore();
    LciOptions options =
        LciOptions.builder().invoker(true).timer(Schedulers.fromExecutor(Runnable::run)).build();
    assertThatThrownBy(() -> new RuntimeImpl(core.calls, core.layout, 1, options))
        .isExactlyInstanceOf(LciException.class)
        .hasMessageContaining("the timer takes no deadline")
        .hasCauseInstanceOf(RejectedExecutionException.class);
  }

  @Test
  void aRuntimeWithADisposedTimerIsRefused() {
    operations.clock.dispose();
    ScriptedCore core = new ScriptedCore();
    LciOptions options = LciOptions.builder().invoker(true).timer(operations.clock).build();
    assertThatThrownBy(() -> new RuntimeImpl(core.calls, core.layout, 1, options))
        .isInstanceOf(LciClosedException.class)
        .hasMessageContaining("create runtime");
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void whatAPosterParked(Kind kind) {
    operations.answer(Codes.RETRY_NOMEM);
    operations.turns(1);
    List<LciException> heard = new ArrayList<>();
    List<PostOutcome> outcomes = new ArrayList<>();
    Op op = operations.op(kind, 1).deadline(LIMIT).onError(heard::add).onOutcome(outcomes::add);
    operations.runtime.loops.all.get(0).poster().submit(op).flush();
    operations.turns(2);
    passes(LIMIT.minusNanos(1));
    assertThat(heard).isEmpty();
    passes(Duration.ofNanos(1));
    assertThat(heard)
        .singleElement()
        .isInstanceOf(DeadlineExceededException.class)
        .asString()
        .contains("parked, last answer retry_nomem");
    assertThat(outcomes).isEmpty();
    assertThat(operations.parked()).isZero();
  }
}
