/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.PeerFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Runtimes beside and after each other. */
@ExtendWith(LciLeakCheck.class)
class LifecycleTest {
  private static final Port PORT = Port.of(61, "lifecycle");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Nothing is the process's: the same ports and tags mean something else in each job. */
  @Test
  void twoJobsInOneJvmDoNotMeet() {
    int count = 5_000;
    try (LciTestJob first = LciTestJob.start(2);
        LciTestJob second = LciTestJob.start(2, LciOptions.builder().loops(2).build())) {
      Mono<Long> a = traffic(first, 1, count);
      Mono<Long> b = traffic(second, 1_000_000, count);
      assertThat(Mono.zip(a, b, List::of).block(LIMIT))
          .isEqualTo(List.of((long) count, 1_000_000L * count));
      first.close();
      assertThat(first.rank(0).isDisposed()).isTrue();
      assertThat(second.rank(0).isDisposed()).isFalse();
      assertThat(traffic(second, 3, count).block(LIMIT)).isEqualTo(3L * count);
      assertThat(second.rank(1).snapshot().counter("peers_left")).isZero();
    }
  }

  private static Mono<Long> traffic(LciTestJob job, long value, int count) {
    Mono<Long> received =
        job.rank(1).inbox(PORT).receive(m -> m.getLong(0)).take(count).reduce(0L, Long::sum);
    Mono<Void> sent =
        job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(value));
    return Mono.zip(received, sent.thenReturn(1)).map(both -> both.getT1());
  }

  /** Who opens and closes all day long ends where he began. */
  @Test
  @Timeout(600)
  void aThousandRuntimesLeaveNothing() {
    openAndUse(); // what is loaded once
    long files = openFiles();
    long threads = loopThreads();
    for (int i = 0; i < 1_000; i++) {
      openAndUse();
    }
    await().atMost(LIMIT).until(() -> loopThreads() <= threads);
    await().atMost(LIMIT).until(() -> openFiles() <= files + 2); // others of this JVM may open some
  }

  private static void openAndUse() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Mono<Integer> received = job.rank(0).inbox(PORT).receive(m -> m.getInt(0)).next();
      Mono<Void> sent = job.rank(0).sender(PORT).send(0, Payload.ofInt(7));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(7);
    }
  }

  private static long openFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long loopThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("lci-"))
        .count();
  }

  @Test
  void anAbortIsAFailureForItsPeers() {
    try (LciTestJob job = LciTestJob.start(3)) {
      LciRuntime stays = job.rank(0);
      Mono<?> receive = stays.tagged().receive(1, 4).cache();
      receive.subscribe(m -> {}, e -> {});
      await().atMost(LIMIT).until(() -> stays.snapshot().counter("receives_pending") == 1);
      job.rank(1).abort();
      job.rank(1).onClose().block(LIMIT);
      StepVerifier.create(stays.peerGone(1))
          .expectNext(new PeerEvent(1, PeerEvent.State.FAILED))
          .expectComplete()
          .verify(LIMIT);
      StepVerifier.create(receive).expectError(PeerFailedException.class).verify(LIMIT);
      job.rank(2).disposeGracefully(LIMIT).block(LIMIT);
      StepVerifier.create(stays.peerGone(2))
          .expectNext(new PeerEvent(2, PeerEvent.State.LEFT))
          .expectComplete()
          .verify(LIMIT);
    }
  }

  /** The end of a graceful close is not later than its limit, whatever is still under way. */
  @Test
  void aGracefulCloseThatCouldNotSendIsAFailureForItsPeers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime stays = job.rank(0);
      // Two messages to a port that nobody opens: one is announced, the other waits for ever.
      Flux.range(0, 2)
          .concatMap(n -> job.rank(1).sender(PORT).send(0, Payload.ofInt(n)))
          .subscribe(none -> {}, closed -> {});
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().counter("loop_parked") == 1);
      job.rank(1).disposeGracefully(Duration.ofMillis(100)).block(LIMIT);
      assertThat(job.rank(1).snapshot().counter("loop_given_up")).isEqualTo(1);
      StepVerifier.create(stays.peerGone(1))
          .expectNext(new PeerEvent(1, PeerEvent.State.FAILED))
          .expectComplete()
          .verify(LIMIT);
    }
  }
}
