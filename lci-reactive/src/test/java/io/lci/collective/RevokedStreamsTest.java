/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static io.lci.collective.StreamsOfAll.LIMIT;
import static io.lci.collective.StreamsOfAll.failure;
import static io.lci.collective.StreamsOfAll.none;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.error.CollectiveFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** The streams of contexts and groups that a member gives up, whatever that member has of them. */
@ExtendWith(LciLeakCheck.class)
class RevokedStreamsTest {

  private static List<CollectiveContext> contexts(LciTestJob job) {
    return job.ranks().stream().map(lci -> lci.world().context(1)).toList();
  }

  private static TestSubscriber<Integer> endless(Collectives of) {
    TestSubscriber<Integer> one = TestSubscriber.create();
    of.streams().shuffle(none(), n -> 0, Codec.INT).subscribe(one);
    return one;
  }

  private static AbstractThrowableAssert<?, ?> assertRevokedBy(
      int rank, TestSubscriber<Integer> stream) {
    return assertThat(failure(stream))
        .isInstanceOfSatisfying(
            CollectiveFailedException.class, e -> assertThat(e.rank()).isEqualTo(rank));
  }

  // Proves: J25
  // On: inproc
  @Test
  void thoseOfAContextEndOnAllMembersAndOthersGoOn() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job);
      List<TestSubscriber<Integer>> all =
          contexts.stream().map(RevokedStreamsTest::endless).toList();
      contexts.get(1).revoke();
      all.forEach(one -> assertRevokedBy(1, one));
      List<Mono<Long>> counts = new ArrayList<>();
      job.ranks()
          .forEach(
              lci ->
                  counts.add(
                      lci.world()
                          .streams()
                          .shuffle(Flux.range(0, 10), n -> n % 2, Codec.INT)
                          .count()));
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(10L, 10L);
    }
  }

  /** Its loop has no streams at all; the news comes to another one. */
  // Proves: J25
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aMemberWithoutStreamsEndsThoseOfOthers(int device) {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<CollectiveContext> contexts =
          job.ranks().stream().map(lci -> lci.world().context(1, device)).toList();
      List<TestSubscriber<Integer>> two =
          contexts.stream().limit(2).map(RevokedStreamsTest::endless).toList();
      contexts.get(2).revoke();
      two.forEach(one -> assertRevokedBy(2, one));
      assertRevokedBy(2, endless(contexts.get(2)));
    }
  }

  /** Members that have none, and those that have not made the context, hear of it, too. */
  // Proves: J25
  // On: inproc
  @Test
  void thoseThatBeginLaterEndAtOnce() {
    try (LciTestJob job = LciTestJob.start(3)) {
      Stream.of(job.rank(0), job.rank(1))
          .forEach(lci -> lci.world().context(2)); // from a first context on they hear
      job.rank(2).world().context(1).revoke();
      TestSubscriber<Integer> other = endless(job.rank(0).world().context(1));
      assertRevokedBy(2, other);
      assertRevokedBy(2, endless(job.rank(1).world().context(1)));
    }
  }

  @Test
  void theFirstRevocationCounts() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job);
      contexts.get(0).revoke();
      assertRevokedBy(0, endless(contexts.get(1)));
      contexts.get(1).revoke();
      contexts.forEach(context -> assertRevokedBy(0, endless(context)));
    }
  }

  /** One that is made anew is another one. */
  @Test
  void aContextThatIsMadeAnewHasStreams() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job);
      TestSubscriber<Integer> heard = endless(contexts.get(0));
      contexts.get(1).revoke();
      assertRevokedBy(1, heard);
      contexts.forEach(CollectiveContext::dispose);
      List<Mono<Long>> counts = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        int of = rank;
        await()
            .atMost(LIMIT)
            .ignoreExceptions()
            .until(() -> job.rank(of).world().context(1) != contexts.get(of));
        counts.add(
            job.rank(of)
                .world()
                .context(1)
                .streams()
                .shuffle(Flux.range(0, 10), n -> n % 2, Codec.INT)
                .count());
      }
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(10L, 10L);
    }
  }

  /** Also such as begin later. */
  @Test
  void thoseOfAGroupEndOnAllMembers() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Group> groups =
          job.ranks().stream().map(lci -> lci.world().subgroup(1, 0, 1, 2)).toList();
      List<TestSubscriber<Integer>> all = new ArrayList<>();
      groups.subList(0, 2).forEach(group -> all.add(endless(group)));
      groups.get(2).revoke("on purpose");
      all.add(endless(groups.get(2)));
      all.forEach(one -> assertRevokedBy(2, one).hasMessageContaining("on purpose"));
    }
  }
}
