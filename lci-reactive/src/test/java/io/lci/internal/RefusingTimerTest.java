/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostResult;
import io.lci.error.LciException;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.internal.core.Ending;
import io.lci.internal.runtime.Shutdown;
import io.lci.nativebridge.Codes;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;

/** An error of a timer that takes no task is told where its exceptions are. */
class RefusingTimerTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final PostOptions BULK = PostOptions.builder().deadline(LIMIT).build();

  private final List<Throwable> errors = new ArrayList<>();

  private void hear(Object result) {
    if (result instanceof PostResult<?> sent && sent.error() != null) {
      errors.add(sent.error());
    }
  }

  private void theErrorSaysSo() {
    assertThat(errors)
        .singleElement()
        .isInstanceOf(LciException.class)
        .asString()
        .contains("the timer takes no deadline");
    assertThat(errors.get(0)).hasCause(RefusingTimer.THROWN);
  }

  @ParameterizedTest
  @EnumSource(How.class)
  void anOperationFails(How how) {
    try (Operations operations = new Operations(new RefusingTimer(true))) {
      operations.answer(Codes.RETRY_NOMEM);
      operations.turns(1);
      Op op = operations.op(Kind.AM, 1);
      Op bounded = how == How.MONO ? op.deadline(LIMIT) : op;
      Flux.from(operations.publisher(how, bounded, BULK)).subscribe(this::hear, errors::add);
      operations.turns(3);
      theErrorSaysSo();
      assertThat(operations.parked()).isZero();
    }
  }

  @Test
  void anOperationOfAPosterFails() {
    try (Operations operations = new Operations(new RefusingTimer(true))) {
      operations.answer(Codes.RETRY_NOMEM);
      operations.turns(1);
      Op op = operations.op(Kind.AM, 1).deadline(LIMIT).onError(errors::add);
      operations.runtime.loops.all.get(0).poster().submit(op).flush();
      operations.turns(3);
      theErrorSaysSo();
      assertThat(operations.parked()).isZero();
    }
  }

  /** Real time ends it. */
  @Test
  void aCloseGoesOn() {
    Shutdown shutdown =
        new Shutdown(
            List.of(), new Ending(), true, new RefusingTimer(true), left -> null, () -> {});
    shutdown.start(LIMIT);
    shutdown.loopEnded();
    assertThat(shutdown.isOver()).isTrue();
  }

  /** They are not looked after. */
  @Test
  void streamsOfGroupsGoOn() {
    LciOptions options =
        LciOptions.builder()
            .timer(new RefusingTimer(false))
            .blockedWarning(Duration.ZERO)
            .closeTimeout(Duration.ZERO)
            .build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      Long count =
          job.rank(0)
              .world()
              .streams()
              .shuffle(Flux.range(0, 10), n -> 0, Codec.INT)
              .count()
              .block(LIMIT);
      assertThat(count).isEqualTo(10);
    }
  }
}
