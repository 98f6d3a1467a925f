/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.collective.CollectiveContext;
import io.lci.error.CollectiveFailedException;
import io.lci.internal.collective.RevocationMessage.What;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** What ranks say of contexts of which they are no members. */
@ExtendWith(LciLeakCheck.class)
class StrangersTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static CollectiveContext pair(LciTestJob job, int rank) {
    return job.rank(rank).world().subgroup(3, 0, 1).context(1);
  }

  /** Tells rank 0, which hears of two from one rank in their order. */
  private static void tell(ContextImpl any, long... contexts) {
    for (long id : contexts) {
      any.groups.revocations.tell(List.of(0), What.CONTEXT, id, "");
    }
  }

  /** Also of one that is not there yet. */
  // Proves: J25
  // On: inproc
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theyGiveNothingUp(boolean before) {
    try (LciTestJob job = LciTestJob.start(3)) {
      ContextImpl stranger = (ContextImpl) job.rank(2).world().context(1);
      ContextImpl member = (ContextImpl) pair(job, 1);
      ContextImpl last = (ContextImpl) job.rank(0).world().context(2);
      ContextImpl known = before ? last : (ContextImpl) pair(job, 0);
      TestSubscriber<Integer> ofLast = endless(last, TestPublisher.create());
      tell(stranger, member.id(), last.id());
      await().atMost(LIMIT).until(ofLast::isTerminatedError);

      ContextImpl context = before ? (ContextImpl) pair(job, 0) : known;
      TestPublisher<Integer> source = TestPublisher.create();
      TestSubscriber<Integer> one = endless(context, source);
      await().atMost(LIMIT).untilAsserted(source::assertWasRequested);
      source.next(0);
      await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() == 1);
      member.revoke();
      await().atMost(LIMIT).until(one::isTerminatedError);
      assertThat(one.expectTerminalError())
          .isInstanceOfSatisfying(
              CollectiveFailedException.class, e -> assertThat(e.rank()).isEqualTo(1));
    }
  }

  private static TestSubscriber<Integer> endless(
      CollectiveContext context, TestPublisher<Integer> source) {
    TestSubscriber<Integer> one = TestSubscriber.create();
    context.streams().shuffle(source, n -> 0, Codec.INT).subscribe(one);
    return one;
  }
}
