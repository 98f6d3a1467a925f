/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciRuntime;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Calls that all ranks make, and which of them meet. */
@ExtendWith(LciLeakCheck.class)
class GroupTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final List<String> ended = new CopyOnWriteArrayList<>();

  private void begin(String name, Mono<?> call) {
    call.subscribe(value -> {}, error -> ended.add(name + " failed"), () -> ended.add(name));
  }

  private void awaitEnds(String... names) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(ended).containsExactlyInAnyOrder(names));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void theWorldHasEveryRank(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int rank = 0; rank < size; rank++) {
        Group world = job.rank(rank).world();
        assertThat(world.rank()).isEqualTo(rank);
        assertThat(world.size()).isEqualTo(size);
        assertThat(job.rank(rank).world()).isSameAs(world);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void aBarrierEndsWhenEveryRankHasCome(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < 20; round++) {
        int last = round % size;
        List<String> names = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
          names.add("rank " + rank);
          if (rank != last) {
            begin("rank " + rank, job.rank(rank).world().barrier());
          }
        }
        assertThat(ended).isEmpty();
        begin("rank " + last, job.rank(last).world().barrier());
        awaitEnds(names.toArray(String[]::new));
        ended.clear();
      }
    }
  }

  private static List<Integer> ranks(Group group) {
    return IntStream.range(0, group.size()).mapToObj(group::worldRank).toList();
  }

  /** A member with a negative colour is in no group. */
  @Test
  void aSplitDividesByColourInTheOrderThatIsAskedFor() {
    int[] colors = {1, 0, 1, -3, 1};
    int[] orders = {7, 0, -2, 0, 7};
    List<List<Integer>> expected =
        List.of(List.of(2, 0, 4), List.of(1), List.of(2, 0, 4), List.of(), List.of(2, 0, 4));
    try (LciTestJob job = LciTestJob.start(5)) {
      List<Mono<Optional<Group>>> splits = new ArrayList<>();
      for (int rank = 0; rank < 5; rank++) {
        splits.add(
            job.rank(rank)
                .world()
                .split(colors[rank], orders[rank])
                .map(Optional::of)
                .defaultIfEmpty(Optional.empty()));
      }
      for (int time = 0; time < 2; time++) {
        List<Optional<Group>> groups = Flux.mergeSequential(splits).collectList().block(LIMIT);
        assertThat(groups).hasSize(5);
        List<Mono<Void>> barriers = new ArrayList<>();
        for (int rank = 0; rank < 5; rank++) {
          assertThat(groups.get(rank).map(GroupTest::ranks).orElse(List.of()))
              .isEqualTo(expected.get(rank));
          groups.get(rank).ifPresent(group -> barriers.add(group.barrier()));
        }
        Mono.when(barriers).block(LIMIT);
        Group before = job.rank(2).world().subgroup(1, 2, 0, 4);
        assertThat(groups.get(2)).containsSame(before);
      }
    }
  }

  @Test
  void theBarriersOfRuntimeAndGroupDoNotMeet() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime a = job.rank(0);
      LciRuntime b = job.rank(1);
      begin("a", a.barrier());
      begin("b world", b.world().barrier());
      await().atMost(LIMIT).until(() -> b.snapshot().counter("operations_barrier_posted") == 1);
      assertThat(ended).isEmpty();
      begin("b", b.barrier());
      awaitEnds("a", "b");
      begin("a world", a.world().barrier());
      awaitEnds("a", "b", "a world", "b world");
    }
  }

  /** Each is counted by itself: nothing hangs, whatever comes first on which rank. */
  @Test
  void theBarriersOfRuntimeAndGroupMayComeInDifferentOrders() {
    int count = 200;
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Void>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Flux<Integer> own = Flux.range(0, count).flatMap(n -> lci.barrier().thenReturn(n), count);
        Flux<Integer> worlds =
            Flux.range(0, count).flatMap(n -> lci.world().barrier().thenReturn(n), count);
        all.add(
            switch (lci.rank()) {
              case 0 -> Mono.when(own, worlds);
              case 1 -> Mono.when(worlds, own);
              default -> Mono.when(own.concatMap(n -> Mono.just(n)), worlds);
            });
      }
      Mono.when(all).block(LIMIT);
    }
  }

  @Test
  void aBarrierDoesNotMeetAnExchange() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World a = job.rank(0).world();
      World b = job.rank(1).world();
      begin("a barrier", a.barrier());
      begin("b exchange", b.exchange(new byte[] {2}));
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("unexpected_stored") == 1);
      assertThat(ended).isEmpty();
      begin("a exchange", a.exchange(new byte[] {1}));
      awaitEnds("a exchange", "b exchange");
      begin("b barrier", b.barrier());
      awaitEnds("a exchange", "b exchange", "a barrier", "b barrier");
    }
  }

  @Test
  void aSubscriberThatLeavesTakesPart() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(0).world().barrier().subscribe().dispose();
      job.rank(1).world().barrier().block(LIMIT);
    }
  }

  @Test
  void aBarrierEndsOnTheLoop() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Mono<Boolean> where =
          lci.world().barrier().then(Mono.fromSupplier(() -> lci.loops().get(0).inLoop()));
      assertThat(where.block(LIMIT)).isTrue();
    }
  }

  @Test
  void aRankThatLeftEndsABarrier() {
    try (LciTestJob job = LciTestJob.start(3)) {
      StepVerifier.create(job.rank(0).world().barrier())
          .expectSubscription()
          .then(() -> job.rank(1).close())
          .expectError(PeerLeftException.class)
          .verify(LIMIT);
    }
  }
}
