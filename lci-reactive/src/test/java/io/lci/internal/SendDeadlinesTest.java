/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.PostResult;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;

/** Deadlines of senders, in virtual time: each message has its own, whatever state it is in. */
class SendDeadlinesTest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final int SHORT = 8;
  private static final int BEYOND_A_PACKET = 10_000;

  /** What sends. */
  enum How {
    SEND,
    SEND_ALL,
    ROUTE
  }

  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();
  private final List<Object> results = new ArrayList<>();
  private final List<Object> discarded = new ArrayList<>();
  private int completed;
  private Sender sender;

  @BeforeEach
  void open() {
    SenderOptions options = SenderOptions.builder().deadline(LIMIT).window(4).build();
    sender = operations.runtime.sender(Operations.PORT, options);
  }

  @AfterEach
  void close() {
    operations.close();
  }

  private Disposable subscribe(How how, Flux<Integer> items, int bytes) {
    Flux<?> flux =
        switch (how) {
          case SEND -> sender.send(Operations.PEER, Payload.of(new byte[bytes])).flux();
          case SEND_ALL ->
              sender.sendAll(Operations.PEER, items, (n, out) -> write(n, bytes, out)).flux();
          case ROUTE -> sender.route(items, n -> 1 + n % 2, (n, out) -> write(n, bytes, out));
        };
    Disposable running =
        flux.doOnDiscard(Integer.class, discarded::add)
            .subscribe(this::hear, errors::add, () -> completed++);
    operations.turns(3);
    return running;
  }

  private static void write(int number, int bytes, PayloadWriter out) {
    out.putLong(number).putBytes(new byte[bytes], 0, bytes - SHORT);
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
        .isInstanceOfSatisfying(
            DeadlineExceededException.class,
            e -> {
              assertThat(e.rank()).isEqualTo(Operations.PEER);
              assertThat(e).hasMessageContaining(state).hasMessageContaining(LIMIT.toString());
            });
    assertThat(results).isEmpty();
    assertThat(operations.parked()).isZero();
  }

  @ParameterizedTest
  @EnumSource(How.class)
  void parked(How how) {
    operations.answer(Codes.RETRY_NOMEM);
    subscribe(how, Flux.just(0), SHORT);
    passes(LIMIT.minusNanos(1));
    assertThat(errors).isEmpty();
    passes(Duration.ofNanos(1));
    theErrorSays("parked, last answer retry_nomem");
    assertThat(completed).isEqualTo(how == How.ROUTE ? 1 : 0);
  }

  @ParameterizedTest
  @EnumSource(How.class)
  void posted(How how) {
    operations.answer(Codes.POSTED);
    subscribe(how, Flux.just(0), BEYOND_A_PACKET);
    assertThat(operations.inSlots()).isEqualTo(1);
    passes(LIMIT.minusNanos(1));
    assertThat(errors).isEmpty();
    passes(Duration.ofNanos(1));
    theErrorSays("posted");
    assertThat(operations.inSlots()).as("held until the native signal").isEqualTo(1);
    operations.endAll(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    assertThat(errors).hasSize(1);
  }

  @ParameterizedTest
  @EnumSource(How.class)
  void whatEndedInTimeIsNotBothered(How how) {
    operations.answer(Codes.DONE);
    subscribe(how, Flux.just(0, 1, 2, 3, 4, 5), SHORT);
    assertThat(completed).isEqualTo(1);
    assertThat(results).hasSize(how == How.ROUTE ? 6 : 0);
    passes(Duration.ofHours(1));
    assertThat(errors).isEmpty();
    assertThat(completed).isEqualTo(1);
    assertThat(operations.core.submitted()).hasSize(how == How.SEND ? 1 : 6);
  }

  /** Its time begins when it is taken from upstream, and others keep theirs. */
  @Test
  void aLateElementIsDataAndOthersGoOn() {
    operations.core.script =
        submitted -> submitted.rank() == Operations.PEER ? Codes.RETRY_NOMEM : Codes.DONE;
    TestPublisher<Integer> items = TestPublisher.create();
    subscribe(How.ROUTE, items.flux(), SHORT);
    items.next(0, 1); // to rank 1, where there is no room, and to rank 2
    operations.turns(2);
    assertThat(results).hasSize(1);
    passes(LIMIT.dividedBy(2));
    items.next(2);
    operations.turns(2);
    passes(LIMIT.dividedBy(2));
    assertThat(errors).hasSize(1);
    assertThat(operations.parked()).isEqualTo(1);
    operations.core.script = submitted -> Codes.DONE;
    operations.core.generation++;
    operations.core.ring();
    operations.turns(3);
    assertThat(results).map(r -> (Object) ((PostResult<?>) r).item()).containsExactly(1, 2);
    items.complete();
    passes(LIMIT);
    assertThat(errors).hasSize(1);
    assertThat(completed).isEqualTo(1);
  }

  /** One is late, so all is over: the others are discarded, upstream is cancelled. */
  @Test
  void sendAllEndsWithItsFirstLateElement() {
    operations.answer(Codes.RETRY_NOMEM);
    TestPublisher<Integer> items = TestPublisher.create();
    subscribe(How.SEND_ALL, items.flux(), SHORT);
    items.next(0);
    operations.turns(2);
    passes(LIMIT.dividedBy(2));
    items.next(1);
    operations.turns(2);
    passes(LIMIT.dividedBy(2));
    theErrorSays("parked, last answer retry_nomem");
    items.assertCancelled();
    assertThat(discarded).containsExactlyInAnyOrder(0, 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {Codes.RETRY_NOMEM, Codes.POSTED})
  void aCancelLeavesNothing(int answer) {
    operations.answer(answer);
    Disposable running = subscribe(How.ROUTE, Flux.range(0, 100), BEYOND_A_PACKET);
    running.dispose();
    operations.turns(3);
    assertThat(operations.parked()).isZero();
    assertThat(discarded).hasSize(answer == Codes.POSTED ? 0 : 4);
    operations.endAll(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    passes(Duration.ofHours(1));
    assertThat(errors).isEmpty();
    assertThat(results).isEmpty();
  }

  /** Else nothing would ever end it. */
  @ParameterizedTest
  @EnumSource(How.class)
  void aTimerThatTakesNoTaskFailsTheMessage(How how) {
    operations.answer(Codes.RETRY_NOMEM);
    operations.clock.dispose();
    subscribe(how, Flux.just(0), SHORT);
    assertThat(errors)
        .singleElement()
        .isInstanceOf(LciException.class)
        .asString()
        .contains("the timer takes no deadline");
    assertThat(operations.parked()).isZero();
  }

  /** Routing and encoding fail as they do without a deadline. */
  @Test
  void failuresAreData() {
    operations.answer(Codes.DONE);
    Flux<PostResult<Integer>> flux =
        sender.route(
            Flux.range(0, 4),
            n -> n == 1 ? 99 : n == 2 ? 1 / (n - 2) : Operations.PEER,
            (n, out) -> {
              if (n == 3) {
                throw new IllegalStateException("no code for 3");
              }
              out.putInt(n);
            });
    flux.subscribe(this::hear, errors::add, () -> completed++);
    operations.turns(3);
    assertThat(errors)
        .extracting(Throwable::getMessage)
        .satisfiesExactlyInAnyOrder(
            text -> assertThat(text).contains("ranks are 0 to 3"),
            text -> assertThat(text).contains("the routing function failed"),
            text -> assertThat(text).contains("no code for 3"));
    assertThat(results).hasSize(1);
    assertThat(completed).isEqualTo(1);
  }

  @Test
  void itIsPositive() {
    assertThatThrownBy(() -> SenderOptions.builder().deadline(Duration.ZERO).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("deadline");
    assertThat(SenderOptions.builder().deadline(LIMIT).window(3).device(1).build().deadline())
        .isEqualTo(LIMIT);
  }
}
