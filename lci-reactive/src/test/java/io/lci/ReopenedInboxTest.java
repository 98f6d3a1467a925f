/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.PortClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** A port that is opened anew, on other loops than before. */
@ExtendWith(LciLeakCheck.class)
class ReopenedInboxTest {
  private static final Port PORT = Port.of(8, "reopened");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** How it is opened anew. */
  enum Anew {
    ON_ANOTHER_LOOP,
    IN_PARTS,
    AFTER_ONE_THAT_NEVER_OPENED
  }

  private final CountDownLatch holding = new CountDownLatch(1);
  private final CountDownLatch held = new CountDownLatch(1);

  private void hold() {
    holding.countDown();
    try {
      held.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Inbox open(LciRuntime lci, Anew anew) {
    InboxOptions options = InboxOptions.builder().loop(1).build();
    if (anew == Anew.AFTER_ONE_THAT_NEVER_OPENED) {
      lci.inbox(PORT, options).dispose();
    }
    return lci.inbox(PORT, options.mutate().partitions(anew == Anew.IN_PARTS ? 2 : 1).build());
  }

  private static void runTasks(Scheduler loop) {
    Mono.fromRunnable(() -> {}).subscribeOn(loop).block(LIMIT);
  }

  /** The core refuses a port that is open, and the loop of the one before may be slow to close. */
  @ParameterizedTest
  @EnumSource
  void itOpensWhenTheOneBeforeIsClosed(Anew anew) throws InterruptedException {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().loops(2).build())) {
      LciRuntime lci = job.rank(0);
      Scheduler other = lci.loops().get(1).scheduler();
      Inbox before = lci.inbox(PORT);
      Disposable task = lci.loops().get(0).scheduler().schedule(this::hold);
      holding.await();
      before.dispose();
      // On a loop's thread, which does not wait for it to open
      Inbox inbox = Mono.fromCallable(() -> open(lci, anew)).subscribeOn(other).block(LIMIT);
      runTasks(other); // it had its chance to open too early
      held.countDown();
      before.onClose().block(LIMIT);
      Mono<List<Message>> received =
          Flux.fromIterable(inbox.partitions())
              .flatMap(Inbox::receive)
              .distinct(Message::tag)
              .take(2)
              .collectList();
      Disposable sending = // again and again: the one before takes what comes until it is closed
          Flux.interval(Duration.ofMillis(5))
              .onBackpressureDrop()
              .concatMap(
                  i ->
                      lci.post(Op.am(0, PORT, Payload.empty()).tag(i % 2))
                          .onErrorResume(PortClosedException.class, e -> Mono.empty()))
              .subscribe();
      assertThat(received.block(LIMIT)).hasSize(2);
      sending.dispose();
      task.dispose();
    } finally {
      held.countDown();
    }
  }
}
