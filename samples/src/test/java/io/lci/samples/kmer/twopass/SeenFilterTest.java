/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.kmer.common.Kmers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SeenFilterTest {
  private static final int THREADS = 8;
  private static final int KEYS = 200_000;

  /** One addition of a key; answers as {@link SeenFilter#add}. */
  private interface Adder {
    int add(long hash);
  }

  @Test
  void oneThreadSeesFirstThenSecondThenOften() {
    SeenFilter filter = new SeenFilter(1 << 20);
    long key = Kmers.hash(1, 2);
    assertThat(filter.seenAgain(key)).isFalse();
    assertThat(filter.add(key)).isEqualTo(SeenFilter.FIRST);
    assertThat(filter.seenAgain(key)).isFalse();
    assertThat(filter.add(key)).isEqualTo(SeenFilter.SECOND);
    assertThat(filter.seenAgain(key)).isTrue();
    assertThat(filter.add(key)).isEqualTo(SeenFilter.SEEN_OFTEN);
  }

  @Test
  void neverForgetsWhatWasSeenAgainAndRarelyImagines() {
    SeenFilter filter = new SeenFilter(KEYS * 16L);
    for (int i = 0; i < KEYS; i++) {
      filter.add(Kmers.hash(0, i));
      if (i % 2 == 0) {
        filter.add(Kmers.hash(0, i));
      }
    }
    int imagined = 0;
    for (int i = 0; i < KEYS; i++) {
      boolean again = filter.seenAgain(Kmers.hash(0, i));
      assertThat(again || i % 2 != 0).as("key %d", i).isTrue();
      imagined += again && i % 2 != 0 ? 1 : 0;
    }
    assertThat(imagined).isLessThan(KEYS / 20);
  }

  /**
   * Of 8 threads that add the same keys, each key has one first and one second, and reaches the
   * second layer.
   */
  @Test
  void eightThreadsOnIdenticalKeysHaveOneFirstAndOneSecondEach() throws InterruptedException {
    SeenFilter filter = new SeenFilter(KEYS * 1024L);
    Tally tally = race(filter::add);
    long wrongFirst = 0;
    long wrongSecond = 0;
    for (int i = 0; i < KEYS; i++) {
      // Bits that other keys had set already make a key seem seen: rare in a filter this empty, and
      // never more than one.
      assertThat(tally.first.get(i)).isLessThanOrEqualTo(1);
      assertThat(tally.second.get(i)).isLessThanOrEqualTo(1);
      wrongFirst += 1 - tally.first.get(i);
      wrongSecond += 1 - tally.second.get(i);
      assertThat(filter.seenAgain(Kmers.hash(7, i))).isTrue();
    }
    assertThat(wrongFirst + wrongSecond).isLessThan(KEYS / 1000);
  }

  /**
   * The same race on a filter that reads, then writes, or that spreads a key's bits over two words,
   * is lost.
   */
  @Test
  void theRaceFindsFiltersThatAreNotAtomic() throws InterruptedException {
    raceUntilLost(SeenFilterTest::readThenWrite);
    raceUntilLost(SeenFilterTest::twoWords);
  }

  private static void raceUntilLost(Supplier<Adder> broken) throws InterruptedException {
    int lost = 0;
    while (lost == 0) { // the test's time-out is the end
      lost = severalFirsts(race(broken.get()));
    }
  }

  private static Adder readThenWrite() {
    long[] words = new long[KEYS];
    return hash -> {
      int at = Kmers.slot(hash, words.length);
      boolean first = (words[at] & 1) == 0;
      words[at] |= 1;
      return first ? SeenFilter.FIRST : SeenFilter.SECOND;
    };
  }

  /** Each word by itself is atomic; a key is new if either bit was missing. */
  private static Adder twoWords() {
    SeenFilter one = new SeenFilter(KEYS * 1024L);
    SeenFilter other = new SeenFilter(KEYS * 1024L);
    return hash -> {
      boolean newHere = one.add(hash) == SeenFilter.FIRST;
      boolean newThere = other.add(hash) == SeenFilter.FIRST;
      return newHere || newThere ? SeenFilter.FIRST : SeenFilter.SECOND;
    };
  }

  private record Tally(AtomicIntegerArray first, AtomicIntegerArray second) {}

  private static int severalFirsts(Tally tally) {
    int several = 0;
    for (int i = 0; i < KEYS; i++) {
      several += tally.first.get(i) > 1 ? 1 : 0;
    }
    return several;
  }

  /** All threads add all keys, in step, so that they meet on each. */
  private static Tally race(Adder adder) throws InterruptedException {
    Tally tally = new Tally(new AtomicIntegerArray(KEYS), new AtomicIntegerArray(KEYS));
    CyclicBarrier start = new CyclicBarrier(THREADS);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      threads.add(new Thread(() -> addAll(adder, tally, start)));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    return tally;
  }

  private static void addAll(Adder adder, Tally tally, CyclicBarrier start) {
    int portion = KEYS / 200;
    for (int from = 0; from < KEYS; from += portion) {
      awaitOthers(start);
      for (int i = from; i < from + portion; i++) {
        switch (adder.add(Kmers.hash(7, i))) {
          case SeenFilter.FIRST -> tally.first.incrementAndGet(i);
          case SeenFilter.SECOND -> tally.second.incrementAndGet(i);
          default -> {}
        }
      }
    }
  }

  private static void awaitOthers(CyclicBarrier start) {
    try {
      start.await();
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new IllegalStateException(e);
    }
  }
}
