/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Encoder;
import io.lci.am.Message;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.CompletionTarget;
import io.lci.completion.QueueOptions;
import io.lci.error.DeadlineExceededException;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/** Cancel at every point of an operation's life: no signal follows, and nothing is held. */
class CancelPointsTest {
  /** Where in its life it is. */
  enum Point {
    BEFORE_REQUEST,
    REQUESTED_ELSEWHERE,
    REQUESTED,
    IN_ARRAY_DONE,
    IN_ARRAY_POSTED,
    IN_ARRAY_REFUSED,
    PARKED,
    POSTED,
    DURING_SIGNAL,
    AFTER
  }

  private static final Set<Point> POSTED = EnumSet.of(Point.IN_ARRAY_POSTED, Point.POSTED);

  /** The core has not taken it when the cancel comes. */
  private static final Set<Point> NEVER_TAKEN =
      EnumSet.of(
          Point.BEFORE_REQUEST,
          Point.REQUESTED_ELSEWHERE,
          Point.REQUESTED,
          Point.IN_ARRAY_REFUSED,
          Point.PARKED);

  private static final int BEYOND_A_PACKET = 10_000;
  private static final Integer ELEMENT = 7;

  private final Operations operations = new Operations();
  private final Recorder recorder = new Recorder();
  private final List<Object> discarded = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  static Stream<Arguments> all() {
    return Stream.of(Point.values())
        .flatMap(
            point ->
                Stream.of(Kind.values())
                    .flatMap(
                        kind ->
                            Stream.of(How.values()).map(how -> Arguments.of(point, kind, how))));
  }

  // Proves: U4
  // On: inproc
  @ParameterizedTest(name = "{0} {1} {2}")
  @MethodSource("all")
  void nothingFollowsAndNothingIsHeld(Point point, Kind kind, How how) throws Exception {
    Op op = operations.op(kind, 1).deadline(Duration.ofSeconds(10));
    operations.turns(1);
    Flux.from(operations.publisher(how, op, PostOptions.defaults()))
        .doOnDiscard(Object.class, discarded::add)
        .subscribe(recorder);
    cancelAt(point);
    operations.turns(4);
    operations.endAll(kind == Kind.RECEIVE ? Codes.ERR_CANCELLED : Codes.DONE);
    operations.clock.advanceTimeBy(Duration.ofHours(1)); // its deadline is over, too
    operations.turns(3);
    boolean ended = point == Point.AFTER;
    boolean seen = ended || point == Point.DURING_SIGNAL;
    assertThat(recorder.elements).isEqualTo(seen ? 1 : 0);
    assertThat(recorder.terminals).isEqualTo(ended ? 1 : 0);
    assertThat(operations.parked()).isZero();
    assertThat(operations.inSlots()).isZero();
    boolean refused = point == Point.PARKED || point == Point.IN_ARRAY_REFUSED;
    assertThat(discarded.contains(op)).isEqualTo(refused && how == How.BULK);
    boolean done = point == Point.IN_ARRAY_DONE || POSTED.contains(point);
    assertLate(done && kind == Kind.GET ? 1 : 0); // receives were cancelled, others delivered
  }

  /** What sends many messages. */
  enum Sending {
    ROUTE,
    SEND_ALL
  }

  static Stream<Arguments> sendings() {
    return Stream.of(Point.values())
        .flatMap(
            point ->
                Stream.of(Sending.values())
                    .filter(how -> how == Sending.ROUTE || point != Point.DURING_SIGNAL)
                    .flatMap(
                        how ->
                            Stream.of(true, false).map(timed -> Arguments.of(point, how, timed))));
  }

  @ParameterizedTest(name = "{0} {1} with a deadline: {2}")
  @MethodSource("sendings")
  void norIsAnythingHeldOfWhatASenderSends(Point point, Sending how, boolean timed)
      throws Exception {
    SenderOptions options = SenderOptions.defaults();
    Sender sender =
        operations.runtime.sender(
            Operations.PORT,
            timed ? options.mutate().deadline(Duration.ofSeconds(10)).build() : options);
    Encoder<Integer> encoder =
        (n, out) -> out.putBytes(new byte[BEYOND_A_PACKET], 0, BEYOND_A_PACKET);
    operations.turns(1);
    Flux<?> sent =
        how == Sending.ROUTE
            ? sender.route(Flux.just(ELEMENT), n -> Operations.PEER, encoder)
            : sender.sendAll(Operations.PEER, Flux.just(ELEMENT), encoder).flux();
    sent.doOnDiscard(Object.class, discarded::add).subscribe(recorder);
    cancelAt(point);
    operations.turns(4);
    operations.endAll(Codes.DONE);
    operations.clock.advanceTimeBy(Duration.ofHours(1));
    operations.turns(3);
    boolean ended = point == Point.AFTER;
    boolean seen = how == Sending.ROUTE && (ended || point == Point.DURING_SIGNAL);
    assertThat(recorder.elements).isEqualTo(seen ? 1 : 0);
    assertThat(recorder.terminals).isEqualTo(ended ? 1 : 0);
    assertThat(operations.parked()).isZero();
    assertThat(operations.inSlots()).isZero();
    // What was taken from upstream is either the core's or discarded.
    assertThat(discarded).isEqualTo(NEVER_TAKEN.contains(point) ? List.of(ELEMENT) : List.of());
    assertLate(0);
  }

  private void assertLate(int count) {
    assertThat(discarded.stream().filter(Message.class::isInstance)).hasSize(count);
    assertThat(operations.runtime.snapshot().counter("loop_late_data")).isEqualTo(count);
  }

  static Stream<Arguments> late() {
    return POSTED.stream()
        .flatMap(point -> Stream.of(How.values()).map(how -> Arguments.of(point, how)));
  }

