/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** Groups of some ranks, and their contexts. */
@ExtendWith(LciLeakCheck.class)
class CollectivesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static List<CollectiveContext> contexts(LciTestJob job, long key) {
    return job.ranks().stream().map(lci -> lci.world().context(key)).toList();
  }

  private static Mono<Void> barriers(Collectives of, int count) {
    return Flux.range(0, count).concatMap(i -> of.barrier().thenReturn(i)).then();
  }

  /** All at once: each is asked for before the first one ends. */
  private static Mono<Void> burst(Collectives of, int count) {
    return Flux.range(0, count).flatMap(i -> of.barrier().thenReturn(i), count).then();
  }

  @Test
  void membersHaveTheOrderInWhichTheyAreGiven() {
    try (LciTestJob job = LciTestJob.start(4)) {
      Group last = job.rank(3).world().subgroup(7, 3, 0, 2);
      assertThat(last.rank()).isZero();
      assertThat(last.size()).isEqualTo(3);
      assertThat(IntStream.range(0, 3).map(last::worldRank)).containsExactly(3, 0, 2);
      Group two = last.subgroup(8, 2, 0);
      assertThat(IntStream.range(0, 2).map(two::worldRank)).containsExactly(2, 3);
      assertThat(two.rank()).isEqualTo(1);
      assertThat(two).hasToString("Group[8 of ranks [2, 3], member 1]");
    }
  }

  @Test
  void equalArgumentsGiveTheSameObject() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      assertThat(world.subgroup(0, 0, 1)).isSameAs(world);
      Group one = world.subgroup(1, 0, 1);
      assertThat(one).isNotSameAs(world);
      assertThat(world.subgroup(1, 0, 1)).isSameAs(one);
      assertThat(world.subgroup(1, 1, 0)).isNotSameAs(one);
      CollectiveContext context = one.context(5);
      assertThat(one.context(5, 0)).isSameAs(context);
      assertThat(one.context(6)).isNotSameAs(context);
      assertThat(world.context(5)).isNotSameAs(context);
      assertThat(context.group()).isSameAs(one);
      assertThat(context.device()).isZero();
    }
  }

  @Test
  void whatIsNoGroupIsRefused() {
    try (LciTestJob job = LciTestJob.start(3)) {
      World world = job.rank(1).world();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.subgroup(1, 0, 2))
          .withMessageContaining("this rank, 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.subgroup(1, 1, 2, 1))
          .withMessageContaining("none twice");
      assertThatIllegalArgumentException().isThrownBy(() -> world.subgroup(1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.subgroup(1, 1, 3))
          .withMessage("members are 0 to 2: 3");
      assertThatIllegalArgumentException().isThrownBy(() -> world.worldRank(-1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.context(1, 9))
          .withMessageContaining("devices 0 to");
      assertThatIllegalArgumentException().isThrownBy(() -> world.context(Long.MIN_VALUE));
    }
  }

  /** Those who are not in it make no call. */
  // Proves: J1
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {0, 1, 2, 3})
  void aBarrierHasTheMembersOfItsGroup(long seed) {
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", seed == 0 ? "" : "seed=" + seed + ",delay=0.3,ticks=64")
            .build();
    try (LciTestJob job = LciTestJob.start(5, options)) {
      int[] members = {4, 1, 3};
      int rounds = 100;
      AtomicInteger behind = new AtomicInteger();
      AtomicInteger[] reached = {new AtomicInteger(), new AtomicInteger(), new AtomicInteger()};
      Mono.when(
              IntStream.range(0, 3)
                  .mapToObj(
                      i -> {
                        Group group = job.rank(members[i]).world().subgroup(9, members);
                        return Flux.range(1, rounds)
                            .concatMap(
                                round -> {
                                  reached[i].set(round);
                                  return group.barrier().thenReturn(round);
                                })
                            .doOnNext(
                                round -> {
                                  for (AtomicInteger other : reached) {
                                    if (other.get() < round) {
                                      behind.incrementAndGet();
                                    }
                                  }
                                })
                            .then();
                      })
                  .toList())
          .block(LIMIT);
      assertThat(behind).hasValue(0);
    }
  }

  /** Many more than a member has places for: the rest waits, and nothing fails. */
  // Proves: J12
  // On: inproc, tcp
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void aMemberThatIsFarAheadWaits(String transport) {
    LciOptions.Builder options = LciOptions.builder().attribute("transport", transport);
    options.attribute("ranks_per_host", "0"); // shm needs one, also where the environment has more
    try (LciTestJob job = LciTestJob.start(3, options.build())) {
      List<CollectiveContext> contexts = contexts(job, 1);
      int count = 500;
      AtomicBoolean ahead = new AtomicBoolean();
      Mono<Void> first = burst(contexts.get(0), count).doOnSuccess(v -> ahead.set(true)).cache();
      first.subscribe();
      List<CollectiveContext> others = contexts(job, 2);
      Mono.when(others.stream().map(context -> barriers(context, 200)).toList()).block(LIMIT);
      assertThat(ahead).as("it needs the others").isFalse();
      Mono.when(first, burst(contexts.get(1), count), barriers(contexts.get(2), count))
          .block(LIMIT);
    }
  }

  @Test
  void aContextWaitsForAMemberThatMakesItLater() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Void> early = barriers(job.rank(0).world().context(1), 3).cache();
      early.subscribe();
      job.rank(0).barrier().and(job.rank(1).barrier()).block(LIMIT);
      Mono.when(early, barriers(job.rank(1).world().context(1), 3)).block(LIMIT);
    }
  }

  @Test
  void withoutARequestNothingBegins() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      TestSubscriber<Void> idle = TestSubscriber.builder().initialRequest(0).build();
      contexts.get(0).barrier().subscribe(idle);
      idle.cancel();
      // Had it begun, the second one here would wait for a call that rank 1 does not make.
      Mono.when(contexts.stream().map(context -> barriers(context, 1)).toList()).block(LIMIT);
    }
  }

  @Test
  void whoLeavesItsCallTakesPartNevertheless() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      for (int i = 0; i < 40; i++) { // beyond the places
        contexts.get(0).barrier().subscribe().dispose();
      }
      barriers(contexts.get(1), 40).block(LIMIT);
    }
  }

  // Proves: J15
  // On: inproc
  @Test
  void aRevokedContextFailsOnEveryMember() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      Mono<Void> waiting = contexts.get(0).barrier().cache();
      waiting.subscribe(v -> {}, e -> {});
      contexts.get(2).revoke();
      for (Mono<Void> call :
          List.of(waiting, contexts.get(1).barrier(), contexts.get(2).barrier())) {
        StepVerifier.create(call)
            .expectErrorSatisfies(
                e -> {
                  assertThat(e).isInstanceOf(CollectiveFailedException.class);
                  assertThat(((CollectiveFailedException) e).rank()).isEqualTo(2);
                  assertThat(e).hasMessageContaining("barrier of a group rank 2 device 0");
                })
            .verify(LIMIT);
      }
      Mono.when(job.ranks().stream().map(lci -> lci.world().barrier()).toList()).block(LIMIT);
    }
  }

  // Proves: J15
  // On: inproc
  @Test
  void aDeathEndsTheCallsOfItsGroupsAlone() {
    try (LciTestJob job = LciTestJob.start(3)) {
      Group pair = job.rank(0).world().subgroup(1, 0, 1);
      Mono<Void> waiting = job.rank(0).world().barrier().cache();
      waiting.subscribe(v -> {}, e -> {});
      job.rank(2).abort();
      for (Mono<Void> call : List.of(waiting, job.rank(1).world().barrier())) {
        StepVerifier.create(call)
            .expectErrorSatisfies(
                e -> {
                  assertThat(e).isInstanceOf(PeerFailedException.class);
                  assertThat(((PeerFailedException) e).rank()).isEqualTo(2);
                })
            .verify(LIMIT);
      }
      Mono.when(pair.barrier(), job.rank(1).world().subgroup(1, 0, 1).barrier()).block(LIMIT);
    }
  }

  /** What it has called all see complete, what it has not called ends. */
  // Proves: J15
  // On: inproc
  @Test
  void whoLeavesEndsTheCallsThatItHasNotMade() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      Mono<Void> first = contexts.get(0).barrier().cache();
      Mono<Void> second = contexts.get(0).barrier().cache();
      first.subscribe(v -> {}, e -> {});
      second.subscribe(v -> {}, e -> {});
      contexts.get(1).barrier().block(LIMIT);
      job.rank(1).close();
      first.block(LIMIT);
      StepVerifier.create(second).expectError(PeerLeftException.class).verify(LIMIT);
    }
  }

  @Test
  void aDisposedContextLetsItsCallsEnd() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      CollectiveContext context = world.context(1);
      Mono<Void> underWay = context.barrier().cache();
      underWay.subscribe();
      context.dispose();
      assertThat(context.isDisposed()).isTrue();
      StepVerifier.create(context.barrier()).expectError(LciClosedException.class).verify(LIMIT);
      assertThatIllegalStateException()
          .isThrownBy(() -> world.context(1))
          .withMessageContaining("its calls are not over");
      CollectiveContext other = job.rank(1).world().context(1);
      Mono.when(underWay, other.barrier()).block(LIMIT);
      other.dispose();
      await().atMost(LIMIT).ignoreExceptions().until(() -> world.context(1) != context);
      await().atMost(LIMIT).ignoreExceptions().until(() -> job.rank(1).world().context(1) != other);
      Mono.when(contexts(job, 1).stream().map(anew -> barriers(anew, 3)).toList()).block(LIMIT);
    }
  }

  @Test
  void aCloseWithACallOfADisposedContextIsQuiet() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectiveContext context = job.rank(0).world().context(1);
      Mono<Void> underWay = context.barrier().cache();
      underWay.subscribe(v -> {}, e -> {});
      context.dispose();
      job.rank(0).abort();
      StepVerifier.create(underWay).expectError(LciClosedException.class).verify(LIMIT);
      assertThat(job.rank(0).snapshot().counter("loop_uncaught")).isZero();
    }
  }

  @Test
  void aDisposedGroupGivesNothingAnyMore() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      Group group = world.subgroup(1, 0);
      CollectiveContext context = group.context(1);
      group.barrier().block(LIMIT);
      group.dispose();
      StepVerifier.create(group.barrier()).expectError(LciClosedException.class).verify(LIMIT);
      context.barrier().block(LIMIT);
      assertThat(world.subgroup(1, 0)).isNotSameAs(group);
      world.dispose();
      assertThat(world.isDisposed()).isFalse();
      world.barrier().block(LIMIT);
    }
  }

  /** On more than one loop, and signalled there. */
  @Test
  void aContextGoesByItsDevice() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      for (int device = 0; device < 2; device++) {
        int number = device;
        List<Boolean> where =
            Flux.fromIterable(job.ranks())
                .flatMap(
                    lci ->
                        barriers(lci.world().context(1, number), 20)
                            .then(Mono.fromSupplier(() -> lci.loops().get(number).inLoop())))
                .collectList()
                .block(LIMIT);
        assertThat(where).containsExactly(true, true);
      }
    }
  }

  @Test
  void aGracefulCloseWaitsForACall() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Void> call = job.rank(0).world().barrier().cache();
      call.subscribe();
      Mono<Void> closing = job.rank(0).disposeGracefully(LIMIT).cache();
      closing.subscribe();
      job.rank(1).world().barrier().block(LIMIT);
      Mono.when(call, closing).block(LIMIT);
    }
  }

  @Test
  void manyContextsComeAndGo() {
    try (LciTestJob job = LciTestJob.start(2)) {
      for (int round = 0; round < 300; round++) {
        long key = round % 3;
        List<CollectiveContext> contexts = contexts(job, key);
        Mono.when(contexts.stream().map(Collectives::barrier).toList()).block(LIMIT);
        contexts.forEach(CollectiveContext::dispose);
        for (LciRuntime lci : job.ranks()) {
          CollectiveContext gone = contexts.get(lci.rank());
          await().atMost(LIMIT).ignoreExceptions().until(() -> lci.world().context(key) != gone);
        }
      }
    }
  }
}
