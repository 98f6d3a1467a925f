/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.StepVerifierOptions;
import reactor.test.publisher.PublisherProbe;
import reactor.test.publisher.TestPublisher;
import reactor.test.publisher.TestPublisher.Violation;
import reactor.util.context.Context;

/** What bulk operators are to their upstream, also to one that breaks the rules. */
@ExtendWith(LciLeakCheck.class)
class BulkUpstreamTest {
  private static final Port PORT = Port.of(13, "upstream");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int WINDOW = 4;

  /** The bulk operators. */
  enum Operator {
    ROUTE,
    SEND_ALL,
    POST
  }

  private LciTestJob job;
  private Disposable handling;

  @BeforeEach
  void open() {
    job = LciTestJob.start(1);
    handling = job.rank(0).inbox(PORT).handle(m -> {});
  }

  @AfterEach
  void close() {
    handling.dispose();
    job.close();
  }

  private Flux<?> behind(Operator operator, Publisher<Integer> items) {
    LciRuntime lci = job.rank(0);
    SenderOptions options = SenderOptions.builder().window(WINDOW).build();
    return switch (operator) {
      case ROUTE -> lci.sender(PORT, options).route(items, n -> 0, (n, out) -> out.putInt(n));
      case SEND_ALL ->
          lci.sender(PORT, options).sendAll(0, items, (n, out) -> out.putInt(n)).flux();
      case POST ->
          lci.post(
              items,
              n -> Op.am(0, PORT, Payload.ofLong(n)),
              PostOptions.builder().window(WINDOW).build());
    };
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void isRequestedOnlyOnDemandAndThenAWindowFull(Operator operator) {
    TestPublisher<Integer> items = TestPublisher.create();
    StepVerifier.create(behind(operator, items), 0)
        .expectSubscription()
        .then(items::assertWasNotRequested)
        .thenRequest(1)
        .then(() -> await().atMost(LIMIT).untilAsserted(() -> items.assertMinRequested(WINDOW)))
        .then(() -> items.assertMaxRequested(WINDOW))
        .thenCancel()
        .verify(LIMIT);
    await().atMost(LIMIT).untilAsserted(items::assertCancelled);
  }

  /** The window is filled again as it empties, so that no upstream starves. */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void isNotRequestedTooLittle(Operator operator) {
    TestPublisher<Integer> items = TestPublisher.create();
    int count = 10 * WINDOW;
    Disposable running = behind(operator, items).subscribe();
    for (int i = 1; i <= count; i++) {
      int item = i;
      await().atMost(LIMIT).untilAsserted(() -> items.assertMinRequested(1));
      items.next(item);
    }
    items.complete();
    await().atMost(LIMIT).until(running::isDisposed);
    items.assertNotCancelled();
  }

  /** Who verifies with less demand than it expects is told, and not left to hang. */
  @ParameterizedTest
  @EnumSource(
      value = Operator.class,
      names = {"ROUTE", "POST"})
  void resultsNeedDemand(Operator operator) {
    StepVerifierOptions options = StepVerifierOptions.create().initialRequest(3);
    StepVerifier.create(behind(operator, Flux.range(0, 5)), options.checkUnderRequesting(true))
        .expectNextCount(3)
        .thenRequest(2)
        .expectNextCount(2)
        .expectComplete()
        .verify(LIMIT);
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void isSubscribedOncePerSubscription(Operator operator) {
    PublisherProbe<Integer> probe = PublisherProbe.of(Flux.range(0, 10));
    Flux<?> flux = behind(operator, probe.flux());
    probe.assertWasNotSubscribed();
    StepVerifier.create(flux, 0).expectSubscription().thenCancel().verify(LIMIT);
    probe.assertWasSubscribed();
    probe.assertWasNotRequested();
    await().atMost(LIMIT).untilAsserted(probe::assertWasCancelled);
    flux.blockLast(LIMIT);
    probe.assertWasRequested();
    assertThat(probe.subscribeCount()).isEqualTo(2);
  }

  /** An upstream's end needs no demand. */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void itsEndComesWithoutDemand(Operator operator) {
    TestPublisher<Integer> failing = TestPublisher.create();
    StepVerifier.create(behind(operator, failing), 0)
        .expectSubscription()
        .then(() -> failing.error(new IllegalStateException("upstream")))
        .expectErrorMessage("upstream")
        .verify(LIMIT);
    StepVerifier.create(behind(operator, Flux.error(new IllegalStateException("at once"))), 0)
        .expectErrorMessage("at once")
        .verify(LIMIT);
    TestPublisher<Integer> empty = TestPublisher.create();
    StepVerifier.create(behind(operator, empty), 0)
        .expectSubscription()
        .then(empty::complete)
        .expectComplete()
        .verify(LIMIT);
  }

  /** Who emits more than was requested is cancelled, and its excess discarded. */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void itsOverflowIsAnError(Operator operator) {
    TestPublisher<Integer> flood = TestPublisher.createNoncompliant(Violation.REQUEST_OVERFLOW);
    List<Object> discarded = new CopyOnWriteArrayList<>();
    StepVerifier.create(behind(operator, flood).doOnDiscard(Integer.class, discarded::add), 0)
        .expectSubscription()
        .then(() -> flood.next(1)) // nothing was requested
        .expectErrorMatches(
            e -> e instanceof IllegalStateException && e.getMessage().contains("more than"))
        .verify(LIMIT);
    await().atMost(LIMIT).untilAsserted(flood::assertCancelled);
    await().atMost(LIMIT).until(() -> discarded.contains(1));
  }

  /** What follows a terminal signal is dropped as Reactor does, and ends nothing twice. */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void whatFollowsItsEndIsDropped(Operator operator) {
    TestPublisher<Integer> loud = TestPublisher.createNoncompliant(Violation.CLEANUP_ON_TERMINATE);
    List<Object> dropped = new CopyOnWriteArrayList<>();
    Consumer<Object> hearing = dropped::add;
    Consumer<Throwable> hearingErrors = e -> dropped.add(e.getMessage());
    StepVerifier.create(
            behind(operator, loud)
                .contextWrite(
                    Context.of(
                        "reactor.onNextDropped.local",
                        hearing,
                        "reactor.onErrorDropped.local",
                        hearingErrors)))
        .expectSubscription()
        .then(() -> await().atMost(LIMIT).untilAsserted(() -> loud.assertMinRequested(1)))
        .then(
            () -> {
              loud.complete();
              loud.complete();
              loud.next(7);
              loud.error(new IllegalStateException("late"));
            })
        .expectComplete()
        .verify(LIMIT);
    assertThat(dropped).containsExactly(7, "late");
  }
}