  /** The core had matched it when the cancel came: the sender was told that it was taken. */
  // Proves: U4
  // On: inproc
  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("late")
  void aMessageThatWasMatchedMeanwhileIsDiscarded(Point point, How how) throws Exception {
    operations.turns(1);
    Op op = operations.op(Kind.RECEIVE, 1);
    Flux.from(operations.publisher(how, op, PostOptions.defaults()))
        .doOnDiscard(Object.class, discarded::add)
        .subscribe(recorder);
    cancelAt(point);
    operations.turns(4);
    operations.endAll(Codes.DONE);
    assertThat(recorder.elements + recorder.terminals).isZero();
    assertThat(operations.inSlots()).isZero();
    assertLate(1);
  }

  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"RECEIVE", "GET"})
  void soIsOneThatComesAfterTheDeadline(Kind kind) {
    operations.turns(1);
    List<Throwable> errors = new ArrayList<>();
    operations.answer(Codes.POSTED);
    Flux.from(operations.runtime.post(operations.op(kind, 1).deadline(Duration.ofSeconds(10))))
        .doOnDiscard(Object.class, discarded::add)
        .subscribe(value -> {}, errors::add);
    operations.turns(3);
    operations.clock.advanceTimeBy(Duration.ofHours(1));
    operations.turns(3);
    assertThat(errors).singleElement().isInstanceOf(DeadlineExceededException.class);
    operations.endAll(Codes.DONE);
    assertLate(1);
  }

  /** What a completion object has been given is nobody's loss. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aQueueHasTheMessageInstead(boolean queue) {
    operations.turns(1);
    CompletionTarget target =
        queue
            ? operations.runtime.completions().queue(QueueOptions.defaults())
            : operations.runtime.completions().counter(); // which keeps no message
    Op op = operations.op(Kind.RECEIVE, 1).completeTo(target);
    operations.answer(Codes.POSTED);
    Disposable waiting =
        operations
            .runtime
            .post(op)
            .doOnDiscard(Object.class, discarded::add)
            .subscribe(value -> {});
    operations.turns(3);
    waiting.dispose();
    operations.turns(3);
    operations.endAll(Codes.DONE);
    assertThat(operations.core.signals).containsExactly(Codes.DONE);
    assertLate(queue ? 0 : 1);
  }

  /** The end and the cancel, which comes from elsewhere, meet in one turn. */
  @Test
  void aQueueHasTheMessageAloneAlsoWhenItsEndCrossesTheCancel() {
    operations.turns(1);
    CompletionTarget target = operations.runtime.completions().queue(QueueOptions.defaults());
    operations.answer(Codes.POSTED);
    Disposable waiting =
        operations
            .runtime
            .post(operations.op(Kind.RECEIVE, 1).completeTo(target))
            .doOnDiscard(Object.class, discarded::add)
            .subscribe(value -> {});
    operations.turns(3);
    operations.core.script =
        submitted -> {
          cancelElsewhere(waiting);
          operations.signalAll(Codes.DONE);
          return Codes.DONE;
        };
    operations.runtime.post(operations.op(Kind.AM, 1)).subscribe();
    operations.turns(4);
    assertThat(operations.core.signals).containsExactly(Codes.DONE);
    assertThat(operations.inSlots()).isZero();
    assertLate(0);
  }

  private static void cancelElsewhere(Disposable waiting) {
    Thread elsewhere = new Thread(waiting::dispose);
    elsewhere.start();
    try {
      elsewhere.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void cancelAt(Point point) throws InterruptedException {
    switch (point) {
      case BEFORE_REQUEST -> {
        recorder.cancel();
        recorder.request(1);
      }
      case REQUESTED_ELSEWHERE -> {
        Thread elsewhere = new Thread(() -> recorder.request(1));
        elsewhere.start();
        elsewhere.join();
        recorder.cancel();
      }
      case REQUESTED -> {
        recorder.request(1);
        recorder.cancel();
      }
      case IN_ARRAY_DONE -> inArray(Codes.DONE);
      case IN_ARRAY_POSTED -> inArray(Codes.POSTED);
      case IN_ARRAY_REFUSED -> inArray(Codes.RETRY_NOCREDIT);
      case PARKED -> {
        request(Codes.RETRY_NOCREDIT);
        assertThat(operations.parked()).isEqualTo(1);
        recorder.cancel();
      }
      case POSTED -> {
        request(Codes.POSTED);
        assertThat(operations.inSlots()).isEqualTo(1);
        recorder.cancel();
      }
      case DURING_SIGNAL -> {
        recorder.cancelling = true;
        request(Codes.POSTED);
        operations.endAll(Codes.DONE);
      }
      case AFTER -> {
        request(Codes.POSTED);
        operations.endAll(Codes.DONE);
        recorder.cancel();
      }
    }
  }

  private void request(int answer) {
    operations.answer(answer);
    recorder.request(1);
    operations.turns(3);
  }

  /** The cancel comes while the core looks at the operation. */
  private void inArray(int answer) {
    operations.core.script =
        submitted -> {
          recorder.cancel();
          return operations.remembered(submitted, answer);
        };
    recorder.request(1);
    operations.turns(3);
  }

  private static final class Recorder extends BaseSubscriber<Object> {
    int elements;
    int terminals;
    boolean cancelling;

    @Override
    protected void hookOnSubscribe(Subscription subscription) {}

    @Override
    protected void hookOnNext(Object value) {
      elements++;
      if (cancelling) {
        cancel();
      }
    }

    @Override
    protected void hookOnComplete() {
      terminals++;
    }

    @Override
    protected void hookOnError(Throwable error) {
      throw new AssertionError(error);
    }
  }
}
