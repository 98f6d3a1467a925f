/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** What a group can still do when members have died or given it up. */
@ExtendWith(LciLeakCheck.class)
class GroupLifeTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static List<World> worlds(LciTestJob job) {
    return job.ranks().stream().map(LciRuntime::world).toList();
  }

  private static <T> List<T> all(List<Mono<T>> calls) {
    return Flux.mergeSequential(calls).collectList().block(LIMIT);
  }

  private static List<Integer> ranks(Group group) {
    return IntStream.range(0, group.size()).mapToObj(group::worldRank).toList();
  }

  private static <T> Mono<T> begun(Mono<T> call) {
    Mono<T> cached = call.cache();
    cached.subscribe(value -> {}, error -> {});
    return cached;
  }

  // Agreements

  // Proves: J18
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void membersAgreeOnWhatAllSay(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < 10; round++) {
        for (int sayNo = -1; sayNo < size; sayNo++) {
          List<Mono<Boolean>> calls = new ArrayList<>();
          for (World world : worlds(job)) {
            calls.add(world.agree(world.rank() != sayNo));
          }
          assertThat(all(calls)).hasSize(size).containsOnly(sayNo < 0);
        }
      }
    }
  }

  /** One after the other, in the order in which they are asked for. */
  @Test
  void agreementsAreMadeInOrder() {
    try (LciTestJob job = LciTestJob.start(3)) {
      int count = 50;
      List<Mono<List<Boolean>>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        calls.add(
            Flux.range(0, count)
                .flatMapSequential(i -> world.agree(i % 3 != world.rank() || i % 2 == 0), count)
                .collectList());
      }
      List<Boolean> expected = IntStream.range(0, count).mapToObj(i -> i % 2 == 0).toList();
      assertThat(all(calls)).containsOnly(expected);
    }
  }

  /** Calls that wait, as too many are under way, hold no agreement up. */
  @Test
  void anAgreementDoesNotWaitForCalls() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      World second = job.rank(1).world();
      List<Mono<Void>> calls =
          IntStream.range(0, 100).mapToObj(i -> begun(first.barrier())).toList();
      assertThat(all(List.of(first.agree(true), second.agree(true)))).containsOnly(true);
      Mono.when(Mono.when(calls), Flux.range(0, 100).concatMap(i -> second.barrier()).then())
          .block(LIMIT);
    }
  }

  @Test
  void anAgreementWaitsForTheLiving() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<World> worlds = worlds(job);
      TestSubscriber<Boolean> first = TestSubscriber.create();
      worlds.get(0).agree(true).subscribe(first);
      Mono<Boolean> third = begun(worlds.get(2).agree(false));
      Mono.when(worlds.stream().map(World::barrier).toList()).block(LIMIT);
      assertThat(first.getReceivedOnNext()).isEmpty();
      assertThat(all(List.of(worlds.get(1).agree(true), third))).containsOnly(false);
      first.block(LIMIT);
      assertThat(first.getReceivedOnNext()).containsExactly(false);
    }
  }

  @Test
  void whoLeavesItsAgreementTakesPartAndIsNotTold() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<World> worlds = worlds(job);
      TestSubscriber<Boolean> gone = TestSubscriber.create();
      worlds.get(0).agree(false).subscribe(gone);
      gone.cancel();
      assertThat(worlds.get(1).agree(true).block(LIMIT)).isFalse();
      assertThat(all(worlds.stream().map(world -> world.agree(true)).toList())).containsOnly(true);
      assertThat(gone.getReceivedOnNext()).isEmpty();
    }
  }

  @Test
  void withoutARequestNoAgreementBegins() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<World> worlds = worlds(job);
      TestSubscriber<Boolean> idle = TestSubscriber.builder().initialRequest(0).build();
      worlds.get(0).agree(false).subscribe(idle);
      assertThat(all(worlds.stream().map(world -> world.agree(true)).toList())).containsOnly(true);
      idle.cancel();
    }
  }

  @Test
  void anAgreementEndsOnLoopZero() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().loops(2).build())) {
      LciRuntime lci = job.rank(0);
      Mono<Boolean> where = lci.world().agree(true).map(yes -> lci.loops().get(0).inLoop());
      assertThat(where.block(LIMIT)).isTrue();
    }
  }

  @Test
  void anAgreementEndsWithItsRuntimeAndItsGroup() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Group group = job.rank(0).world().subgroup(1, 0, 1);
      Mono<Boolean> waiting = begun(job.rank(0).world().agree(true));
      group.dispose();
      StepVerifier.create(group.agree(true)).expectError(LciClosedException.class).verify(LIMIT);
      job.rank(0).abort();
      StepVerifier.create(waiting).expectError(LciClosedException.class).verify(LIMIT);
      StepVerifier.create(job.rank(0).world().agree(true))
          .expectError(LciClosedException.class)
          .verify(LIMIT);
    }
  }

  // Shrinking

  /** The calls of the old group have failed, those of the new one go on. */
  // Proves: J18 J19
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void thoseWhoLiveGoOnWithoutTheDead(int dead) {
    try (LciTestJob job = LciTestJob.start(4)) {
      List<World> living = new ArrayList<>(worlds(job));
      living.remove(dead);
      List<Mono<Void>> waiting = living.stream().map(world -> begun(world.barrier())).toList();
      job.rank(dead).abort();
      for (Mono<Void> call : waiting) {
        StepVerifier.create(call).expectError(PeerFailedException.class).verify(LIMIT);
      }
      List<Group> shrunk = all(living.stream().map(Group::shrink).toList());
      List<Integer> expected = IntStream.range(0, 4).filter(r -> r != dead).boxed().toList();
      assertThat(shrunk).hasSize(3).allSatisfy(g -> assertThat(ranks(g)).isEqualTo(expected));
      assertThat(all(shrunk.stream().map(g -> g.allReduce(1L, ReduceOp.SUM)).toList()))
          .containsOnly(3L);
      assertThat(all(living.stream().map(world -> world.agree(true)).toList())).containsOnly(true);
    }
  }

  /** Each agreement gives a group of its own, with contexts that nobody else has. */
  @Test
  void eachShrinkGivesAnotherGroup() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<World> worlds = worlds(job);
      List<Group> first = all(worlds.stream().map(Group::shrink).toList());
      List<Group> second = all(worlds.stream().map(Group::shrink).toList());
      List<Group> third = all(first.stream().map(Group::shrink).toList());
      for (int rank = 0; rank < 3; rank++) {
        assertThat(List.of(worlds.get(rank), first.get(rank), second.get(rank), third.get(rank)))
            .doesNotHaveDuplicates()
            .allSatisfy(group -> assertThat(ranks(group)).containsExactly(0, 1, 2));
      }
      for (List<Group> groups : List.of(third, second, first)) {
        Mono.when(groups.stream().map(Group::barrier).toList()).block(LIMIT);
      }
    }
  }

  @Test
  void aRankThatLeftIsLeftOut() {
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(1).close();
      List<Group> shrunk = all(List.of(job.rank(0).world().shrink(), job.rank(2).world().shrink()));
      assertThat(shrunk).allSatisfy(group -> assertThat(ranks(group)).containsExactly(0, 2));
      Mono.when(shrunk.stream().map(Group::barrier).toList()).block(LIMIT);
    }
  }

  /**
   * Ranks die at any time, and the others shrink until a call succeeds: they get the same groups.
   */
  // Proves: J18 J19
  // On: inproc, chaos
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoeverDiesTheOthersEndInOneGroup(boolean chaos) {
    long seed = System.nanoTime();
    System.out.println("GroupLifeTest: seed " + seed + (chaos ? ", chaos" : ""));
    Random random = new Random(seed);
    for (int round = 0; round < 15; round++) {
      int size = 3 + random.nextInt(3);
      String attribute = "seed=" + random.nextInt(1_000_000) + ",delay=0.3,ticks=64";
      LciOptions options = LciOptions.builder().attribute("chaos", chaos ? attribute : "").build();
      try (LciTestJob job = LciTestJob.start(size, options)) {
        List<Integer> dying = new ArrayList<>(List.of(random.nextInt(size)));
        if (size > 3) {
          dying.add((dying.get(0) + 1) % size);
        }
        List<LciRuntime> living = new ArrayList<>(job.ranks());
        List<Mono<Group>> ends = new ArrayList<>();
        for (LciRuntime lci : job.ranks()) {
          Mono<Group> end = begun(lastGroup(lci.world()));
          if (!dying.contains(lci.rank())) {
            ends.add(end);
          }
        }
        for (int rank : dying) {
          long until = System.nanoTime() + random.nextInt(2_000_000);
          while (System.nanoTime() - until < 0) {
            Thread.onSpinWait();
          }
          job.rank(rank).abort();
          living.remove(job.rank(rank));
        }
        List<Integer> expected = living.stream().map(LciRuntime::rank).toList();
        List<Group> last = all(ends);
        assertThat(last).allSatisfy(group -> assertThat(ranks(group)).isEqualTo(expected));
        Mono.when(last.stream().map(Group::barrier).toList()).block(LIMIT);
      }
    }
  }

  /** The group that is left when as many have died as will: two, or one of three ranks. */
  private static Mono<Group> lastGroup(World world) {
    int left = world.size() > 3 ? world.size() - 2 : world.size() - 1;
    return smaller(world, left);
  }

  private static Mono<Group> smaller(Group group, int left) {
    return group
        .allReduce(1L, ReduceOp.SUM)
        .onErrorReturn(0L)
        .then(group.shrink())
        .flatMap(next -> next.size() > left ? smaller(next, left) : Mono.just(next));
  }

  // Revoking

  private static void expectRevoked(Mono<?> call, int rank) {
    StepVerifier.create(call)
        .expectErrorSatisfies(
            e -> {
              assertThat(e).isInstanceOf(CollectiveFailedException.class);
              assertThat(((CollectiveFailedException) e).rank()).isEqualTo(rank);
              assertThat(e).hasMessageContaining("it revoked the group");
            })
        .verify(LIMIT);
  }

  /** Also in contexts that the revoking member has not made, or makes later. */
  // Proves: J15 J19
  // On: inproc
  @Test
  void aRevokedGroupFailsInAllItsContexts() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<World> worlds = worlds(job);
      Group pair = worlds.get(0).subgroup(1, 0, 1);
      Mono<Void> own = begun(worlds.get(0).barrier());
      Mono<Void> context = begun(worlds.get(1).context(5, 1).barrier());
      worlds.get(2).revoke("no more work");
      expectRevoked(own, 2);
      expectRevoked(context, 2);
      for (World world : worlds) {
        StepVerifier.create(world.barrier())
            .expectError(CollectiveFailedException.class)
            .verify(LIMIT);
        await()
            .atMost(LIMIT)
            .untilAsserted(
                () ->
                    StepVerifier.create(world.barrier())
                        .expectErrorMatches(e -> e.getMessage().contains("no more work"))
                        .verify(LIMIT));
        expectRevoked(world.context(6).barrier(), 2);
      }
      Mono.when(pair.barrier(), worlds.get(1).subgroup(1, 0, 1).barrier()).block(LIMIT);
      List<Group> anew = all(worlds.stream().map(Group::shrink).toList());
      Mono.when(anew.stream().map(Group::barrier).toList()).block(LIMIT);
    }
  }

  /** A member hears of it even if it makes the group afterwards. */
  /** Also of a context that has failed by code of the program before. */
  @Test
  void aRevokedGroupHasNoStreamsEither() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Integer>> streams = new ArrayList<>();
      List<Mono<String>> values = new ArrayList<>();
      Codec<String> thrower =
          Codec.of(
              (value, out) -> {
                throw new IllegalStateException("no value");
              },
              in -> "");
      for (LciRuntime lci : job.ranks()) {
        Mono<Integer> stream =
            lci.world().streams().shuffle(Flux.<Integer>never(), n -> 0, Codec.INT).next().cache();
        stream.subscribe(item -> {}, error -> {});
        streams.add(stream);
        Mono<String> value = lci.world().broadcast(0, "a", thrower).cache();
        value.subscribe(item -> {}, error -> {});
        values.add(value);
      }
      values.forEach(
          value ->
              StepVerifier.create(value)
                  .expectError(CollectiveFailedException.class)
                  .verify(LIMIT));
      job.rank(0).world().revoke("enough");
      streams.forEach(
          stream ->
              StepVerifier.create(stream)
                  .expectError(CollectiveFailedException.class)
                  .verify(LIMIT));
    }
  }

  /** The rounds of a stream are calls of contexts that it makes on the way. */
  @Test
  void aStreamGoesOnWhenItsGroupWasDisposed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Long>> sums = new ArrayList<>();
      List<TestPublisher<Vec>> sources = new ArrayList<>();
      List<Group> groups = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Group group = lci.world().subgroup(3, 0, 1);
        TestPublisher<Vec> source = TestPublisher.create();
        Mono<Long> sum =
            group
                .context(5)
                .streams()
                .allReduce(source, ReduceOp.SUM, StreamOptions.builder().build())
                .next()
                .map(Vec::count)
                .cache();
        sum.subscribe(item -> {}, error -> {});
        sums.add(sum);
        sources.add(source);
        groups.add(group);
      }
      sources.forEach(source -> await().atMost(LIMIT).untilAsserted(source::assertWasRequested));
      groups.forEach(Group::dispose);
      sources.forEach(source -> source.next(Vec.longs(new long[] {1, 2})));
      sums.forEach(sum -> assertThat(sum.block(LIMIT)).isEqualTo(2));
    }
  }

  @Test
  void aGroupThatIsMadeLaterIsRevoked() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(0).world().subgroup(7, 0, 1).revoke("too late");
      Group late = job.rank(1).world().subgroup(7, 0, 1);
      expectRevoked(late.barrier(), 0);
      expectRevoked(late.context(1).allReduce(1L, ReduceOp.SUM), 0);
      Group other = job.rank(1).world().subgroup(8, 0, 1);
      Mono.when(other.barrier(), job.rank(0).world().subgroup(8, 0, 1).barrier()).block(LIMIT);
    }
  }

  @Test
  void theFirstRevocationCounts() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      Group group = world.subgroup(1, 0);
      group.revoke("first");
      group.revoke("second");
      StepVerifier.create(group.barrier())
          .expectErrorMatches(e -> e.getMessage().contains("first"))
          .verify(LIMIT);
      group.dispose();
      Group anew = world.subgroup(1, 0);
      assertThat(anew).isNotSameAs(group);
      await().atMost(LIMIT).untilAsserted(() -> expectRevoked(anew.barrier(), 0));
    }
  }

  /** As much of it as travels; half a character does not. */
  @Test
  void aLongReasonIsCut() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(0).world().revoke("€".repeat(5_000));
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  StepVerifier.create(job.rank(1).world().barrier())
                      .expectErrorMatches(
                          e -> e.getMessage().matches("(?s).*it revoked the group: €{300,400}"))
                      .verify(LIMIT));
    }
  }

  @Test
  void aClosedRuntimeRevokesNothing() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      job.rank(0).close();
      assertThatExceptionOfType(LciClosedException.class).isThrownBy(() -> world.revoke("closed"));
    }
  }
}
