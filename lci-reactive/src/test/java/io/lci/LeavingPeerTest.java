/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** A peer leaves, and not every loop has read yet what it had sent before. */
@ExtendWith(LciLeakCheck.class)
class LeavingPeerTest {
  private static final Port PORT = Port.of(5, "leaving");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Semaphore taken = new Semaphore(0);
  private final List<Object> ended = new ArrayList<>();

  private void post(LciRuntime lci) {
    lci.post(
            Op.am(1, PORT, Payload.ofLong(1))
                .advanced(
                    a ->
                        a.device(1).semantic(Op.Semantic.NETWORK))) // ends when rank 1 has taken it
        .subscribe(ended::add, ended::add);
  }

  @Test
  void anotherLoopThatSeesItFirstFailsNothing() throws Exception {
    LciOptions driven = LciOptions.builder().loops(2).invoker(true).build();
    LciOptions leaving = LciOptions.builder().devices(2).build();
    try (LciTestJob job = LciTestJob.start(2, rank -> rank == 0 ? driven : leaving)) {
      LciRuntime lci = job.rank(0);
      job.rank(1).inbox(PORT).handle(message -> taken.release());
      List<PeerEvent> events = new ArrayList<>();
      lci.peerEvents().subscribe(events::add);
      post(lci); // it learns of the port
      while (ended.isEmpty()) {
        lci.loops().get(1).poll(Duration.ofMillis(1));
      }
      assertThat(taken.tryAcquire(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
      post(lci);
      lci.loops().get(1).poll();
      assertThat(taken.tryAcquire(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
      job.rank(1).disposeGracefully(LIMIT).toFuture().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      while (events.isEmpty()) {
        lci.loops().get(0).poll(Duration.ofMillis(1));
      }
      while (ended.size() < 2) {
        lci.loops().get(1).poll(Duration.ofMillis(1));
      }
      assertThat(ended).noneMatch(Throwable.class::isInstance);
      assertThat(events).containsExactly(new PeerEvent(1, PeerEvent.State.LEFT));
      lci.close(); // by the thread that drives its loops
    }
  }

  /** Waiting, announced and later ones: that the port may open again would be no help. */
  @ParameterizedTest
  @ValueSource(strings = {"", "seed=5", "seed=6"})
  void messagesToItsPortsEndWithIt(String chaos) {
    LciOptions options = LciOptions.builder().attribute("chaos", chaos).build();
    int count = 200;
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(0);
      job.rank(1).inbox(PORT, InboxOptions.builder().messages(8).build()); // nobody takes them
      Flux<PostResult<Integer>> sending =
          lci.sender(PORT).route(Flux.range(0, count), n -> 1, (n, out) -> out.putInt(n));
      List<PostResult<Integer>> results = new CopyOnWriteArrayList<>();
      AtomicReference<Throwable> end = new AtomicReference<>();
      CountDownLatch over = new CountDownLatch(1);
      sending.subscribe(
          results::add,
          error -> {
            end.set(error);
            over.countDown();
          },
          over::countDown);
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().inboxes().get(0).depth() >= 8);
      job.rank(1).disposeGracefully(LIMIT).block(LIMIT);
      await().atMost(LIMIT).until(() -> over.getCount() == 0);
      assertThat(end.get()).isNull();
      assertThat(results).hasSize(count);
      assertThat(results).filteredOn(PostResult::isSuccess).hasSizeLessThan(count);
      assertThat(results)
          .filteredOn(result -> !result.isSuccess())
          .allSatisfy(result -> assertThat(result.error()).isInstanceOf(PeerLeftException.class));
      assertThatThrownBy(() -> lci.sender(PORT).send(1, Payload.ofInt(1)).block(LIMIT))
          .isInstanceOf(PeerLeftException.class);
    }
  }
}
