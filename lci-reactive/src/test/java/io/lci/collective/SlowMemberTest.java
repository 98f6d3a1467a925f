/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/** A member of a shuffle that takes nothing stops all sources, and loses nothing. */
@ExtendWith(LciLeakCheck.class)
class SlowMemberTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int RANKS = 4;
  private static final int SLOW = 2;
  private static final int ITEMS = 100_000;
  private static final int BYTES = 64;

  /** Keeps no item. */
  private static final class Sum extends BaseSubscriber<byte[]> {
    final AtomicInteger count = new AtomicInteger();
    final AtomicLong sum = new AtomicLong();
    volatile SignalType ended;
    private final long first;

    Sum(long first) {
      this.first = first;
    }

    @Override
    protected void hookOnSubscribe(Subscription s) {
      s.request(first);
    }

    @Override
    protected void hookOnNext(byte[] item) {
      sum.addAndGet(number(item));
      count.incrementAndGet();
    }

    @Override
    protected void hookOnError(Throwable reason) {} // its end tells

    @Override
    protected void hookFinally(SignalType type) {
      ended = type;
    }
  }

  private static byte[] item(int number) {
    return ByteBuffer.allocate(BYTES).putInt(number).array();
  }

  private static int number(byte[] item) {
    return ByteBuffer.wrap(item).getInt();
  }

  // Proves: J24
  // On: inproc
  @Test
  void aMemberThatDoesNotAskStopsAllAndLosesNothing() {
    try (LciTestJob job = LciTestJob.start(RANKS)) {
      List<Sum> members = new ArrayList<>();
      AtomicInteger[] emitted = new AtomicInteger[RANKS];
      for (LciRuntime lci : job.ranks()) {
        Sum member = new Sum(lci.rank() == SLOW ? 1 : Long.MAX_VALUE);
        members.add(member);
        AtomicInteger count = new AtomicInteger();
        emitted[lci.rank()] = count;
        Flux<byte[]> source =
            Flux.range(0, ITEMS).map(SlowMemberTest::item).doOnNext(n -> count.incrementAndGet());
        lci.world()
            .streams()
            .shuffle(source, bytes -> number(bytes) % RANKS, Codec.BYTES)
            .subscribe(member);
      }
      // A source stops when less than a quarter of its window is left
      int least = RANKS * (GroupStreams.SEND_WINDOW * 3 / 4);
      int most =
          RANKS * (1 + GroupStreams.SEND_WINDOW + StreamOptions.DEFAULT_WINDOW_ITEMS) + RANKS;
      for (AtomicInteger count : emitted) {
        await().atMost(LIMIT).untilAtomic(count, org.hamcrest.Matchers.greaterThan(least));
      }
      for (int round = 0; round < 100; round++) {
        Mono.when(job.ranks().stream().map(LciRuntime::barrier).toList()).block(LIMIT);
      }
      assertThat(emitted).allSatisfy(count -> assertThat(count.get()).isLessThanOrEqualTo(most));
      assertThat(members.get(SLOW).count).hasValue(1);
      assertThat(members).allMatch(member -> member.ended == null);

      members.get(SLOW).requestUnbounded();
      for (int rank = 0; rank < RANKS; rank++) {
        Sum member = members.get(rank);
        await().atMost(LIMIT).until(() -> member.ended == SignalType.ON_COMPLETE);
        assertThat(member.count).hasValue(ITEMS);
        long sumOfOne = 0;
        for (long n = rank; n < ITEMS; n += RANKS) {
          sumOfOne += n;
        }
        assertThat(member.sum).hasValue(RANKS * sumOfOne);
      }
    }
  }

  /** The log names the member for which all wait. */
  @Test
  void aStreamThatStandsStillIsReported() {
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    PrintStream standardError = System.err;
    System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
    LciOptions options = LciOptions.builder().stallWarning(Duration.ofMillis(20)).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      for (LciRuntime lci : job.ranks()) {
        Sum member = new Sum(1);
        if (lci.rank() == 1) {
          awaitLine(
              log, "rank 0: shuffle stream of a group did not move", "rank 1 has not begun it");
        }
        Flux<byte[]> items = Flux.range(0, 1_000).map(SlowMemberTest::item);
        lci.world().streams().shuffle(items, bytes -> 1, Codec.BYTES).subscribe(member);
      }
      awaitLine(log, "rank 0: shuffle", "rank 1 takes nothing, and ");
      awaitLine(log, "rank 1: shuffle", "the subscriber here asks for nothing");
    } finally {
      System.setErr(standardError);
    }
  }

  private static void awaitLine(ByteArrayOutputStream log, String who, String why) {
    await()
        .atMost(LIMIT)
        .until(
            () ->
                log.toString(StandardCharsets.UTF_8)
                    .lines()
                    .anyMatch(line -> line.contains(who) && line.contains(why)));
  }
}
