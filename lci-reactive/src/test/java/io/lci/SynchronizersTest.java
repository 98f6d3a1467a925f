/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.Synchronizer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Synchronizers behind ports, and those that follow others. */
@ExtendWith(LciLeakCheck.class)
class SynchronizersTest {
  private static final Port PORT = Port.of(35, "synchronizers");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int OWN = 1000;

  /** The loop has run what was handed to it before. */
  private static void settle(LciRuntime lci) {
    CountDownLatch passed = new CountDownLatch(1);
    Disposable task = lci.loops().get(0).scheduler().schedule(passed::countDown);
    try {
      assertThat(passed.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    task.dispose();
  }

  @Test
  void aBoundSynchronizerFiresForEveryMessage() {
    int count = 10_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Synchronizer synchronizer = job.rank(1).completions().synchronizer(1);
      Disposable bound = job.rank(1).completions().bind(PORT, synchronizer);
      Mono<List<Completion>> fired =
          synchronizer
              .firings()
              .take(count)
              .flatMapIterable(firing -> firing)
              .collectList()
              .cache();
      Disposable waiting = fired.subscribe();
      job.rank(0)
          .sender(PORT)
          .sendAll(1, Flux.range(0, count), (n, out) -> out.tag(n).putLong(n))
          .block(LIMIT);
      assertThat(fired.block(LIMIT))
          .hasSize(count)
          .allSatisfy(c -> assertThat(c.kind()).isEqualTo(Completion.Kind.ARRIVAL))
          .allSatisfy(c -> assertThat(c.rank()).isZero());
      await().atMost(LIMIT).until(waiting::isDisposed);
      bound.dispose();
      synchronizer.dispose();
    }
  }

  /** Who was told of his firing waits no more: the next may ask from within. */
  @Test
  void theNextIsAwaitedAsSoonAsOneHasFired() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Synchronizer synchronizer = lci.completions().synchronizer(1);
      for (int round = 0; round < 20; round++) {
        Mono<List<Completion>> third =
            synchronizer
                .next()
                .flatMap(first -> synchronizer.next())
                .flatMap(second -> synchronizer.next());
        Mono<Long> sent =
            Flux.range(3 * round, 3)
                .concatMap(
                    tag -> {
                      Disposable receive =
                          lci.post(Op.receive(0, tag, 64).completeTo(synchronizer)).subscribe();
                      assertThat(receive).isNotNull();
                      return lci.tagged().send(0, tag, Payload.ofLong(tag)).thenReturn(tag);
                    })
                .count();
        assertThat(Mono.zip(third, sent).block(LIMIT).getT1()).hasSize(1);
      }
      // Nobody waits any more: one that is cancelled makes room, too
      synchronizer.next().subscribe().dispose();
      Disposable last = lci.post(Op.receive(0, OWN, 64).completeTo(synchronizer)).subscribe();
      lci.tagged().send(0, OWN, Payload.ofLong(OWN)).block(LIMIT);
      assertThat(synchronizer.next().block(LIMIT))
          .singleElement()
          .satisfies(c -> assertThat(c.tag()).isEqualTo(OWN));
      await().atMost(LIMIT).until(last::isDisposed);
      synchronizer.dispose();
    }
  }

  @Test
  void aFiringOfTheOneBeforeIsNotTheNextOnes() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      for (int round = 0; round < 20; round++) {
        Synchronizer before = lci.completions().synchronizer(1);
        CountDownLatch replaced = new CountDownLatch(1);
        Synchronizer[] next = new Synchronizer[1];
        int tag = round;
        // The end of the receive has signalled `before`; the record of that is still to come.
        Disposable receive =
            lci.post(Op.receive(0, tag, 64).completeTo(before))
                .subscribe(
                    c -> {
                      before.dispose();
                      Disposable task =
                          lci.loops()
                              .get(0)
                              .scheduler()
                              .schedule(
                                  () -> {
                                    next[0] = lci.completions().synchronizer(1);
                                    replaced.countDown();
                                  });
                      assertThat(task).isNotNull();
                    });
        lci.tagged().send(0, tag, Payload.ofLong(1)).block(LIMIT);
        await().atMost(LIMIT).until(() -> replaced.getCount() == 0);
        settle(lci);
        settle(lci);
        // A firing is kept, so a false one would come before that of its own first operation.
        int own = OWN + round;
        Disposable second = lci.post(Op.receive(0, own, 64).completeTo(next[0])).subscribe();
        lci.tagged().send(0, own, Payload.ofLong(2)).block(LIMIT);
        assertThat(next[0].next().block(LIMIT))
            .singleElement()
            .satisfies(c -> assertThat(c.tag()).isEqualTo(own));
        next[0].dispose();
        receive.dispose();
        second.dispose();
      }
    }
  }
}
