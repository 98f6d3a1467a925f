/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.completion.Counter;
import io.lci.error.LciException;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/**
 * A completion object hears once, and natively, of the end of an operation for which nobody waits
 * any more. These operations hold memory: the core cannot signal the object itself.
 */
class DetachedTargetsTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** What ends the wait. */
  enum Why {
    CANCEL,
    CANCEL_IN_ARRAY,
    DEADLINE,
    PEER_DEATH
  }

  /** What holds memory. */
  enum Held {
    RECEIVE,
    GET,
    LARGE_SEND
  }

  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  static Stream<Arguments> all() {
    return Stream.of(Why.values())
        .flatMap(
            why ->
                Stream.of(Held.values())
                    .flatMap(
                        held -> Stream.of(How.values()).map(how -> Arguments.of(why, held, how))));
  }

  private Op op(Held held) {
    Counter counter = operations.runtime.completions().counter();
    Op op =
        switch (held) {
          case RECEIVE -> operations.op(Kind.RECEIVE, 1);
          case GET -> operations.op(Kind.GET, 1);
          case LARGE_SEND -> Op.send(Operations.PEER, 1, Payload.of(new byte[9000]));
        };
    return op.completeTo(counter).deadline(LIMIT);
  }

  /** How the core ends it after that. */
  private static int end(Why why, Held held) {
    if (why == Why.PEER_DEATH) {
      return Codes.ERR_PEER_FAILED;
    }
    return held == Held.RECEIVE ? Codes.ERR_CANCELLED : Codes.DONE;
  }

  private void detach(Why why, Disposable waiting) {
    switch (why) {
      case CANCEL -> waiting.dispose();
      case CANCEL_IN_ARRAY -> {} // it is done already
      case DEADLINE -> operations.clock.advanceTimeBy(LIMIT);
      case PEER_DEATH -> operations.core.died(Operations.PEER);
    }
    operations.turns(3);
  }

  @ParameterizedTest(name = "{0} {1} {2}")
  @MethodSource("all")
  void theTargetHearsOfTheNativeEnd(Why why, Held held, How how) {
    operations.turns(1);
    Op op = op(held);
    Disposable.Swap waiting = reactor.core.Disposables.swap();
    operations.core.script =
        submitted -> {
          if (why == Why.CANCEL_IN_ARRAY) {
            waiting.dispose();
          }
          return operations.remembered(submitted, Codes.POSTED);
        };
    waiting.update(
        Flux.from(operations.publisher(how, op, PostOptions.defaults()))
            .subscribe(value -> {}, errors::add));
    operations.turns(3);
    detach(why, waiting);
    assertThat(operations.inSlots()).isEqualTo(1);
    assertThat(operations.core.signals).as("it has not ended").isEmpty();
    operations.endAll(end(why, held));
    assertThat(operations.core.signals).containsExactly(end(why, held));
    assertThat(operations.inSlots()).isZero();
  }

  @ParameterizedTest
  @EnumSource(
      value = Why.class,
      names = {"DEADLINE", "PEER_DEATH"})
  void soDoesThatOfAPoster(Why why) {
    operations.turns(1);
    operations.answer(Codes.POSTED);
    List<LciException> heard = new ArrayList<>();
    operations.runtime.loops.all.get(0).poster().submit(op(Held.GET).onError(heard::add)).flush();
    operations.turns(2);
    detach(why, () -> {});
    assertThat(heard).hasSize(1);
    operations.endAll(end(why, Held.GET));
    assertThat(operations.core.signals).containsExactly(end(why, Held.GET));
    assertThat(heard).hasSize(1);
  }

  /** Nor does it keep a graceful close waiting, as what the core signals itself does not. */
  @Test
  void whatWasCancelledDoesNotHoldAClose() {
    operations.turns(1);
    operations.answer(Codes.POSTED);
    Disposable waiting = operations.runtime.post(op(Held.GET)).subscribe();
    operations.turns(2);
    assertThat(operations.runtime.loops.outboxes.get(0).isQuiet()).isFalse();
    waiting.dispose();
    operations.turns(2);
    assertThat(operations.runtime.loops.outboxes.get(0).isQuiet()).isTrue();
    operations.runtime.close();
    assertThat(operations.core.signals).isEmpty();
  }
}
