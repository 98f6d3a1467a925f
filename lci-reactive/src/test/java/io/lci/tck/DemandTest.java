/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciRuntime;
import io.lci.tck.Row.Kind;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Every adapter gives what is requested, and no more: nothing, one, some, all. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DemandTest {
  private static final Duration LIMIT = TckWorld.LIMIT;
  private static final int ELEMENTS = 50;

  private TckWorld world;

  @BeforeAll
  void open() {
    world = new TckWorld("");
  }

  @AfterAll
  void close() {
    world.close();
  }

  static Stream<Row> streams() {
    return Rows.raw().stream().filter(row -> row.kind().max > 1 && row.kind() != Kind.REPLAY);
  }

  static Stream<Row> monos() {
    return Stream.of(Rows.raw(), Rows.composed())
        .flatMap(List::stream)
        .filter(row -> row.kind().max <= 1);
  }

  // Proves: U5
  // On: inproc
  @ParameterizedTest(name = "{0}")
  @MethodSource("streams")
  void aStreamGivesWhatIsRequested(Row row) {
    Counting counting = subscribe(row, ELEMENTS);
    quiet();
    assertThat(counting.elements).hasValue(0);
    counting.request(1);
    awaitExactly(counting, 1);
    counting.request(7);
    awaitExactly(counting, 8);
    counting.request(Long.MAX_VALUE);
    await().atMost(LIMIT).until(() -> counting.elements.get() >= ELEMENTS);
    counting.cancel();
    world.clean();
  }

  static Stream<Row> replays() {
    return Rows.raw().stream().filter(row -> row.kind() == Kind.REPLAY);
  }

  /** There are as many elements as peers, and each subscriber gets them. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("replays")
  void aReplayGivesWhatIsRequested(Row row) {
    for (int subscriber = 0; subscriber < 2; subscriber++) {
      Counting counting = subscribe(row, world.peers());
      quiet();
      assertThat(counting.elements).hasValue(0);
      counting.request(1);
      awaitExactly(counting, 1);
      counting.request(1);
      awaitExactly(counting, 2);
      counting.request(Long.MAX_VALUE);
      awaitExactly(counting, world.peers());
      counting.cancel();
    }
    world.clean();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("monos")
  void aMonoGivesWhatIsRequested(Row row) {
    Counting counting = subscribe(row, row.kind().max);
    quiet();
    assertThat(counting.elements).hasValue(0);
    counting.request(1);
    await().atMost(LIMIT).until(() -> counting.terminals.get() == 1);
    assertThat(counting.elements).hasValue((int) row.kind().max);
    counting.request(Long.MAX_VALUE);
    quiet();
    assertThat(counting.elements).hasValue((int) row.kind().max);
    assertThat(counting.terminals).hasValue(1);
    world.clean();
  }

  private Counting subscribe(Row row, long elements) {
    Counting counting = new Counting();
    Publisher<?> publisher = row.create().apply(world, elements);
    Flux.from(publisher).subscribe(counting);
    return counting;
  }

  private void awaitExactly(Counting counting, int elements) {
    await().atMost(LIMIT).until(() -> counting.elements.get() >= elements);
    quiet();
    assertThat(counting.elements).hasValue(elements);
  }

  /** All loops have had some turns: what was on its way has come. */
  private void quiet() {
    for (int turn = 0; turn < 4; turn++) {
      for (LciRuntime runtime : List.of(world.here(), world.alone(), world.left())) {
        Mono.empty().subscribeOn(runtime.loops().get(0).scheduler()).block(LIMIT);
      }
    }
  }

  /** Counts, and requests nothing by itself. */
  private static final class Counting extends BaseSubscriber<Object> {
    final AtomicInteger elements = new AtomicInteger();
    final AtomicInteger terminals = new AtomicInteger();

    @Override
    protected void hookOnSubscribe(Subscription subscription) {}

    @Override
    protected void hookOnNext(Object value) {
      elements.incrementAndGet();
    }

    @Override
    protected void hookOnComplete() {
      terminals.incrementAndGet();
    }

    @Override
    protected void hookOnError(Throwable error) {
      throw new AssertionError(error);
    }
  }
}
