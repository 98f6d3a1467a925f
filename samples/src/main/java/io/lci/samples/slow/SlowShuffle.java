/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import io.lci.LciRuntime;
import io.lci.collective.GroupStreams;
import io.lci.collective.StreamOptions;
import io.lci.error.OperationCancelledException;
import java.time.Duration;
import java.util.BitSet;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * All members have numbers for each other, and one of them is slow: it asks for none at all, and in
 * another stream for one a second and at last for all. Meanwhile the sources of all rest.
 */
final class SlowShuffle {
  static final int RANKS = 4;
  private static final int SLOW = 2;

  private final LciRuntime lci;
  private final int items;
  private final int seconds;

  /** What this member's source has given. */
  private final AtomicInteger given = new AtomicInteger();

  private final BitSet seen = new BitSet();

  /**
   * @param items of all members
   * @param seconds how long it is slow, each time
   */
  SlowShuffle(LciRuntime lci, int items, int seconds) {
    this.lci = lci;
    this.items = items;
    this.seconds = seconds;
  }

  void run() {
    untilCancelled();
    given.set(0);
    untilAllIsThere();
  }

  private boolean isSlow() {
    return lci.rank() == SLOW;
  }

  private Flux<Integer> numbers() {
    int share = items / RANKS;
    Flux<Integer> mine =
        Flux.range(lci.rank() * share, share).doOnNext(number -> given.incrementAndGet());
    return lci.world().streams().shuffle(mine, number -> number % RANKS, new NumberedItem());
  }

  /** One member asks for nothing, and leaves at last, which ends the stream. */
  private void untilCancelled() {
    SlowSubscriber<Integer> subscriber = new SlowSubscriber<>();
    numbers().subscribe(subscriber);
    if (!isSlow()) {
      subscriber.askForAll();
    }
    pause();
    together();
    checkGiven(0);
    together();
    if (isSlow()) {
      subscriber.askForOne(); // it begins
      subscriber.cancel();
    } else {
      Throwable end =
          subscriber.whenComplete().then(Mono.<Throwable>empty()).onErrorResume(Mono::just).block();
      if (!(end instanceof OperationCancelledException left) || left.rank() != SLOW) {
        throw new IllegalStateException(
            "rank " + SLOW + " has left, and the stream ended by " + end);
      }
    }
  }

  /** One member asks for one a second, and then for all. */
  private void untilAllIsThere() {
    SlowSubscriber<Integer> subscriber = new SlowSubscriber<>();
    numbers().doOnNext(this::take).subscribe(subscriber);
    if (isSlow()) {
      Flux.interval(Duration.ofSeconds(1))
          .take(seconds)
          .doOnNext(second -> subscriber.askForOne())
          .blockLast();
    } else {
      subscriber.askForAll();
    }
    together();
    checkGiven(seconds);
    together();
    subscriber.askForAll();
    subscriber.whenComplete().block();
    check();
  }

  private void pause() {
    Mono.delay(Duration.ofSeconds(seconds)).block();
  }

  private void together() {
    lci.barrier().block();
  }

  private void take(int number) {
    if (number < 0 || number >= items || number % RANKS != lci.rank() || seen.get(number)) {
      throw new IllegalStateException(
          "number " + number + " came to rank " + lci.rank() + " twice, or is not its own");
    }
    seen.set(number);
  }

  /**
   * No more than those for the slow member that it takes, or that wait for it, and what lies
   * between.
   */
  private void checkGiven(int taken) {
    int most = RANKS * (taken + StreamOptions.DEFAULT_WINDOW_ITEMS + GroupStreams.SEND_WINDOW + 1);
    System.out.printf(
        Locale.ROOT,
        "slow for %d s: %d asked for by rank %d, %d given by this source%n",
        seconds,
        taken,
        SLOW,
        given.get());
    if (given.get() > most) {
      throw new IllegalStateException("the source gave " + given + ", there was room for " + most);
    }
  }

  private void check() {
    int own = items / RANKS;
    if (seen.cardinality() != own) {
      throw new IllegalStateException(seen.cardinality() + " of " + own + " numbers came");
    }
    System.out.printf(
        Locale.ROOT, "then %d of %d, each once, checksum right%n", seen.cardinality(), own);
  }
}
