/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/**
 * The table of streams of groups: what happens on which member while the stream is under way, and
 * what each member hears of it. Three members; the sources and demand are the test's.
 */
@ExtendWith(LciLeakCheck.class)
class GroupStreamStatesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int MEMBERS = 3;
  private static final int ROOT = 1;

  /** What the source or the subscriber of a member does, or the member itself. */
  enum Event {
    NEXT,
    COMPLETE,
    ERROR,
    CANCEL,
    DEATH
  }

  enum Kind {
    SHUFFLE,
    GATHER,
    BROADCAST;

    boolean isSource(int member) {
      return this != BROADCAST || member == ROOT;
    }

    boolean isReceiver(int member) {
      return this != GATHER || member == ROOT;
    }
  }

  static Stream<Arguments> cells() {
    return Arrays.stream(Kind.values())
        .flatMap(
            kind ->
                Arrays.stream(Event.values())
                    .flatMap(
                        event ->
                            Stream.of(0, ROOT, 2)
                                .filter(member -> kind.isSource(member) || event.ordinal() > 2)
                                .map(member -> Arguments.of(kind, event, member))));
  }

  /** A stream on every member, whose sources are the test's; one item of each was delivered. */
  private static final class Course implements AutoCloseable {
    final LciTestJob job = LciTestJob.start(MEMBERS);
    final Kind kind;
    final List<TestPublisher<Integer>> sources = new ArrayList<>();
    final List<TestSubscriber<Integer>> subscribers = new ArrayList<>();

    /** Of each member: what it was not delivered. */
    final Set<Integer> discarded = ConcurrentHashMap.newKeySet();

    Course(Kind kind) {
      this.kind = kind;
      for (LciRuntime lci : job.ranks()) {
        TestPublisher<Integer> source =
            TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        sources.add(source);
        TestSubscriber<Integer> subscriber =
            TestSubscriber.builder().initialRequest(MEMBERS).build();
        subscribers.add(subscriber);
        stream(lci, source).doOnDiscard(Integer.class, discarded::add).subscribe(subscriber);
      }
      int each = 0;
      for (int member = 0; member < MEMBERS; member++) {
        if (kind.isSource(member)) {
          TestPublisher<Integer> source = sources.get(member);
          await().atMost(LIMIT).untilAsserted(source::assertWasRequested);
          emit(member, kind == Kind.SHUFFLE ? MEMBERS : 1);
          each++;
        }
      }
      for (int member = 0; member < MEMBERS; member++) {
        awaitItems(member, kind.isReceiver(member) ? each : 0);
      }
    }

    private Flux<Integer> stream(LciRuntime lci, TestPublisher<Integer> source) {
      GroupStreams streams = lci.world().streams();
      return switch (kind) {
        case SHUFFLE -> streams.shuffle(source, n -> n % MEMBERS, Codec.INT);
        case GATHER -> streams.gather(ROOT, source, Codec.INT).map(Sourced::item);
        case BROADCAST -> streams.broadcast(ROOT, source, Codec.INT);
      };
    }

    /** Items of a member: 0, 1, 2 of it, in its hundred. */
    void emit(int member, int count) {
      for (int i = 0; i < count; i++) {
        sources.get(member).next(300 * member + i);
      }
    }

    void awaitItems(int member, int count) {
      TestSubscriber<Integer> one = subscribers.get(member);
      await().atMost(LIMIT).untilAsserted(() -> assertThat(one.getReceivedOnNext()).hasSize(count));
    }

    boolean isCancelled(int member) {
      try {
        sources.get(member).assertCancelled();
        return true;
      } catch (AssertionError e) {
        return false;
      }
    }

    void completeRest(int but) {
      for (int member = 0; member < MEMBERS; member++) {
        if (kind.isSource(member) && member != but) {
          sources.get(member).complete();
        }
      }
    }

    @Override
    public void close() {
      job.close();
    }
  }

  // Proves: J25
  // On: inproc
  @ParameterizedTest(name = "{0}: {1} on member {2}")
  @MethodSource("cells")
  void eachCellEndsWhatItMust(Kind kind, Event event, int member) {
    try (Course course = new Course(kind)) {
      switch (event) {
        case NEXT -> next(course, member);
        case COMPLETE -> complete(course, member);
        case ERROR -> error(course, member);
        case CANCEL -> cancel(course, member);
        case DEATH -> death(course, member);
        default -> throw new AssertionError(event);
      }
    }
  }

  /** Beyond what was requested: it waits for demand, and nothing ends. */
  private static void next(Course course, int member) {
    List<Integer> before =
        course.subscribers.stream().map(s -> s.getReceivedOnNext().size()).toList();
    for (TestSubscriber<Integer> one : course.subscribers) {
      one.request(1);
    }
    course.emit(member, course.kind == Kind.SHUFFLE ? MEMBERS : 1);
    for (int other = 0; other < MEMBERS; other++) {
      course.awaitItems(other, before.get(other) + (course.kind.isReceiver(other) ? 1 : 0));
      assertThat(course.subscribers.get(other).isTerminatedOrCancelled()).isFalse();
    }
    course.completeRest(-1);
    awaitCompletion(course);
  }

  /** The others go on. */
  private static void complete(Course course, int member) {
    course.sources.get(member).complete();
    if (course.kind != Kind.BROADCAST) {
      int other = (member + 1) % MEMBERS;
      course.subscribers.forEach(one -> one.request(1));
      int before = course.subscribers.get(ROOT).getReceivedOnNext().size();
      course.emit(other, course.kind == Kind.SHUFFLE ? MEMBERS : 1);
      course.awaitItems(ROOT, before + 1);
      assertThat(course.subscribers.get(ROOT).isTerminated()).isFalse();
      course.completeRest(member);
    }
    awaitCompletion(course);
  }

  private static void awaitCompletion(Course course) {
    for (TestSubscriber<Integer> one : course.subscribers) {
      await().atMost(LIMIT).until(one::isTerminatedComplete);
    }
    assertThat(course.discarded).isEmpty();
    for (int member = 0; member < MEMBERS; member++) {
      assertThat(course.isCancelled(member)).as("source %d", member).isFalse();
    }
  }

  /** Its member hears that very error, the others that it failed. */
  private static void error(Course course, int member) {
    IllegalStateException reason = new IllegalStateException("on purpose");
    course.sources.get(member).error(reason);
    for (int other = 0; other < MEMBERS; other++) {
      Throwable heard = awaitError(course, other);
      if (other == member) {
        assertThat(heard).isSameAs(reason);
      } else {
        assertOf(heard, CollectiveFailedException.class, member)
            .hasMessageContaining("IllegalStateException: on purpose");
        assertSourceCancelled(course, other);
      }
    }
  }

  /** Of a broadcast it is the member's own affair. */
  private static void cancel(Course course, int member) {
    course.subscribers.get(member).cancel();
    if (course.kind == Kind.BROADCAST) {
      course.subscribers.forEach(one -> one.request(1));
      course.emit(ROOT, 1);
      course.sources.get(ROOT).complete();
      for (int other = 0; other < MEMBERS; other++) {
        TestSubscriber<Integer> one = course.subscribers.get(other);
        if (other != member) {
          await().atMost(LIMIT).until(one::isTerminatedComplete);
          assertThat(one.getReceivedOnNext()).hasSize(2);
        }
      }
      return;
    }
    for (int other = 0; other < MEMBERS; other++) {
      if (other != member) {
        assertOf(awaitError(course, other), OperationCancelledException.class, member);
      }
      assertSourceCancelled(course, other);
    }
    assertThat(course.subscribers.get(member).isTerminated()).isFalse();
  }

  private static void death(Course course, int member) {
    course.job.rank(member).abort();
    for (int other = 0; other < MEMBERS; other++) {
      Throwable heard = awaitError(course, other);
      if (other == member) {
        assertThat(heard).isInstanceOf(LciClosedException.class);
      } else {
        assertOf(heard, PeerFailedException.class, member);
      }
      assertSourceCancelled(course, other);
    }
  }

  private static Throwable awaitError(Course course, int member) {
    TestSubscriber<Integer> one = course.subscribers.get(member);
    await().atMost(LIMIT).until(one::isTerminatedError);
    return one.expectTerminalError();
  }

  private static org.assertj.core.api.AbstractThrowableAssert<?, ?> assertOf(
      Throwable heard, Class<? extends LciException> type, int rank) {
    assertThat(heard).isInstanceOf(type);
    assertThat(((LciException) heard).rank()).isEqualTo(rank);
    return assertThat(heard).hasMessageContaining("stream of a group");
  }

  private static void assertSourceCancelled(Course course, int member) {
    if (course.kind.isSource(member)) {
      await().atMost(LIMIT).until(() -> course.isCancelled(member));
    }
  }
}
